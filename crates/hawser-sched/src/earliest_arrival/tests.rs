use std::time::Duration;

use hawser_policy::{PathView, QueueView};

use super::*;
use crate::testing::{path, view_at};

fn ask(scheduler: &mut EarliestArrival, ms: u64, paths: &[PathView], queue: QueueView) -> Decision {
    scheduler.schedule(&view_at(Time::from_millis(ms), paths, queue), &mut Vec::new())
}

fn unsent(bytes: u64) -> QueueView {
    QueueView { unsent: bytes, ..QueueView::default() }
}

fn skip(decision: Decision) -> Option<u64> {
    match decision {
        Decision::Send(Assignment { selection: Selection::Skip(bytes), .. }) => Some(bytes),
        _ => None,
    }
}

/// 5 MB/s and 40 ms of lag: a gap of 200 kB.
fn fast_full() -> [PathView; 2] {
    [path(1, 20, 0), path(2, 60, 50_000)]
}

/// The fast path as it makes progress.
fn busy(paths: &mut [PathView; 2], ms: u64) {
    paths[0].bytes_acked = ms * 5_000;
}

#[test]
fn a_short_queue_is_left_to_the_fast_path_until_it_proves_to_be_lasting() {
    let mut scheduler = EarliestArrival::default();
    let mut paths = fast_full();
    let mut decisions = Vec::new();
    for ms in (0..=40).step_by(10) {
        busy(&mut paths, ms);
        decisions.push(skip(ask(&mut scheduler, ms, &paths, unsent(150_000))));
    }
    // After two rounds of 20 ms the last datagram of the queue goes on the slow path.
    assert_eq!(decisions, [None, None, None, None, Some(149_000)]);
    // Falling by more than half a window in a round, it is not refilled: the end.
    busy(&mut paths, 50);
    assert_eq!(skip(ask(&mut scheduler, 50, &paths, unsent(90_000))), None);
}

#[test]
fn standing_rounds_is_how_long_a_queue_stands_before_it_counts_as_lasting() {
    for (standing_rounds, expected) in [(0, 0), (1, 20), (3, 60)] {
        let parameters = EarliestArrivalParameters { standing_rounds, ..Default::default() };
        let mut scheduler = EarliestArrival::with_parameters(parameters);
        let mut paths = fast_full();
        let lasts = (0..=100).step_by(10).find(|ms| {
            busy(&mut paths, *ms);
            skip(ask(&mut scheduler, *ms, &paths, unsent(150_000))).is_some()
        });
        assert_eq!(lasts, Some(expected), "{standing_rounds}");
    }
}

/// When the slow path of 30 ms is found to be silent after acknowledgements every 5 ms, and what is done then.
fn silence(parameters: EarliestArrivalParameters) -> (Option<u64>, Vec<Command>) {
    let mut scheduler = EarliestArrival::with_parameters(parameters);
    let mut paths = [path(1, 20, 0), path(2, 30, 50_000)];
    let mut commands = Vec::new();
    for ms in 0..200 {
        paths[0].bytes_acked = ms * 5_000;
        let last_ack = ms.min(50) / 5 * 5;
        paths[1].bytes_acked = last_ack * 200;
        paths[1].oldest_in_flight = Some(Time::from_millis((last_ack + 1_000).saturating_sub(30)));
        let view = view_at(Time::from_millis(ms + 1_000), &paths, unsent(10_000_000));
        if skip(scheduler.schedule(&view, &mut commands)).is_none() {
            return (Some(ms - 50), commands);
        }
    }
    (None, commands)
}

#[test]
fn shortest_silence_and_rescue_say_when_a_path_is_silent_and_what_is_done() {
    let default = EarliestArrivalParameters::default();
    let copies = vec![Command::Reinject { from: PathId(2), to: PathId(1), max_bytes: u64::MAX }];
    assert_eq!(silence(default), (Some(16), copies.clone()));
    let patient = EarliestArrivalParameters { shortest_silence: Duration::from_millis(40), ..default };
    assert_eq!(silence(patient), (Some(41), copies));
    let frugal = EarliestArrivalParameters { rescue: false, ..default };
    assert_eq!(silence(frugal), (Some(16), Vec::new()));
}

