//! Connection ids of the peer for one path (RFC 9000 section 5.1, draft-ietf-quic-multipath-21 section 3.2).

use hawser_policy::PathId;
use hawser_wire::frame::RetireConnectionId;
use hawser_wire::{ConnectionId, Frame, StatelessResetToken, Writer};
use smallvec::SmallVec;

use super::{CidChange, CidFrames, Delivery, put};
use crate::connection::frames::{PathControl, SentFrames};
use crate::{Code, TransportError};

/// Retired connection ids per one of our limit whose RETIRE_CONNECTION_ID may be unacknowledged. RFC 9000 section
/// 5.1.2 asks for at least two. A peer that makes us retire more without acknowledging any wants to fill our memory.
//= rfc9000-5.1.2-5: at least twice our limit of retirements may be unacknowledged
const RETIREMENTS_PER_LIMIT: usize = 4;

/// How far a sequence number may be ahead of one that never came. An honest peer stays within twice our limit.
const SEQUENCE_WINDOW: u64 = 128;

/// What NEW_CONNECTION_ID or PATH_NEW_CONNECTION_ID says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfferedCid {
    pub(crate) sequence: u64,
    pub(crate) retire_prior_to: u64,
    pub(crate) id: ConnectionId,
    pub(crate) reset_token: StatelessResetToken,
}

#[derive(Clone, Copy, Debug)]
struct RemoteCid {
    sequence: u64,
    id: ConnectionId,
    /// Unknown for the first one of a client, and of a server that sent no stateless_reset_token.
    reset_token: Option<StatelessResetToken>,
}

/// The peer's connection ids for one path.
///
/// One is *current*. During a migration the one used before is kept as *previous*, to validate the old addresses with
/// it and to return to it. The rest are spare and have never been used.
#[derive(Clone, Debug)]
pub(crate) struct RemoteCids {
    path: PathId,
    /// Our active_connection_id_limit.
    limit: usize,
    current: Option<RemoteCid>,
    previous: Option<RemoteCid>,
    /// In order of sequence number.
    spare: SmallVec<[RemoteCid; 4]>,
    seen: SeenSequences,
    retiring: Vec<(u64, Delivery)>,
    /// The PATH_CIDS_BLOCKED that is out or to be sent; gone when a connection id comes.
    blocked: Option<Delivery>,
    opened: bool,
    abandoned: bool,
}

impl RemoteCids {
    /// None yet. `limit` is the active_connection_id_limit that we announce, at least 2.
    pub(crate) fn new(path: PathId, limit: usize) -> Self {
        RemoteCids {
            path,
            limit,
            current: None,
            previous: None,
            spare: SmallVec::new(),
            seen: SeenSequences::default(),
            retiring: Vec::new(),
            blocked: None,
            opened: false,
            abandoned: false,
        }
    }

    /// Path 0 at a client before the server's first packet, and after it: the id of the handshake, number 0.
    pub(crate) fn set_handshake_cid(&mut self, id: ConnectionId) {
        self.seen.insert(0);
        self.opened = true;
        self.current = Some(RemoteCid { sequence: 0, id, reset_token: None });
    }

    /// The stateless_reset_token transport parameter of the server, for number 0.
    pub(crate) fn set_handshake_token(&mut self, token: StatelessResetToken, changes: &mut Vec<CidChange>) {
        if let Some(cid) = self.current.as_mut().filter(|cid| cid.sequence == 0) {
            cid.reset_token = Some(token);
            changes.push(CidChange::ResetTokenAdded(token, self.path));
        }
    }

    /// The connection id to send to; `None` if the peer gave none or the path is abandoned.
    #[inline]
    pub(crate) fn current(&self) -> Option<ConnectionId> {
        self.current.map(|cid| cid.id)
    }

    /// The one for the addresses left in a migration that is not confirmed yet.
    #[inline]
    pub(crate) fn previous(&self) -> Option<ConnectionId> {
        self.previous.map(|cid| cid.id)
    }

    /// The one that a move would change to, for probes of where it would lead (RFC 9000 section 9.5).
    pub(crate) fn next(&self) -> Option<ConnectionId> {
        self.spare.first().map(|cid| cid.id)
    }

    /// The [next](Self::next) one was used for probes that led nowhere, so it must not be used anywhere else.
    ///
    /// # Errors
    /// CONNECTION_ID_LIMIT_ERROR if the peer acknowledges no retirement.
    pub(crate) fn discard_next(&mut self, changes: &mut Vec<CidChange>) -> Result<(), TransportError> {
        self.take_spare(changes).map_or(Ok(()), |cid| self.retire(cid, changes))
    }

    /// How many have never been used.
    #[cfg(test)]
    pub(crate) fn spare_count(&self) -> usize {
        self.spare.len()
    }

