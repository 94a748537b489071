//! What holds for every scheduler. How they compare over links is measured in `hawser-sim` (`tests/schedulers.rs`).

use std::ops::Range;
use std::time::Duration;

use hawser_policy::{
    Decision, Event, Feedback, LimitedBy, PacketReport, PacketSent, PathChange, PathId, PathState,
    PathStatus, PathView, PolicyKind, QueueView, Rate, Registry, Scheduler, SchedulerInit, Selection, Side,
    StreamId, StreamRange, Tag, Time,
};
use proptest::prelude::*;

use crate::testing::view_at;

fn registry() -> Registry {
    let mut registry = Registry::new();
    crate::register(&mut registry);
    registry
}

fn build(name: &str) -> Box<dyn Scheduler> {
    registry().scheduler(name).unwrap().build(&SchedulerInit::new(Side::Client, 0))
}

#[test]
fn registered_names_are_those_the_schedulers_give() {
    for name in registry().names(PolicyKind::Scheduler) {
        assert_eq!(build(name).name(), name);
    }
    assert_eq!(build(crate::DEFAULT).name(), crate::EarliestArrival::NAME);
}

/// The parameters of a spec reach the scheduler that it names.
#[test]
fn a_turn_of_round_robin_is_a_quantum_of_datagrams() {
    for (spec, expected) in [("roundrobin", 8_000), ("round-robin,quantum=3", 3_000)] {
        let paths = [crate::testing::path(1, 20, 100_000)];
        match build(spec).schedule(&crate::testing::view(&paths, 1 << 20), &mut Vec::new()) {
            Decision::Send(assignment) => assert_eq!(assignment.max_bytes, expected, "{spec}"),
            other => panic!("{spec}: {other:?}"),
        }
    }
}

/// A controller by rate has a window of two round trips, of which its pacer lets one out: planners plan as with the window that is used.
#[test]
fn planners_count_what_the_pacer_lets_out() {
    // A quick path that is full, and a slow one with room.
    let paths = |windows: u64| {
        [(1, 20, 0), (2, 200, 50_000)].map(|(id, rtt, room)| {
            crate::testing::path(id, rtt, room).with(|path| {
                path.pacing_rate = Rate::from_bytes_over(path.congestion_window, path.smoothed_rtt);
                path.pacing_budget = room;
                path.congestion_window *= windows;
            })
        })
    };
    for name in ["blest", "daps", "dpsaf", "ecf", "edpf", "late", "mams", "otias", "sedpf", "stms", "sttf"] {
        let decide =
            |windows| build(name).schedule(&crate::testing::view(&paths(windows), 3 << 20), &mut Vec::new());
        assert_eq!(decide(2), decide(1), "{name}");
    }
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0u64..400).prop_map(Duration::from_millis),
        1 => Just(Duration::ZERO),
        1 => Just(Duration::MAX),
    ]
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..300_000, 1 => Just(0), 1 => Just(u64::MAX / 4)]
}

pub(crate) fn any_path() -> impl Strategy<Value = PathView> {
    let state = prop_oneof![
        6 => Just(PathState::Active), 1 => Just(PathState::Suspect), 1 => Just(PathState::Validating)
    ];
    let status = prop_oneof![3 => Just(PathStatus::Available), 1 => Just(PathStatus::Backup)];
    let delays = (duration(), duration(), prop::option::of(duration()), any::<bool>());
    let volumes = (amount(), amount(), amount(), 0u64..3, amount());
    (state, status, delays, volumes, prop_oneof![3 => 1_200u16..1_500, 1 => any::<u16>()]).prop_map(
        |(state, status, (rtt, variance, one_way, sampled), (window, flight, budget, copies, acked), mtu)| {
            crate::testing::path(0, 20, 0).with(|path| {
                path.state = state;
                path.status = status;
                path.smoothed_rtt = rtt;
                path.rtt_variance = variance;
                path.one_way_delay = one_way;
                path.has_rtt_sample = sampled;
                path.congestion_window = window;
                path.bytes_in_flight = flight;
                path.pacing_budget = budget;
                path.copies_queued = copies;
                path.bytes_acked = acked;
                path.bytes_sent = acked;
                path.oldest_in_flight = (flight > 0).then_some(Time::ZERO);
                path.pacing_rate = Rate::from_bits_per_second(budget);
                path.delivery_rate = (acked > 0).then(|| Rate::from_bits_per_second(acked));
                path.loss_ppm = copies as u32 * 500_000;
                path.in_slow_start = acked % 2 == 0;
                path.max_datagram_size = mtu;
            })
        },
    )
}