#[test]
fn retransmissions_wait_for_a_path_that_is_much_faster() {
    let queue = QueueView { unsent: 1_000_000, retransmit: 3_000, ..QueueView::default() };
    let mut scheduler = EarliestArrival::default();
    assert_eq!(ask(&mut scheduler, 0, &fast_full(), queue), Decision::Wait(None));
    let similar = [path(1, 20, 0), path(2, 28, 50_000)];
    let expected = Assignment { max_bytes: 3_000, ..Assignment::next(PathId(2)) };
    assert_eq!(ask(&mut scheduler, 1, &similar, queue), Decision::Send(expected));
}

#[test]
fn nobody_waits_for_a_silent_path() {
    let mut scheduler = EarliestArrival::default();
    let paths = fast_full();
    assert_eq!(ask(&mut scheduler, 0, &paths, unsent(10_000)), Decision::Wait(None));
    // The probe timeout is 20 + 25 ms.
    assert_eq!(ask(&mut scheduler, 45, &paths, unsent(10_000)), Decision::Wait(None));
    let on_slow = Decision::Send(Assignment::next(PathId(2)));
    assert_eq!(ask(&mut scheduler, 46, &paths, unsent(10_000)), on_slow);
    // It answers: trusted again.
    let mut back = paths.clone();
    back[0].bytes_acked = 1_000;
    assert_eq!(ask(&mut scheduler, 60, &back, unsent(10_000)), Decision::Wait(None));
    // Idle time is not silence.
    let mut idle = back.clone();
    idle[0].bytes_in_flight = 0;
    let on_fast = Decision::Send(Assignment::next(PathId(1)));
    assert_eq!(ask(&mut scheduler, 60_000, &idle, unsent(10_000)), on_fast);
}

#[test]
fn what_is_on_its_way_when_a_path_falls_silent_is_copied_once() {
    let mut scheduler = EarliestArrival::default();
    // A link whose queue grew: the probe timeout is 325 ms.
    let mut paths = [path(1, 20, 0), path(2, 300, 50_000)];
    paths[1].rtt_variance = Duration::from_millis(30);
    let mut ask = |ms: u64, last_ack: u64| {
        paths[0].bytes_acked = ms * 5_000;
        paths[1].bytes_acked = last_ack * 200;
        paths[1].oldest_in_flight = Some(Time::from_millis(last_ack + 1_000 - 300));
        let mut commands = Vec::new();
        let view = view_at(Time::from_millis(ms + 1_000), &paths, unsent(10_000_000));
        let on_slow = skip(scheduler.schedule(&view, &mut commands)).is_some();
        (on_slow, commands)
    };
    let copies = vec![Command::Reinject { from: PathId(2), to: PathId(1), max_bytes: u64::MAX }];
    for ms in (0..=50).step_by(5) {
        assert_eq!(ask(ms, ms), (true, Vec::new()), "{ms}: acknowledgements come in");
    }
    assert_eq!(ask(65, 50), (true, Vec::new()), "15 ms mean nothing");
    assert_eq!(ask(66, 50), (false, copies.clone()));
    assert_eq!(ask(90, 50), (false, Vec::new()), "once");
    assert_eq!(ask(100, 100), (true, Vec::new()), "it answers");
    assert_eq!(ask(160, 100), (true, Vec::new()), "after a pause of 50 ms, one of 60 ms surprises nobody");
    assert_eq!(ask(201, 100), (false, copies.clone()), "twice as long does");
    assert_eq!(ask(300, 300), (true, Vec::new()));
    assert_eq!(ask(420, 300), (true, Vec::new()), "it was silent for 200 ms before");
    assert_eq!(ask(421, 300), (false, copies), "a round trip and four times its variance are over");
}

