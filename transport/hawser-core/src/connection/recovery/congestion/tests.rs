use hawser_wire::frame::EcnCounts;

use hawser_policy::LimitedBy;

use super::super::testing::{Bench, Call, CallLog, DATAGRAM, fixed_window, identity, millis, ms};
use super::*;
use crate::connection::recovery::{EcnState, SpaceKind};

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(80));
    bench
}

//= rfc9000-13.3-7
#[test]
fn one_epoch_for_all_that_was_sent_before_it() {
    let mut bench = bench();
    bench.send_many(ms(100), 10);
    bench.ack(ms(180), &[4..=4]);
    bench.ack(ms(181), &[9..=9]);
    let opened: Vec<bool> = bench.losses().iter().map(|loss| loss.new_epoch).collect();
    assert_eq!(opened, [true, false]);
    assert!(bench.acks().iter().all(|ack| ack.bytes_in_recovery == 0 || ack.now == ms(181)));
    assert_eq!(bench.acks()[1].bytes_in_recovery, 1200, "9 was sent before the epoch began");
    // Sent after the epoch began and lost: the next one.
    bench.send_many(ms(200), 4);
    bench.ack(ms(280), &[14..=14]);
    assert!(bench.losses().last().is_some_and(|loss| loss.new_epoch));
    assert_eq!(bench.acks().last().map(|ack| ack.bytes_in_recovery), Some(0));
    assert_eq!(bench.recovery.totals.congestion_events, 2);
}

#[test]
fn the_controller_hears_of_losses_before_the_acknowledgement_of_the_same_frame() {
    let mut bench = bench();
    bench.send_many(ms(100), 4);
    bench.ack(ms(180), &[4..=4]);
    assert!(matches!(bench.calls()[..], [Call::Loss(_), Call::Ack(_)]), "{:?}", bench.calls());
}

#[test]
fn an_acknowledgement_is_told_in_full() {
    let mut bench = bench();
    bench.send_many(ms(100), 4);
    bench.send(ms(105));
    bench.ack(ms(190), &[1..=3]);
    let ack = bench.acks()[0];
    assert_eq!((ack.bytes, ack.packets, ack.largest_acked), (3600, 3, 3));
    assert_eq!((ack.largest_sent_at, ack.latest_rtt), (ms(100), Some(millis(90))));
    assert_eq!((ack.bytes_in_flight, ack.delivered, ack.limited_by), (2400, 4800, LimitedBy::Nothing));
    let delivery = ack.delivery.expect("an interval of a round trip");
    let rate = Some(Rate::from_bytes_over(3600, millis(90)));
    assert_eq!((delivery.inflight_at_send, delivery.delivered, delivery.rate), (3600, 3600, rate));
    bench.clear();
    bench.ack(ms(191), &[1..=3]);
    assert!(bench.calls().is_empty(), "nothing new");
}

//= rfc9000-19.3-1
#[test]
fn a_mark_on_a_validated_path_opens_an_epoch() {
    let mut bench = bench();
    for _ in 0..4 {
        bench.send_with(ms(100), |packet| packet.ecn_marked = true);
    }
    let counts = |ect0, ce| Some(EcnCounts { ect0, ect1: 0, ce });
    bench.try_ack(ms(180), &[1..=2], counts(2, 0)).expect("valid");
    assert_eq!(bench.recovery.ecn_state(), EcnState::Capable);
    let outcome = bench.try_ack(ms(181), &[1..=3], counts(2, 1)).expect("valid");
    assert_eq!((outcome.congestion_marks, outcome.ecn_failed), (1, false));
    let loss = bench.losses()[0];
    assert_eq!((loss.cause, loss.new_epoch, loss.bytes, loss.largest_lost), (LossCause::EcnMark, true, 0, 3));
    bench.try_ack(ms(182), &[1..=4], counts(2, 2)).expect("valid");
    assert!(!bench.losses()[1].new_epoch, "the same round trip");
}