/// Up to sixteen paths with distinct ids, and the same in another order. From one view to the next some of them vanish.
fn any_paths() -> impl Strategy<Value = (Vec<PathView>, Vec<PathView>)> {
    prop::collection::vec(prop::option::of(any_path()), 0..17)
        .prop_map(|paths| {
            let present = paths.into_iter().enumerate().filter_map(|(id, path)| Some((id, path?)));
            present.map(|(id, path)| path.with(|path| path.id = PathId(id as u32))).collect::<Vec<_>>()
        })
        .prop_flat_map(|paths| (Just(paths.clone()), Just(paths).prop_shuffle()))
}

/// What happens to a connection between two questions, on any path, whether it exists or not.
#[derive(Clone, Debug)]
enum Happening {
    Sent(u32, u64, u64),
    Acked(u32, u64, u64, Duration, Range<u64>),
    Lost(u32, u64, u64),
    Path(u32, PathChange),
    Quality(f64),
}

fn any_happening() -> impl Strategy<Value = Happening> {
    let change = prop_oneof![
        Just(PathChange::Established),
        Just(PathChange::Suspect),
        Just(PathChange::Recovered),
        Just(PathChange::Abandoned),
        Just(PathChange::Status(PathStatus::Backup)),
    ];
    let packet = || (0u32..16, 0u64..1_000, 0u64..40);
    prop_oneof![
        packet().prop_map(|(path, number, tag)| Happening::Sent(path, number, tag)),
        (packet(), duration(), 0u64..100_000, 0u64..3_000).prop_map(
            |((path, number, tag), age, start, length)| {
                Happening::Acked(path, number, tag, age, start..start + length)
            }
        ),
        packet().prop_map(|(path, number, tag)| Happening::Lost(path, number, tag)),
        (0u32..16, change).prop_map(|(path, change)| Happening::Path(path, change)),
        prop_oneof![Just(f64::NAN), Just(f64::INFINITY), -1.0..1e6].prop_map(Happening::Quality),
    ]
}

/// Tells a scheduler, if it asked for such events.
fn happen(scheduler: &mut dyn Scheduler, now: Time, happening: &Happening) {
    let report = |path, packet_number, tag, sent_at, ranges| {
        PacketReport::default().with(|report| {
            report.now = now;
            report.path = PathId(path);
            report.packet_number = packet_number;
            report.bytes = 1_200;
            report.sent_at = sent_at;
            report.bytes_in_flight_at_send = 1_200;
            report.tag = Tag(tag);
            report.ranges = ranges;
        })
    };
    let mut tell = |event: &Event<'_>| {
        if scheduler.interests().contains(event.interest()) {
            scheduler.on_event(event, &mut Vec::new());
        }
    };
    match happening {
        Happening::Sent(path, packet_number, tag) => {
            tell(&Event::Sent(&PacketSent::default().with(|sent| {
                sent.now = now;
                sent.path = PathId(*path);
                sent.packet_number = *packet_number;
                sent.bytes = 1_200;
                sent.bytes_in_flight = 1_200;
                sent.tag = Tag(*tag);
                sent.ranges = &[];
                sent.limited_by = if tag % 7 == 0 { LimitedBy::Application } else { LimitedBy::Nothing };
            })))
        }
        Happening::Acked(path, number, tag, age, range) => {
            let ranges = [StreamRange { stream: StreamId(0), range: range.clone(), copy: tag % 5 == 0 }];
            tell(&Event::Acked(&report(*path, *number, *tag, now - *age, &ranges)));
        }
        Happening::Lost(path, number, tag) => {
            tell(&Event::Lost(&report(*path, *number, *tag, Time::ZERO, &[])));
        }
        Happening::Path(path, change) => {
            tell(&Event::Path { now, path: PathId(*path), change: *change });
        }
        Happening::Quality(value) => {
            tell(&Event::Feedback { now, feedback: &Feedback::Quality { value: *value } });
        }
    }
}

