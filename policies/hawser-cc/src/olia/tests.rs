use std::time::Duration;

use hawser_policy::{GroupId, LossCause, PathId, Sibling, Time};

use super::*;
use crate::testing::{ack, init, loss, sibling};

fn path(id: u32, packets: u64, rtt_ms: u64, acked_between_losses: u64) -> Sibling {
    sibling(id, packets, rtt_ms).with(|sibling| sibling.acked_between_losses = acked_between_losses)
}

/// The best path (0) has a middling window, path 1 the largest one, path 2 is slow.
fn three_paths() -> [Sibling; 3] {
    [path(0, 10, 100, 100_000), path(1, 20, 100, 50_000), path(2, 5, 200, 10_000)]
}

fn increase_of(own: u32, paths: &[Sibling]) -> f64 {
    let window = paths.iter().find(|path| path.path == PathId(own)).unwrap().congestion_window;
    increase_with(OliaParameters::default(), window, &Siblings { own: PathId(own), paths })
}

fn increase_with(parameters: OliaParameters, window: u64, siblings: &Siblings<'_>) -> f64 {
    OliaRule { parameters }.increase(&Window::new(&init(window)), siblings)
}

fn alpha_with(parameters: OliaParameters, own: usize, paths: &[Sibling]) -> f64 {
    let siblings = Siblings { own: paths[own].path, paths };
    let window = Window::new(&init(paths[own].congestion_window));
    OliaRule { parameters }.alpha(&Coupled::new(&siblings, &window).unwrap())
}

fn assert_close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-6, "{actual} instead of {expected}");
}

/// By hand: sum of rates 100 + 200 + 25 = 325 packets/s; qualities 1e7, 5e6, 2.5e5, so B = {0}, M = {1};
/// alpha = +1/3, -1/3, 0.
#[test]
fn alphas_and_increases_of_three_paths() {
    let paths = three_paths();
    let alpha_of = |own| alpha_with(OliaParameters::default(), own, &paths);
    assert_close(alpha_of(0), 1.0 / 3.0);
    assert_close(alpha_of(1), -1.0 / 3.0);
    assert_close(alpha_of(2), 0.0);
    assert_close(increase_of(0, &paths), 1_000.0 / 105_625.0 + 1.0 / 30.0);
    assert_close(increase_of(1, &paths), 2_000.0 / 105_625.0 - 1.0 / 60.0);
    assert_close(increase_of(2, &paths), 125.0 / 105_625.0);
}

#[test]
fn no_transfer_when_a_best_path_has_the_largest_window() {
    let mut paths = three_paths();
    paths[0].congestion_window = 30_000;
    for own in 0..3 {
        assert_eq!(alpha_with(OliaParameters::default(), own, &paths), 0.0);
    }
}

#[test]
fn alone_it_is_reno() {
    assert_close(increase_of(0, &[path(0, 10, 100, 5)]), 0.1);
    assert_close(increase_with(OliaParameters::default(), 10_000, &Siblings::NONE), 0.1);
}

#[test]
fn unusable_paths_and_other_groups_are_left_out() {
    let mut paths = three_paths();
    paths[1].usable = false;
    paths[2].group = GroupId(7);
    assert_close(increase_of(0, &paths), 0.1);
    assert_close(increase_of(2, &paths), 0.2);
    paths[0].group = GroupId(7);
    // Two paths: (10/0.01) / (100 + 25)^2; path 0 is best and largest.
    assert_close(increase_of(0, &paths), 1_000.0 / 15_625.0);
}

#[test]
fn a_window_may_shrink_without_slow_start() {
    let mut paths = [path(0, 2, 100, 1_000_000), path(1, 40, 400, 1_000)];
    let mut controller = Olia::new(&init(80_000));
    controller.on_loss(&loss(Time::ZERO, LossCause::Loss, true), &Siblings::NONE);
    assert_eq!(controller.window(), 40_000);
    for _ in 0..40 {
        paths[1].congestion_window = controller.window();
        let rtt = Duration::from_millis(400);
        controller.on_ack(&ack(Time::ZERO, 1_000, rtt), &Siblings { own: PathId(1), paths: &paths });
    }
    // Per packet: (40/0.16) / (20 + 100)^2 - 1/(2 * 40) = 0.01736 - 0.0125 grows; with the short path at 20: shrinks.
    let grown = controller.window();
    assert!(grown > 40_000);
    paths[0].congestion_window = 20_000;
    for _ in 0..40 {
        paths[1].congestion_window = controller.window();
        let rtt = Duration::from_millis(400);
        controller.on_ack(&ack(Time::ZERO, 1_000, rtt), &Siblings { own: PathId(1), paths: &paths });
    }
    assert!(controller.window() < grown && !controller.in_slow_start());
}

/// As drafted, l^2 / rtt: 10^10 / 0.1, 2.5 10^9 / 0.1 and, over 200 ms, 200 kB: 4 10^10 / 0.2. Then path 2 is the best.
#[test]
fn the_drafted_quality_prefers_long_paths_with_long_intervals() {
    let mut paths = three_paths();
    paths[2].acked_between_losses = 200_000;
    let drafted = OliaParameters { quality: OliaQuality::Drafted, ..OliaParameters::default() };
    let alphas = |parameters: OliaParameters| [0, 1, 2].map(|own| alpha_with(parameters, own, &paths));
    assert_eq!(alphas(drafted), [0.0, -1.0 / 3.0, 1.0 / 3.0]);
    assert_eq!(alphas(OliaParameters::default()), [1.0 / 3.0, -1.0 / 3.0, 0.0]);
}

/// Four datagrams in one acknowledgement: the ns-3 module moves the window once for it, and upwards.
#[test]
fn the_increment_per_acknowledgement_is_never_negative() {
    let mut paths = three_paths();
    paths[2] = path(2, 60, 100, 1_000);
    paths[1].congestion_window = 60_000;
    let siblings = Siblings { own: PathId(1), paths: &paths };
    let moved = |increment| {
        let mut window = Window::new(&init(60_000));
        window.set_threshold_here();
        let mut rule = OliaRule { parameters: OliaParameters { increment, ..OliaParameters::default() } };
        let ack = ack(Time::ZERO, 4_000, Duration::from_millis(100));
        let acked = Acked { ack: &ack, rtt: None, bytes: 4_000.0, siblings: &siblings };
        rule.avoid(&mut window, &acked, 4_000.0);
        window.exact() - 60_000.0
    };
    // 60/0.01 / 1300^2 - 1/6/60, by four datagrams or by one.
    let expected = 6_000.0 / 1_690_000.0 - 1.0 / 360.0;
    assert_close(moved(OliaIncrement::Literal) / 4_000.0, expected);
    assert_close(moved(OliaIncrement::PerAck) / 1_000.0, expected.abs());
}
