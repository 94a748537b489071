//! Schedulers that do something unusual: whatever they answer, data that could leave does so soon.

use std::sync::Arc;
use std::time::Duration;

use hawser_cc::NewReno;
use hawser_policy::{
    Ack, Assignment, Command, Commands, CongestionController, ControllerInit, Decision, Interests, Loss,
    ParameterInfo, PathId, PathMask, PolicyInfo, Registry, Scheduler, SchedulerInit, Selection, SendView,
    Siblings, Side, StreamId, Time,
};
use proptest::prelude::*;

use super::pair::{DELAY, Pair, Settings, client_address, transport_with};
use crate::connection::policies::schedule::has_queued;
use crate::{Code, TransportConfig};

/// What a turn of the loop and a wait of the shortest kind take on top of the delay.
const SLACK: Duration = Duration::from_millis(3);

fn with_scheduler<S: Scheduler + 'static>(make: impl Fn() -> S + Send + Sync + 'static) -> Settings {
    let client = transport_with(
        Arc::new(move |_: &SchedulerInit| Box::new(make()) as Box<_>),
        Arc::new(|init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>),
    );
    Settings { client, ..Settings::default() }
}

/// Writes on a new stream and returns how long it took until the server could read it all, at most `limit`.
fn delivery_time(pair: &mut Pair, length: usize, limit: Duration) -> Option<Duration> {
    let (began, id) = (pair.now, pair.write(Side::Client, length));
    let mut read = 0;
    while pair.now.since(began) < limit {
        pair.run(Duration::from_millis(1));
        pair.server().accept_stream(false);
        while let Ok(Some(chunk)) = pair.server().read_chunk(id, 1 << 20) {
            read += chunk.len();
        }
        if read == length {
            return Some(pair.now.since(began));
        }
    }
    None
}

/// Sends on the first path that can, what `choose` says.
struct Scripted<F>(F);

impl<F: FnMut(&SendView<'_>, &mut Commands) -> Decision + Send> Scheduler for Scripted<F> {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        (self.0)(view, commands)
    }
}

fn first_sendable(view: &SendView<'_>, selection: Selection) -> Decision {
    match view.preferred().find(|path| path.sendable() > 0) {
        Some(path) => {
            Decision::Send(Assignment::next(path.id).with(|assignment| assignment.selection = selection))
        }
        None => Decision::Wait(None),
    }
}

fn copies_first(view: &SendView<'_>, _: &mut Commands) -> Decision {
    let copies = view.preferred().any(|path| path.sendable() > 0 && path.copies_queued > 0);
    first_sendable(view, if copies { Selection::Copies } else { Selection::Next })
}

#[test]
fn copies_that_were_acknowledged_meanwhile_do_not_hold_up_new_data() {
    let mut pair = Pair::connected(with_scheduler(|| Scripted(copies_first)));
    let id = pair.write(Side::Client, 3_000);
    pair.run(Duration::from_millis(200));
    let range = crate::connection::frames::SentStream {
        id,
        offset: 0,
        length: 1_000,
        fin: false,
        copy: true,
        round: 0,
    };
    pair.client().paths.get_mut(PathId::ZERO).unwrap().queue_copy(range);
    let took = delivery_time(&mut pair, 1_000, Duration::from_secs(3));
    assert!(took.is_some_and(|took| took <= DELAY + SLACK), "delivered after {took:?}");
}

#[test]
fn a_selection_beyond_the_queue_is_taken_as_its_head() {
    let far = |view: &SendView<'_>, _: &mut Commands| first_sendable(view, Selection::Skip(1 << 30));
    let mut pair = Pair::connected(with_scheduler(move || Scripted(far)));
    let took = delivery_time(&mut pair, 1_000, Duration::from_secs(3));
    assert!(took.is_some_and(|took| took <= DELAY + SLACK), "delivered after {took:?}");
}

#[test]
fn waiting_until_now_is_a_short_wait() {
    let make = || {
        let mut waited = false;
        Scripted(move |view: &SendView<'_>, _: &mut Commands| {
            if !std::mem::replace(&mut waited, view.queue.unsent >= 1_000) && view.queue.unsent >= 1_000 {
                return Decision::Wait(Some(view.now));
            }
            first_sendable(view, Selection::Next)
        })
    };
    let mut pair = Pair::connected(with_scheduler(make));
    pair.run(Duration::from_secs(5));
    let took = delivery_time(&mut pair, 1_000, Duration::from_secs(3));
    assert!(took.is_some_and(|took| took <= DELAY + SLACK), "delivered after {took:?}");
}