fn any_queue() -> impl Strategy<Value = QueueView> {
    (amount(), amount(), amount()).prop_map(|(unsent, retransmit, datagrams)| {
        QueueView::default().with(|queue| {
            queue.repair = 0;
            queue.unsent = unsent;
            queue.retransmit = retransmit / 8;
            queue.datagrams = datagrams / 16;
            queue.datagram_count = datagrams.div_ceil(16 * 1_000);
            queue.connection_window_left = unsent;
        })
    })
}

/// A decision without positions: what is sent where, and the ids of the copies.
fn meaning(decision: Decision, paths: &[PathView]) -> (Decision, Vec<PathId>) {
    let Decision::Send(mut assignment) = decision else { return (decision, Vec::new()) };
    let picked = paths.iter().enumerate().filter(|(position, _)| assignment.copies.contains(*position));
    let mut copies: Vec<_> = picked.map(|(_, path)| path.id).collect();
    copies.sort();
    assignment.copies = hawser_policy::PathMask::NONE;
    (Decision::Send(assignment), copies)
}

fn step_of_time() -> impl Strategy<Value = Duration> {
    prop_oneof![4 => (0u64..300_000).prop_map(Duration::from_micros), 1 => Just(Duration::from_secs(1 << 30))]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Random views, one after the other: nobody panics, nobody sends where it cannot, nobody skips the whole queue,
    /// and the order of the paths in the view does not matter.
    #[test]
    fn decisions_are_possible_and_independent_of_order(
        steps in prop::collection::vec(
            (any_paths(), any_queue(), step_of_time(), prop::collection::vec(any_happening(), 0..6)), 1..20
        )
    ) {
        let registry = registry();
        let more = [
            "ftrl-wrr,guard=on", "peekaboo,guard=on", "modes,mode=low-latency", "modes,mode=redundant",
            "modes,mode=backup", "modes,class=7,class_mode=low-latency",
        ];
        for name in registry.names(PolicyKind::Scheduler).chain(more) {
            let (mut first, mut second) = (build(name), build(name));
            let mut now = Time::ZERO;
            for ((paths, shuffled), queue, passed, happenings) in &steps {
                now += *passed;
                for happening in happenings {
                    happen(&mut *first, now, happening);
                    happen(&mut *second, now, happening);
                }
                let decision = first.schedule(&view_at(now, paths, *queue), &mut Vec::new());
                let other = second.schedule(&view_at(now, shuffled, *queue), &mut Vec::new());
                prop_assert_eq!(meaning(decision, paths), meaning(other, shuffled), "{}", name);
                let Decision::Send(assignment) = decision else { continue };
                let view = view_at(now, paths, *queue);
                let path = view.preferred().find(|path| path.id == assignment.path);
                prop_assert!(path.is_some_and(|path| path.sendable() > 0), "{}: {:?}", name, assignment);
                prop_assert!(assignment.max_bytes > 0, "{}", name);
                match assignment.selection {
                    Selection::Skip(bytes) | Selection::Unsent(bytes) => prop_assert!(bytes < queue.unsent, "{}", name),
                    Selection::Copies => prop_assert!(path.is_some_and(|path| path.copies_queued > 0)),
                    Selection::Range { start, end, .. } => prop_assert!(start < end, "{}", name),
                    Selection::Datagrams => prop_assert!(queue.datagrams > 0, "{}", name),
                    Selection::Repair => prop_assert!(queue.repair > 0, "{}", name),
                    Selection::Next => {}
                }
            }
        }
    }
}
