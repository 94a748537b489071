use std::ops::ControlFlow;
use std::time::Duration;

use hawser_policy::{
    Assignment, Command, Decision, Event, PacketReport, PathId, PathView, QueueView, Rate, Reliability,
    Scheduler, Segment, Selection, SendQueue, SendView, StreamId, StreamRange, Time,
};
use hawser_ride::{Agent, Config, Environment, PathView as RidePath, Purpose};
use proptest::prelude::*;

use super::features::{Rates, observation, ride_path};
use super::scheduler::RideScheduler;
use super::units::Choice;

/// Tiles that wait, each a stream of its own.
#[derive(Clone)]
struct Queue(Vec<(u64, u64, Time)>);

fn stream(at: u64) -> StreamId {
    StreamId(4 * at + 3)
}

impl SendQueue for Queue {
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {
        for (at, bytes, deadline) in &self.0 {
            let tile = Segment::plain(stream(*at), 0..*bytes).with(|segment| {
                segment.id = Some(*at);
                segment.deadline = Some(*deadline);
                segment.reliability = Reliability::UntilDeadline;
            });
            if visit(&tile).is_break() {
                return;
            }
        }
    }
}

impl Queue {
    fn of(tiles: impl IntoIterator<Item = u64>, deadline: Time) -> Self {
        Queue(tiles.into_iter().map(|at| (at, 18_000, deadline)).collect())
    }

    fn view<'a>(&'a self, now: Time, paths: &'a [PathView]) -> SendView<'a> {
        let unsent = self.0.iter().map(|(_, bytes, _)| bytes).sum();
        let queue = QueueView::default().with(|queue| {
            queue.unsent = unsent;
            queue.connection_window_left = u64::MAX;
        });
        SendView::new(now, paths, queue, self)
    }
}

/// A path with this rate and round-trip time, and a window of both.
fn path(id: u32, megabits: u64, rtt_ms: u64) -> PathView {
    let rtt = Duration::from_millis(rtt_ms);
    PathView::new(PathId(id)).with(|path| {
        path.congestion_window = megabits * 1_000 * rtt_ms / 8;
        path.smoothed_rtt = rtt;
        path.min_rtt = rtt;
        path.has_rtt_sample = true;
        path.delivery_rate = Some(Rate::from_megabits_per_second(megabits));
        path.max_datagram_size = 1_200;
    })
}

fn wifi_and_lte() -> [PathView; 2] {
    [path(0, 40, 20), path(1, 20, 30)]
}

