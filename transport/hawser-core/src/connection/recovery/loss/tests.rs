use hawser_policy::LossCause;

use super::super::BackOff;
use super::super::testing::{Bench, Call, millis, ms};
use super::*;

/// Smoothed RTT 80 ms after this, time threshold 90 ms.
fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(80));
    bench
}

//= rfc9002-6.1.1-1
#[test]
fn three_packets_later_means_lost() {
    let mut bench = bench();
    bench.send_many(ms(100), 4);
    bench.ack(ms(180), &[3..=3]);
    assert_eq!(bench.lost_numbers(), [] as [u64; 0], "3 is two after 1");
    bench.ack(ms(180), &[4..=4]);
    assert_eq!(bench.lost_numbers(), [1]);
    let loss = bench.losses()[0];
    assert_eq!((loss.cause, loss.packets, loss.bytes, loss.new_epoch), (LossCause::Loss, 1, 1200, true));
    assert_eq!((loss.largest_lost, loss.inflight_at_send, loss.lost_since_sent), (1, 1200, 1200));
    assert_eq!(bench.recovery.bytes_in_flight(), 1200, "2 is still out");
}

//= rfc9002-6.1.2-1, rfc9002-6.1.2-3
#[test]
fn nine_eighths_of_a_round_trip_later_means_lost() {
    let mut bench = bench();
    bench.send(ms(100));
    bench.send(ms(110));
    bench.ack(ms(185), &[2..=2]);
    let timer = bench.recovery.loss_timer(&bench.space);
    assert!(timer > Some(ms(188)) && timer <= Some(ms(191)), "{timer:?}");
    assert_eq!(
        bench.recovery.pto_timer(&bench.space, BackOff::WITHOUT_DATA),
        None,
        "the loss timer goes first"
    );
    bench.detect_lost(ms(188));
    assert!(bench.lost.is_empty());
    bench.detect_lost(ms(191));
    assert_eq!(bench.lost_numbers(), [1]);
    assert_eq!(bench.recovery.loss_timer(&bench.space), None);
    assert_eq!(bench.recovery.bytes_in_flight(), 0);
}

#[test]
fn a_packet_after_the_largest_acknowledged_is_never_lost() {
    let mut bench = bench();
    bench.send_many(ms(100), 5);
    bench.ack(ms(180), &[1..=1]);
    bench.detect_lost(ms(100_000));
    assert!(bench.lost.is_empty());
}

/// Of the recovery epochs that the controller was told of as without a reason.
fn undone(bench: &Bench) -> Vec<usize> {
    let undone = |call: &Call| if let Call::Spurious(spurious) = call { spurious.undone } else { None };
    bench.calls().iter().filter_map(undone).collect()
}

#[test]
fn late_acknowledgements_end_the_packet_threshold_and_undo_the_epoch() {
    let mut bench = bench();
    bench.send_many(ms(100), 10);
    bench.ack(ms(180), &[8..=8]);
    assert_eq!(bench.lost_numbers(), [1, 2, 3, 4, 5]);
    let outcome = bench.ack(ms(182), &[8..=8, 1..=4]);
    assert_eq!((outcome.newly_acked, outcome.spurious_losses), (true, 4));
    assert_eq!(undone(&bench), [0; 0], "5 may be lost for good");
    bench.ack(ms(183), &[8..=8, 1..=5]);
    assert_eq!(undone(&bench), [0]);
    assert_eq!(bench.recovery.reordering.packet_threshold(), None);
    // The same reordering does no harm now.
    bench.clear();
    bench.send_many(ms(200), 10);
    bench.ack(ms(280), &[18..=18]);
    assert!(!bench.lost_numbers().iter().any(|&number| number > 11));
    assert_eq!(bench.recovery.totals.packets_spurious, 5);
}

/// Packets come so late that the next epoch has begun.
#[test]
fn an_earlier_epoch_is_undone_as_well() {
    let mut bench = bench();
    bench.send_many(ms(100), 4);
    bench.ack(ms(180), &[4..=4]);
    bench.send_many(ms(190), 4);
    bench.ack(ms(270), &[8..=8]);
    assert_eq!(bench.losses().iter().filter(|loss| loss.new_epoch).count(), 2);
    bench.ack(ms(275), &[8..=8, 1..=1]);
    bench.ack(ms(276), &[8..=8, 1..=3]);
    assert_eq!(undone(&bench), [1]);
}

