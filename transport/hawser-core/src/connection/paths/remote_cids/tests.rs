use std::collections::BTreeSet;

use hawser_policy::PathId;
use hawser_wire::{ConnectionId, Frame};
use proptest::prelude::*;

use super::{OfferedCid, RETIREMENTS_PER_LIMIT, RemoteCids, SEQUENCE_WINDOW, SeenSequences};
use crate::connection::frames::PathControl;
use crate::connection::paths::local_cids::LocalCids;
use crate::connection::paths::testing::{Written, cid, issuer, token, write};
use crate::connection::paths::{CidChange, CidFrames};
use crate::{Code, TransportError};

const LIMIT: usize = 4;

fn offer(sequence: u64, retire_prior_to: u64) -> OfferedCid {
    OfferedCid { sequence, retire_prior_to, id: cid(sequence), reset_token: token(sequence) }
}

struct Peer {
    cids: RemoteCids,
    changes: Vec<CidChange>,
}

impl Peer {
    fn new() -> Self {
        Peer { cids: RemoteCids::new(PathId(1), LIMIT), changes: Vec::new() }
    }

    /// An open path with numbers 0 to `count` - 1.
    fn with(count: u64) -> Self {
        let mut peer = Peer::new();
        (0..count).for_each(|sequence| peer.offer(sequence, 0).unwrap());
        assert!(peer.cids.open(&mut peer.changes));
        peer
    }

    fn offer(&mut self, sequence: u64, retire_prior_to: u64) -> Result<(), TransportError> {
        self.cids.on_offer(offer(sequence, retire_prior_to), &mut self.changes)
    }

    fn switch(&mut self) -> bool {
        self.cids.switch(&mut self.changes).unwrap()
    }

    fn retired(&mut self) -> Vec<u64> {
        let written = write(|w, f| self.cids.write(CidFrames::WithPath, w, f));
        let sequence = |control| match control {
            PathControl::RetireConnectionId { path: PathId(1), sequence } => Some(sequence),
            _ => None,
        };
        written.controls().into_iter().filter_map(sequence).collect()
    }
}

fn code(result: Result<(), TransportError>) -> Code {
    result.unwrap_err().code
}

//= rfc9000-19.15-4
#[test]
fn repetitions_are_harmless_and_contradictions_are_not() {
    let mut peer = Peer::with(2);
    peer.offer(1, 0).unwrap();
    assert_eq!(peer.cids.spare_count(), 1);
    let contradictions = [
        OfferedCid { id: cid(7), ..offer(1, 0) },
        OfferedCid { sequence: 5, ..offer(1, 0) },
        OfferedCid { reset_token: token(7), ..offer(1, 0) },
    ];
    for contradiction in contradictions {
        let mut peer = Peer { cids: peer.cids.clone(), changes: Vec::new() };
        assert_eq!(code(peer.cids.on_offer(contradiction, &mut peer.changes)), Code::PROTOCOL_VIOLATION);
    }
    assert_eq!(code(peer.offer(2, 3)), Code::FRAME_ENCODING_ERROR);
}

//= rfc9000-5.1.1-5
#[test]
fn more_than_the_limit() {
    let mut peer = Peer::with(LIMIT as u64);
    assert_eq!(code(peer.offer(4, 0)), Code::CONNECTION_ID_LIMIT_ERROR);
}

//= rfc9000-5.1.2-3
#[test]
fn all_replaced_at_once() {
    let mut peer = Peer::with(LIMIT as u64);
    peer.offer(4, 4).unwrap();
    assert_eq!(peer.cids.current(), Some(cid(4)));
    let mut retired = peer.retired();
    retired.sort_unstable();
    assert_eq!(retired, [0, 1, 2, 3]);
    assert!(peer.changes.ends_with(&[
        CidChange::ResetTokenRemoved(token(0)),
        CidChange::ResetTokenAdded(token(4), PathId(1))
    ]));
    // Late and repeated frames do not bring them back.
    peer.offer(2, 0).unwrap();
    assert_eq!((peer.cids.spare_count(), peer.retired()), (0, vec![]));
}

