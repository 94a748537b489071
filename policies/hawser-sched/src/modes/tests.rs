use std::ops::ControlFlow;
use std::time::Duration;

use hawser_policy::{
    Assignment, Command, Commands, Decision, FeatureId, Message, MessageOrigin, PathId, PathMask, PathView,
    QueueView, Segment, Selection, SendQueue, SendView, StreamId, Time,
};

use super::*;
use crate::testing::{next, path, view, view_at};

/// Segments of 10 kB, each of its own stream: its class and whether it is a retransmission.
struct Queue(Vec<(u32, bool)>);

const PIECE: u64 = 10_000;

impl SendQueue for Queue {
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {
        for (stream, (class, retransmission)) in (0..).map(|n| StreamId(4 * n)).zip(&self.0) {
            let plain = Segment::plain(stream, 500..500 + PIECE);
            let segment = plain.with(|segment| {
                segment.class = *class;
                segment.retransmission = *retransmission;
            });
            if visit(&segment).is_break() {
                return;
            }
        }
    }
}

/// A queue of a connection that has copied so much.
struct Copied(u64);

impl SendQueue for Copied {
    fn segments(&self, _: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {}

    fn copied_bytes(&self) -> u64 {
        self.0
    }
}

impl Queue {
    fn view<'a>(&'a self, paths: &'a [PathView]) -> SendView<'a> {
        let bytes = |again| PIECE * self.0.iter().filter(|(_, is_again)| *is_again == again).count() as u64;
        let queue = QueueView::default().with(|queue| {
            queue.unsent = bytes(false);
            queue.retransmit = bytes(true);
        });
        SendView::new(Time::ZERO, paths, queue, self)
    }
}

fn modes(mode: Mode) -> Modes {
    Modes::new(ModesParameters { mode, ..ModesParameters::default() })
}

fn tell(modes: &mut Modes, origin: MessageOrigin, message: &Message) {
    let event = Event::Message { now: Time::ZERO, origin, message };
    modes.on_event(&event, &mut Commands::new());
}

fn ask(modes: &mut Modes, view: &SendView<'_>) -> Decision {
    modes.schedule(view, &mut Commands::new())
}

/// The message for one mode is applied by the next decision, and only if the application of this end says so.
#[test]
fn the_application_changes_the_mode_of_a_connection_that_runs() {
    let paths = [path(1, 20, 100_000), path(2, 60, 100_000)];
    let everywhere = Decision::Send(
        Assignment::next(PathId(1)).with(|assignment| assignment.copies = PathMask::NONE.with(1)),
    );
    let mut modes = modes(Mode::Aggregate);
    assert_eq!(ask(&mut modes, &view(&paths, 500_000)), next(1));
    tell(&mut modes, MessageOrigin::Peer, &Mode::Redundant.for_connection());
    assert_eq!(ask(&mut modes, &view(&paths, 500_000)), next(1), "a peer has no say");
    tell(&mut modes, MessageOrigin::Application, &Mode::Redundant.for_connection());
    assert_eq!(ask(&mut modes, &view(&paths, 500_000)), everywhere);
    for payload in [vec![], vec![9], vec![0, 1], vec![9, 0, 0, 0, 1], vec![0; 6]] {
        tell(&mut modes, MessageOrigin::Application, &Message::latest(FeatureId::MODE, payload));
    }
    assert_eq!(ask(&mut modes, &view(&paths, 500_000)), everywhere, "nonsense changes nothing");
    tell(&mut modes, MessageOrigin::Application, &Mode::Aggregate.for_connection());
    assert_eq!(ask(&mut modes, &view(&paths, 500_000)), next(1));
}

/// 10 kB of class 7, which is redundant, lie behind 130 kB of bulk data, which is no message. While the fast path is full these wait, as the default has
/// it, but class 7 leaves on the slow path, and is copied to the fast one.
#[test]
fn a_class_does_not_wait_for_what_another_class_waits_for() {
    let queue = Queue([vec![(0, false); 13], vec![(7, false)]].concat());
    let mut modes = modes(Mode::Aggregate);
    tell(&mut modes, MessageOrigin::Application, &Mode::Redundant.for_class(7));
    let full = [path(1, 20, 0), path(2, 60, 100_000)];
    let class = Decision::Send(Assignment::next(PathId(2)).with(|assignment| {
        assignment.selection = Selection::Range { stream: StreamId(52), start: 500, end: 500 + PIECE };
        assignment.max_bytes = PIECE;
        assignment.copies = PathMask::NONE.with(0);
    }));
    assert_eq!(ask(&mut modes, &queue.view(&full)), class);
    // With room on the fast path the head goes first, and no further than it reaches.
    let free = [path(1, 20, 100_000), path(2, 60, 100_000)];
    let head =
        Decision::Send(Assignment::next(PathId(1)).with(|assignment| assignment.max_bytes = 13 * PIECE));
    assert_eq!(ask(&mut modes, &queue.view(&free)), head);
    tell(&mut modes, MessageOrigin::Application, &Mode::forget_class(7));
    assert!(matches!(ask(&mut modes, &queue.view(&full)), Decision::Wait(_)));
}

/// What was lost comes first, whatever its class.
#[test]
fn a_lost_piece_goes_by_the_mode_of_its_class() {
    let queue = Queue(vec![(7, true), (0, false)]);
    let paths = [path(1, 20, 100_000), path(2, 60, 100_000)];
    let parameters = ModesParameters { class: Some((7, Mode::Redundant)), ..ModesParameters::default() };
    let expected = Assignment::next(PathId(1)).with(|assignment| {
        assignment.max_bytes = PIECE;
        assignment.copies = PathMask::NONE.with(1);
    });
    assert_eq!(ask(&mut Modes::new(parameters), &queue.view(&paths)), Decision::Send(expected));
}

/// A message of 30 kB has a copy on the second path, a queue of 200 kB has not.
#[test]
fn low_latency_copies_messages_within_its_budget() {
    let mut paths = [path(1, 20, 100_000), path(2, 60, 100_000)];
    let copied = |bytes| {
        let copies = PathMask::NONE.with(1);
        Decision::Send(Assignment::next(PathId(1)).with(|assignment| {
            assignment.max_bytes = bytes;
            assignment.copies = copies;
        }))
    };
    let parameters = ModesParameters { mode: Mode::LowLatency, budget: 0.5, ..ModesParameters::default() };
    let mut modes = Modes::new(parameters);
    let mut asked = |paths: &[PathView], unsent: u64, copied: u64| {
        let queue = Copied(copied);
        ask(&mut modes, &view(paths, unsent).with(|view| view.segments = &queue))
    };
    assert_eq!(asked(&paths, 200_000, 0), next(1));
    for _ in 0..9 {
        assert_eq!(asked(&paths, 30_000, 0), copied(30_000), "copies that do not leave cost nothing");
    }
    // 8 of the 128 kB that it began with are left; half of 40 kB is added, of which some waits.
    assert_eq!(asked(&paths, 30_000, 120_000), copied(8_000));
    assert_eq!(asked(&paths, 30_000, 128_000), next(1));
    paths[0].bytes_sent = 40_000;
    assert_eq!(asked(&paths, 30_000, 128_000), copied(20_000));
    paths[1].copies_queued = 5_000;
    assert_eq!(asked(&paths, 30_000, 128_000), copied(15_000));
}

/// Paths of equal delay share a message: the emptier one takes what makes them even. An unlike path gets a copy only.
#[test]
fn low_latency_shares_a_message_among_paths_of_equal_delay() {
    let asked = |in_flight: [u64; 2], rtt_ms: [u64; 2], unsent: u64| {
        let mut paths = [path(1, rtt_ms[0], 100_000), path(2, rtt_ms[1], 100_000)];
        (paths[0].bytes_in_flight, paths[1].bytes_in_flight) = (in_flight[0], in_flight[1]);
        match ask(&mut modes(Mode::LowLatency), &view(&paths, unsent)) {
            Decision::Send(Assignment { path, max_bytes, copies, .. }) => (path, max_bytes, copies),
            Decision::Wait(_) => panic!("there is room"),
        }
    };
    let (first, second) = (PathMask::NONE.with(0), PathMask::NONE.with(1));
    assert_eq!(asked([0, 0], [20, 21], 12_000), (PathId(1), 6_000, second));
    assert_eq!(asked([6_000, 0], [20, 21], 6_000), (PathId(2), 6_000, first));
    assert_eq!(asked([4_000, 0], [20, 21], 10_000), (PathId(2), 7_000, first));
    assert_eq!(asked([0, 0], [20, 40], 12_000), (PathId(1), 12_000, second));
}

/// New data takes the room of both paths, also where it would rather wait for the fast one; copies have what is left.
#[test]
fn low_latency_sends_what_is_new_before_copies() {
    let asked = |fast: [u64; 2], slow: [u64; 2], unsent: u64| {
        let mut paths = [path(1, 20, fast[0]), path(2, 60, slow[0])];
        (paths[0].copies_queued, paths[1].copies_queued) = (fast[1], slow[1]);
        ask(&mut modes(Mode::LowLatency), &view(&paths, unsent))
    };
    let send = |id, selection, max_bytes, copies| {
        Decision::Send(Assignment::next(PathId(id)).with(|assignment| {
            assignment.selection = selection;
            assignment.max_bytes = max_bytes;
            assignment.copies = copies;
        }))
    };
    let on = |at| PathMask::NONE.with(at);
    assert_eq!(asked([50_000, 9_000], [50_000, 0], 30_000), send(1, Selection::Next, 30_000, on(1)));
    assert_eq!(asked([0, 0], [50_000, 9_000], 30_000), send(2, Selection::Next, 30_000, on(0)));
    assert_eq!(asked([0, 0], [50_000, 0], 150_000), Decision::Wait(None), "no message");
    // The budget is used up by what waits: copies first, then nothing.
    assert_eq!(
        asked([0, 0], [50_000, 128_000], 30_000),
        send(2, Selection::Copies, u64::MAX, PathMask::NONE)
    );
    assert_eq!(asked([0, 128_000], [50_000, 0], 30_000), Decision::Wait(None));
}

/// A path that is left out is better than none for a copy: requests whose answers are late arrive in time.
#[test]
fn low_latency_copies_to_a_path_that_is_silent() {
    let mut modes = modes(Mode::LowLatency);
    let mut paths = [path(1, 20, 50_000), path(2, 60, 99_000)];
    paths[1].oldest_in_flight = Some(Time::ZERO);
    ask(&mut modes, &view(&paths, 0));
    let queue = QueueView::default().with(|queue| queue.unsent = 200);
    let decision = ask(&mut modes, &view_at(Time::from_millis(500), &paths, queue));
    let copies = PathMask::NONE.with(1);
    assert_eq!(
        decision,
        Decision::Send(Assignment::next(PathId(1)).with(|assignment| {
            assignment.max_bytes = 200;
            assignment.copies = copies;
        }))
    );
}

/// The path in use falls silent: its acknowledgements are due after 20 ms, and missing for longer than a probe timeout. What was
/// in flight is copied, and the other path keeps the work when the first one answers.
#[test]
fn backup_uses_one_path_until_it_falls_silent() {
    let mut modes = modes(Mode::Backup);
    let mut commands = Commands::new();
    let full = [path(1, 20, 0), path(2, 60, 100_000)];
    let at = |millis| Time::ZERO + Duration::from_millis(millis);
    let queue = QueueView::default().with(|queue| queue.unsent = 500_000);
    let waits = modes.schedule(&view_at(at(0), &full, queue), &mut commands);
    assert!(matches!(waits, Decision::Wait(_)), "the other path stands by: {waits:?}");
    let mut silent = full;
    silent[0].oldest_in_flight = Some(at(0));
    assert!(matches!(
        modes.schedule(&view_at(at(1), &silent, queue), &mut commands),
        Decision::Wait(Some(_))
    ));
    assert!(commands.is_empty());
    assert_eq!(modes.schedule(&view_at(at(150), &silent, queue), &mut commands), next(2));
    assert_eq!(commands, [Command::Reinject { from: PathId(1), to: PathId(2), max_bytes: 100_000 }]);
    let well = [path(1, 20, 100_000).with(|path| path.bytes_acked = 1_000), path(2, 60, 100_000)];
    assert_eq!(modes.schedule(&view_at(at(200), &well, queue), &mut Commands::new()), next(2));
    let gone = [path(1, 20, 100_000)];
    assert_eq!(modes.schedule(&view_at(at(210), &gone, queue), &mut Commands::new()), next(1));
}
