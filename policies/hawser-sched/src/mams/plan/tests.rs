use proptest::prelude::*;

use super::*;
use crate::mams::{MamsForecast, MamsPoint};

/// A window of ten packets in slow start.
fn path(rtt: f64, loss: f64) -> MamsPath {
    MamsPath {
        window: 10.0,
        threshold: 64.0,
        rtt,
        one_way: rtt / 2.0,
        timeout: rtt + 0.2,
        in_flight: 0.0,
        packet_time: 0.0,
        loss,
        up: MamsForecast::UNKNOWN,
        down: MamsForecast::UNKNOWN,
    }
}

fn planner() -> MamsPlanner {
    MamsPlanner::new(MamsPlannerSettings { least_likelihood: 0.0, ..MamsPlannerSettings::default() })
}

const fn run(path: usize, packets: u64) -> MamsRun {
    MamsRun { path, packets }
}

/// MAMS, section V: 50 and 150 ms, windows of ten, 1 % of loss on the fast path: q(75 ms) = 28.28, so that the slow path's first
/// packet is FP + 28.
#[test]
fn the_slow_path_gets_what_follows_the_deliveries_of_the_fast_one() {
    let paths = [path(0.05, 0.01), path(0.15, 0.0)];
    assert_eq!(planner().plan(&paths, 1_000), [run(0, 28), run(1, 10)]);
    // Whatever the order in which paths are listed.
    assert_eq!(planner().plan(&[paths[1], paths[0]], 1_000), [run(1, 28), run(0, 10)]);
}

/// The slow link takes 10 ms for a packet. The fast path, without loss, delivers 10, 30 and 70 packets within 25, 75 and 125 ms.
#[test]
fn later_packets_of_the_slow_path_lie_farther_behind() {
    let paths = [path(0.05, 0.0), MamsPath { packet_time: 0.01, ..path(0.15, 0.0) }];
    assert_eq!(planner().plan(&paths, 1_000), [run(0, 30), run(1, 5), run(0, 40), run(1, 5), run(0, 64)]);
}

/// 20 ms delivers 10 + 20 + 40 packets by 50 ms and 10 + 20 + 40 + 64 by 75 ms; 100 ms 10 by 50 ms.
#[test]
fn a_path_between_two_others_is_planned_within_the_reserved_block() {
    let paths = [path(0.02, 0.0), path(0.1, 0.0), path(0.15, 0.0)];
    assert_eq!(planner().plan(&paths, 1_000), [run(0, 70), run(1, 10), run(0, 64), run(2, 10)]);
}

#[test]
fn only_the_paths_that_are_needed_are_selected() {
    let paths = [path(0.05, 0.0), path(0.15, 0.0)];
    for (queued, expected) in [(1, vec![0]), (10, vec![0]), (11, vec![0, 1]), (1_000, vec![0, 1])] {
        let mut planner = planner();
        planner.plan(&paths, queued);
        assert_eq!(planner.selected(), expected, "{queued}");
    }
    // Within a cycle of 150 ms the fast path delivers 10 + 20 + 40 packets.
    let cycle = MamsPlannerSettings { budget: MamsBudget::Cycle, ..MamsPlannerSettings::default() };
    let mut planner = MamsPlanner::new(cycle);
    planner.plan(&paths, 70);
    assert_eq!(planner.selected(), [0]);
    let all = MamsPlannerSettings { selection: false, ..MamsPlannerSettings::default() };
    let mut planner = MamsPlanner::new(all);
    planner.plan(&paths, 1);
    assert_eq!(planner.selected(), [0, 1]);
}

#[test]
fn a_path_that_is_forecast_to_be_down_gets_nothing() {
    let down = MamsPath { up: MamsForecast::constant(0.0, 0.0), ..path(0.05, 0.0) };
    assert_eq!(planner().plan(&[down, path(0.15, 0.0)], 1_000), [run(1, 10)]);
    assert!(planner().plan(&[down, down], 1_000).is_empty());
    // It comes back after 40 ms, a round later there is something to be had again.
    let points = [(0.0, 0.0), (0.04, 0.0), (0.041, 100.0)];
    let back: MamsForecast =
        points.into_iter().map(|(at, packets)| MamsPoint { at, packets, loss: 0.0 }).collect();
    let paths = [MamsPath { up: back, ..path(0.05, 0.0) }, path(0.15, 0.0)];
    assert_eq!(planner().plan(&paths, 1_000), [run(0, 10), run(1, 10)]);
}

/// What is in flight leaves as its acknowledgements come in: between the one-way delays, 25 and 75 ms, the fast path delivers one
/// window, not three.
#[test]
fn a_full_window_leaves_over_a_round_trip() {
    let full = MamsPath { in_flight: 10.0, threshold: 5.0, ..path(0.05, 0.0) };
    assert_eq!(planner().plan(&[full, path(0.15, 0.0)], 1_000), [run(0, 10), run(1, 10)]);
    // The slow path's own packets leave one after the other as well, and lie farther and farther behind.
    let slow = MamsPath { in_flight: 10.0, ..path(0.15, 0.0) };
    let mut planner = planner();
    let runs = planner.plan(&[full, slow], 1_000);
    assert_eq!(runs[..3], [run(0, 10), run(1, 1), run(0, 4)]);
    let last = runs.iter().rposition(|run| run.path == 1).unwrap();
    let before: u64 = runs[..last].iter().filter(|run| run.path == 0).map(|run| run.packets).sum();
    assert!((30..=45).contains(&before), "{before}: 131 ms later");
}

