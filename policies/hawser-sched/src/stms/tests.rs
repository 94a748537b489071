use std::time::Duration;

use hawser_policy::{PathId, PathView};

use super::*;
use crate::testing::{path, view};

fn decide(paths: &[PathView], unsent: u64) -> Decision {
    Stms::default().schedule(&view(paths, unsent), &mut Vec::new())
}

fn skips(id: u32, gap: u64, unsent: u64) -> Decision {
    Decision::Send(Assignment::next(PathId(id)).with(|assignment| {
        assignment.selection = Selection::Skip(gap);
        assignment.max_bytes = unsent - gap;
    }))
}

/// 100 kB per 20 ms are 5 MB/s; 40 ms of lag are worth 200 kB.
#[test]
fn the_slow_path_leaves_what_the_fast_one_delivers_meanwhile() {
    let paths = [path(1, 20, 0), path(2, 60, 50_000)];
    assert_eq!(decide(&paths, 1_000_000), skips(2, 200_000, 1_000_000));
    assert_eq!(decide(&paths, 200_000), Decision::Wait(None), "nothing is left for it");
}

#[test]
fn the_gap_factor_moves_what_the_slow_path_takes() {
    let paths = [path(1, 20, 0), path(2, 60, 50_000)];
    for (factor, gap) in [(0.5, 100_000), (2.0, 400_000)] {
        let decision = Stms::with_gap_factor(factor).schedule(&view(&paths, 1_000_000), &mut Vec::new());
        assert_eq!(decision, skips(2, gap, 1_000_000));
    }
}

#[test]
fn one_way_delays_count_when_all_report_them() {
    let mut paths = [path(1, 20, 0), path(2, 60, 50_000)];
    paths[0].one_way_delay = Some(Duration::from_millis(1_010));
    assert_eq!(decide(&paths, 1_000_000), skips(2, 200_000, 1_000_000));
    paths[1].one_way_delay = Some(Duration::from_millis(1_030));
    assert_eq!(decide(&paths, 1_000_000), skips(2, 100_000, 1_000_000));
}

#[test]
fn a_third_path_leaves_room_for_both_faster_ones() {
    // Path 3 lags 80 ms behind path 1 (400 kB) and 40 ms behind path 2, which carries 100 kB per 60 ms (66.7 kB).
    let paths = [path(1, 20, 0), path(2, 60, 0), path(3, 100, 50_000)];
    assert_eq!(decide(&paths, 1_000_000), skips(3, 466_666, 1_000_000));
}

#[test]
fn paths_of_like_delay_share_the_head() {
    assert_eq!(decide(&[path(1, 20, 0), path(2, 22, 50_000)], 1_000_000), skips(2, 0, 1_000_000));
}
