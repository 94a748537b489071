use std::collections::BTreeMap;

use proptest::prelude::*;

use super::testing::{Bench, millis, ms};
use super::*;
use crate::connection::receive_times::Arrivals;
use crate::error::Code;

//= rfc9000-13.1-2
#[test]
fn acknowledging_what_was_never_sent_is_a_protocol_violation() {
    let mut bench = Bench::new();
    bench.send(ms(0));
    let error = bench.try_ack(ms(10), &[0..=1], None).expect_err("1 was not sent");
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
}

#[test]
fn acknowledging_a_skipped_number_is_a_protocol_violation() {
    let mut bench = Bench::new();
    bench.send_many(ms(0), 100);
    let skipped = (0..100)
        .find(|&number| bench.space.numbers.skipped_between(&(number..number + 1)) == 1)
        .expect("one gap");
    let error = bench.try_ack(ms(10), &[0..=99], None).expect_err("a gap");
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
    assert_eq!(error.reason, format!("acknowledged packet {skipped}, whose number was skipped"));
}

//= rfc9002-7.7-1
#[test]
fn window_and_pacer_limit_the_sender() {
    let mut bench = Bench::with(SpaceKind::Application, 20 * 1200);
    bench.settle_rtt(millis(80));
    let (now, mut sent) = (ms(100), 0);
    while bench.recovery.can_send(now, 1200) {
        bench.send(now);
        sent += 1;
    }
    assert_eq!(sent, 4, "a burst, not the window");
    let release = bench.recovery.next_release(now).expect("the pacer holds back");
    assert!(bench.recovery.pacing_budget(release) >= 1200);
    let mut now = release;
    while bench.recovery.window_left() >= 1200 {
        now = bench.recovery.next_release(now).unwrap_or(now);
        bench.send(now);
    }
    assert!(!bench.recovery.can_send(ms(10_000), 1200), "the window is full");
    // 1.25 windows per round trip.
    assert!(now.since(ms(100)) < millis(64) && now.since(ms(100)) > millis(40), "{now}");
}

#[test]
fn a_loopback_window_leaves_in_one_piece() {
    let mut bench = Bench::with(SpaceKind::Application, 256 * 1200);
    bench.settle_rtt(Duration::from_micros(200));
    for _ in 0..256 {
        assert!(bench.recovery.can_send(ms(10), 1200));
        bench.send(ms(10));
    }
}

//= rfc9002-5.3-1, rfc9002-5.3-2, rfc9002-5.3-3
#[test]
fn the_ack_delay_is_clamped_once_the_handshake_is_confirmed() {
    let delays = [(true, 25), (false, 60)];
    for (confirmed, believed) in delays {
        let mut bench = Bench::new();
        bench.recovery.handshake_confirmed = confirmed;
        bench.settle_rtt(millis(80));
        bench.send(ms(100));
        let info = AckInfo {
            received_on: PathId(3),
            largest: 1,
            delay: millis(60),
            ranges: [1..=1].into_iter(),
            ecn: None,
            arrivals: Arrivals::NONE,
        };
        let Bench { recovery, space, acked, lost, .. } = &mut bench;
        recovery.on_ack(space, info, ms(300), &hawser_policy::Siblings::NONE, acked, lost).expect("valid");
        let ack = bench.acks()[0];
        assert_eq!(ack.latest_rtt, Some(millis(200 - believed)));
        assert_eq!((ack.raw_rtt, ack.received_on), (Some(millis(200)), PathId(3)));
    }
}

//= rfc9002-5.1-1, rfc9002-5.1-2
#[test]
fn an_acknowledgement_of_ack_only_packets_is_no_sample() {
    let mut bench = Bench::new();
    bench.send_with(ms(0), |packet| (packet.ack_eliciting, packet.in_flight) = (false, false));
    let outcome = bench.ack(ms(50), &[0..=0]);
    assert!(outcome.newly_acked && !outcome.rtt_updated);
    assert!(bench.calls().iter().all(|call| matches!(call, super::testing::Call::Created(_))));
}

#[test]
fn the_view_shows_the_path() {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(80));
    bench.send_many(ms(100), 2);
    let sibling = bench.recovery.sibling(PathId(3), GroupId(1), true);
    assert!(sibling.usable && sibling.path == PathId(3) && sibling.smoothed_rtt == millis(80));
    assert_eq!(sibling.acked_since_loss, 1200);
    assert!(!bench.recovery.sibling(PathId(3), GroupId(1), false).usable);
}

