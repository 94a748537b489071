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
        let at = bench.recovery.pto_timer(&bench.space, BackOff::Capped).expect("armed");
        timeouts.push(at.since(ms(100)).as_millis());
        bench.recovery.on_pto();
    }
    assert_eq!(timeouts, [265, 530, 1060, 2000, 2000, 2000]);
    bench.ack(ms(1000), &[1..=1]);
    assert_eq!(
        (bench.recovery.pto_count(), bench.recovery.pto_timer(&bench.space, BackOff::Capped)),
        (0, None)
    );
}

#[test]
fn the_probe_timeout_of_the_only_path_doubles_without_a_cap() {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(80));
    bench.send(ms(100));
    let mut timeouts = Vec::new();
    for _ in 0..40 {
        let at = bench.recovery.pto_timer(&bench.space, BackOff::Unlimited).expect("armed");
        timeouts.push(at.since(ms(100)).as_millis());
        bench.recovery.on_pto();
    }
    assert_eq!(timeouts[..6], [265, 530, 1060, 2120, 4240, 8480]);
    assert_eq!(timeouts[39], 265 << 16, "nothing overflows");
}

#[test]
fn a_long_path_is_not_probed_before_its_timeout() {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(3_000));
    bench.send(ms(5_000));
    for _ in 0..60 {
        bench.recovery.on_pto();
    }
    let timeout = bench.recovery.probe_timeout();
    assert_eq!(bench.recovery.pto_timer(&bench.space, BackOff::Capped), Some(ms(5_000) + timeout));
}

#[test]
fn handshake_packets_are_acknowledged_without_delay() {
    let mut bench = Bench::with(SpaceKind::Initial, 12_000);
    bench.send(ms(0));
    // Initial RTT 333 ms: 333 + 4 * 166.5
    let timer = bench.recovery.pto_timer(&bench.space, BackOff::Capped);
    assert_eq!(timer, Some(ms(999)));
    assert_eq!(bench.recovery.anti_deadlock_timer(SpaceKind::Handshake, ms(1), BackOff::Unlimited), ms(1000));
}

#[test]
fn application_data_waits_for_the_handshake() {
    let mut bench = Bench::with(SpaceKind::Initial, 12_000);
    bench.space.kind = SpaceKind::Application;
    bench.send(ms(0));
    assert_eq!(bench.recovery.pto_timer(&bench.space, BackOff::Capped), None);
    bench.recovery.on_handshake_confirmed();
    assert!(bench.recovery.pto_timer(&bench.space, BackOff::Capped).is_some());
}

#[test]
fn the_back_off_of_a_client_outlasts_acknowledged_initials() {
    let mut bench = Bench::with(SpaceKind::Initial, 12_000);
    bench.send_many(ms(0), 2);
    bench.recovery.on_pto();
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
