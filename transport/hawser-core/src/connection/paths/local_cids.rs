//! Connection ids that we issued for one path (RFC 9000 section 5.1, draft-ietf-quic-multipath-21 section 3.2).

use hawser_policy::PathId;
use hawser_wire::frame::NewConnectionId;
use hawser_wire::{ConnectionId, Frame, StatelessResetToken, Writer};
use smallvec::SmallVec;

use super::{CidChange, CidFrames, CidIssuer, Delivery, IssuedCid, put};
use crate::TransportError;
use crate::connection::frames::{PathControl, SentFrames};

/// Connection ids kept with the peer for a path in use, unless its limit is lower: one in use, one for each end's
/// next migration, one to spare while a retired one is being replaced.
pub(crate) const CIDS_PER_USED_PATH: usize = 4;

/// Connection ids given in advance for a path that is not open yet: one to open it, one to migrate at once.
pub(crate) const CIDS_PER_UNUSED_PATH: usize = 2;

/// active_connection_id_limit of a peer that did not say (RFC 9000 section 18.2).
const DEFAULT_PEER_LIMIT: usize = 2;

#[derive(Clone, Copy, Debug)]
struct LocalCid {
    sequence: u64,
    id: ConnectionId,
    reset_token: StatelessResetToken,
    delivery: Delivery,
}

/// Our connection ids of one path: issued and not yet retired by the peer.
#[derive(Clone, Debug)]
pub(crate) struct LocalCids {
    path: PathId,
    /// In order of sequence number.
    active: SmallVec<[LocalCid; CIDS_PER_USED_PATH]>,
    next_sequence: u64,
    /// One past the largest sequence number that the peer can know.
    sent_below: u64,
    peer_limit: usize,
    stopped: bool,
}

impl LocalCids {
    /// No connection id yet.
    pub(crate) fn new(path: PathId) -> Self {
        LocalCids {
            path,
            active: SmallVec::new(),
            next_sequence: 0,
            sent_below: 0,
            peer_limit: DEFAULT_PEER_LIMIT,
            stopped: false,
        }
    }

    /// The peer's active_connection_id_limit, which counts per path (draft-ietf-quic-multipath-21 section 2.2).
    pub(crate) fn set_peer_limit(&mut self, limit: u64) {
        self.peer_limit = usize::try_from(limit).unwrap_or(usize::MAX);
    }

    /// Takes up a connection id that the peer learns from the handshake: first the one in our long headers
    /// (sequence number 0), then the one in preferred_address (1). The endpoint knows it already.
    pub(crate) fn insert_from_handshake(&mut self, cid: IssuedCid) {
        self.push(cid, Delivery::Acknowledged);
        self.sent_below = self.next_sequence;
    }

    /// Issues connection ids until the peer has `target`, as far as its limit allows and the issuer has any.
    //= rfc9000-5.1.1-3: the peer has enough unused connection ids
    //= rfc9000-5.1.1-4: no more connection ids than the peer's limit
    //= rfc9000-5.1.1-7: an endpoint that migrates leaves the peer a connection id to answer with
    //= rfc9000-9.5-5: connection ids are issued before the peer needs them
    pub(crate) fn fill(&mut self, target: usize, issuer: &mut dyn CidIssuer, changes: &mut Vec<CidChange>) {
        if self.stopped {
            return;
        }
        let target = target.min(self.peer_limit);
        for _ in self.active.len()..target {
            let Some(cid) = issuer.issue() else { return };
            changes.push(CidChange::Added(cid.id, self.path));
            self.push(cid, Delivery::Queued);
        }
    }

    /// The peer retires a connection id. `arrived_on` is the destination connection id of the packet that says so.
    /// The caller then fills up again.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if it was never sent, or is the one of that packet (RFC 9000 section 19.16).
    //= rfc9000-5.1.2-2: issued connection ids are accepted until the peer retires them
    //= rfc9000-19.16-1: retiring a connection id that was not sent: PROTOCOL_VIOLATION
    pub(crate) fn on_retire(
        &mut self,
        sequence: u64,
        arrived_on: &ConnectionId,
        changes: &mut Vec<CidChange>,
    ) -> Result<(), TransportError> {
        if sequence >= self.sent_below {
            return Err(TransportError::protocol_violation(format!(
                "connection id {sequence} of path {} retired, only those below {} were issued",
                self.path, self.sent_below
            )));
        }
        let Some(position) = self.active.iter().position(|cid| cid.sequence == sequence) else {
            return Ok(());
        };
        if self.active.get(position).is_some_and(|cid| cid.id == *arrived_on) {
            return Err(TransportError::protocol_violation(format!(
                "connection id {sequence} of path {} retired by a packet sent to it",
                self.path
            )));
        }
        let cid = self.active.remove(position);
        changes.push(CidChange::Removed(cid.id));
        Ok(())
    }

