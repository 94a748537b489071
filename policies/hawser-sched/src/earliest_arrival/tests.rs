use std::ops::ControlFlow;
use std::time::Duration;

use hawser_policy::{
    Assignment, Command, PathId, PathMask, PathView, QueueView, QueuedDatagram, Segment, Selection, SendQueue,
};

use super::*;
use crate::testing::{path, view_at};

fn ask(scheduler: &mut EarliestArrival, ms: u64, paths: &[PathView], queue: QueueView) -> Decision {
    scheduler.schedule(&view_at(Time::from_millis(ms), paths, queue), &mut Vec::new())
}

fn unsent(bytes: u64) -> QueueView {
    QueueView::default().with(|queue| queue.unsent = bytes)
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

/// Each is as long as the one before, as a queue that is refilled would be.
#[test]
fn messages_one_after_the_other_are_no_lasting_queue() {
    let parameters = EarliestArrivalParameters { budget: 0.0, ..Default::default() };
    let mut scheduler = EarliestArrival::with_parameters(parameters);
    let mut paths = fast_full();
    for ms in (0..1_000).step_by(100) {
        busy(&mut paths, ms);
        assert_eq!(skip(ask(&mut scheduler, ms, &paths, unsent(50_000))), None, "{ms}");
        ask(&mut scheduler, ms + 10, &paths, unsent(0));
    }
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

#[test]
fn retransmissions_wait_for_a_path_that_is_much_faster() {
    let queue = QueueView::default().with(|queue| {
        queue.unsent = 150_000;
        queue.retransmit = 3_000;
    });
    let mut scheduler = EarliestArrival::default();
    assert_eq!(ask(&mut scheduler, 0, &fast_full(), queue), Decision::Wait(None));
    let similar = [path(1, 20, 0), path(2, 28, 50_000)];
    let expected = Assignment::next(PathId(2)).with(|assignment| assignment.max_bytes = 3_000);
    assert_eq!(ask(&mut scheduler, 1, &similar, queue), Decision::Send(expected));
}

/// While 3 kB that were lost wait for the fast path, the other one takes what that would not deliver sooner: beyond 200 kB, of which
/// what was lost is a part.
#[test]
fn new_data_does_not_wait_with_what_was_lost() {
    let decide = |unsent: u64| {
        let queue = QueueView::default().with(|queue| {
            queue.unsent = unsent;
            queue.retransmit = 3_000;
        });
        ask(&mut EarliestArrival::default(), 0, &fast_full(), queue)
    };
    assert_eq!(decide(197_000), Decision::Wait(None));
    let selection = Selection::Unsent(197_000);
    let ahead = Assignment::next(PathId(2)).with(|assignment| {
        assignment.selection = selection;
        assignment.max_bytes = 803_000;
    });
    assert_eq!(decide(1_000_000), Decision::Send(ahead));
}

/// A controller by rate has a window of twice what its path carries: what it paces is taken.
#[test]
fn a_path_is_not_expected_to_deliver_more_than_it_paces() {
    let mut paths = fast_full();
    paths[0].pacing_rate = hawser_policy::Rate::from_bytes_over(2_500, Duration::from_millis(1));
    let decision = ask(&mut EarliestArrival::default(), 0, &paths, unsent(1_000_000));
    assert_eq!(skip(decision), Some(100_000));
}

/// 5 MB/s deliver 200 kB within a lag of 40 ms; what is lost beyond that would wait for the fast path alone.
#[test]
fn more_retransmissions_than_the_faster_path_delivers_meanwhile_are_shared() {
    for (retransmit, shared) in [(200_000, None), (201_000, Some(1_000)), (700_000, Some(500_000))] {
        let queue = QueueView::default().with(|queue| queue.retransmit = retransmit);
        let expected = shared.map_or(Decision::Wait(None), |max_bytes| {
            Decision::Send(Assignment::next(PathId(2)).with(|assignment| assignment.max_bytes = max_bytes))
        });
        assert_eq!(ask(&mut EarliestArrival::default(), 0, &fast_full(), queue), expected);
    }
}

#[test]
fn when_all_are_silent_the_fastest_is_still_the_best_guess() {
    let mut scheduler = EarliestArrival::default();
    let paths = [path(1, 20, 50_000), path(2, 60, 50_000)];
    for ms in [0, 10_000] {
        let decision = ask(&mut scheduler, ms, &paths, unsent(200_000));
        assert_eq!(decision, Decision::Send(Assignment::next(PathId(1))));
    }
}

#[test]
fn an_unknown_path_is_tried_with_copies_on_a_known_one() {
    let mut paths = fast_full();
    paths[1].has_rtt_sample = false;
    paths[1].bytes_in_flight = 1_000;
    paths[1].smoothed_rtt = Duration::from_millis(333);
    let expected = Assignment::next(PathId(2)).with(|assignment| {
        assignment.max_bytes = 1_000;
        assignment.copies = hawser_policy::PathMask::NONE.with(0);
    });
    let mut scheduler = EarliestArrival::default();
    assert_eq!(ask(&mut scheduler, 0, &paths, unsent(1_000_000)), Decision::Send(expected));
    // Two datagrams under way are enough.
    paths[1].bytes_in_flight = 2_000;
    assert_eq!(ask(&mut scheduler, 0, &paths, unsent(1_000_000)), Decision::Wait(None));
}

/// Two paths over time. The first one answers all the time; the other, of 30 ms, as long as the test says.
struct Bench {
    scheduler: EarliestArrival,
    paths: Vec<PathView>,
    queue: QueueView,
}

impl Bench {
    fn new(queue: u64) -> Self {
        let mut paths = [path(1, 20, 50_000), path(2, 30, 50_000)];
        paths[0].heard_at = Some(Time::ZERO);
        Bench { scheduler: EarliestArrival::default(), paths: paths.into(), queue: unsent(queue) }
    }

    /// What is decided and ordered at this time; the last acknowledgement on the second path came at `last_ack`, for what had
    /// been sent a round trip before.
    fn at(&mut self, ms: u64, last_ack: u64) -> (Decision, Vec<Command>) {
        self.paths[0].bytes_acked = ms * 5_000;
        self.paths[0].oldest_in_flight = Some(Time::from_millis(ms + 1_000 - 20));
        self.paths[1].bytes_acked = last_ack * 2_500;
        self.paths[1].oldest_in_flight = Some(Time::from_millis(last_ack + 1_000 - 30));
        let mut commands = Vec::new();
        let view = view_at(Time::from_millis(ms + 1_000), &self.paths, self.queue);
        let decision = self.scheduler.schedule(&view, &mut commands);
        (decision, commands)
    }

    /// Bytes that were ordered to be copied from the second path to the first.
    fn copied(&mut self, ms: u64, last_ack: u64) -> u64 {
        self.at(ms, last_ack).1.iter().map(copied).sum()
    }
}

fn copied(command: &Command) -> u64 {
    match command {
        Command::Reinject { from, to, max_bytes } => {
            assert_eq!((*from, *to), (PathId(2), PathId(1)));
            *max_bytes
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_path_that_falls_silent_is_left_out_until_it_answers() {
    let mut bench = Bench::new(10_000_000);
    bench.paths[0].bytes_in_flight = 100_000;
    let mut on_slow = |ms, last_ack| skip(bench.at(ms, last_ack).0).is_some();
    for ms in (0..=50).step_by(5) {
        assert!(on_slow(ms, ms), "{ms}: acknowledgements come in");
    }
    assert!(on_slow(65, 50), "15 ms mean nothing");
    assert!(!on_slow(66, 50));
    assert!(on_slow(100, 100), "it answers");
    assert!(
        !on_slow(116, 100),
        "once, which is no return: what it delivered before may be acknowledged late"
    );
    for ms in (120..=140).step_by(5) {
        assert!(on_slow(ms, ms), "{ms}: acknowledgements go on");
    }
    assert!(on_slow(185, 140), "after a pause of 50 ms, one of 45 ms surprises nobody");
    assert!(!on_slow(196, 140), "one of a probe timeout does");
}

/// A dying link takes acknowledgements along. What it delivered before is acknowledged over another one, late, and once.
#[test]
fn the_answer_that_ends_a_silence_does_not_begin_it_anew() {
    let mut bench = Bench::new(10_000_000);
    bench.paths[0].bytes_in_flight = 100_000;
    let mut on_slow = |ms, last_ack| skip(bench.at(ms, last_ack).0).is_some();
    for ms in (0..=48).step_by(12) {
        assert!(on_slow(ms, ms), "{ms}: acknowledgements come in");
    }
    assert!(on_slow(72, 48), "twice the usual pause");
    assert!(!on_slow(73, 48));
    assert!(on_slow(90, 90), "it answers");
    assert!(on_slow(105, 90), "15 ms mean nothing");
    assert!(!on_slow(106, 90), "it has been silent for long, but for one answer");
}

#[test]
fn amid_work_what_a_silent_path_holds_is_copied_little_by_little() {
    let mut bench = Bench::new(10_000_000);
    for ms in (0..=50).step_by(5) {
        assert_eq!(bench.copied(ms, ms), 0);
    }
    // Eight datagrams, and half of the 5 MB/s of the other path from then on.
    assert_eq!(bench.copied(66, 50), 8_000);
    assert_eq!(bench.copied(76, 50), 25_000);
    // All of the 50 kB are under way elsewhere then.
    assert_eq!(bench.copied(86, 50), 17_000);
    assert_eq!(bench.copied(96, 50), 0);
    assert_eq!(bench.copied(200, 200), 0);
}

/// Until they have left, the next order, for another path, would be for the same packets.
#[test]
fn nothing_more_is_copied_while_copies_wait() {
    let mut bench = Bench::new(10_000_000);
    bench.paths.push(path(3, 20, 50_000).with(|path| path.oldest_in_flight = Some(Time::from_millis(1_000))));
    let at = |bench: &mut Bench, ms: u64, last_ack: u64| {
        bench.paths[2].bytes_acked = ms * 5_000;
        bench.paths[2].oldest_in_flight = Some(Time::from_millis(ms + 1_000 - 20));
        bench.at(ms, last_ack).1
    };
    for ms in (0..=50).step_by(5) {
        assert_eq!(at(&mut bench, ms, ms), []);
    }
    let order = |to, max_bytes| Command::Reinject { from: PathId(2), to: PathId(to), max_bytes };
    assert_eq!(at(&mut bench, 66, 50), [order(1, 8_000)]);
    (bench.paths[0].copies_queued, bench.paths[0].pacing_budget) = (8_000, 0);
    assert_eq!(at(&mut bench, 67, 50), []);
    bench.paths[0].copies_queued = 0;
    assert_eq!(at(&mut bench, 68, 50), [order(3, 5_000)]);
}

/// What is missing holds up everything: it does not go behind the queue of a far path because the near one is full just now.
#[test]
fn copies_wait_for_the_path_that_delivers_them_first() {
    let mut bench = Bench::new(10_000_000);
    bench
        .paths
        .push(path(3, 150, 50_000).with(|path| path.oldest_in_flight = Some(Time::from_millis(1_000))));
    for ms in (0..=50).step_by(5) {
        assert_eq!(bench.copied(ms, ms), 0);
    }
    bench.paths[0].bytes_in_flight = 100_000;
    assert_eq!(bench.at(66, 50).1, []);
    bench.paths[0].bytes_in_flight = 50_000;
    assert_eq!(bench.copied(67, 50), 8_000);
    bench.paths[0].bytes_in_flight = 100_000;
    assert_eq!(bench.at(77, 50).1, []);
    // More than 5 MB/s deliver in the 130 ms that the far path needs longer.
    bench.paths[1].bytes_in_flight = 651_000;
    let far = Command::Reinject { from: PathId(2), to: PathId(3), max_bytes: 3_666 };
    assert_eq!(bench.at(78, 50).1, [far]);
}

#[test]
fn pauses_that_are_usual_are_no_silence() {
    let mut bench = Bench::new(10_000_000);
    bench.paths[1].rtt_variance = Duration::from_millis(30);
    bench.paths[1].probe_timeout = Duration::from_millis(175);
    // Acknowledgements come every 60 ms. The first pause is a surprise, and one answer after it does not tell whether that was one.
    for ms in 0..600 {
        let copied = bench.copied(ms, ms / 60 * 60);
        assert!(ms < 120 || copied == 0, "{ms}");
    }
}

#[test]
fn at_the_end_all_that_a_quiet_path_holds_is_copied_as_soon_as_it_is_late() {
    let mut bench = Bench::new(10_000_000);
    for ms in (0..=50).step_by(5) {
        bench.at(ms, ms);
    }
    bench.queue = unsent(0);
    let (decision, commands) = bench.at(54, 50);
    // In flight for 30 ms when the last acknowledgement came: late after 5 ms more.
    assert_eq!((decision, commands), (Decision::Wait(Some(Time::from_nanos(1_055_000_001))), Vec::new()));
    assert_eq!(bench.copied(56, 50), 50_000);
}

/// The acknowledgement of the first packet of a flight takes a round trip, and round trips vary: that nothing came before was no
/// pause.
#[test]
fn the_first_acknowledgement_of_a_flight_is_not_missing_before_it_is_late() {
    let mut bench = Bench::new(0);
    bench.paths[1].bytes_in_flight = 0;
    bench.at(0, 0);
    bench.paths[1].bytes_in_flight = 50_000;
    let mut ask = |ms: u64| {
        let now = Time::from_millis(1_000 + ms);
        bench.paths[0].bytes_acked = ms * 5_000;
        bench.paths[0].oldest_in_flight = Some(now - Duration::from_millis(20));
        // Due at 50 ms.
        bench.paths[1].oldest_in_flight = Some(Time::from_millis(1_020));
        let mut commands = Vec::new();
        bench.scheduler.schedule(&view_at(now, &bench.paths, bench.queue), &mut commands);
        commands.iter().map(copied).sum::<u64>()
    };
    for ms in 20..=55 {
        assert_eq!(ask(ms), 0, "{ms}");
    }
    assert_eq!(ask(56), 50_000);
}

/// The acknowledgement of a last packet waits for 25 ms: with usual variations of 5 ms it is late 60 ms after that left. If it returns on
/// its own path, it is later by another 10 ms, for which copies wait when few may be needless yet.
#[test]
fn the_acknowledgement_of_a_last_packet_may_return_on_its_own_path() {
    for (needless, first) in [(0, 81), (40_000, 91)] {
        let mut bench = Bench::new(0);
        // Round trips by both ways count for it.
        bench.paths[1].probe_timeout = Duration::from_millis(100);
        bench.paths[1].bytes_in_flight = 0;
        bench.at(0, 0);
        bench.paths[1].bytes_in_flight = 2_000;
        let mut ask = |ms: u64| {
            bench.paths[0].bytes_acked = ms * 5_000;
            bench.paths[0].oldest_in_flight = Some(Time::from_millis(1_000 + ms - 20));
            bench.paths[1].oldest_in_flight = Some(Time::from_millis(1_020));
            let mut commands = Vec::new();
            let view = view_at(Time::from_millis(1_000 + ms), &bench.paths, bench.queue);
            let queue = Needless(needless);
            let view = view.with(|view| view.segments = &queue);
            bench.scheduler.schedule(&view, &mut commands);
            commands.iter().map(copied).sum::<u64>()
        };
        let copies = (20..100).find_map(|ms| Some((ms, ask(ms))).filter(|(_, bytes)| *bytes > 0));
        assert_eq!(copies, Some((first, 2_000)));
    }
}

#[test]
fn at_the_end_what_is_probably_lost_is_copied_first() {
    let mut bench = Bench::new(0);
    for ms in (0..=50).step_by(5) {
        assert_eq!(bench.copied(ms, ms), 0);
    }
    // Younger packets are acknowledged; the oldest is 34 ms old, and then 41.
    let mut ask = |ms: u64| {
        bench.paths[1].bytes_acked = ms * 2_500;
        bench.paths[1].oldest_in_flight = Some(Time::from_millis(1_020));
        bench.paths[0].oldest_in_flight = Some(Time::from_millis(1_000 + ms - 20));
        let mut commands = Vec::new();
        let view = view_at(Time::from_millis(1_000 + ms), &bench.paths, bench.queue);
        bench.scheduler.schedule(&view, &mut commands);
        commands
    };
    assert_eq!(ask(54), []);
    assert_eq!(ask(61), [Command::Reinject { from: PathId(2), to: PathId(1), max_bytes: 8_000 }]);
}

/// Packets left together, and some of them are acknowledged, as fast as the path delivers: nothing is missing between.
#[test]
fn the_rest_of_a_burst_is_no_hole() {
    for (second, expected) in [(14, 0), (12, 8_000)] {
        let mut bench = Bench::new(0);
        let mut ask = |ms: u64, acked: u64, oldest_packet: u64| {
            bench.paths[1].bytes_acked = acked;
            bench.paths[1].oldest_in_flight = Some(Time::from_millis(1_000));
            bench.paths[1].oldest_packet = Some(oldest_packet);
            bench.paths[0].oldest_in_flight = Some(Time::from_millis(1_000 + ms - 20));
            let mut commands = Vec::new();
            let view = view_at(Time::from_millis(1_000 + ms), &bench.paths, bench.queue);
            bench.scheduler.schedule(&view, &mut commands);
            commands.iter().map(copied).sum::<u64>()
        };
        assert_eq!(ask(20, 0, 10), 0);
        assert_eq!(ask(24, 2_000, 12), 0);
        // Late: they are 36 ms old.
        assert_eq!(ask(36, 40_000, second), expected, "{second}");
    }
}

/// Copies that are ordered during a flight of 50 kB that begins at `ms` and whose first acknowledgement comes after `answer`.
fn flight(bench: &mut Bench, ms: u64, answer: u64) -> u64 {
    bench.paths[1].bytes_in_flight = 0;
    bench.at(ms, ms);
    bench.paths[1].bytes_in_flight = 50_000;
    let copies = (1..=answer + 5).map(|passed| {
        let now = Time::from_millis(1_000 + ms + passed);
        bench.paths[0].bytes_acked = (ms + passed) * 5_000;
        bench.paths[0].oldest_in_flight = Some(now - Duration::from_millis(20));
        let (acked, oldest) = if passed < answer { (0, 0) } else { (passed - answer, passed - 5) };
        bench.paths[1].bytes_acked = ms * 2_500 + acked * 2_500;
        bench.paths[1].oldest_in_flight = Some(Time::from_millis(1_000 + ms + oldest));
        let mut commands = Vec::new();
        bench.scheduler.schedule(&view_at(now, &bench.paths, bench.queue), &mut commands);
        commands.iter().map(copied).sum::<u64>()
    });
    copies.sum()
}

/// Round trips of a flight are alike, so that their deviation within it says nothing of the next one.
#[test]
fn round_trips_that_differ_from_flight_to_flight_are_usual() {
    let mut bench = Bench::new(0);
    let copies: Vec<_> = (0..8).map(|nth| flight(&mut bench, nth * 200, 50)).collect();
    assert!(copies[0] > 0, "30 ms were usual: {copies:?}");
    assert_eq!(copies[2..], [0; 6]);
    // An outage is rescued all the same, and is not usual afterwards, however long it was.
    assert!(flight(&mut bench, 1_600, 1_000) > 0);
    assert!(flight(&mut bench, 3_000, 160) > 0);
}

/// What the first round trip of a flight was like, after an outage for instance, is forgotten a second later.
#[test]
fn a_flight_that_lasts_is_judged_by_its_own_round_trips() {
    let mut bench = Bench::new(10_000_000);
    for nth in 0..4 {
        flight(&mut bench, nth * 200, 60);
    }
    for ms in (1_000..=9_000).step_by(5) {
        assert_eq!(bench.copied(ms, ms), 0, "{ms}: acknowledgements come in");
    }
    assert!(bench.copied(9_020, 9_000) > 0);
}

#[test]
fn an_outage_is_no_usual_pause_some_seconds_later() {
    let mut bench = Bench::new(10_000_000);
    let mut comes_in = |times: std::ops::RangeInclusive<u64>| {
        for ms in times.step_by(5) {
            bench.copied(ms, ms);
        }
    };
    comes_in(0..=1_000);
    comes_in(2_000..=8_000);
    assert!(bench.copied(8_020, 8_000) > 0);
}

/// Views may hold any duration.
#[test]
fn the_longest_round_trip_time_is_no_overflow() {
    let mut scheduler = EarliestArrival::default();
    let mut paths = fast_full();
    paths[1].smoothed_rtt = Duration::MAX;
    paths[1].oldest_in_flight = Some(Time::from_millis(1));
    for ms in [1, 200, 2_000] {
        busy(&mut paths, ms);
        ask(&mut scheduler, ms, &paths, unsent(10_000));
    }
}

/// The first order for copies of 50 kB on a path that delivers so many bytes per millisecond, and when it comes.
fn at_the_end_of_a_path_of(rate: u64) -> Option<(u64, Command)> {
    let mut bench = Bench::new(0);
    (0..30).find_map(|ms| {
        bench.paths[1].bytes_acked = ms * rate;
        let now = Time::from_millis(1_000 + ms);
        bench.paths[0].oldest_in_flight = Some(now - Duration::from_millis(20));
        bench.paths[1].oldest_in_flight = Some(now - Duration::from_millis(30));
        let mut commands = Vec::new();
        bench.scheduler.schedule(&view_at(now, &bench.paths, bench.queue), &mut commands);
        commands.pop().map(|command| (ms, command))
    })
}

#[test]
fn at_the_end_of_a_slow_path_another_carries_the_last_bytes() {
    assert_eq!(at_the_end_of_a_path_of(2_000), None, "25 ms, and 20 for the copies");
    // In 20 ms it delivers 30 of 50 kB itself; of the rest it takes 3 parts, the other path 10.
    let copies = Command::ReinjectNewest { from: PathId(2), to: PathId(1), max_bytes: 15_384 };
    assert_eq!(at_the_end_of_a_path_of(1_500), Some((11, copies)));
    let all = Command::Reinject { from: PathId(2), to: PathId(1), max_bytes: 50_000 };
    assert_eq!(at_the_end_of_a_path_of(100), Some((11, all)));
}

#[test]
fn the_end_is_copied_from_a_path_that_would_be_much_later() {
    let mut bench = Bench::new(0);
    bench.paths[0].bytes_in_flight = 0;
    bench.paths[1] = path(2, 2_000, 0).with(|path| path.bytes_in_flight = 3_000);
    assert_eq!(bench.copied(100, 100), 0, "the application may be about to write more");
    assert_eq!(bench.copied(105, 100), 3_000, "1,970 ms against 20");
    assert_eq!(bench.copied(106, 100), 0, "once");
}

/// A connection whose copies were needless to this extent.
struct Needless(u64);

impl SendQueue for Needless {
    fn segments(&self, _: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {}

    fn datagrams(&self, _: &mut dyn FnMut(&QueuedDatagram) -> ControlFlow<()>) {}

    fn needless_copies(&self) -> u64 {
        self.0
    }
}

#[test]
fn copies_end_with_the_budget() {
    for (needless, expected) in [(0, 50_000), (65_000, 1_500), (70_000, 0)] {
        let mut bench = Bench::new(0);
        bench.at(0, 0);
        bench.paths[0].bytes_acked = 250_000;
        bench.paths[0].oldest_in_flight = Some(Time::from_millis(1_030));
        let view = view_at(Time::from_millis(1_050), &bench.paths, bench.queue);
        let mut commands = Vec::new();
        let queue = Needless(needless);
        bench.scheduler.schedule(&view.with(|view| view.segments = &queue), &mut commands);
        // 64 kB, and 1 % of 250 kB.
        assert_eq!(commands.iter().map(copied).sum::<u64>(), expected, "{needless}");
    }
}

#[test]
fn a_path_with_a_backlog_of_seconds_gets_no_more() {
    let mut bench = Bench::new(10_000_000);
    bench.paths[0].bytes_in_flight = 100_000;
    // Ten bytes per millisecond of 50 kB: five seconds.
    let mut fed = Vec::new();
    for ms in 0..300 {
        bench.paths[0].bytes_acked = ms * 5_000;
        bench.paths[1].bytes_acked = ms * 10;
        let now = Time::from_millis(1_000 + ms);
        bench.paths[1].oldest_in_flight = Some(now - Duration::from_millis(30));
        let decision = bench.scheduler.schedule(&view_at(now, &bench.paths, bench.queue), &mut Vec::new());
        fed.push(skip(decision).is_some());
    }
    assert!(fed[50] && !fed[150] && !fed[299]);
}

/// What a collapsed path holds is not late as long as round trips grow as fast as it waits.
#[test]
fn amid_work_a_backlog_of_seconds_is_copied_at_half_the_rate_of_the_other_path() {
    // 50 kB, of which so many bytes per millisecond are delivered.
    for (rate, expected) in [(10, 33_000), (30, 0)] {
        let mut bench = Bench::new(10_000_000);
        let copies = (0..220).map(|ms| {
            let now = Time::from_millis(1_000 + ms);
            bench.paths[0].bytes_acked = ms * 5_000;
            bench.paths[0].oldest_in_flight = Some(now - Duration::from_millis(20));
            bench.paths[1].bytes_acked = ms * rate;
            bench.paths[1].oldest_in_flight = Some(now - Duration::from_millis(30));
            let mut commands = Vec::new();
            bench.scheduler.schedule(&view_at(now, &bench.paths, bench.queue), &mut commands);
            commands.iter().map(copied).sum::<u64>()
        });
        let copies: Vec<u64> = copies.collect();
        // A rate is known after a tenth of a second; eight datagrams, and ten milliseconds at half of 5 MB/s.
        assert_eq!(copies[..=100].iter().sum::<u64>(), 0, "{rate}");
        let first: u64 = copies[..=111].iter().sum();
        assert_eq!(first, expected, "{rate}");
        assert!(copies.iter().sum::<u64>() <= 50_000, "{rate}");
    }
}

#[test]
fn a_small_message_goes_on_two_paths_unless_the_first_was_just_heard_from() {
    let mask = |heard: Option<u64>, bytes: u64, in_flight: u64| {
        let mut paths = [path(1, 20, 100_000), path(2, 30, 100_000), path(3, 90, 100_000)];
        paths[0].heard_at = heard.map(Time::from_millis);
        paths[0].bytes_in_flight = in_flight;
        // The budget of messages aside, from which all of these would be copied.
        let parameters = EarliestArrivalParameters { budget: 0.0, ..EarliestArrivalParameters::default() };
        match ask(&mut EarliestArrival::with_parameters(parameters), 1_000, &paths, unsent(bytes)) {
            Decision::Send(Assignment { path: PathId(1), copies, .. }) => copies,
            other => panic!("{other:?}"),
        }
    };
    let second = PathMask::NONE.with(1);
    assert_eq!(mask(Some(900), 200, 0), second);
    assert_eq!(mask(None, 1_000, 0), second);
    assert_eq!(mask(Some(994), 200, 0), second, "it may have died in a quarter of a round trip");
    assert_eq!(mask(Some(995), 200, 0), PathMask::NONE);
    assert_eq!(mask(Some(900), 1_001, 0), PathMask::NONE);
    assert_eq!(mask(Some(900), 200, 1_000), PathMask::NONE);
}

#[test]
fn datagrams_wait_only_as_long_as_the_faster_path_needs_for_those_before_them() {
    // The window of the fast path opens with the acknowledgement of its oldest packet.
    let decide = |datagrams: u64, sent_before: u64, slow: u64| {
        let mut paths = [path(1, 20, 0), path(2, slow, 50_000)];
        paths[0].oldest_in_flight = Some(Time::from_millis(100 - sent_before));
        paths[0].rtt_variance = Duration::from_millis(1);
        let queue = QueueView::default().with(|queue| queue.datagrams = datagrams);
        match ask(&mut EarliestArrival::default(), 100, &paths, queue) {
            Decision::Send(assignment) => Some(assignment),
            Decision::Wait(_) => None,
        }
    };
    let one = Some(Assignment::next(PathId(2)).with(|assignment| assignment.max_bytes = 1_000));
    // 40 ms later, and 5 MB/s, each byte counted four times: 50 kB, or 43 and the 5 ms until then.
    assert_eq!(decide(49_000, 20, 60), None);
    assert_eq!(decide(51_000, 20, 60), one);
    assert_eq!(decide(43_000, 15, 60), None);
    assert_eq!(decide(44_500, 15, 60), one);
    // Overdue by four deviations: nobody knows when it opens.
    assert_eq!(decide(1_000, 24, 60), None);
    assert_eq!(decide(1_000, 25, 60), one);
    // Later by no more than half a round trip.
    assert_eq!(decide(1_000, 20, 31), None);
    assert_eq!(decide(1_000, 20, 30), one);
}

/// The second path, of 30 ms, falls silent. While datagrams take another one that is far, it is asked once per round trip.
#[test]
fn a_silent_path_that_datagrams_avoid_is_asked_whether_it_lives() {
    let pings = |queue: QueueView, other: u64| {
        let mut bench = Bench::new(0);
        bench.queue = queue;
        bench.paths[0].smoothed_rtt = Duration::from_millis(other);
        for ms in (0..=50).step_by(5) {
            assert!(bench.at(ms, ms).1.is_empty(), "{ms}: acknowledgements come in");
        }
        let mut asked = Vec::new();
        for ms in 51..=140 {
            let ping = Command::Ping { path: PathId(2) };
            asked.extend(bench.at(ms, 50).1.contains(&ping).then_some(ms));
        }
        asked
    };
    let datagrams = QueueView::default().with(|queue| queue.datagrams = 1_000);
    assert_eq!(pings(datagrams, 46), [66, 96, 126]);
    assert!(pings(datagrams, 45).is_empty(), "the other one is as good");
    assert!(pings(unsent(1_000_000), 46).is_empty(), "copies ask as well");
}
