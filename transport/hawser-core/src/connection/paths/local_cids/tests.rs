use hawser_policy::PathId;
use hawser_wire::{ConnectionId, Frame};

use super::{CIDS_PER_UNUSED_PATH, CIDS_PER_USED_PATH, LocalCids};
use crate::Code;
use crate::connection::frames::PathControl;
use crate::connection::paths::testing::{cid, issuer, write, write_in};
use crate::connection::paths::{CidChange, CidFrames};

const ELSEWHERE: ConnectionId = ConnectionId::EMPTY;

fn filled(path: u32, peer_limit: u64, target: usize) -> (LocalCids, Vec<CidChange>) {
    let mut cids = LocalCids::new(PathId(path));
    let mut changes = Vec::new();
    cids.set_peer_limit(peer_limit);
    cids.fill(target, &mut issuer(0), &mut changes);
    (cids, changes)
}

fn offers(cids: &mut LocalCids, form: CidFrames) -> Vec<(Option<u32>, u64, u64)> {
    let written = write(|w, f| cids.write(form, w, f));
    let offer = |frame: &Frame<'_>| match frame {
        Frame::NewConnectionId(f) => (f.path_id, f.sequence_number, f.retire_prior_to),
        other => panic!("unexpected {other:?}"),
    };
    written.decode().iter().map(offer).collect()
}

//= rfc9000-5.1.1-1, rfc9000-5.1.1-3, rfc9000-5.1.1-4, rfc9000-5.1.1-7, rfc9000-9.5-5
#[test]
fn issues_up_to_the_peers_limit_and_tells_the_endpoint() {
    let (mut cids, changes) = filled(3, 3, CIDS_PER_USED_PATH);
    let added: Vec<_> = (0..3).map(|n| CidChange::Added(cid(n), PathId(3))).collect();
    assert_eq!(changes, added);
    assert_eq!(offers(&mut cids, CidFrames::WithPath), [(Some(3), 0, 0), (Some(3), 1, 0), (Some(3), 2, 0)]);
    assert!(!cids.pending());
    assert_eq!(filled(1, 1 << 40, CIDS_PER_USED_PATH).1.len(), CIDS_PER_USED_PATH);
    assert_eq!(filled(1, 8, CIDS_PER_UNUSED_PATH).1.len(), CIDS_PER_UNUSED_PATH);
}

//= multipath-3.2-1
#[test]
fn frame_without_path_id_only_for_path_zero() {
    let (mut zero, _) = filled(0, 2, 1);
    assert_eq!(offers(&mut zero.clone(), CidFrames::Plain), [(None, 0, 0)]);
    assert_eq!(offers(&mut zero, CidFrames::WithPath), [(Some(0), 0, 0)]);
    assert_eq!(offers(&mut filled(1, 2, 1).0, CidFrames::Plain), [(Some(1), 0, 0)]);
}

#[test]
fn lost_offers_are_repeated_unless_retired_meanwhile() {
    let (mut cids, mut changes) = filled(1, 4, 2);
    offers(&mut cids, CidFrames::WithPath);
    cids.on_lost(0);
    cids.on_lost(1);
    cids.on_retire(0, &ELSEWHERE, &mut changes).unwrap();
    assert_eq!(offers(&mut cids, CidFrames::WithPath), [(Some(1), 1, 0)]);
    cids.on_acked(1);
    cids.on_lost(1);
    assert!(!cids.pending());
    assert!(cids.any_acknowledged());
}

#[test]
fn a_small_packet_takes_what_fits() {
    let (mut cids, _) = filled(1, 4, 3);
    // Type 2, path 1, sequence 1, retire prior to 1, length 1, id 8, token 16.
    let written = write_in(2 * 30 + 29, |w, f| cids.write(CidFrames::WithPath, w, f));
    let expected = [0, 1].map(|sequence| PathControl::NewConnectionId { path: PathId(1), sequence });
    assert_eq!(written.controls(), expected);
    assert!(cids.pending());
}

//= multipath-3.2.2-2, rfc9000-5.1.1-2, rfc9000-5.1.1-6, rfc9000-5.1.2-2, rfc9000-19.16-1
#[test]
fn retirement() {
    let (mut cids, mut changes) = filled(1, 4, 3);
    let error = cids.on_retire(0, &ELSEWHERE, &mut changes).unwrap_err();
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION, "never sent, so the peer cannot know it");
    offers(&mut cids, CidFrames::WithPath);
    changes.clear();

    cids.on_retire(1, &ELSEWHERE, &mut changes).unwrap();
    assert_eq!(changes, [CidChange::Removed(cid(1))]);
    cids.on_retire(1, &ELSEWHERE, &mut changes).unwrap();
    assert_eq!(changes.len(), 1, "a repetition is harmless");
    let error = cids.on_retire(2, &cid(2), &mut changes).unwrap_err();
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION, "it arrived on that very id");
    assert_eq!(cids.on_retire(3, &ELSEWHERE, &mut changes).unwrap_err().code, Code::PROTOCOL_VIOLATION);

    cids.fill(3, &mut issuer(10), &mut changes);
    assert_eq!(changes.last(), Some(&CidChange::Added(cid(10), PathId(1))));
    assert_eq!(offers(&mut cids, CidFrames::WithPath), [(Some(1), 3, 0)]);
}

//= multipath-4.7-2
#[test]
fn blocked_peer_must_count_right() {
    let (cids, _) = filled(1, 4, 2);
    cids.on_peer_blocked(2).unwrap();
    assert_eq!(cids.on_peer_blocked(3).unwrap_err().code, Code::PROTOCOL_VIOLATION);
}

#[test]
fn abandoned_path_issues_nothing_but_is_still_recognised() {
    let (mut cids, mut changes) = filled(1, 4, 2);
    cids.stop();
    changes.clear();
    cids.fill(4, &mut issuer(10), &mut changes);
    assert!(!cids.pending() && changes.is_empty() && cids.iter().count() == 2);
    assert!(offers(&mut cids, CidFrames::WithPath).is_empty());
    cids.remove_all(&mut changes);
    assert_eq!(changes, [CidChange::Removed(cid(0)), CidChange::Removed(cid(1))]);
}

#[test]
fn handshake_ids_are_known_to_the_peer() {
    let mut cids = LocalCids::new(PathId::ZERO);
    let mut issue = issuer(0);
    cids.insert_from_handshake(issue());
    assert!(!cids.pending());
    let mut changes = Vec::new();
    cids.fill(CIDS_PER_USED_PATH, &mut issue, &mut changes);
    assert_eq!(changes, [CidChange::Added(cid(1), PathId::ZERO)], "a limit of 2 until the peer says more");
    cids.on_retire(0, &ELSEWHERE, &mut changes).unwrap();
}
