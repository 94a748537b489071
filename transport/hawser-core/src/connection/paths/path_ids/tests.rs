use hawser_policy::{PathId, Side};
use hawser_wire::Frame;

use super::{CannotOpen, IdState, MAX_CONCURRENT_PATHS, PathIds};
use crate::Code;
use crate::connection::paths::testing::write;

fn negotiated(side: Side, ours: u32, peers: u32) -> PathIds {
    let mut ids = PathIds::new(side, Some(ours), ours + 1);
    ids.negotiate(peers);
    ids
}

fn open(ids: &mut PathIds) -> PathId {
    let path = ids.next_to_open(|_| true).unwrap();
    ids.on_opened(path);
    path
}

//= multipath-3.2.1-5, multipath-3.4-7, multipath-4.6-5
#[test]
fn each_closed_path_is_replaced() {
    let mut ids = negotiated(Side::Client, 2, 100);
    assert_eq!(open(&mut ids), PathId(1));
    assert_eq!(open(&mut ids), PathId(2));
    assert_eq!(ids.next_to_open(|_| true), Err(CannotOpen::OwnLimit(2)));

    assert!(ids.on_closed(PathId(1)));
    assert!(!ids.on_closed(PathId(1)), "a repetition grants nothing");
    assert_eq!(write(|w, f| ids.write(w, f)).decode(), [Frame::MaxPathId(3)]);
    assert_eq!(open(&mut ids), PathId(3), "1 is never used again");
    assert!(ids.on_closed(PathId(2)) && ids.on_closed(PathId(3)));
    // The lost frame said 3; what is sent again says 5.
    ids.on_max_path_id_lost();
    assert_eq!(write(|w, f| ids.write(w, f)).decode(), [Frame::MaxPathId(5)]);
}

//= multipath-4-3
#[test]
fn what_is_announced_is_what_is_accepted() {
    for (max, concurrent) in [(7, 4), (2, 100), (u32::MAX, u32::MAX), (5, 0)] {
        let announced = PathIds::initial_max_path_id(Some(max), concurrent).unwrap();
        let mut ids = PathIds::new(Side::Server, Some(max), concurrent);
        ids.negotiate(9);
        assert!(ids.check(PathId(announced)).is_ok());
        assert_eq!(ids.check(PathId(announced + 1)).unwrap_err().code, Code::PROTOCOL_VIOLATION);
    }
    assert_eq!(PathIds::initial_max_path_id(None, 8), None);
}

//= multipath-4-4
#[test]
fn dead_ids_are_told_from_those_never_announced() {
    let mut ids = negotiated(Side::Server, 3, 3);
    assert_eq!(ids.check(PathId(3)).unwrap(), IdState::Alive);
    assert_eq!(ids.check(PathId(4)).unwrap_err().code, Code::PROTOCOL_VIOLATION);
    ids.on_closed(PathId(2));
    assert_eq!(ids.check(PathId(2)).unwrap(), IdState::Dead);
    assert_eq!(ids.check(PathId(4)).unwrap(), IdState::Alive);
    assert_eq!(ids.check(PathId(5)).unwrap_err().code, Code::PROTOCOL_VIOLATION);
}

#[test]
fn memory_does_not_grow_with_the_number_of_paths_that_ever_were() {
    let mut ids = negotiated(Side::Client, 3, u32::MAX);
    for _ in 0..10_000 {
        let path = open(&mut ids);
        assert!(ids.on_closed(path));
        assert_eq!(ids.alive.len(), 4);
    }
    assert_eq!(ids.check(PathId::ZERO).unwrap(), IdState::Alive);
    assert_eq!(ids.check(PathId(5_000)).unwrap(), IdState::Dead);

    let greedy = PathIds::new(Side::Server, Some(u32::MAX), u32::MAX);
    assert_eq!(greedy.alive.len(), MAX_CONCURRENT_PATHS as usize);
}