    /// PATH_CIDS_BLOCKED arrived. The caller then fills up, if it wants the path used.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if the peer expects a number beyond the next one (draft-ietf-quic-multipath-21 section 4.7).
    //= multipath-4.7-2: PATH_CIDS_BLOCKED beyond the next id: PROTOCOL_VIOLATION
    pub(crate) fn on_peer_blocked(&self, next_sequence: u64) -> Result<(), TransportError> {
        if next_sequence > self.next_sequence {
            return Err(TransportError::protocol_violation(format!(
                "PATH_CIDS_BLOCKED expects connection id {next_sequence} of path {}, the next is {}",
                self.path, self.next_sequence
            )));
        }
        Ok(())
    }

    /// Whether the peer has one that it knows of for certain.
    pub(crate) fn any_acknowledged(&self) -> bool {
        self.active.iter().any(|cid| cid.delivery == Delivery::Acknowledged)
    }

    /// The ids that are issued and not retired, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        self.active.iter().map(|cid| cid.id)
    }

    /// Whether a frame is to be sent.
    #[inline]
    pub(crate) fn pending(&self) -> bool {
        !self.stopped && self.active.iter().any(|cid| cid.delivery.is_queued())
    }

    /// Writes as many of the pending frames as fit.
    //= rfc9000-19.15-5: Retire Prior To is not above the sequence number
    pub(crate) fn write(&mut self, form: CidFrames, writer: &mut Writer<'_>, frames: &mut SentFrames) {
        if self.stopped {
            return;
        }
        for cid in self.active.iter_mut().filter(|cid| cid.delivery.is_queued()) {
            let frame = Frame::NewConnectionId(NewConnectionId {
                path_id: form.path_field(self.path),
                sequence_number: cid.sequence,
                // We never ask for a change; the peer retires when it moves.
                retire_prior_to: 0,
                connection_id: cid.id,
                reset_token: cid.reset_token,
            });
            let sent = PathControl::NewConnectionId { path: self.path, sequence: cid.sequence };
            if !put(writer, frames, &frame, sent) {
                return;
            }
            cid.delivery = Delivery::InFlight;
            self.sent_below = self.sent_below.max(cid.sequence + 1);
        }
    }

    /// A local frame arrived.
    pub(crate) fn on_acked(&mut self, sequence: u64) {
        if let Some(cid) = self.find_mut(sequence) {
            cid.delivery = Delivery::Acknowledged;
        }
    }

    /// A local frame is lost. It is sent again unless the peer has retired the connection id meanwhile.
    pub(crate) fn on_lost(&mut self, sequence: u64) {
        if let Some(cid) = self.find_mut(sequence) {
            cid.delivery.on_lost();
        }
    }

    /// The path is abandoned: nothing more is issued. What was issued is still recognised for a while, so that late
    /// packets draw no stateless reset (draft-ietf-quic-multipath-21 section 3.4.2).
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// The path is closed: nothing is recognised any more.
    pub(crate) fn remove_all(&mut self, changes: &mut Vec<CidChange>) {
        self.stopped = true;
        changes.extend(self.active.drain(..).map(|cid| CidChange::Removed(cid.id)));
    }

    //= rfc9000-5.1.1-1: sequence numbers of connection ids rise by one
    fn push(&mut self, cid: IssuedCid, delivery: Delivery) {
        let sequence = self.next_sequence;
        self.active.push(LocalCid { sequence, id: cid.id, reset_token: cid.reset_token, delivery });
        self.next_sequence += 1;
    }

    fn find_mut(&mut self, sequence: u64) -> Option<&mut LocalCid> {
        self.active.iter_mut().find(|cid| cid.sequence == sequence)
    }
}

#[cfg(test)]
mod tests;