    /// Whether a path could be opened with what the peer gave.
    pub(crate) fn can_open(&self) -> bool {
        !self.abandoned && (self.current.is_some() || !self.spare.is_empty())
    }

    /// Takes the first spare one as current, when the path is opened.
    //= multipath-3.1-1: a new path has an unused path id and an id of its own
    pub(crate) fn open(&mut self, changes: &mut Vec<CidChange>) -> bool {
        self.opened = true;
        if self.current.is_none() && !self.abandoned {
            self.current = self.take_spare(changes);
        }
        self.current.is_some()
    }

    /// Whether a stateless reset with this token concerns this path. RFC 9000 section 10.3.1: only tokens of
    /// connection ids that were used and are not retired count.
    //= rfc9000-10.3.1-2: only reset tokens of connection ids that are used and not retired count
    pub(crate) fn is_reset_token(&self, token: &StatelessResetToken) -> bool {
        [&self.current, &self.previous].into_iter().flatten().any(|cid| cid.reset_token == Some(*token))
    }

    /// The peer offers a connection id.
    ///
    /// # Errors
    /// FRAME_ENCODING_ERROR, PROTOCOL_VIOLATION or CONNECTION_ID_LIMIT_ERROR as RFC 9000 sections 5.1.1, 5.1.2 and
    /// 19.15 say.
    //= rfc9000-5.1.1-5: more active connection ids than our limit: CONNECTION_ID_LIMIT_ERROR
    //= rfc9000-5.1.2-3: Retire Prior To: retire first, then add
    //= rfc9000-19.15-3: NEW_CONNECTION_ID from a peer whose ids have zero length: PROTOCOL_VIOLATION
    pub(crate) fn on_offer(
        &mut self,
        offer: OfferedCid,
        changes: &mut Vec<CidChange>,
    ) -> Result<(), TransportError> {
        if offer.retire_prior_to > offer.sequence {
            return Err(TransportError::new(
                Code::FRAME_ENCODING_ERROR,
                format!("retire prior to {} above sequence number {}", offer.retire_prior_to, offer.sequence),
            ));
        }
        if self.abandoned {
            return Ok(());
        }
        if self.current.is_some_and(|cid| cid.id.is_empty()) {
            return Err(TransportError::protocol_violation("a connection id from a peer that has none"));
        }
        self.check_conflict(&offer)?;
        // RFC 9000 section 5.1.2: first retire, then add, so that all may be replaced at once.
        self.retire_below(offer.retire_prior_to, changes)?;
        if self.seen.contains(offer.sequence) {
            return Ok(());
        }
        if !self.seen.insert(offer.sequence) {
            return Err(self.limit_error(format!(
                "connection id {} came while {} is missing",
                offer.sequence, self.seen.floor
            )));
        }
        let cid = RemoteCid { sequence: offer.sequence, id: offer.id, reset_token: Some(offer.reset_token) };
        let position = self.spare.partition_point(|known| known.sequence < cid.sequence);
        self.spare.insert(position, cid);
        if self.active_count() > self.limit {
            return Err(self.limit_error(format!("more than {} active connection ids", self.limit)));
        }
        self.blocked = None;
        // An open path had all it used retired by the peer.
        if self.opened && self.current.is_none() {
            self.current = self.take_spare(changes);
        }
        Ok(())
    }

    /// Changes to a connection id that was never used, because one of our or the peer's addresses changed
    /// (RFC 9000 section 9.5). The present one stays as previous until the change is confirmed or undone.
    /// `Ok(false)`: there is no spare one; the caller decides whether to go on with the present one.
    ///
    /// # Errors
    /// CONNECTION_ID_LIMIT_ERROR if the peer acknowledges no retirement.
    //= multipath-3.1.2-1: other addresses under a path id are a migration of that path, with its ids
    //= multipath-3.2.2-1: a path changes to connection ids of its own only
    //= rfc9000-9.5-1: each local address has its own connection id
    pub(crate) fn switch(&mut self, changes: &mut Vec<CidChange>) -> Result<bool, TransportError> {
        let Some(fresh) = self.take_spare(changes) else { return Ok(false) };
        match (self.current.replace(fresh), self.previous) {
            (Some(left), None) => self.previous = Some(left),
            (Some(left), Some(_)) => self.retire(left, changes)?,
            (None, _) => {}
        }
        Ok(true)
    }

    /// The change of addresses is confirmed, the old ones are not needed: retires the previous connection id.
    ///
    /// # Errors
    /// CONNECTION_ID_LIMIT_ERROR if the peer acknowledges no retirement.
    //= rfc9000-5.1.2-1: connection ids of addresses that are no longer used are retired
    pub(crate) fn release_previous(&mut self, changes: &mut Vec<CidChange>) -> Result<(), TransportError> {
        self.previous.take().map_or(Ok(()), |cid| self.retire(cid, changes))
    }