#[test]
fn a_scheduler_that_waits_for_nothing_is_asked_again_within_a_probe_timeout() {
    let make = || {
        let mut asked = 0;
        Scripted(move |view: &SendView<'_>, _: &mut Commands| {
            asked += u32::from(view.queue.unsent >= 1_000);
            // Nothing is in flight: no acknowledgement will ever wake it.
            if asked == 1 { Decision::Wait(None) } else { first_sendable(view, Selection::Next) }
        })
    };
    let mut pair = Pair::connected(with_scheduler(make));
    pair.run(Duration::from_secs(5));
    let probe_timeout = pair.client().paths.get(PathId::ZERO).unwrap().recovery.probe_timeout();
    let took = delivery_time(&mut pair, 1_000, Duration::from_secs(3));
    assert!(took.is_some_and(|took| took <= probe_timeout + DELAY + SLACK), "{took:?} of {probe_timeout:?}");
}

/// A window that does not move.
#[derive(Debug)]
pub(super) struct Fixed(pub(super) u64);

impl CongestionController for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn on_ack(&mut self, _: &Ack, _: &Siblings<'_>) {}

    fn on_loss(&mut self, _: &Loss, _: &Siblings<'_>) {}

    fn on_max_datagram_size(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        self.0
    }
}

#[test]
fn a_new_controller_with_a_larger_window_is_used_at_once() {
    let first_only = |view: &SendView<'_>, _: &mut Commands| match view.path(PathId::ZERO) {
        Some(path) if path.sendable() > 0 => Decision::Send(Assignment::next(path.id)),
        _ => Decision::Wait(None),
    };
    let mut settings = with_scheduler(move || Scripted(first_only));
    settings.client.max_mtu = 1_200;
    settings.client = TransportConfig {
        ..transport_with(
            Arc::new(move |_: &SchedulerInit| Box::new(Scripted(first_only)) as Box<_>),
            Arc::new(|_: &ControllerInit| Box::new(Fixed(4_000)) as Box<_>),
        )
    };
    let mut pair = Pair::connected(settings);
    pair.open(1);
    pair.write(Side::Client, 14_000);
    // The window is full, and the other path is free: the scheduler waits.
    pair.run(Duration::from_millis(5));
    let (now, began) = (pair.now, pair.now);
    let mut registry = Registry::new();
    registry.add_controller("fixed", |_| Box::new(Fixed(40_000)));
    pair.client().set_controller(now, PathId::ZERO, &registry, "fixed").expect("it exists");
    pair.run(Duration::from_nanos(1));
    let at_once = pair.datagrams(Side::Client, began).count();
    assert!(at_once >= 1, "nothing left at once");
}

#[test]
fn a_controller_or_path_that_does_not_exist_is_named() {
    let mut pair = Pair::connected(with_scheduler(|| {
        Scripted(|_: &SendView<'_>, _: &mut Commands| Decision::Wait(None))
    }));
    let mut registry = Registry::new();
    let beta = ParameterInfo::number("beta", 0.0..=1.0, 0.7);
    let info = PolicyInfo::new("fixed", "a window that stays").parameter(beta);
    registry.add_controller_with(info, |_, _| Box::new(Fixed(40_000)));
    let now = pair.now;
    let mut set = |path, spec: &str| {
        pair.client().set_controller(now, path, &registry, spec).map_err(|error| error.to_string())
    };
    assert_eq!(set(PathId::ZERO, "fixed,beta=0.8"), Ok(()));
    let expected =
        "there is no congestion controller named \"fixd\" (did you mean \"fixed\"?); known are: fixed";
    assert_eq!(set(PathId::ZERO, "fixd"), Err(expected.to_owned()));
    let expected = "fixed has no parameter \"gamma\"; it has: beta (0 to 1, default 0.7)";
    assert_eq!(set(PathId::ZERO, "fixed,gamma=1"), Err(expected.to_owned()));
    assert_eq!(set(PathId(7), "fixed"), Err(format!("there is no path {}", PathId(7))));
}

#[test]
fn copies_go_to_the_paths_they_were_meant_for_while_another_one_drains() {
    for victim in [PathId(2), PathId(1), PathId::ZERO] {
        let everywhere = |view: &SendView<'_>, commands: &mut Commands| {
            let sendable = view.preferred().find(|path| path.sendable() > 0 && path.copies_queued > 0);
            if let Some(path) = sendable {
                let selection = Selection::Copies;
                return Decision::Send(
                    Assignment::next(path.id).with(|assignment| assignment.selection = selection),
                );
            }
            let Decision::Send(assignment) = copies_first(view, commands) else {
                return Decision::Wait(None);
            };
            let copies = (0..view.paths.len()).fold(PathMask::NONE, PathMask::with);
            Decision::Send(assignment.with(|assignment| assignment.copies = copies))
        };
        let mut pair = Pair::connected(with_scheduler(move || Scripted(everywhere)));
        pair.open(1);
        pair.open(2);
        for _ in 0..5 {
            pair.write(Side::Client, 2_000);
            pair.run(Duration::from_millis(100));
        }
        let now = pair.now;
        pair.client().abandon_path(now, victim, Code::NO_ERROR).unwrap();
        pair.run(Duration::from_millis(25));
        let before = pair.client().stats().stream_bytes_copied;
        pair.write(Side::Client, 8_000);
        pair.run(Duration::from_millis(60));
        let copied = pair.client().stats().stream_bytes_copied - before;
        assert!(copied >= 8_000, "{copied} of 8,000 bytes were copied while {victim:?} drained");
    }
}