#[test]
fn one_loss_for_good_among_many_late_packets_is_no_reason_to_slow_down() {
    let mut bench = bench();
    bench.send_many(ms(100), 20);
    bench.ack(ms(180), &[20..=20]);
    assert_eq!(bench.lost.len(), 17);
    bench.ack(ms(182), &[20..=20, 3..=16]);
    assert_eq!(undone(&bench), [0; 0], "three of 17 are missing");
    bench.ack(ms(183), &[20..=20, 2..=16]);
    assert_eq!(undone(&bench), [0], "two of 17 are");
}

/// What came late was delivered, and was not lost: estimators hear of both.
#[test]
fn late_packets_count_as_delivered() {
    let mut bench = bench();
    bench.send_many(ms(100), 4);
    bench.ack(ms(180), &[4..=4]);
    let before = bench.recovery.delivery.delivered();
    bench.ack(ms(182), &[1..=4]);
    assert_eq!(bench.recovery.delivery.delivered(), before + 3 * 1200);
    let delivery = bench.acks().last().and_then(|ack| ack.delivery).expect("a sample");
    assert_eq!(delivery.lost, 0);
}

/// The samples of the largest numbers alone are those of the packets that overtook others.
#[test]
fn packets_that_were_overtaken_give_round_trip_samples_too() {
    let mut bench = bench();
    bench.send_many(ms(100), 3);
    bench.ack(ms(160), &[3..=3]);
    assert_eq!(bench.recovery.rtt.latest(), millis(60));
    assert!(bench.ack(ms(185), &[3..=3, 1..=1]).rtt_updated);
    assert_eq!(bench.recovery.rtt.latest(), millis(85));
    assert_eq!(
        bench.acks().last().map(|ack| (ack.reorders, ack.latest_rtt)),
        Some((false, Some(millis(85))))
    );
}

#[test]
fn a_late_acknowledgement_of_a_forgotten_loss_is_harmless() {
    let mut bench = bench();
    bench.send_many(ms(100), 5);
    bench.ack(ms(180), &[5..=5]);
    bench.detect_lost(ms(100_000));
    let outcome = bench.ack(ms(100_000), &[1..=5]);
    assert_eq!(outcome.spurious_losses, 2, "3 and 4 were declared lost just now, 1 and 2 long ago");
}

//= rfc9000-14.4-1
#[test]
fn an_mtu_probe_is_no_congestion_signal() {
    let mut bench = bench();
    bench.send_with(ms(100), |packet| packet.kind = PacketKind::MtuProbe);
    bench.send_many(ms(100), 3);
    bench.ack(ms(180), &[2..=4]);
    assert_eq!(bench.lost_numbers(), [1]);
    assert!(bench.losses().is_empty());
    assert_eq!(bench.recovery.bytes_in_flight(), 0);
}

/// RFC 9002 section 7.6.2: after the second sample PTO is 80 + 4 * 30 + 25 = 225 ms; three times that is 675 ms.
fn run_of_losses(duration: u64, middle: impl FnOnce(&mut Bench)) -> Bench {
    let mut bench = bench();
    bench.send(ms(100));
    bench.send(ms(200));
    middle(&mut bench);
    bench.send(ms(100 + duration));
    let end = bench.send(ms(100 + duration));
    bench.ack(ms(100 + duration + 80), &[end..=end]);
    bench.detect_lost(ms(100 + duration + 100));
    bench
}

//= rfc9002-7.6.1-1
#[test]
fn losses_over_three_probe_timeouts_are_persistent_congestion() {
    let bench = run_of_losses(676, |_| {});
    let causes: Vec<LossCause> = bench.losses().iter().map(|loss| loss.cause).collect();
    assert_eq!(causes.last(), Some(&LossCause::Persistent), "{causes:?}");
    assert_eq!(bench.recovery.totals.persistent_congestion, 1);
    let bench = run_of_losses(675, |_| {});
    assert_eq!(bench.recovery.totals.persistent_congestion, 0, "too short");
}

