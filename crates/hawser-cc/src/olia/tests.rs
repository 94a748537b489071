use std::time::Duration;

use hawser_policy::{GroupId, PathId};

use super::*;
use crate::testing::{DATAGRAM, ack, init, loss};

fn path(id: u32, packets: u64, rtt_ms: u64, acked_between_losses: u64) -> Sibling {
    Sibling {
        path: PathId(id),
        group: GroupId(0),
        congestion_window: packets * u64::from(DATAGRAM),
        smoothed_rtt: Duration::from_millis(rtt_ms),
        min_rtt: Duration::from_millis(rtt_ms),
        usable: true,
        max_datagram_size: DATAGRAM,
        delivery_rate: None,
        max_delivery_rate: None,
        acked_since_loss: 0,
        acked_between_losses,
        loss_ppm: 0,
    }
}

/// The best path (0) has a middling window, path 1 the largest one, path 2 is slow.
fn three_paths() -> [Sibling; 3] {
    [path(0, 10, 100, 100_000), path(1, 20, 100, 50_000), path(2, 5, 200, 10_000)]
}

fn increase_of(own: u32, paths: &[Sibling]) -> f64 {
    let window = paths.iter().find(|path| path.path == PathId(own)).unwrap().congestion_window;
    Olia::new(&init(window)).increase(&Siblings { own: PathId(own), paths })
}

fn assert_close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-6, "{actual} instead of {expected}");
}

/// By hand: sum of rates 100 + 200 + 25 = 325 packets/s; qualities 1e7, 5e6, 2.5e5, so B = {0}, M = {1};
/// alpha = +1/3, -1/3, 0.
#[test]
fn alphas_and_increases_of_three_paths() {
    let paths = three_paths();
    let alpha_of = |own: usize| alpha(&paths[own], || paths.iter());
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
        assert_eq!(alpha(&paths[own], || paths.iter()), 0.0);
    }
}

#[test]
fn alone_it_is_reno() {
    assert_close(increase_of(0, &[path(0, 10, 100, 5)]), 0.1);
    assert_close(Olia::new(&init(10_000)).increase(&Siblings::NONE), 0.1);
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