#[test]
fn a_peer_that_reports_no_marks_ends_marking() {
    let mut bench = bench();
    bench.send_with(ms(100), |packet| packet.ecn_marked = true);
    assert!(bench.ack(ms(180), &[1..=1]).ecn_failed);
    assert_eq!(bench.recovery.ecn_mark(), None);
}

//= rfc9002-7.8-1
#[test]
fn a_window_that_is_not_used_is_application_limited() {
    // Ten datagrams, not in slow start.
    let mut bench = Bench::with(SpaceKind::Application, 10 * u64::from(DATAGRAM));
    bench.settle_rtt(millis(80));
    bench.send_many(ms(100), 3);
    bench.recovery.on_stopped(LimitedBy::Application);
    bench.ack(ms(180), &[1..=2]);
    assert_eq!(bench.acks()[0].limited_by, LimitedBy::Application);
    bench.send_many(ms(181), 9);
    bench.recovery.on_stopped(LimitedBy::Application);
    assert_eq!(bench.recovery.window_left(), 0);
    bench.ack(ms(261), &[4..=5]);
    assert_eq!(bench.acks()[1].limited_by, LimitedBy::CongestionWindow, "the window was full");
}

//= rfc9002-7.2-4
#[test]
fn the_window_never_falls_below_two_datagrams() {
    let mut bench = Bench::with(SpaceKind::Application, 100);
    assert_eq!(bench.recovery.window(), 2400);
    bench.recovery.on_max_datagram_size(ms(0), 1452);
    assert_eq!(bench.recovery.window(), 2904);
}

/// Half of the packets are lost, and a round trip takes no longer than ever.
#[test]
fn the_window_is_four_datagrams_at_least_where_losses_are_random() {
    let mut bench = Bench::with(SpaceKind::Application, 100);
    let mut at = bench.settle_rtt(millis(80));
    for _ in 0..6 {
        let first = bench.space.end();
        bench.send_many(at, 8);
        at += millis(80);
        bench.ack(at, &[first + 4..=first + 7]);
    }
    assert_eq!(bench.recovery.window(), 4 * u64::from(DATAGRAM));
}

#[test]
fn the_pacer_leads_the_window_by_a_quarter() {
    let mut bench = Bench::with(SpaceKind::Application, 100_000);
    bench.settle_rtt(millis(80));
    // 100,000 bytes in 80 ms are 10 Mbit/s.
    assert_eq!(bench.recovery.pacer.rate(), Rate::from_bits_per_second(12_500_000));
}

#[test]
fn a_successor_starts_from_the_path_and_cuts_no_second_time() {
    let mut bench = bench();
    bench.send_many(ms(100), 10);
    bench.ack(ms(180), &[4..=4]);
    let calls = CallLog::default();
    bench.recovery.swap_controller(&fixed_window(50_000, &calls), &identity(), ms(181));
    assert_eq!(bench.recovery.window(), 50_000);
    let Call::Created(Some(snapshot)) = calls.lock().expect("unpoisoned")[0].clone() else {
        panic!("no snapshot");
    };
    assert_eq!((snapshot.congestion_window, snapshot.min_rtt), (super::super::testing::WINDOW, millis(80)));
    assert_eq!((snapshot.bytes_in_flight, snapshot.smoothed_rtt), (8 * 1200, millis(80)));
    bench.calls = calls;
    bench.ack(ms(182), &[9..=9]);
    assert!(bench.losses().iter().all(|loss| !loss.new_epoch) && bench.losses().len() == 1);
}

//= rfc9002-7.2-1
#[test]
fn the_initial_window_is_that_of_section_7_2() {
    assert_eq!(initial_window(1200), 12_000);
    assert_eq!(initial_window(1472), 14_720);
    assert_eq!(initial_window(1500), 14_720);
    assert_eq!(initial_window(9000), 18_000);
}