//= rfc9000-5.1.2-6, rfc9000-19.15-8
#[test]
fn what_never_came_is_retired_too() {
    let mut peer = Peer::with(1);
    peer.offer(3, 3).unwrap();
    let mut retired = peer.retired();
    retired.sort_unstable();
    assert_eq!(retired, [0, 1, 2]);
    peer.offer(1, 0).unwrap();
    assert_eq!((peer.cids.spare_count(), peer.retired()), (0, vec![]));
}

//= multipath-3.1.2-1, multipath-3.2.2-1, rfc9000-5.1.2-1, rfc9000-9.5-1
#[test]
fn a_migration_that_is_confirmed() {
    let mut peer = Peer::with(3);
    assert!(peer.switch());
    assert_eq!((peer.cids.current(), peer.cids.previous()), (Some(cid(1)), Some(cid(0))));
    assert!(peer.cids.is_reset_token(&token(0)) && peer.cids.is_reset_token(&token(1)));
    assert!(!peer.cids.is_reset_token(&token(2)), "never used");
    peer.cids.release_previous(&mut peer.changes).unwrap();
    assert_eq!(peer.retired(), [0]);
    assert!(!peer.cids.is_reset_token(&token(0)), "retired");
    assert!(peer.switch());
    assert!(!peer.switch(), "none left");
    assert_eq!(peer.cids.current(), Some(cid(2)));
}

#[test]
fn a_migration_that_is_undone() {
    let mut peer = Peer::with(3);
    assert!(peer.switch() && peer.switch());
    assert_eq!(peer.retired(), [1], "the one in between");
    peer.cids.revert(&mut peer.changes).unwrap();
    assert_eq!((peer.cids.current(), peer.cids.previous()), (Some(cid(0)), None));
    assert_eq!(peer.retired(), [2]);
}

#[test]
fn lost_retirements_are_repeated_until_acknowledged() {
    let mut peer = Peer::with(2);
    peer.switch();
    peer.cids.release_previous(&mut peer.changes).unwrap();
    assert_eq!(peer.retired(), [0]);
    assert!(!peer.cids.pending(CidFrames::WithPath));
    peer.cids.on_retire_lost(0);
    assert_eq!(peer.retired(), [0]);
    peer.cids.on_retire_acked(0);
    peer.cids.on_retire_lost(0);
    assert!(peer.retired().is_empty());
}

//= rfc9000-5.1.2-4, rfc9000-5.1.2-5
#[test]
fn unacknowledged_retirements_are_capped() {
    // CVE-2024-22189: each frame makes us retire the one before; no retirement is ever acknowledged.
    let mut peer = Peer::with(1);
    let first_refused = (1..1000).find(|sequence| peer.offer(*sequence, *sequence).is_err()).unwrap();
    assert_eq!(first_refused, (LIMIT * RETIREMENTS_PER_LIMIT) as u64 + 1);
    assert_eq!(code(peer.offer(first_refused + 1, first_refused + 1)), Code::CONNECTION_ID_LIMIT_ERROR);
    // The same at once.
    assert_eq!(code(Peer::with(1).offer(1 << 60, 1 << 60)), Code::CONNECTION_ID_LIMIT_ERROR);
    // With acknowledgements it may go on indefinitely.
    let mut peer = Peer::with(1);
    for sequence in 1..1000 {
        peer.offer(sequence, sequence).unwrap();
        peer.retired().into_iter().for_each(|retired| peer.cids.on_retire_acked(retired));
    }
}

#[test]
fn a_number_cannot_be_withheld_for_ever() {
    let mut peer = Peer::with(1);
    let refused = (2..1000).find(|sequence| {
        let refused = peer.offer(*sequence, 0).is_err();
        if !refused {
            peer.switch();
            peer.cids.release_previous(&mut peer.changes).unwrap();
            peer.retired().into_iter().for_each(|retired| peer.cids.on_retire_acked(retired));
        }
        refused
    });
    assert_eq!(refused, Some(1 + SEQUENCE_WINDOW));
}