    /// The change of addresses is undone: back to the previous connection id, if the peer did not have it retired.
    ///
    /// # Errors
    /// CONNECTION_ID_LIMIT_ERROR if the peer acknowledges no retirement.
    pub(crate) fn revert(&mut self, changes: &mut Vec<CidChange>) -> Result<(), TransportError> {
        let Some(previous) = self.previous.take() else { return Ok(()) };
        self.current.replace(previous).map_or(Ok(()), |cid| self.retire(cid, changes))
    }

    /// We want another connection id and have none: PATH_CIDS_BLOCKED, once per shortage.
    pub(crate) fn request_more(&mut self) {
        if !self.abandoned && self.spare.is_empty() {
            self.blocked.get_or_insert(Delivery::Queued);
        }
    }

    /// Whether a frame is to be sent. `form` as for [`write`](Self::write).
    #[inline]
    pub(crate) fn pending(&self, form: CidFrames) -> bool {
        self.retiring.iter().any(|(_, delivery)| delivery.is_queued())
            || (form == CidFrames::WithPath && self.blocked == Some(Delivery::Queued))
    }

    /// Writes as many of the pending frames as fit.
    pub(crate) fn write(&mut self, form: CidFrames, writer: &mut Writer<'_>, frames: &mut SentFrames) {
        for (sequence, delivery) in self.retiring.iter_mut().filter(|(_, delivery)| delivery.is_queued()) {
            let frame = Frame::RetireConnectionId(RetireConnectionId {
                path_id: form.path_field(self.path),
                sequence_number: *sequence,
            });
            let sent = PathControl::RetireConnectionId { path: self.path, sequence: *sequence };
            if !put(writer, frames, &frame, sent) {
                return;
            }
            *delivery = Delivery::InFlight;
        }
        if form == CidFrames::WithPath && self.blocked == Some(Delivery::Queued) {
            let frame = Frame::PathCidsBlocked {
                path_id: self.path.0,
                next_sequence_number: self.seen.next_expected(),
            };
            if put(writer, frames, &frame, PathControl::PathCidsBlocked(self.path)) {
                self.blocked = Some(Delivery::InFlight);
            }
        }
    }

    /// Our RETIRE_CONNECTION_ID arrived.
    pub(crate) fn on_retire_acked(&mut self, sequence: u64) {
        self.retiring.retain(|(retired, _)| *retired != sequence);
    }

    /// Our RETIRE_CONNECTION_ID is lost.
    pub(crate) fn on_retire_lost(&mut self, sequence: u64) {
        if let Some((_, delivery)) = self.retiring.iter_mut().find(|(retired, _)| *retired == sequence) {
            delivery.on_lost();
        }
    }

    /// Our PATH_CIDS_BLOCKED arrived. If nothing follows, that is the peer's decision: it is not repeated.
    pub(crate) fn on_blocked_acked(&mut self) {
        if self.blocked == Some(Delivery::InFlight) {
            self.blocked = Some(Delivery::Acknowledged);
        }
    }

    /// Our PATH_CIDS_BLOCKED is lost; said again only if it is still so.
    pub(crate) fn on_blocked_lost(&mut self) {
        if let Some(delivery) = &mut self.blocked {
            delivery.on_lost();
        }
    }

    /// The path is abandoned: all are retired at once, without a frame, and nothing is asked for any more
    /// (draft-ietf-quic-multipath-21 section 3.4).
    //= multipath-3.4-2: an endpoint that sends PATH_ABANDON sends nothing more on the path
    pub(crate) fn abandon(&mut self, changes: &mut Vec<CidChange>) {
        for cid in [self.current.take(), self.previous.take()].into_iter().flatten() {
            forget_token(&cid, changes);
        }
        self.spare.clear();
        self.retiring.clear();
        self.blocked = None;
        self.abandoned = true;
    }

    fn active(&self) -> impl Iterator<Item = &RemoteCid> {
        [&self.current, &self.previous].into_iter().flatten().chain(&self.spare)
    }

    fn active_count(&self) -> usize {
        self.active().count()
    }

    //= rfc9000-19.15-4: repetitions of NEW_CONNECTION_ID are no error
    fn check_conflict(&self, offer: &OfferedCid) -> Result<(), TransportError> {
        let conflicting = self.active().find(|cid| {
            let same_sequence = cid.sequence == offer.sequence;
            let same_id = cid.id == offer.id;
            let other_token = cid.reset_token.is_some_and(|token| token != offer.reset_token);
            same_sequence != same_id || (same_sequence && other_token)
        });
        conflicting.map_or(Ok(()), |cid| {
            Err(TransportError::protocol_violation(format!(
                "connection id {} of path {} contradicts number {}",
                offer.sequence, self.path, cid.sequence
            )))
        })
    }

