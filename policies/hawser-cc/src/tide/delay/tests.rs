use std::time::Duration;

use hawser_policy::{Ack, PathId, Time};

use super::*;
use crate::return_path::ReturnPath;
use crate::testing::ack;

/// An acknowledgement with this round trip, and a forward delay if the peer reports when packets arrived; milliseconds.
fn heard(at: u64, rtt: u64, forward: Option<u64>) -> Ack {
    let base = ack(Time::from_millis(at), 1_000, Duration::from_millis(rtt));
    base.with(|ack| ack.one_way_delay = forward.map(Duration::from_millis))
}

fn delay_after(acks: &[Ack]) -> Delay {
    let (mut delay, mut path) = (Delay::new(Time::ZERO), ReturnPath::default());
    for ack in acks {
        let sample = path.sample(ack);
        delay.on_ack(ack, sample, false);
    }
    delay
}

#[test]
fn without_receive_times_the_queue_is_what_the_round_trip_has_more_than_the_least() {
    let delay = delay_after(&[heard(0, 40, None), heard(10, 65, None)]);
    assert!((delay.queue() - 0.025).abs() < 1e-9, "{delay:?}");
    assert_eq!(delay.base(), Some(0.04));
}

/// The root cause of BBR's spiral next to a filled uplink: what acknowledgements wait for is no queue of this direction, and has to be
/// filled like any delay.
#[test]
fn a_queue_on_the_way_back_belongs_to_the_base() {
    // The clocks differ by a second; 20 ms forward. From then on acknowledgements wait 200 ms.
    let mut acks = vec![heard(0, 40, Some(1_020))];
    acks.extend((1..200).map(|at| heard(at * 10, 240, Some(1_020))));
    let delay = delay_after(&acks);
    assert!(delay.queue() < 1e-9, "{delay:?}");
    assert!(delay.base().is_some_and(|base| (base - 0.24).abs() < 1e-3), "{delay:?}");
}

/// A window for the time that acknowledgements were held back overflows the queue when they come.
#[test]
fn a_pause_on_the_way_back_is_nothing_to_fill() {
    let mut acks: Vec<Ack> = (0..50).map(|at| heard(at * 10, 40, Some(1_020))).collect();
    acks.extend((50..80).map(|at| heard(at * 10, 340, Some(1_020))));
    assert_eq!(delay_after(&acks).base(), Some(0.04));
}

#[test]
fn a_queue_forward_is_one() {
    let mut acks = vec![heard(0, 40, Some(1_020))];
    acks.extend((1..100).map(|at| heard(at * 10, 70, Some(1_050))));
    let delay = delay_after(&acks);
    assert!((delay.queue() - 0.03).abs() < 1e-9, "{delay:?}");
    assert!(delay.base().is_some_and(|base| (base - 0.04).abs() < 1e-3), "{delay:?}");
}

/// A path that got longer is known after ten seconds, next to others after two minutes.
#[test]
fn a_least_delay_holds_for_ten_seconds() {
    let mut acks = vec![heard(0, 40, None)];
    acks.extend((1..200).map(|at| heard(at * 100, 60, None)));
    assert_eq!(delay_after(&acks).base(), Some(0.06));
    let (mut delay, mut path) = (Delay::new(Time::ZERO), ReturnPath::default());
    for ack in &acks {
        let sample = path.sample(ack);
        delay.on_ack(ack, sample, true);
    }
    assert_eq!(delay.base(), Some(0.04));
}

#[test]
fn another_return_path_does_not_look_like_a_queue() {
    let far = heard(10, 140, None).with(|ack| ack.received_on = PathId(1));
    let delay = delay_after(&[heard(0, 40, None), heard(5, 40, None), far]);
    assert_eq!(delay.queue(), 0.0);
}

#[test]
fn a_least_delay_that_falls_is_told_once() {
    let mut delay = delay_after(&[heard(0, 60, None), heard(10, 60, None), heard(20, 50, None)]);
    assert!(delay.take_fallen());
    assert!(!delay.take_fallen());
    assert!(!delay_after(&[heard(0, 60, None), heard(10, 59, None)]).take_fallen());
}
