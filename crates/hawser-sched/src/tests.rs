//! What holds for every scheduler, and how they compare over the model network.

use std::time::Duration;

use hawser_policy::{
    Decision, PathId, PathState, PathStatus, PathView, PolicyKind, QueueView, Registry, Scheduler,
    SchedulerInit, Selection, Side, Time,
};
use proptest::prelude::*;

use crate::testing::network::{LinkSpec, Network, Outcome, link};
use crate::testing::view_at;

fn registry() -> Registry {
    let mut registry = Registry::new();
    crate::register(&mut registry);
    registry
}

fn build(name: &str) -> Box<dyn Scheduler> {
    registry().scheduler(name).unwrap().build(&SchedulerInit { side: Side::Client, seed: 0 })
}

fn transfer(name: &str, links: &[LinkSpec], bytes: u64, buffer: u64) -> Outcome {
    Network::transfer(build(name).as_mut(), links, bytes, buffer)
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

const MEGABYTE: u64 = 1_000_000;

/// The mark of the project: 50 MB over 100 Mbit/s, 20 ms and 20 Mbit/s, 60 ms. The framing allows 96 %; slow start and
/// CUBIC's dips cost the rest.
#[test]
fn unequal_links_add_up() {
    let links = [link(100, 20), link(20, 60)];
    for name in ["default", "minrtt", "ecf", "stms", "roundrobin"] {
        let aggregation = transfer(name, &links, 50 * MEGABYTE, 4 * MEGABYTE).aggregation(&links);
        assert!(aggregation >= 0.90, "{name}: {aggregation:.3}");
    }
}

#[test]
fn equal_links_add_up() {
    let links = [link(50, 20), link(50, 20)];
    let outcome = transfer("default", &links, 50 * MEGABYTE, 4 * MEGABYTE);
    assert!(outcome.aggregation(&links) >= 0.93, "{outcome:?}");
}

/// A send buffer of less than the gap looks like the end of the data at any moment. ECF and STMS fall back to one path
/// there; the default must not.
#[test]
fn the_default_aggregates_from_a_small_send_buffer() {
    let links = [link(100, 20), link(20, 60)];
    for buffer in [MEGABYTE / 10, MEGABYTE / 2] {
        let outcome = transfer("default", &links, 50 * MEGABYTE, buffer);
        assert!(outcome.aggregation(&links) >= 0.90, "{buffer}: {outcome:?}");
    }
}

#[test]
fn later_bytes_on_the_slow_path_arrive_in_order() {
    let links = [link(100, 20), link(20, 60)];
    let [default, min_rtt] =
        ["default", "minrtt"].map(|name| transfer(name, &links, 20 * MEGABYTE, 4 * MEGABYTE));
    assert!(default.reorder_buffer < min_rtt.reorder_buffer * 6 / 10, "{default:?} {min_rtt:?}");
}

/// A request that fits into a few windows is never later than over the best link alone, however bad the other one is.
#[test]
fn a_short_transfer_is_no_slower_than_on_the_best_link() {
    for bytes in [20_000, 200_000, 2 * MEGABYTE] {
        let alone = transfer("default", &[link(100, 20)], bytes, 4 * MEGABYTE);
        for bad in [link(20, 60), link(5, 300), link(1, 600)] {
            let both = transfer("default", &[link(100, 20), bad], bytes, 4 * MEGABYTE);
            let allowed = alone.finished + Duration::from_millis(5);
            assert!(both.finished <= allowed, "{bytes}: {both:?} instead of {alone:?}");
        }
    }
}

#[test]
fn a_dying_link_stalls_nobody_for_long() {
    let mut fast = link(100, 20);
    fast.dies_at = Time::from_millis(300);
    let outcome = transfer("default", &[fast, link(20, 60)], 10 * MEGABYTE, 4 * MEGABYTE);
    // The model finds the losses after three probe timeouts of the dead path, queue included.
    assert!(outcome.longest_stall < Duration::from_millis(500), "{outcome:?}");
    assert!(outcome.delivered[1] > 2 * MEGABYTE);
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
                    Selection::Next => {}
                }
            }
        }
    }
}