#[derive(Clone, Debug)]
enum Step {
    Send {
        bytes: u16,
        ack_eliciting: bool,
        in_flight: bool,
        probe: bool,
    },
    /// The peer received what the bits say of the last 64 packets; it reports it.
    Ack {
        bits: u64,
        back: u64,
    },
    Timer,
    Wait {
        millis: u64,
    },
    Probe,
    ChangeTuple,
    ReturnToTuple,
    Drain,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (100u16..1500, any::<bool>(), any::<bool>(), prop::bool::weighted(0.1)).prop_map(
            |(bytes, ack_eliciting, in_flight, probe)| Step::Send { bytes, ack_eliciting, in_flight, probe }
        ),
        5 => (any::<u64>(), 0u64..5).prop_map(|(bits, back)| Step::Ack { bits, back }),
        2 => Just(Step::Timer),
        3 => (0u64..200).prop_map(|millis| Step::Wait { millis }),
        1 => Just(Step::Probe),
        1 => Just(Step::ChangeTuple),
        1 => Just(Step::ReturnToTuple),
        1 => prop::bool::weighted(0.1).prop_map(|drain| if drain { Step::Drain } else { Step::Timer }),
    ]
}

/// Runs the steps and checks the books after each.
fn keep_books(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut bench = Bench::new();
    let (mut now, mut last_generation) = (ms(1), 0);
    let mut tuples = TupleGenerations { current: 0, previous: None };
    // Packets sent, in flight or not; of those in flight, what became of them.
    let mut sent: BTreeMap<u64, (u16, bool)> = BTreeMap::new();
    let mut fates: BTreeMap<u64, &str> = BTreeMap::new();
    for step in steps {
        match step {
            Step::Send { bytes, ack_eliciting, in_flight, probe } => {
                let in_flight = in_flight || ack_eliciting;
                let number = bench.send_with(now, |packet| {
                    (packet.bytes, packet.ack_eliciting, packet.in_flight) =
                        (bytes, ack_eliciting, in_flight);
                    packet.kind = if probe { PacketKind::MtuProbe } else { PacketKind::Normal };
                });
                sent.insert(number, (bytes, in_flight));
            }
            Step::Ack { bits, back } => {
                let numbers: Vec<u64> = sent.keys().rev().skip(back as usize).take(64).copied().collect();
                let received = numbers.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
                let ranges: Vec<_> = received.map(|(_, &number)| number..=number).collect();
                if !ranges.is_empty() {
                    bench.ack(now, &ranges);
                }
            }
            Step::Timer => {
                if let Some(at) = bench.recovery.loss_timer(&bench.space) {
                    now = now.max(at);
                    bench.detect_lost(now);
                    prop_assert!(
                        bench.recovery.loss_timer(&bench.space) > Some(now)
                            || bench.recovery.loss_timer(&bench.space).is_none()
                    );
                }
            }
            Step::Wait { millis: wait } => now += millis(wait),
            Step::Probe => bench.recovery.on_pto(0),
            Step::ChangeTuple => {
                last_generation += 1;
                tuples = TupleGenerations { current: last_generation, previous: Some(tuples.current) };
                bench.recovery.follow_tuple(now, tuples);
            }
            Step::ReturnToTuple => {
                tuples =
                    TupleGenerations { current: tuples.previous.unwrap_or(tuples.current), previous: None };
                bench.recovery.follow_tuple(now, tuples);
            }
            Step::Drain => {
                let Bench { recovery, space, lost, .. } = &mut bench;
                recovery.drain(space, lost);
            }
        }
        for (packets, fate) in [(&mut bench.acked, "acked"), (&mut bench.lost, "lost")] {
            for packet in packets.drain(..).filter(|packet| packet.in_flight) {
                let before = fates.insert(packet.packet_number, fate);
                prop_assert_eq!(before, None, "packet {} has two fates", packet.packet_number);
            }
        }
        let here = bench.space.sent.iter().filter(|packet| packet.tuple_generation == tuples.current);
        prop_assert_eq!(
            bench.recovery.bytes_in_flight(),
            here.map(|packet| u64::from(packet.bytes)).sum::<u64>()
        );
        let eliciting = bench.space.sent.iter().filter(|packet| packet.ack_eliciting).count();
        prop_assert_eq!(bench.recovery.ack_eliciting_outstanding, eliciting as u64);
        prop_assert_eq!(bench.space.sent.ack_eliciting(), eliciting);
        prop_assert_eq!(bench.recovery.outstanding_since().is_some(), eliciting > 0);
        let in_flight = sent.values().filter(|(_, in_flight)| *in_flight).count();
        prop_assert_eq!(in_flight, fates.len() + bench.space.sent.len(), "sent = acked + lost + outstanding");
        let totals = bench.recovery.totals;
        let settled = totals.packets_acked + totals.packets_lost + totals.packets_discarded;
        prop_assert_eq!(settled, fates.len() as u64);
        prop_assert!(totals.packets_spurious <= totals.packets_lost);
        prop_assert!(bench.recovery.window() >= 2 * 1200);
    }
    Ok(())
}

proptest! {
    //= rfc9002-7.5-2
    #[test]
    fn every_packet_has_one_fate(steps in prop::collection::vec(step(), 1..300)) {
        keep_books(steps)?;
    }
}
