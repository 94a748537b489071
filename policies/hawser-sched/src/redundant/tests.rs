use hawser_policy::{PathId, PathMask, PathView};

use super::*;
use crate::testing::{path, view};

fn decide(paths: &[PathView], unsent: u64) -> Decision {
    Redundant::default().schedule(&view(paths, unsent), &mut Vec::new())
}

#[test]
fn new_data_on_the_fastest_path_copies_for_all_others() {
    let paths = [path(7, 60, 50_000), path(8, 20, 50_000), path(9, 40, 0)];
    let copies = PathMask::NONE.with(0).with(2);
    assert_eq!(
        decide(&paths, 5_000),
        Decision::Send(Assignment::next(PathId(8)).with(|assignment| assignment.copies = copies))
    );
}

#[test]
fn fewer_copies_go_to_the_fastest_of_the_others() {
    let paths = [path(6, 80, 0), path(7, 60, 50_000), path(8, 20, 50_000), path(9, 40, 0)];
    for (most, copies) in [(1, PathMask::NONE.with(3)), (2, PathMask::NONE.with(3).with(1))] {
        let decision = Redundant::with_copies(most).schedule(&view(&paths, 5_000), &mut Vec::new());
        assert_eq!(
            decision,
            Decision::Send(Assignment::next(PathId(8)).with(|assignment| assignment.copies = copies)),
            "{most}"
        );
    }
}

#[test]
fn waiting_copies_go_first_also_without_new_data() {
    let mut paths = [path(7, 60, 50_000), path(8, 20, 0)];
    paths[0].copies_queued = 2;
    let copies = Decision::Send(
        Assignment::next(PathId(7)).with(|assignment| assignment.selection = Selection::Copies),
    );
    assert_eq!(decide(&paths, 0), copies);
    assert_eq!(decide(&paths, 5_000), copies);
    paths[0].copies_queued = 0;
    paths[1].copies_queued = 1;
    assert_eq!(decide(&paths, 0), Decision::Wait(None));
}