    /// Everything below `bound` is to be retired, what has not come included: it can then be dropped when it comes,
    /// and need not be remembered.
    //= rfc9000-5.1.2-3: Retire Prior To: retire first, then add
    //= rfc9000-19.15-7: a Retire Prior To that is not larger is ignored
    //= rfc9000-19.15-8: a connection id that comes late, below Retire Prior To, is retired
    fn retire_below(&mut self, bound: u64, changes: &mut Vec<CidChange>) -> Result<(), TransportError> {
        if bound <= self.seen.floor && self.active().all(|cid| cid.sequence >= bound) {
            return Ok(());
        }
        if bound.saturating_sub(self.seen.floor) > SEQUENCE_WINDOW {
            return Err(self.limit_error(format!("asked to retire up to number {bound} at once")));
        }
        for sequence in self.seen.floor..bound {
            if !self.seen.contains(sequence) {
                self.queue_retirement(sequence)?;
            }
        }
        self.seen.raise_floor(bound);
        for cid in std::mem::take(&mut self.spare) {
            if cid.sequence < bound {
                self.queue_retirement(cid.sequence)?;
            } else {
                self.spare.push(cid);
            }
        }
        if let Some(cid) = self.previous.take_if(|cid| cid.sequence < bound) {
            self.retire(cid, changes)?;
        }
        if let Some(cid) = self.current.take_if(|cid| cid.sequence < bound) {
            self.retire(cid, changes)?;
            self.current = self.take_spare(changes);
        }
        Ok(())
    }

    //= rfc9000-5.1.2-6: no connection id is forgotten without being retired
    //= rfc9000-19.16-2: a connection id is not retired in a packet sent to it
    fn retire(&mut self, cid: RemoteCid, changes: &mut Vec<CidChange>) -> Result<(), TransportError> {
        forget_token(&cid, changes);
        self.queue_retirement(cid.sequence)
    }

    //= rfc9000-5.1.2-4: unacknowledged retirements are bounded
    fn queue_retirement(&mut self, sequence: u64) -> Result<(), TransportError> {
        if self.retiring.len() >= self.limit * RETIREMENTS_PER_LIMIT {
            return Err(self.limit_error(format!("{} retirements unacknowledged", self.retiring.len())));
        }
        self.retiring.push((sequence, Delivery::Queued));
        Ok(())
    }

    //= rfc9000-10.3.1-2: only reset tokens of connection ids that are used and not retired count
    fn take_spare(&mut self, changes: &mut Vec<CidChange>) -> Option<RemoteCid> {
        if self.spare.is_empty() {
            return None;
        }
        let cid = self.spare.remove(0);
        changes.extend(cid.reset_token.map(|token| CidChange::ResetTokenAdded(token, self.path)));
        Some(cid)
    }

    fn limit_error(&self, what: String) -> TransportError {
        TransportError::new(Code::CONNECTION_ID_LIMIT_ERROR, format!("path {}: {what}", self.path))
    }
}

fn forget_token(cid: &RemoteCid, changes: &mut Vec<CidChange>) {
    changes.extend(cid.reset_token.map(CidChange::ResetTokenRemoved));
}

/// Sequence numbers seen: all below `floor`, and some of the [`SEQUENCE_WINDOW`] numbers from there on.
#[derive(Clone, Copy, Debug, Default)]
struct SeenSequences {
    floor: u64,
    /// Bit n stands for `floor + n`; bit 0 is never set.
    above: u128,
}

impl SeenSequences {
    fn contains(&self, sequence: u64) -> bool {
        match sequence.checked_sub(self.floor) {
            None => true,
            Some(offset) => offset < SEQUENCE_WINDOW && self.above & (1 << offset) != 0,
        }
    }

    /// `false`: too far ahead.
    fn insert(&mut self, sequence: u64) -> bool {
        let Some(offset) = sequence.checked_sub(self.floor) else { return true };
        if offset >= SEQUENCE_WINDOW {
            return false;
        }
        self.above |= 1 << offset;
        self.settle();
        true
    }

    fn raise_floor(&mut self, floor: u64) {
        let Some(shift) = floor.checked_sub(self.floor) else { return };
        self.above = if shift >= SEQUENCE_WINDOW { 0 } else { self.above >> shift };
        self.floor = floor;
        self.settle();
    }

    /// One past the largest seen.
    fn next_expected(&self) -> u64 {
        self.floor + u64::from(u128::BITS - self.above.leading_zeros())
    }

    fn settle(&mut self) {
        let run = self.above.trailing_ones();
        self.above = self.above.checked_shr(run).unwrap_or(0);
        self.floor += u64::from(run);
    }
}

#[cfg(test)]
mod tests;
