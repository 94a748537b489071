use hawser_paths::MeteredNotice;
use hawser_policy::{
    Event, LinkId, LinkState, LinkUpdate, MessageOrigin, PathChange, QueueView, Scheduler, Time,
};

use super::*;
use crate::testing::{path, view_at};

/// Two paths with room, the second over link 7.
fn paths() -> [PathView; 2] {
    [path(1, 20, 100_000), PathView { link: Some(LinkId(7)), ..path(2, 30, 100_000) }]
}

fn copies(scheduler: &mut EarliestArrival, paths: &[PathView], queue: QueueView) -> PathMask {
    match scheduler.schedule(&view_at(Time::from_millis(100), paths, queue), &mut Vec::new()) {
        Decision::Send(assignment) => assignment.copies,
        Decision::Wait(_) => PathMask::NONE,
    }
}

fn unsent(bytes: u64) -> QueueView {
    QueueView { unsent: bytes, ..QueueView::default() }
}

/// A copy on the second path.
fn second() -> PathMask {
    PathMask::NONE.with(1)
}

#[test]
fn a_message_is_copied_and_what_is_longer_is_not() {
    let of = |queue| copies(&mut EarliestArrival::default(), &paths(), queue);
    assert_eq!(of(unsent(50_000)), second());
    assert_eq!(of(unsent(128_000)), second());
    assert_eq!(of(unsent(128_001)), PathMask::NONE);
    assert_eq!(of(QueueView { datagrams: 100, ..unsent(50_000) }), PathMask::NONE);
    let one = &paths()[..1];
    assert_eq!(copies(&mut EarliestArrival::default(), one, unsent(50_000)), PathMask::NONE);
}

#[test]
fn without_a_budget_nothing_is_copied() {
    let parameters = EarliestArrivalParameters { budget: 0.0, ..EarliestArrivalParameters::default() };
    let mut scheduler = EarliestArrival::with_parameters(parameters);
    assert_eq!(copies(&mut scheduler, &paths(), unsent(50_000)), PathMask::NONE);
}

#[test]
fn the_small_buffer_of_a_long_transfer_is_no_message() {
    let mut scheduler = EarliestArrival::default();
    let full = [path(1, 20, 0), path(2, 30, 0)];
    // It holds its level although the fastest path works at it.
    for ms in (100..300).step_by(10) {
        let _ = scheduler.schedule(&view_at(Time::from_millis(ms), &full, unsent(60_000)), &mut Vec::new());
    }
    let paths = [path(1, 20, 30_000), path(2, 30, 30_000)];
    let view = view_at(Time::from_millis(300), &paths, unsent(60_000));
    let decision = scheduler.schedule(&view, &mut Vec::new());
    assert!(matches!(decision, Decision::Send(Assignment { copies: PathMask::NONE, .. })), "{decision:?}");
}

#[test]
fn nothing_is_copied_to_a_link_of_ours_that_is_metered() {
    let mut scheduler = EarliestArrival::default();
    let state = LinkState::default();
    let mut tell = |metered| {
        let update = LinkUpdate { now: Time::ZERO, link: LinkId(7), state: &state, forecasts: &[], metered };
        scheduler.on_event(&Event::Link(&update), &mut Vec::new());
        copies(&mut scheduler, &paths(), unsent(5_000))
    };
    assert_eq!([tell(true), tell(false)], [PathMask::NONE, second()]);
}

#[test]
fn nothing_is_copied_to_a_path_that_the_peer_pays_by_volume() {
    let mut scheduler = EarliestArrival::default();
    let mut tell = |origin, metered| {
        let message = MeteredNotice(metered).message(PathId(2));
        let event = Event::Message { now: Time::ZERO, origin, message: &message };
        scheduler.on_event(&event, &mut Vec::new());
        copies(&mut scheduler, &paths(), unsent(5_000))
    };
    assert_eq!(tell(MessageOrigin::Application, true), second(), "the application is not the peer");
    assert_eq!(tell(MessageOrigin::Peer, true), PathMask::NONE);
    assert_eq!(tell(MessageOrigin::Peer, false), second());
    assert_eq!(tell(MessageOrigin::Peer, true), PathMask::NONE);
    let gone = Event::Path { now: Time::ZERO, path: PathId(2), change: PathChange::Abandoned };
    scheduler.on_event(&gone, &mut Vec::new());
    assert_eq!(
        copies(&mut scheduler, &paths(), unsent(5_000)),
        second(),
        "what is said of a path goes with it"
    );
}