/// Keeps 30 kB in flight on path 0, and sends one datagram every 20 ms on path 1.
fn trickle() -> impl FnMut(&SendView<'_>, &mut Commands) -> Decision + Send {
    let mut last = Time::ZERO;
    move |view, _| {
        let second = view.path(PathId(1)).filter(|path| path.sendable() > 0);
        if let Some(path) = second.filter(|_| view.now.since(last) >= Duration::from_millis(20)) {
            last = view.now;
            return Decision::Send(Assignment::next(path.id).with(|assignment| assignment.max_bytes = 1));
        }
        match view.path(PathId::ZERO).filter(|path| path.sendable() > 0 && path.bytes_in_flight < 30_000) {
            Some(path) => {
                Decision::Send(Assignment::next(path.id).with(|assignment| assignment.max_bytes = 1))
            }
            None => Decision::Wait(None),
        }
    }
}

#[test]
fn the_window_of_a_path_on_which_the_scheduler_trickles_does_not_grow() {
    let mut pair = Pair::connected(with_scheduler(|| Scripted(trickle())));
    pair.open(1);
    let began = pair.now;
    assert_eq!(
        delivery_time(&mut pair, 6 << 20, Duration::from_secs(3)),
        None,
        "there is more to send than that"
    );
    let on_second = |sent: &&super::pair::Sent| sent.tuple.local == client_address(1);
    let trickle = pair.datagrams(Side::Client, began).filter(on_second).count();
    assert!((100..=400).contains(&trickle), "{trickle} datagrams");
    let windows = [0, 1].map(|id| pair.client().paths.get(PathId(id)).unwrap().recovery.window());
    assert!(windows[0] <= 4 * 30_000, "30 kB were in flight, and the window grew to {} bytes", windows[0]);
    assert!(
        windows[1] <= 2 * 14_720,
        "a datagram was in flight, and the window grew to {} bytes",
        windows[1]
    );
}

#[test]
fn whatever_a_scheduler_commands_the_connection_goes_on() {
    let nonsense = |view: &SendView<'_>, commands: &mut Commands| {
        for n in 0..1_000 {
            commands.push(Command::Reinject { from: PathId(n), to: PathId(99), max_bytes: u64::MAX });
        }
        first_sendable(view, Selection::Next)
    };
    let mut pair = Pair::connected(with_scheduler(move || Scripted(nonsense)));
    let took = delivery_time(&mut pair, 20_000, Duration::from_secs(3));
    assert!(took.is_some_and(|took| took <= 6 * DELAY), "delivered after {took:?}");
}

/// What a scheduler of the property test does with its turns, over and over.
#[derive(Clone, Debug)]
enum Turn {
    Send { path: usize, selection: Selection, max_bytes: u64, copies: u64 },
    Wait(Option<u64>),
    Reinject { from: u32, to: u32 },
    Ping(u32),
}