//= multipath-4.6-1
#[test]
fn last_path_id_is_the_end() {
    let mut ids = negotiated(Side::Client, 0, u32::MAX);
    ids.ours = u32::MAX;
    ids.alive = vec![u32::MAX];
    assert!(!ids.on_closed(PathId(u32::MAX)));
    assert_eq!(ids.check(PathId(u32::MAX)).unwrap(), IdState::Dead);
}

//= multipath-3.2.1-5
#[test]
fn blocked_is_said_once_per_limit_and_never_stale() {
    let mut ids = negotiated(Side::Client, 5, 1);
    open(&mut ids);
    assert_eq!(ids.next_to_open(|_| true), Err(CannotOpen::PeerLimit(1)));
    assert_eq!(write(|w, f| ids.write(w, f)).decode(), [Frame::PathsBlocked(1)]);
    assert_eq!(ids.next_to_open(|_| true), Err(CannotOpen::PeerLimit(1)));
    assert!(!ids.pending());

    // Lost, but the limit rose meanwhile: nothing to repeat.
    assert!(ids.on_max_path_id(2).unwrap());
    ids.on_blocked_lost();
    assert!(!ids.pending());

    assert_eq!(open(&mut ids), PathId(2));
    assert_eq!(ids.next_to_open(|_| true), Err(CannotOpen::PeerLimit(2)));
    ids.on_blocked_acked();
    assert!(ids.pending(), "that was the acknowledgement of the old one");
    assert_eq!(write(|w, f| ids.write(w, f)).decode(), [Frame::PathsBlocked(2)]);
    ids.on_blocked_lost();
    assert!(ids.pending());
    write(|w, f| ids.write(w, f));
    ids.on_blocked_acked();
    ids.on_blocked_lost();
    assert_eq!(ids.next_to_open(|_| true), Err(CannotOpen::PeerLimit(2)));
    assert!(!ids.pending(), "the peer knows and does not want to");
}

//= multipath-3.1-1, multipath-3.2.1-3
#[test]
fn only_clients_open_and_only_with_connection_ids() {
    assert_eq!(negotiated(Side::Server, 3, 3).next_to_open(|_| true), Err(CannotOpen::NotClient));
    let mut ids = PathIds::new(Side::Client, Some(3), 4);
    assert_eq!(ids.next_to_open(|_| true), Err(CannotOpen::NotNegotiated));
    assert!(ids.check(PathId::ZERO).is_err(), "no multipath frame without negotiation");
    ids.negotiate(3);
    // Path 2 would do, but ids are used without gaps.
    assert_eq!(ids.next_to_open(|path| path == PathId(2)), Err(CannotOpen::NoConnectionIds(PathId(1))));
    assert_eq!(open(&mut ids), PathId(1));
}

//= multipath-3.2.1-4, multipath-4.6-2, multipath-4.6-4
#[test]
fn limits_of_the_peer() {
    let mut ids = negotiated(Side::Client, 5, 3);
    assert!(!ids.on_max_path_id(3).unwrap(), "no increase");
    assert!(ids.on_max_path_id(9).unwrap());
    assert!(!ids.on_max_path_id(4).unwrap(), "late");
    assert_eq!(ids.on_max_path_id(2).unwrap_err().code, Code::PROTOCOL_VIOLATION);
    ids.on_paths_blocked(5).unwrap();
    assert_eq!(ids.on_paths_blocked(6).unwrap_err().code, Code::PROTOCOL_VIOLATION);
}

//= multipath-3.2.1-1, multipath-3.2.1-2, multipath-3.2.1-4
#[test]
fn connection_ids_are_issued_for_what_both_ends_allow() {
    let mut ids = negotiated(Side::Server, 4, 2);
    assert_eq!(ids.issuable().collect::<Vec<_>>(), [PathId(0), PathId(1), PathId(2)]);
    ids.on_closed(PathId(1));
    ids.on_max_path_id(7).unwrap();
    let issuable: Vec<_> = ids.issuable().map(|path| path.0).collect();
    assert_eq!(issuable, [0, 2, 3, 4, 5]);
    assert_eq!(PathIds::new(Side::Server, None, 8).issuable().count(), 1);
}