#[test]
fn shortage_is_told_once_with_present_numbers_and_not_for_abandoned_paths() {
    let blocked = |written: Written| match written.decode().as_slice() {
        [] => None,
        [Frame::PathCidsBlocked { path_id: 1, next_sequence_number }] => Some(*next_sequence_number),
        other => panic!("unexpected {other:?}"),
    };
    let say = |peer: &mut Peer| blocked(write(|w, f| peer.cids.write(CidFrames::WithPath, w, f)));
    let mut peer = Peer::with(1);
    peer.cids.request_more();
    assert!(!peer.cids.pending(CidFrames::Plain), "no multipath, no such frame");
    assert_eq!(say(&mut peer), Some(1));
    peer.cids.request_more();
    assert_eq!(say(&mut peer), None);
    peer.cids.on_blocked_lost();
    assert_eq!(say(&mut peer), Some(1));

    // Lost, but relieved meanwhile.
    peer.offer(1, 0).unwrap();
    peer.cids.on_blocked_lost();
    peer.cids.request_more();
    assert_eq!(say(&mut peer), None, "there is a spare one");

    peer.switch();
    peer.cids.request_more();
    assert_eq!(say(&mut peer), Some(2));
    peer.cids.on_blocked_acked();
    peer.cids.on_blocked_lost();
    assert_eq!(say(&mut peer), None, "the peer knows");

    let mut peer = Peer::with(1);
    peer.cids.request_more();
    say(&mut peer);
    peer.cids.abandon(&mut peer.changes);
    peer.cids.on_blocked_lost();
    peer.cids.request_more();
    assert_eq!(say(&mut peer), None);
}

//= multipath-3.4-2
#[test]
fn abandonment_retires_all_at_once() {
    let mut peer = Peer::with(3);
    peer.switch();
    peer.changes.clear();
    peer.cids.abandon(&mut peer.changes);
    let forgotten: BTreeSet<_> = peer.changes.iter().map(|change| format!("{change:?}")).collect();
    assert_eq!((peer.changes.len(), forgotten.len()), (2, 1), "both tokens, which print alike");
    assert_eq!((peer.cids.current(), peer.cids.previous()), (None, None));
    assert!(!peer.cids.is_reset_token(&token(1)) && !peer.cids.can_open());
    assert!(!peer.cids.pending(CidFrames::WithPath), "no RETIRE_CONNECTION_ID");
    peer.offer(3, 0).unwrap();
    assert!(!peer.cids.open(&mut peer.changes));
}

#[test]
fn open_path_without_ids_takes_the_next_one() {
    let mut peer = Peer::new();
    assert!(!peer.cids.can_open() && !peer.cids.open(&mut peer.changes));
    peer.offer(0, 0).unwrap();
    assert_eq!(peer.cids.current(), Some(cid(0)));
    let mut unopened = Peer::new();
    unopened.offer(0, 0).unwrap();
    assert_eq!(unopened.cids.current(), None);
}

#[test]
fn handshake_id_and_token() {
    let mut peer = Peer { cids: RemoteCids::new(PathId::ZERO, LIMIT), changes: Vec::new() };
    peer.cids.set_handshake_cid(cid(100));
    assert!(!peer.cids.is_reset_token(&token(0)));
    peer.cids.set_handshake_token(token(0), &mut peer.changes);
    assert!(peer.cids.is_reset_token(&token(0)));
    peer.offer(1, 1).unwrap();
    assert_eq!(peer.cids.current(), Some(cid(1)));
}