#[test]
fn nothing_is_overdue_before_a_round_trip() {
    let mut scheduler = EarliestArrival::default();
    let mut paths = [path(1, 20, 0), path(2, 300, 50_000)];
    paths[1].oldest_in_flight = Some(Time::ZERO);
    for ms in (0..=300).step_by(10) {
        paths[0].bytes_acked = ms * 5_000;
        let mut commands = Vec::new();
        scheduler.schedule(&view_at(Time::from_millis(ms), &paths, unsent(10_000_000)), &mut commands);
        assert_eq!(commands, [], "{ms}");
    }
}

#[test]
fn when_all_are_silent_the_fastest_is_still_the_best_guess() {
    let mut scheduler = EarliestArrival::default();
    let paths = [path(1, 20, 50_000), path(2, 60, 50_000)];
    for ms in [0, 10_000] {
        let decision = ask(&mut scheduler, ms, &paths, unsent(10_000));
        assert_eq!(decision, Decision::Send(Assignment::next(PathId(1))));
    }
}

#[test]
fn an_unknown_path_is_tried_with_copies_on_a_known_one() {
    let mut paths = fast_full();
    paths[1].has_rtt_sample = false;
    paths[1].bytes_in_flight = 1_000;
    paths[1].smoothed_rtt = Duration::from_millis(333);
    let expected = Assignment {
        max_bytes: 1_000,
        copies: hawser_policy::PathMask::NONE.with(0),
        ..Assignment::next(PathId(2))
    };
    let mut scheduler = EarliestArrival::default();
    assert_eq!(ask(&mut scheduler, 0, &paths, unsent(1_000_000)), Decision::Send(expected));
    // Two datagrams under way are enough.
    paths[1].bytes_in_flight = 2_000;
    assert_eq!(ask(&mut scheduler, 0, &paths, unsent(1_000_000)), Decision::Wait(None));
}

/// What is asked for, and when, once all that is left is under way on a path of `rtt` since `age` ms, and the other of 20 ms
/// is idle.
fn at_the_end(rtt: u64, age: u64, in_flight: u64) -> (Decision, Vec<Command>) {
    let mut scheduler = EarliestArrival::default();
    let (mut fast, mut slow) = (path(1, 20, 50_000), path(2, rtt, 0));
    fast.bytes_in_flight = in_flight;
    slow.bytes_in_flight = 3_000;
    slow.oldest_in_flight = Some(Time::from_millis(5_000 - age));
    let mut commands = Vec::new();
    let paths = [fast, slow];
    let mut decision = None;
    // Asked again and again, as the core does after each acknowledgement.
    for _ in 0..3 {
        let view = view_at(Time::from_millis(5_000), &paths, unsent(0));
        decision = Some(scheduler.schedule(&view, &mut commands));
    }
    (decision.expect("asked"), commands)
}

#[test]
fn the_end_is_copied_from_a_path_that_would_be_much_later() {
    let copies = vec![Command::Reinject { from: PathId(2), to: PathId(1), max_bytes: u64::MAX }];
    assert_eq!(at_the_end(2_000, 500, 0), (Decision::Wait(None), copies.clone()), "60 ms for these");
    assert_eq!(at_the_end(100, 200, 0), (Decision::Wait(None), copies), "100 ms over the time, lost or not");
    // Expected in 15 ms: a copy would come no sooner. It is late 20 ms after that.
    let soon = Decision::Wait(Some(Time::from_millis(5_035)));
    assert_eq!(at_the_end(100, 85, 0), (soon, Vec::new()));
    assert_eq!(at_the_end(100, 200, 1_000), (Decision::Wait(None), Vec::new()), "the fast path is busy");
    assert_eq!(at_the_end(2_000, 500, 1_000).1.len(), 1, "but done much sooner");
}
