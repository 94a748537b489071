use std::time::Duration;

use hawser_policy::{PathId, Time};

use super::*;
use crate::testing::{path, view};

fn decide(ecf: &mut Ecf, paths: &[PathView], queued: u64) -> Decision {
    ecf.schedule(&view(paths, queued), &mut Vec::new())
}

fn next(id: u32) -> Decision {
    Decision::Send(Assignment::next(PathId(id)))
}

#[test]
fn the_fast_path_is_used_while_it_has_room() {
    assert_eq!(decide(&mut Ecf::default(), &[path(1, 60, 50_000), path(2, 20, 50_000)], 1 << 30), next(2));
}

/// Windows of 100 kB, 20 ms and 60 ms. With k queued bytes the fast path needs (1 + k/100 kB) * 20 ms.
#[test]
fn waits_when_the_fast_path_would_be_through_sooner() {
    let paths = [path(1, 20, 0), path(2, 60, 50_000)];
    let mut ecf = Ecf::default();
    // 150 kB: 50 ms against 60 ms, and 1.5 windows * 60 ms = 90 ms on the slow path is more than 2 * 20 ms.
    assert_eq!(decide(&mut ecf, &paths, 150_000), Decision::Wait(None));
    // 250 kB: 70 ms would be too long, but waiting holds on until 1.25 * 60 = 75 ms.
    assert_eq!(decide(&mut ecf, &paths, 250_000), Decision::Wait(None));
    assert_eq!(decide(&mut ecf, &paths, 280_000), next(2));
    // And having given up, 70 ms is too long again.
    assert_eq!(decide(&mut ecf, &paths, 250_000), next(2));
}

#[test]
fn beta_is_how_long_it_holds_on_to_waiting() {
    let paths = [path(1, 20, 0), path(2, 60, 50_000)];
    // 70 ms against (1 + beta) * 60 ms.
    for (beta, expected) in [(0.1, next(2)), (0.25, Decision::Wait(None))] {
        let mut ecf = Ecf::with_beta(beta);
        assert_eq!(decide(&mut ecf, &paths, 150_000), Decision::Wait(None));
        assert_eq!(decide(&mut ecf, &paths, 250_000), expected, "{beta}");
    }
}

#[test]
fn does_not_wait_when_the_slow_path_is_hardly_slower() {
    // One round of the slow path (30 ms) is less than two of the fast one.
    assert_eq!(decide(&mut Ecf::default(), &[path(1, 20, 0), path(2, 30, 50_000)], 1_000), next(2));
}

#[test]
fn waits_until_the_pacer_releases_the_fast_path() {
    let mut paced = path(1, 20, 50_000);
    let release = Time::from_millis(3);
    (paced.pacing_budget, paced.next_release) = (0, Some(release));
    let decision = decide(&mut Ecf::default(), &[paced, path(2, 60, 50_000)], 10_000);
    assert_eq!(decision, Decision::Wait(Some(release)));
}

#[test]
fn uncertain_delays_make_it_more_patient() {
    let mut paths = [path(1, 20, 0), path(2, 60, 50_000)];
    assert_eq!(decide(&mut Ecf::default(), &paths, 250_000), next(2));
    // 70 ms against 60 + 20 ms.
    paths[0].rtt_variance = Duration::from_millis(20);
    assert_eq!(decide(&mut Ecf::default(), &paths, 250_000), Decision::Wait(None));
}