proptest! {
    #[test]
    fn seen_sequences_are_a_set(numbers in prop::collection::vec(0u64..200, 0..300), floors in prop::collection::vec(0u64..200, 0..5)) {
        let mut seen = SeenSequences::default();
        let mut model = BTreeSet::new();
        for (step, number) in numbers.iter().enumerate() {
            if seen.insert(*number) {
                model.insert(*number);
            } else {
                prop_assert!(*number >= seen.floor + SEQUENCE_WINDOW);
            }
            if let Some(floor) = floors.get(step / 60).filter(|_| step % 60 == 59) {
                seen.raise_floor(*floor);
                model.extend(0..*floor);
            }
            for probe in 0..200 {
                prop_assert_eq!(seen.contains(probe), model.contains(&probe), "{}", probe);
            }
            prop_assert_eq!(seen.next_expected(), model.last().map_or(0, |last| last + 1));
        }
    }

    //= rfc9000-5.1.2-6, rfc9000-19.15-7
    #[test]
    fn both_ends_agree_whatever_the_network_does(steps in prop::collection::vec((0u8..8, any::<u8>()), 0..200), peer_limit in 2u64..6) {
        let mut pair = Pair::new(peer_limit);
        for (action, choice) in steps {
            pair.step(action, usize::from(choice))?;
        }
        pair.settle()?;
    }
}

/// One end's [`LocalCids`] and the other end's [`RemoteCids`] with a network between them that loses, repeats and
/// reorders.
struct Pair {
    local: LocalCids,
    remote: RemoteCids,
    issuer: Box<dyn FnMut() -> crate::connection::paths::IssuedCid>,
    changes: Vec<CidChange>,
    routed: BTreeSet<ConnectionId>,
    limit: u64,
    retire_prior_to: u64,
    /// One past the largest number that arrived.
    told_below: u64,
    /// Under way to the remote end, and back.
    there: Vec<Written>,
    back: Vec<Written>,
}

impl Pair {
    fn new(limit: u64) -> Self {
        let mut local = LocalCids::new(PathId(1));
        local.set_peer_limit(limit);
        let mut pair = Pair {
            local,
            remote: RemoteCids::new(PathId(1), limit as usize),
            issuer: Box::new(issuer(0)),
            changes: Vec::new(),
            routed: BTreeSet::new(),
            limit,
            retire_prior_to: 0,
            told_below: 0,
            there: Vec::new(),
            back: Vec::new(),
        };
        pair.fill();
        pair
    }

    fn fill(&mut self) {
        self.local.fill(8, &mut self.issuer, &mut self.changes);
        self.route();
    }

    fn route(&mut self) {
        for change in self.changes.drain(..) {
            match change {
                CidChange::Added(id, PathId(1)) => assert!(self.routed.insert(id), "issued twice"),
                CidChange::Removed(id) => assert!(self.routed.remove(&id)),
                _ => {}
            }
        }
    }

    fn send(&mut self) {
        self.there.push(write(|w, f| self.local.write(CidFrames::WithPath, w, f)));
        self.back.push(write(|w, f| self.remote.write(CidFrames::WithPath, w, f)));
    }

    fn step(&mut self, action: u8, choice: usize) -> Result<(), TestCaseError> {
        match action {
            0 => self.send(),
            // Delivered; acknowledged only sometimes, else found lost by mistake.
            1 if !self.there.is_empty() => {
                let packet = self.there.remove(choice % self.there.len());
                self.deliver_there(&packet)?;
                self.resolve_there(&packet, !choice.is_multiple_of(3));
            }
            2 if !self.back.is_empty() => {
                let packet = self.back.remove(choice % self.back.len());
                self.deliver_back(&packet)?;
                self.resolve_back(&packet, !choice.is_multiple_of(3));
            }
            3 if !self.there.is_empty() => {
                let packet = self.there.remove(choice % self.there.len());
                self.resolve_there(&packet, false);
            }
            4 if !self.back.is_empty() => {
                let packet = self.back.remove(choice % self.back.len());
                self.resolve_back(&packet, false);
            }
            5 => {
                self.remote.open(&mut self.changes);
                // A peer that never acknowledges is another test.
                if self.remote.retiring.len() < self.limit as usize {
                    self.remote.switch(&mut self.changes).map_err(|e| TestCaseError::fail(e.to_string()))?;
                }
            }
            6 if choice.is_multiple_of(2) => ok(self.remote.release_previous(&mut self.changes))?,
            6 => ok(self.remote.revert(&mut self.changes))?,
            7 if choice.is_multiple_of(8) && self.remote.retiring.len() < self.limit as usize => {
                // A peer that wants a change says so in the frames that follow.
                self.retire_prior_to = self.told_below;
            }
            _ => {}
        }
        self.route();
        self.check()
    }

