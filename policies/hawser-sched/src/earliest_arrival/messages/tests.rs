use hawser_paths::MeteredNotice;
use hawser_policy::{
    Event, LinkId, LinkState, LinkUpdate, MessageOrigin, PathChange, QueueView, Scheduler, Time,
};

use super::*;
use crate::testing::{path, view_at};

/// Two paths with room, the second over link 7.
fn paths() -> [PathView; 2] {
    [path(1, 20, 100_000), path(2, 30, 100_000).with(|path| path.link = Some(LinkId(7)))]
}

fn copies(scheduler: &mut EarliestArrival, paths: &[PathView], queue: QueueView) -> PathMask {
    match scheduler.schedule(&view_at(Time::from_millis(100), paths, queue), &mut Vec::new()) {
        Decision::Send(assignment) => assignment.copies,
        Decision::Wait(_) => PathMask::NONE,
    }
}

fn unsent(bytes: u64) -> QueueView {
    QueueView::default().with(|queue| queue.unsent = bytes)
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
    assert_eq!(of(unsent(50_000).with(|queue| queue.datagrams = 100)), PathMask::NONE);
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
fn the_end_of_a_transfer_is_no_message_and_what_follows_a_pause_is() {
    let mut scheduler = EarliestArrival::default();
    let paths = paths();
    let mut sent = paths.clone();
    sent[0].bytes_sent = 300_000;
    assert_eq!(copies(&mut scheduler, &paths, unsent(300_000)), PathMask::NONE);
    assert_eq!(copies(&mut scheduler, &sent, unsent(60_000)), PathMask::NONE);
    // For a quarter of a round trip nothing is queued.
    for ms in [100, 105] {
        let _ = scheduler.schedule(&view_at(Time::from_millis(ms), &sent, unsent(0)), &mut Vec::new());
    }
    let view = view_at(Time::from_millis(106), &sent, unsent(60_000));
    let decision = scheduler.schedule(&view, &mut Vec::new());
    assert!(
        matches!(decision, Decision::Send(Assignment { copies, .. }) if copies == second()),
        "{decision:?}"
    );
}

#[test]
fn what_a_transfer_lost_is_no_message() {
    let mut scheduler = EarliestArrival::default();
    let mut paths = paths();
    paths[0].bytes_sent = 300_000;
    for ms in [50, 90] {
        let _ = scheduler.schedule(&view_at(Time::from_millis(ms), &paths, unsent(0)), &mut Vec::new());
    }
    let lost = QueueView::default().with(|queue| queue.retransmit = 7_000);
    assert_eq!(copies(&mut scheduler, &paths, lost), PathMask::NONE);
}

#[test]
fn a_path_whose_round_trips_grew_takes_no_copies() {
    let mut paths = paths();
    paths[1].min_rtt = Duration::from_millis(14);
    assert_eq!(copies(&mut EarliestArrival::default(), &paths, unsent(5_000)), PathMask::NONE);
    let far = [path(1, 20, 100_000), path(2, 56, 100_000)];
    assert_eq!(copies(&mut EarliestArrival::default(), &far, unsent(5_000)), PathMask::NONE);
    let mut messages = EarliestArrival::for_messages(128_000, 0.6);
    assert_eq!(copies(&mut messages, &far, unsent(5_000)), second());
}

#[test]
fn nothing_is_copied_to_a_link_of_ours_that_is_metered() {
    let mut scheduler = EarliestArrival::default();
    let state = LinkState::default();
    let mut tell = |metered| {
        let update = LinkUpdate::new(Time::ZERO, LinkId(7), &state).with(|update| update.metered = metered);
        scheduler.on_event(&Event::Link(&update), &mut Vec::new());
        copies(&mut scheduler, &paths(), unsent(5_000))
    };
    assert_eq!([tell(true), tell(false)], [PathMask::NONE, second()]);
}

//= wire-extensions-1.1.4-4
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
