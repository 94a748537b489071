//! What holds for every scheduler. How they compare over links is measured in `hawser-sim` (`tests/schedulers.rs`).

use std::time::Duration;

use hawser_policy::{
    Decision, PathId, PathState, PathStatus, PathView, PolicyKind, QueueView, Registry, Scheduler,
    SchedulerInit, Selection, Side, Time,
};
use proptest::prelude::*;

use crate::testing::view_at;

fn registry() -> Registry {
    let mut registry = Registry::new();
    crate::register(&mut registry);
    registry
}

fn build(name: &str) -> Box<dyn Scheduler> {
    registry().scheduler(name).unwrap().build(&SchedulerInit { side: Side::Client, seed: 0 })
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

fn any_path() -> impl Strategy<Value = PathView> {
    let state = prop_oneof![
        6 => Just(PathState::Active), 1 => Just(PathState::Suspect), 1 => Just(PathState::Validating)
    ];
    let status = prop_oneof![3 => Just(PathStatus::Available), 1 => Just(PathStatus::Backup)];
    let delays = (duration(), duration(), prop::option::of(duration()), any::<bool>());
    let volumes = (amount(), amount(), amount(), 0u64..3, amount());
    (state, status, delays, volumes, prop_oneof![3 => 1_200u16..1_500, 1 => any::<u16>()]).prop_map(
        |(state, status, (rtt, variance, one_way, sampled), (window, flight, budget, copies, acked), mtu)| {
            PathView {
                state,
                status,
                smoothed_rtt: rtt,
                rtt_variance: variance,
                one_way_delay: one_way,
                has_rtt_sample: sampled,
                congestion_window: window,
                bytes_in_flight: flight,
                pacing_budget: budget,
                copies_queued: copies,
                bytes_acked: acked,
                max_datagram_size: mtu,
                ..crate::testing::path(0, 20, 0)
            }
        },
    )
}

/// Up to five paths with distinct ids, and the same in another order.
fn any_paths() -> impl Strategy<Value = (Vec<PathView>, Vec<PathView>)> {
    prop::collection::vec(any_path(), 0..6)
        .prop_map(|mut paths| {
            for (id, path) in paths.iter_mut().enumerate() {
                path.id = PathId(id as u32);
            }
            paths
        })
        .prop_flat_map(|paths| (Just(paths.clone()), Just(paths).prop_shuffle()))
}

fn any_queue() -> impl Strategy<Value = QueueView> {
    (amount(), amount(), amount()).prop_map(|(unsent, retransmit, datagrams)| QueueView {
        repair: 0,
        unsent,
        retransmit: retransmit / 8,
        datagrams: datagrams / 16,
        datagram_count: datagrams.div_ceil(16 * 1_000),
        connection_window_left: unsent,
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

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Random views, one after the other: nobody panics, nobody sends where it cannot, nobody skips the whole queue,
    /// and the order of the paths in the view does not matter.
    #[test]
    fn decisions_are_possible_and_independent_of_order(
        steps in prop::collection::vec((any_paths(), any_queue(), 0u64..u64::MAX / 2), 1..20)
    ) {
        for name in registry().names(PolicyKind::Scheduler) {
            let (mut first, mut second) = (build(name), build(name));
            for ((paths, shuffled), queue, now) in &steps {
                let now = Time::from_nanos(*now);
                let decision = first.schedule(&view_at(now, paths, *queue), &mut Vec::new());
                let other = second.schedule(&view_at(now, shuffled, *queue), &mut Vec::new());
                prop_assert_eq!(meaning(decision, paths), meaning(other, shuffled), "{}", name);
                let Decision::Send(assignment) = decision else { continue };
                let view = view_at(now, paths, *queue);
                let path = view.preferred().find(|path| path.id == assignment.path);
                prop_assert!(path.is_some_and(|path| path.sendable() > 0), "{}: {:?}", name, assignment);
                prop_assert!(assignment.max_bytes > 0, "{}", name);
                match assignment.selection {
                    Selection::Skip(bytes) => prop_assert!(bytes < queue.unsent, "{}", name),
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
