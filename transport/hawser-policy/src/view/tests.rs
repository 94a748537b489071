use super::*;

fn path(id: u32) -> PathView {
    PathView::new(PathId(id))
}

#[test]
fn sendable_is_the_lesser_of_window_and_pacing_and_at_least_a_datagram() {
    let mut view = path(0);
    assert_eq!(view.sendable(), 12_000);
    view.pacing_budget = 3_000;
    assert_eq!(view.sendable(), 3_000);
    view.bytes_in_flight = 10_801;
    assert_eq!(view.sendable(), 0, "1199 bytes are no datagram");
    view.bytes_in_flight = 20_000;
    assert_eq!(view.window_left(), 0);
    for state in [PathState::Validating, PathState::Suspect] {
        assert_eq!(PathView { state, ..path(0) }.sendable(), 0);
    }
}

fn preferred(paths: &[PathView]) -> Vec<u32> {
    let view = SendView { now: Time::ZERO, paths, queue: QueueView::default(), segments: &() };
    view.preferred().map(|path| path.id.0).collect()
}

#[test]
fn backups_carry_data_only_when_no_available_path_is_active() {
    let mut paths = [path(0), path(1), path(2)];
    paths[1].status = PathStatus::Backup;
    assert_eq!(preferred(&paths), [0, 2]);
    paths[0].state = PathState::Suspect;
    assert_eq!(preferred(&paths), [2]);
    paths[2].state = PathState::Validating;
    assert_eq!(preferred(&paths), [1]);
    paths[1].state = PathState::Suspect;
    assert_eq!(preferred(&paths), [0u32; 0]);
}

#[test]
fn masks_ignore_positions_that_do_not_fit() {
    let mask = PathMask::NONE.with(0).with(63).with(64);
    assert!(mask.contains(0) && mask.contains(63) && !mask.contains(1) && !mask.contains(64));
}