fn turn() -> impl Strategy<Value = Turn> {
    let selection = prop_oneof![
        4 => Just(Selection::Next),
        1 => (0..200_000u64).prop_map(Selection::Skip),
        1 => Just(Selection::Copies),
        1 => Just(Selection::Datagrams),
        1 => (0..8u64, 0..50_000u64).prop_map(|(stream, start)| {
            Selection::Range { stream: StreamId(stream * 4 + 2), start, end: start + 3_000 }
        }),
    ];
    prop_oneof![
        6 => (0..4usize, selection, prop_oneof![Just(1), Just(u64::MAX)], 0..8u64)
            .prop_map(|(path, selection, max_bytes, copies)| Turn::Send { path, selection, max_bytes, copies }),
        2 => prop_oneof![Just(None), (0..50u64).prop_map(Some)].prop_map(Turn::Wait),
        1 => (0..4u32, 0..4u32).prop_map(|(from, to)| Turn::Reinject { from, to }),
        1 => (0..4u32).prop_map(Turn::Ping),
    ]
}

/// Repeats its turns, but for every third decision, which is a sane one: the point is that nothing else is needed.
struct Erratic {
    turns: Vec<Turn>,
    asked: usize,
}

impl Scheduler for Erratic {
    fn name(&self) -> &'static str {
        "erratic"
    }

    fn interests(&self) -> Interests {
        Interests::IDLE
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        self.asked += 1;
        let turn = self.turns.get(self.asked % (self.turns.len() + 1));
        match turn {
            Some(Turn::Send { path, selection, max_bytes, copies }) => Decision::Send(
                Assignment::next(view.paths.get(*path).map_or(PathId(99), |path| path.id)).with(
                    |assignment| {
                        assignment.selection = *selection;
                        assignment.max_bytes = *max_bytes;
                        assignment.copies = PathMask(*copies);
                        assignment.tag = hawser_policy::Tag(7);
                    },
                ),
            ),
            Some(Turn::Wait(after)) => Decision::Wait(
                after.map(|ms| view.now + Duration::from_millis(ms) - Duration::from_millis(5)),
            ),
            Some(Turn::Reinject { from, to }) => {
                commands.push(Command::Reinject { from: PathId(*from), to: PathId(*to), max_bytes: 10_000 });
                first_sendable(view, Selection::Next)
            }
            Some(Turn::Ping(path)) => {
                commands.push(Command::Ping { path: PathId(*path) });
                first_sendable(view, Selection::Next)
            }
            None => first_sendable(view, Selection::Next),
        }
    }
}

/// Whenever data is queued and a path could send it, something is scheduled to happen within a probe timeout.
fn assert_not_stalled(pair: &mut Pair) {
    let now = pair.now;
    let client = pair.client();
    let could_send = client.paths.iter().any(|path| path.can_send_data(now));
    if client.is_closed()
        || !could_send
        || !has_queued(&client.paths, &client.streams, &client.extensions.datagrams)
    {
        return;
    }
    let patience = client.largest_probe_timeout() * 2 + Duration::from_millis(1);
    let deadline = client.poll_timeout();
    assert!(
        deadline.is_some_and(|at| at <= now + patience),
        "nothing happens until {deadline:?}, it is {now:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_a_scheduler_answers_queued_data_arrives(
        turns in prop::collection::vec(turn(), 1..8),
        lengths in prop::collection::vec(1..40_000usize, 1..4),
        loses in any::<bool>(),
    ) {
        let make = move || Erratic { turns: turns.clone(), asked: 0 };
        let mut pair = Pair::connected(with_scheduler(make));
        pair.open(1);
        pair.open(2);
        if loses {
            // Every fourth datagram of the client, by its content.
            pair.lose = |sent| sent.by.is_client() && sent.payload.iter().fold(0u8, |sum, b| sum ^ b) % 4 == 0;
        }
        for length in lengths {
            let id = pair.write(Side::Client, length);
            let (began, mut read) = (pair.now, 0);
            while read < length {
                pair.run(Duration::from_millis(5));
                assert_not_stalled(&mut pair);
                pair.server().accept_stream(false);
                while let Ok(Some(chunk)) = pair.server().read_chunk(id, 1 << 20) {
                    read += chunk.len();
                }
                prop_assert!(pair.now.since(began) < Duration::from_secs(60), "{read} of {length} bytes arrived");
            }
        }
        prop_assert_eq!(pair.client.closed(), None);
    }
}