/// RFC 9000 section 14.4: the loss of an MTU probe is no sign of congestion. It neither ends the run nor completes it, which
/// the next packet does.
#[test]
fn an_mtu_probe_does_not_swallow_persistent_congestion() {
    let mut bench = bench();
    bench.send(ms(100));
    bench.send(ms(200));
    bench.send_with(ms(776), |packet| packet.kind = PacketKind::MtuProbe);
    bench.send(ms(790));
    let end = bench.send(ms(790));
    bench.ack(ms(870), &[end..=end]);
    assert_eq!(bench.lost.len(), 3, "the probe with this acknowledgement, the packet behind it later");
    bench.detect_lost(ms(885));
    assert_eq!(bench.lost.len(), 4);
    assert_eq!(bench.recovery.totals.persistent_congestion, 1);
}

//= rfc9002-7.6.2-1
#[test]
fn an_mtu_probe_alone_completes_no_persistent_congestion() {
    let mut bench = bench();
    bench.send(ms(100));
    bench.send(ms(200));
    bench.send_with(ms(900), |packet| packet.kind = PacketKind::MtuProbe);
    let end = bench.send(ms(900));
    bench.ack(ms(980), &[end..=end]);
    bench.detect_lost(ms(1_000));
    assert_eq!((bench.lost.len(), bench.recovery.totals.persistent_congestion), (3, 0));
}

/// RFC 9002 section 7.6.2 asks that nothing in between was acknowledged, and packets that only acknowledge never are: where data goes both
/// ways they lie between all others.
#[test]
fn packets_that_only_acknowledge_break_no_run_of_losses() {
    let only_acknowledges =
        |packet: &mut SentPacket| (packet.ack_eliciting, packet.in_flight) = (false, false);
    let run = |is_acknowledged: bool| {
        run_of_losses(676, |bench| {
            let number = bench.send_with(ms(300), only_acknowledges);
            bench.send_with(ms(310), only_acknowledges);
            if is_acknowledged {
                bench.ack(ms(390), &[number..=number]);
            }
        })
    };
    assert_eq!(run(false).recovery.totals.persistent_congestion, 1);
    assert_eq!(run(true).recovery.totals.persistent_congestion, 0, "it arrived");
}

#[test]
fn an_acknowledgement_in_between_proves_the_path_works() {
    let bench = run_of_losses(900, |bench| {
        let number = bench.send(ms(300));
        bench.ack(ms(380), &[number..=number]);
    });
    assert_eq!(bench.recovery.totals.persistent_congestion, 0);
    assert_eq!(bench.lost.len(), 3);
}

//= rfc9002-7.6.2-2
#[test]
fn packets_before_the_first_sample_say_nothing_about_persistence() {
    let mut bench = Bench::new();
    bench.send(ms(0));
    bench.send(ms(5_000));
    bench.send(ms(5_000));
    bench.ack(ms(5_080), &[2..=2]);
    bench.detect_lost(ms(5_200));
    assert_eq!(bench.lost_numbers(), [0, 1]);
    assert_eq!(bench.recovery.totals.persistent_congestion, 0);
}

#[test]
fn a_silent_path_lends_its_data_once_and_keeps_its_packets() {
    let mut bench = bench();
    bench.send_many(ms(100), 2);
    let Bench { recovery, space, .. } = &mut bench;
    let mut lent = Vec::new();
    recovery.resend_elsewhere(space, |packet| lent.push(packet.packet_number));
    recovery.resend_elsewhere(space, |packet| lent.push(packet.packet_number));
    assert_eq!(lent, [1, 2]);
    assert_eq!(recovery.bytes_in_flight(), 2400);
    bench.send(ms(600));
    bench.ack(ms(700), &[3..=3]);
    assert!(bench.lost.iter().all(|packet| packet.resent) && bench.lost.len() == 2);
}

//= multipath-3.4.3-2, rfc9002-6.2.2-3, rfc9002-6.4-1
#[test]
fn a_drained_or_discarded_space_is_empty_and_no_signal() {
    let mut bench = bench();
    bench.send_many(ms(100), 3);
    let Bench { recovery, space, lost, .. } = &mut bench;
    recovery.drain(space, lost);
    assert_eq!((lost.len(), recovery.bytes_in_flight(), space.sent.len()), (3, 0, 0));
    assert_eq!(recovery.silent_for(ms(500)), std::time::Duration::ZERO);
    bench.send_many(ms(200), 2);
    bench.recovery.on_pto(0);
    bench.recovery.discard_space(&mut bench.space);
    assert_eq!((bench.recovery.bytes_in_flight(), bench.recovery.pto_count()), (0, 0));
    assert!(bench.losses().is_empty());
    assert_eq!(bench.recovery.totals.packets_discarded, 5);
}