/// What a plan costs is counted, since time depends on the machine: eight paths of 20 to 160 ms with windows of 50 packets and 3 %
/// of loss, and two of 10 and 300 ms.
#[test]
fn the_work_of_a_plan_is_bounded() {
    let path =
        |rtt: f64| MamsPath { window: 50.0, threshold: 20.0, packet_time: rtt / 50.0, ..path(rtt, 0.03) };
    let rounds = |rtts: &[f64]| {
        let mut planner = MamsPlanner::default();
        let paths: Vec<MamsPath> = rtts.iter().map(|rtt| path(*rtt)).collect();
        planner.plan(&paths, 100_000);
        planner.rounds()
    };
    let eight = rounds(&[0.02, 0.04, 0.06, 0.08, 0.10, 0.12, 0.14, 0.16]);
    let two = rounds(&[0.01, 0.3]);
    assert!(eight <= 250 && two <= 1_200, "{eight}, {two}");
}

fn any_forecast() -> impl Strategy<Value = MamsForecast> {
    let point = (-1.0..2.0f64, prop_oneof![3 => 0.0..500.0f64, 1 => Just(0.0)], 0.0..1.0f64);
    prop::collection::vec(point, 0..5).prop_map(|mut points| {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points.into_iter().map(|(at, packets, loss)| MamsPoint { at, packets, loss }).collect()
    })
}

fn any_path() -> impl Strategy<Value = MamsPath> {
    let window = (1.0..300.0f64, prop_oneof![Just(f64::INFINITY), 2.0..300.0f64]);
    let times = (0.002..0.8f64, 0.2..1.0f64, 0.0..1.0f64, prop_oneof![Just(0.0), 0.0..0.02f64]);
    let loss = prop_oneof![3 => Just(0.0), 2 => 0.0..0.2f64, 1 => 0.0..=1.0f64];
    (window, times, loss, 0.0..1.5f64, any_forecast(), any_forecast()).prop_map(
        |((window, threshold), (rtt, share, wait, packet_time), loss, in_flight, up, down)| MamsPath {
            window,
            threshold,
            rtt,
            one_way: rtt * share,
            timeout: rtt + wait,
            in_flight: (in_flight - 0.5).max(0.0) * window,
            packet_time,
            loss,
            up,
            down,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Runs follow each other from FP on without a gap, name paths that are selected, cover what is queued at most, and the
    /// slow path's first packet is FP plus what the faster ones deliver by the time that it arrives. The work is bounded.
    #[test]
    fn every_planned_packet_is_assigned_once(paths in prop::collection::vec(any_path(), 1..17), queued in 0u64..20_000) {
        let mut planner = MamsPlanner::default();
        let runs = planner.plan(&paths, queued).to_vec();
        prop_assert!(runs.iter().all(|run| run.packets > 0));
        prop_assert!(runs.windows(2).all(|pair| pair[0].path != pair[1].path));
        prop_assert!(runs.iter().all(|run| planner.selected().contains(&run.path)));
        let planned: u64 = runs.iter().map(|run| run.packets).sum();
        prop_assert!(planned <= queued);
        prop_assert!(planner.rounds() <= 4_096 * paths.len());
        let Some((slow, faster)) = planner.selected().split_last().filter(|(_, faster)| !faster.is_empty()) else {
            return Ok(());
        };
        if paths[*slow].in_flight == 0.0 && runs.iter().any(|run| run.path == *slow) {
            let expected = faster.iter().map(|fast| planner.expected(*fast, paths[*slow].one_way));
            let position: u64 = runs.iter().take_while(|run| run.path != *slow).map(|run| run.packets).sum();
            prop_assert!(position as f64 <= expected.sum::<f64>().round(), "{position}: {runs:?}");
        }
    }

    /// More is queued, more is planned, and what was planned first stays where it is.
    #[test]
    fn a_longer_queue_extends_the_plan(paths in prop::collection::vec(any_path(), 1..9), queued in 1u64..5_000) {
        let settings = MamsPlannerSettings { selection: false, ..MamsPlannerSettings::default() };
        let mut planner = MamsPlanner::new(settings);
        let sequence = |runs: &[MamsRun]| -> Vec<usize> {
            runs.iter().flat_map(|run| std::iter::repeat_n(run.path, run.packets as usize)).collect()
        };
        let short = sequence(planner.plan(&paths, queued));
        let long = sequence(planner.plan(&paths, 2 * queued));
        prop_assert!(long.starts_with(&short));
    }

    /// Deliveries never fall with time, nor exceed what would arrive without loss.
    #[test]
    fn expected_deliveries_are_monotone(path in any_path(), times in prop::collection::vec(0.0..2.0f64, 2..6)) {
        let mut planner = MamsPlanner::default();
        planner.plan(&[path], 100);
        let without_loss = MamsPath { loss: 0.0, up: MamsForecast::UNKNOWN, down: MamsForecast::UNKNOWN, ..path };
        let mut best = MamsPlanner::default();
        best.plan(&[without_loss], 100);
        let mut times = times;
        times.sort_by(f64::total_cmp);
        for pair in times.windows(2) {
            prop_assert!(planner.expected(0, pair[0]) <= planner.expected(0, pair[1]) + 1e-9);
            prop_assert!(planner.expected(0, pair[0]) <= best.expected(0, pair[0]) + 1e-6);
        }
    }
}