/// An agent that always does the same.
fn always(action: usize) -> Agent {
    let mut numbers = [0.0f32; 10 * 3 + 3];
    numbers[10 * 3 + action] = 1.0;
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Agent::read(r#"{"shapes": [10, 3], "weights_sha256": ""}"#, &bytes).unwrap()
}

fn at(milliseconds: u64) -> Time {
    Time::from_millis(milliseconds)
}

fn ask(scheduler: &mut RideScheduler, view: &SendView<'_>) -> (Decision, Vec<Command>) {
    let mut commands = Vec::new();
    let decision = scheduler.schedule(view, &mut commands);
    (decision, commands)
}

fn sends(decision: Decision) -> (PathId, StreamId) {
    match decision {
        Decision::Send(Assignment { path, selection: Selection::Range { stream, .. }, .. }) => (path, stream),
        other => panic!("{other:?}"),
    }
}

/// A connection that is in the state of the environment.
fn connection(environment: &Environment) -> [(PathView, u64); 2] {
    environment.paths().map(|known| {
        let RidePath { window, queued, rate, rtt, base_rtt, loss } = known;
        let view = path(0, 1, 1).with(|path| {
            path.congestion_window = window as u64;
            path.smoothed_rtt = Duration::from_secs_f64(rtt);
            path.min_rtt = Duration::from_secs_f64(base_rtt);
            path.delivery_rate = Some(Rate::from_bits_per_second(rate as u64));
            path.loss_ppm = (loss * 1e6) as u32;
        });
        // What was decided for the frame so far waits; headers are not yet on it.
        (view, (queued / hawser_ride::OVERHEAD) as u64)
    })
}

/// The agent sees of a connection what it saw in training of the environment in the same state, and decides the same.
#[test]
fn a_connection_looks_like_the_environment() {
    let mut environment = Environment::new(Config::episodic(Purpose::Judging), 5).unwrap();
    let (mut theirs, mut ours) = (Agent::shipped(), Agent::shipped());
    let (mut seen, mut same, mut outside) = ([0.0f32; 10], 0, 0);
    for _ in 0..5_000 {
        environment.observe(&mut seen);
        let unit = environment.unit();
        let [one, other] = connection(&environment);
        // A window of one bandwidth-delay product says of the rate what the rate does.
        let mut rates = Rates::default();
        rates.note(Time::ZERO, std::slice::from_ref(&one.0));
        assert!((rates.of(&one.0) / environment.paths()[0].rate - 1.0).abs() < 1e-3);
        let known = [one, other].map(|(view, waiting)| {
            let rate = view.delivery_rate.unwrap().bits_per_second() as f64;
            ride_path(&view, rate, waiting)
        });
        let left = unit.playback.deadline - unit.release;
        let expected = theirs.choose(&environment);
        match observation(&known, left, unit.bytes as u64) {
            Some(observed) => {
                for (observed, seen) in observed.iter().zip(&seen) {
                    assert!((observed - seen).abs() < 1e-4, "{observed} {seen}");
                }
                same += usize::from(ours.choose_from(&observed) == Some(expected));
            }
            None => outside += 1,
        }
        environment.step(expected);
    }
    assert!(outside < 5, "{outside} of 5000 are not like training");
    assert!(same + outside >= 4_990, "{same} decisions of 5000 are the same");
}

/// All tiles of a frame are decided about at once: the agent sees what it gave to paths before, so that both get some.
#[test]
fn tiles_are_spread_over_both_paths_by_the_agent() {
    let mut scheduler = RideScheduler::new(true);
    let (paths, queue) = (wifi_and_lte(), Queue::of(0..40, at(1_200)));
    let (decision, commands) = ask(&mut scheduler, &queue.view(at(1_000), &paths));
    assert!(commands.is_empty(), "{commands:?}");
    let of = |scheduler: &mut RideScheduler, id| {
        (0..40)
            .filter(|tile| scheduler.choice(stream(*tile), *tile) == Some(Choice::Path(PathId(id))))
            .count()
    };
    let (wifi, lte) = (of(&mut scheduler, 0), of(&mut scheduler, 1));
    assert_eq!((wifi + lte, scheduler.counts().by_agent), (40, 40));
    // 2 to 1 by their rates.
    assert!((22..=32).contains(&wifi), "{wifi} and {lte}");
    // The first that its path can send goes first; a full path holds nothing up that goes elsewhere.
    let (first, tile) = sends(decision);
    assert_eq!(scheduler.choice(tile, 0), Some(Choice::Path(first)));
    let full = paths.map(|path| match path.id == first {
        true => path.with(|path| path.bytes_in_flight = path.congestion_window),
        false => path,
    });
    let (other, _) = sends(ask(&mut scheduler, &queue.view(at(1_001), &full)).0);
    assert_ne!(first, other);
    assert_eq!(scheduler.counts().by_agent, 40, "each is decided about once");
}

#[test]
fn what_is_skipped_is_discarded_and_what_cannot_be_is_sent() {
    let mut scheduler = RideScheduler::with_agent(always(0), true);
    let (paths, queue) = (wifi_and_lte(), Queue::of(0..2, at(1_200)));
    let (decision, commands) = ask(&mut scheduler, &queue.view(at(1_000), &paths));
    let discard = |tile| Command::Discard { stream: stream(tile), range: 0..18_000 };
    assert_eq!((decision, commands), (Decision::Wait(None), vec![discard(0), discard(1)]));
    // A peer that takes no gaps: they wait in the queue all the same.
    let (decision, commands) = ask(&mut scheduler, &queue.view(at(1_001), &paths));
    assert_eq!((sends(decision).0, commands), (PathId(0), vec![]));
    let later = Queue::of(5..6, at(1_300));
    let (decision, commands) = ask(&mut scheduler, &later.view(at(1_002), &paths));
    assert_eq!((sends(decision), commands), ((PathId(0), stream(5)), vec![]));
}

/// Round-trip times of loopback, an unknown path, one path, a deadline that is over: nothing that training saw.
#[test]
fn what_training_never_saw_goes_where_it_arrives_first() {
    let known = wifi_and_lte();
    let mut unknown = wifi_and_lte();
    unknown[0].smoothed_rtt = Duration::from_micros(200);
    let cases = [
        (unknown.to_vec(), 1_200, 0),
        (known[1..].to_vec(), 1_200, 1),
        (known.to_vec(), 999, 0),
        (known.to_vec(), 9_000, 0),
    ];
    for (paths, deadline, expected) in cases {
        let mut scheduler = RideScheduler::with_agent(always(2), true);
        let queue = Queue::of(0..1, at(deadline));
        let (decision, _) = ask(&mut scheduler, &queue.view(at(1_000), &paths));
        assert_eq!(sends(decision).0, PathId(expected), "{deadline}");
        assert_eq!((scheduler.counts().by_agent, scheduler.counts().by_guard), (0, 1));
    }
}

#[test]
fn a_tile_leaves_a_path_that_carries_data_no_longer() {
    let mut scheduler = RideScheduler::with_agent(always(2), true);
    let (paths, queue) = (wifi_and_lte(), Queue::of(0..1, at(1_200)));
    assert_eq!(sends(ask(&mut scheduler, &queue.view(at(1_000), &paths)).0).0, PathId(1));
    let [wifi, lte] = paths;
    let paths = [wifi, lte.with(|path| path.state = hawser_policy::PathState::Suspect)];
    assert_eq!(sends(ask(&mut scheduler, &queue.view(at(1_050), &paths)).0).0, PathId(0));
}

fn acked(scheduler: &mut RideScheduler, tile: u64, sent_at: Time, now: Time) {
    let ranges = [StreamRange { stream: stream(tile), range: 0..18_000, copy: false }];
    let report = PacketReport::default().with(|report| {
        report.now = now;
        report.path = PathId(0);
        report.packet_number = tile;
        report.bytes = 18_000;
        report.sent_at = sent_at;
        report.bytes_in_flight_at_send = 18_000;
        report.ranges = &ranges;
    });
    scheduler.on_event(&Event::Acked(&report), &mut Vec::new());
}

/// An agent that sends everything on a path that delivers nothing is left out, and gets another chance two seconds later; when
/// the guard did better, only after four the next time.
#[test]
fn an_agent_whose_tiles_are_late_is_left_out_for_a_while() {
    let paths = wifi_and_lte();
    let mut scheduler = RideScheduler::with_agent(always(2), true);
    let mut tile = 0;
    let mut paths_of = |scheduler: &mut RideScheduler, now: u64| {
        let queue = Queue::of(tile..tile + 10, at(now + 100));
        let (decision, commands) = ask(scheduler, &queue.view(at(now), &paths));
        let path = sends(decision).0;
        if path == PathId(0) {
            (tile..tile + 10).for_each(|tile| acked(scheduler, tile, at(now), at(now + 20)));
        }
        tile += 10;
        // The queue is empty in between.
        let _ = ask(scheduler, &Queue::of([], at(0)).view(at(now), &paths));
        (path.0, commands.len())
    };
    let course: Vec<(u32, usize)> =
        (0..120).map(|step| paths_of(&mut scheduler, 1_000 + 100 * step)).collect();
    let turns: Vec<usize> = (0..120).filter(|step| course[*step].1 > 0).collect();
    assert_eq!(scheduler.counts().firings, 3, "{turns:?}");
    let [first, second, third] = turns[..3] else { panic!("{turns:?}") };
    assert!(
        course[..first].iter().all(|(path, _)| *path == 1)
            && course[first..second].iter().all(|(path, _)| *path == 0)
    );
    assert!((19..=21).contains(&(second - first)), "{turns:?}");
    assert!(course[second..third].iter().all(|(path, _)| *path == 1), "another chance");
    assert!((39..=41).contains(&(turns.get(3).copied().unwrap_or(120) - third)), "{turns:?}");
    let mut alone = RideScheduler::with_agent(always(2), false);
    for step in 0..120 {
        assert_eq!(paths_of(&mut alone, 20_000 + 100 * step), (1, 0), "without a guard it goes on");
    }
}

proptest! {
    /// Whatever the paths are and whenever tiles are due: no panic, and what is sent goes on a path that can send it.
    #[test]
    fn any_view_has_an_answer(
        views in proptest::collection::vec(proptest::collection::vec(crate::tests::any_path(), 0..5), 1..20),
        tiles in proptest::collection::vec((0u64..30, 1u64..400_000, 0u64..4_000), 0..20),
        action in 0usize..3,
    ) {
        let mut scheduler = RideScheduler::with_agent(always(action), true);
        for (step, mut paths) in views.into_iter().enumerate() {
            paths.iter_mut().zip(0..).for_each(|(path, id)| path.id = PathId(id));
            let queue = Queue(tiles.iter().map(|(id, bytes, due)| (*id, *bytes, at(*due))).collect());
            let now = at(200 * step as u64);
            let (decision, commands) = ask(&mut scheduler, &queue.view(now, &paths));
            if let Decision::Send(assignment) = decision {
                let path = paths.iter().find(|path| path.id == assignment.path);
                prop_assert!(path.is_some_and(|path| path.sendable() > 0), "{assignment:?}");
            }
            prop_assert!(commands.len() <= 256);
            if let Some((id, ..)) = tiles.first() {
                acked(&mut scheduler, *id, at(0), now);
            }
        }
    }
}
