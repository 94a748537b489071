use super::super::testing::{Bench, millis, ms};
use super::*;

#[test]
fn the_probe_timeout_doubles_up_to_a_cap() {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(80));
    bench.send(ms(100));
    // 80 + 4 * 40 + 25
    assert_eq!(bench.recovery.probe_timeout(), millis(265));
    let mut timeouts = Vec::new();
    for _ in 0..6 {
        let due = |back_off| bench.recovery.pto_timer(&bench.space, back_off).expect("armed").since(ms(100));
        timeouts.push((due(BackOff::WITHOUT_DATA).as_millis(), due(BackOff::WITH_DATA).as_millis()));
        bench.recovery.on_pto(0);
    }
    assert_eq!(timeouts, [(265, 265), (530, 180), (1060, 180), (2000, 180), (2000, 180), (2000, 180)]);
    bench.ack(ms(1000), &[1..=1]);
    let timer = bench.recovery.pto_timer(&bench.space, BackOff::WITHOUT_DATA);
    assert_eq!((bench.recovery.pto_count(), timer), (0, None));
}

/// Equal intervals would meet each outage of a link that fails periodically.
#[test]
fn backed_off_timeouts_differ() {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(80));
    bench.send(ms(100));
    let mut due = |random| {
        bench.recovery.on_pto(random);
        bench.recovery.pto_timer(&bench.space, BackOff::WITH_DATA).expect("armed").since(ms(100))
    };
    assert_eq!((due(0), due(255)), (millis(180), millis(135)));
    let between = due(100);
    assert!(millis(135) < between && between < millis(180), "{between:?}");
}

//= rfc9002-6.2.1-5
#[test]
fn the_probe_timeout_of_the_only_path_doubles_without_a_cap() {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(80));
    bench.send(ms(100));
    let mut timeouts = Vec::new();
    for _ in 0..40 {
        let at = bench.recovery.pto_timer(&bench.space, BackOff::Unlimited).expect("armed");
        timeouts.push(at.since(ms(100)).as_millis());
        bench.recovery.on_pto(0);
    }
    assert_eq!(timeouts[..6], [265, 530, 1060, 2120, 4240, 8480]);
    assert_eq!(timeouts[39], 265 << 16, "nothing overflows");
}

#[test]
fn a_long_path_is_probed_once_in_a_round_trip() {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(3_000));
    bench.send(ms(5_000));
    for _ in 0..60 {
        bench.recovery.on_pto(0);
    }
    let timer = bench.recovery.pto_timer(&bench.space, BackOff::WITH_DATA);
    assert_eq!(timer, Some(ms(5_000) + bench.recovery.rtt.smoothed()));
}

#[test]
fn handshake_packets_are_acknowledged_without_delay() {
    let mut bench = Bench::with(SpaceKind::Initial, 12_000);
    bench.send(ms(0));
    // Initial RTT 333 ms: 333 + 4 * 166.5
    let timer = bench.recovery.pto_timer(&bench.space, BackOff::WITH_DATA);
    assert_eq!(timer, Some(ms(999)));
    assert_eq!(bench.recovery.anti_deadlock_timer(SpaceKind::Handshake, ms(1), BackOff::Unlimited), ms(1000));
}

//= rfc9002-6.2.1-3
#[test]
fn application_data_waits_for_the_handshake() {
    let mut bench = Bench::with(SpaceKind::Initial, 12_000);
    bench.space.kind = SpaceKind::Application;
    bench.send(ms(0));
    assert_eq!(bench.recovery.pto_timer(&bench.space, BackOff::WITH_DATA), None);
    bench.recovery.on_handshake_confirmed();
    assert!(bench.recovery.pto_timer(&bench.space, BackOff::WITH_DATA).is_some());
}

//= rfc9000-8.1-4
#[test]
fn the_back_off_of_a_client_outlasts_acknowledged_initials() {
    let mut bench = Bench::with(SpaceKind::Initial, 12_000);
    bench.send_many(ms(0), 2);
    bench.recovery.on_pto(0);
    bench.ack(ms(50), &[0..=0]);
    assert_eq!(bench.recovery.pto_count(), 1, "the server may still be blocked");
    bench.recovery.on_peer_validated_us();
    bench.ack(ms(60), &[0..=1]);
    assert_eq!(bench.recovery.pto_count(), 0);
}

#[test]
fn silence_begins_with_the_first_packet_outstanding_and_ends_with_any_acknowledgement() {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(80));
    assert_eq!(bench.recovery.silent_for(ms(5_000)), Duration::ZERO);
    bench.send(ms(1_000));
    bench.send(ms(1_400));
    assert_eq!(bench.recovery.silent_for(ms(1_500)), millis(500));
    bench.ack(ms(1_500), &[1..=1]);
    assert_eq!(bench.recovery.silent_for(ms(1_600)), millis(100));
    bench.ack(ms(1_650), &[1..=1]);
    assert_eq!(bench.recovery.silent_for(ms(1_700)), millis(200), "nothing new in it");
    bench.ack(ms(1_710), &[1..=2]);
    assert_eq!(bench.recovery.outstanding_since(), None);
}

/// Heard all the time, a peer whose acknowledgement is late has it in a queue.
#[test]
fn a_link_may_have_returned_when_the_peer_is_heard_after_a_pause_or_probes_were_not_answered() {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(80));
    assert!(!bench.recovery.may_have_returned(ms(500), true), "nothing is outstanding");
    bench.send(ms(500));
    assert!(!bench.recovery.may_have_returned(ms(604), true), "a round trip and the peer's delay");
    assert!(bench.recovery.may_have_returned(ms(606), true));
    assert!(!bench.recovery.may_have_returned(ms(2_000), false));
    bench.recovery.on_pto(0);
    assert!(bench.recovery.may_have_returned(ms(700), false));
}