    fn deliver_there(&mut self, packet: &Written) -> Result<(), TestCaseError> {
        for frame in packet.decode() {
            let Frame::NewConnectionId(f) = frame else { continue };
            self.told_below = self.told_below.max(f.sequence_number + 1);
            let offer = OfferedCid {
                sequence: f.sequence_number,
                retire_prior_to: self.retire_prior_to.min(f.sequence_number),
                id: f.connection_id,
                reset_token: f.reset_token,
            };
            ok(self.remote.on_offer(offer, &mut self.changes))?;
        }
        Ok(())
    }

    fn deliver_back(&mut self, packet: &Written) -> Result<(), TestCaseError> {
        for frame in packet.decode() {
            let Frame::RetireConnectionId(f) = frame else { continue };
            ok(self.local.on_retire(f.sequence_number, &ConnectionId::EMPTY, &mut self.changes))?;
        }
        self.fill();
        Ok(())
    }

    fn resolve_there(&mut self, packet: &Written, acked: bool) {
        for control in packet.controls() {
            match control {
                PathControl::NewConnectionId { sequence, .. } if acked => self.local.on_acked(sequence),
                PathControl::NewConnectionId { sequence, .. } => self.local.on_lost(sequence),
                _ => {}
            }
        }
    }

    fn resolve_back(&mut self, packet: &Written, acked: bool) {
        for control in packet.controls() {
            match control {
                PathControl::RetireConnectionId { sequence, .. } if acked => {
                    self.remote.on_retire_acked(sequence)
                }
                PathControl::RetireConnectionId { sequence, .. } => self.remote.on_retire_lost(sequence),
                _ => {}
            }
        }
    }

    /// What one end sends to, the other recognises.
    fn check(&self) -> Result<(), TestCaseError> {
        for id in self.remote.active().map(|known| known.id) {
            prop_assert!(self.routed.contains(&id), "{id} is not recognised any more");
        }
        prop_assert!(self.remote.active_count() as u64 <= self.limit);
        prop_assert_eq!(self.local.iter().collect::<BTreeSet<_>>(), self.routed.clone());
        Ok(())
    }

    /// The network recovers: all is delivered and acknowledged, and both ends know the same.
    fn settle(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..20 {
            self.send();
            for packet in std::mem::take(&mut self.there) {
                self.deliver_there(&packet)?;
                self.resolve_there(&packet, true);
            }
            for packet in std::mem::take(&mut self.back) {
                self.deliver_back(&packet)?;
                self.resolve_back(&packet, true);
            }
        }
        self.check()?;
        let known: BTreeSet<_> = self.remote.active().map(|known| known.id).collect();
        prop_assert_eq!(&known, &self.routed);
        prop_assert_eq!(known.len() as u64, self.limit);
        prop_assert!(!self.local.pending() && !self.remote.pending(CidFrames::WithPath));
        prop_assert!(self.remote.retiring.is_empty());
        Ok(())
    }
}

fn ok(result: Result<(), TransportError>) -> Result<(), TestCaseError> {
    result.map_err(|error| TestCaseError::fail(error.to_string()))
}

/// RFC 9000 section 19.15.
//= rfc9000-19.15-3
#[test]
fn who_has_no_connection_id_can_not_offer_another() {
    let mut peer = Peer::new();
    peer.cids.set_handshake_cid(ConnectionId::EMPTY);
    assert_eq!(code(peer.offer(1, 0)), Code::PROTOCOL_VIOLATION);
}
