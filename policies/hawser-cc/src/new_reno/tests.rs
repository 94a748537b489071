use std::time::Duration;

use hawser_policy::{LimitedBy, LossCause, Time};

use super::*;
use crate::testing::{ack, init, loss, snapshot, spurious};

const RTT: Duration = Duration::from_millis(50);

fn acked(controller: &mut NewReno, bytes: u64) {
    controller.on_ack(&ack(Time::from_secs(1), bytes, RTT), &Siblings::NONE);
}

fn lost(controller: &mut NewReno, cause: LossCause, new_epoch: bool) {
    controller.on_loss(&loss(Time::from_secs(1), cause, new_epoch), &Siblings::NONE);
}

//= rfc9002-7.3.3-1
#[test]
fn doubles_per_round_in_slow_start_then_adds_one_datagram() {
    let mut controller = NewReno::new(&init(10_000));
    assert!(controller.in_slow_start());
    acked(&mut controller, 10_000);
    assert_eq!(controller.window(), 20_000);

    lost(&mut controller, LossCause::Loss, true);
    assert_eq!((controller.window(), controller.slow_start_threshold()), (10_000, 10_000));
    assert!(!controller.in_slow_start());
    acked(&mut controller, 10_000);
    assert_eq!(controller.window(), 11_000);
    // 5 500 of 11 000 bytes: half a datagram.
    acked(&mut controller, 5_500);
    assert_eq!(controller.window(), 11_500);
}

//= rfc9002-7.3.1-1, rfc9002-7.3.2-1, rfc9002-7.3.2-2
#[test]
fn one_reduction_per_epoch_and_marks_count_like_losses() {
    let mut controller = NewReno::new(&init(40_000));
    lost(&mut controller, LossCause::Loss, true);
    lost(&mut controller, LossCause::Loss, false);
    assert_eq!(controller.window(), 20_000);
    lost(&mut controller, LossCause::EcnMark, true);
    assert_eq!(controller.window(), 10_000);
}

//= rfc9002-7.8-1
#[test]
fn bytes_sent_before_the_epoch_or_without_need_of_window_do_not_count() {
    let mut controller = NewReno::new(&init(10_000));
    let base = ack(Time::from_secs(1), 4_000, RTT);
    controller.on_ack(&base.with(|ack| ack.limited_by = LimitedBy::Application), &Siblings::NONE);
    assert_eq!(controller.window(), 10_000);
    controller.on_ack(&base.with(|ack| ack.bytes_in_recovery = 3_000), &Siblings::NONE);
    assert_eq!(controller.window(), 11_000);
}

//= rfc9002-7.6.2-4
#[test]
fn persistent_congestion_leaves_two_datagrams_and_slow_start_to_half() {
    let mut controller = NewReno::new(&init(40_000));
    lost(&mut controller, LossCause::Loss, true);
    lost(&mut controller, LossCause::Persistent, false);
    assert_eq!((controller.window(), controller.slow_start_threshold()), (2_000, 20_000));
    // 19 kB acknowledged: 18 kB lead to the threshold, 1 kB is a twentieth of the window.
    acked(&mut controller, 19_000);
    assert_eq!(controller.window(), 20_050);
}

#[test]
fn spurious_loss_is_undone_once() {
    let mut controller = NewReno::new(&init(40_000));
    lost(&mut controller, LossCause::Loss, true);
    controller.on_spurious_loss(&spurious(Time::from_secs(2), Some(0)));
    assert_eq!((controller.window(), controller.in_slow_start()), (40_000, true));
    lost(&mut controller, LossCause::Loss, true);
    lost(&mut controller, LossCause::Persistent, false);
    controller.on_spurious_loss(&spurious(Time::from_secs(2), Some(0)));
    assert_eq!(controller.window(), 2_000);
}

/// The first reduction turns out wrong when the second has been made: that one would have been made from the whole window.
#[test]
fn an_earlier_reduction_is_undone_under_a_later_one() {
    let mut controller = NewReno::new(&init(40_000));
    lost(&mut controller, LossCause::Loss, true);
    lost(&mut controller, LossCause::Loss, true);
    assert_eq!(controller.window(), 10_000);
    controller.on_spurious_loss(&spurious(Time::from_secs(2), None));
    assert_eq!(controller.window(), 10_000, "a single packet undoes nothing");
    controller.on_spurious_loss(&spurious(Time::from_secs(2), Some(1)));
    assert_eq!((controller.window(), controller.in_slow_start()), (20_000, false));
    controller.on_spurious_loss(&spurious(Time::from_secs(2), Some(1)));
    assert_eq!(controller.window(), 20_000);
    controller.on_spurious_loss(&spurious(Time::from_secs(2), Some(0)));
    assert_eq!((controller.window(), controller.in_slow_start()), (40_000, true));
}

#[test]
fn takes_over_a_running_path_without_a_burst() {
    let mut start = init(10_000);
    start.snapshot = Some(snapshot());
    let controller = NewReno::new(&start);
    // max(60 kB in flight, 50 kB per round), at most 80 kB; past slow start.
    assert_eq!((controller.window(), controller.in_slow_start()), (60_000, false));

    let unbounded = snapshot().with(|snapshot| snapshot.slow_start_threshold = u64::MAX);
    start.snapshot = Some(unbounded);
    assert!(NewReno::new(&start).in_slow_start(), "a predecessor in slow start hands it on");
    start.snapshot = Some(unbounded.with(|snapshot| snapshot.pipe_full = true));
    assert!(!NewReno::new(&start).in_slow_start(), "BBR without threshold, but with a full pipe");
    start.snapshot = Some(snapshot().with(|snapshot| snapshot.congestion_window = 3_000));
    assert_eq!(NewReno::new(&start).window(), 3_000);
}

#[test]
fn minimum_follows_the_datagram_size() {
    let mut controller = NewReno::new(&init(2_000));
    controller.on_max_datagram_size(1_400);
    assert_eq!(controller.window(), 2_800);
}
