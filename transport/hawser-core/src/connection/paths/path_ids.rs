//! Which path ids exist and which may be used next (draft-ietf-quic-multipath-21 sections 2.1, 3.1, 4.6 and 4.7).

use hawser_policy::{PathId, Side};
use hawser_wire::{Frame, Writer};

use super::{Delivery, put};
use crate::TransportError;
use crate::connection::frames::{PathControl, SentFrames};

/// Path ids in use at once that no configuration can exceed: a scheduler's set of paths has 64 places.
const MAX_CONCURRENT_PATHS: u32 = 64;

/// Why no path can be opened now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CannotOpen {
    /// Not negotiated.
    #[error("the peer does not support multipath")]
    NotNegotiated,
    /// Servers do not open paths.
    #[error("only a client opens paths")]
    NotClient,
    /// The peer's limit; PATHS_BLOCKED is sent.
    #[error("the peer allows path ids up to {0}, all are used")]
    PeerLimit(u32),
    /// Our own limit; it rises when a path closes.
    #[error("path ids up to {0} are offered, all are used")]
    OwnLimit(u32),
    /// One of the ends has issued no connection id for this path yet.
    #[error("{0:?} has no connection ids yet")]
    NoConnectionIds(PathId),
}

/// What a path id in a frame refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdState {
    /// A path that exists or may come to exist.
    Alive,
    /// A path that was closed: the frame is ignored.
    Dead,
}

/// The path ids of a connection.
#[derive(Clone, Debug)]
pub(crate) struct PathIds {
    side: Side,
    negotiated: bool,
    /// Largest id that the peer may use.
    ours: u32,
    /// Largest id that we may use, and its first value.
    peers: u32,
    peers_initial: u32,
    /// Every id up to `ours` that is not closed, rising. Always as many as at first: each that closes is replaced.
    /// A path that outlives thousands of short ones therefore costs nothing.
    alive: Vec<u32>,
    last_opened: u32,
    announcement: Delivery,
    /// The PATHS_BLOCKED that is out or to be sent; gone when the limit rises.
    blocked: Option<Delivery>,
}

impl PathIds {
    /// `max_path_id` and `max_concurrent` as configured; without the former multipath is not offered.
    pub(crate) fn new(side: Side, max_path_id: Option<u32>, max_concurrent: u32) -> Self {
        let ours = Self::initial_max_path_id(max_path_id, max_concurrent).unwrap_or(0);
        PathIds {
            side,
            negotiated: false,
            ours,
            peers: 0,
            peers_initial: 0,
            alive: (0..=ours).collect(),
            last_opened: 0,
            announcement: Delivery::Acknowledged,
            blocked: None,
        }
    }

    /// The value for our initial_max_path_id. Ids beyond those that may be in use at once are granted as others close.
    //= multipath-2.1-1: initial_max_path_id is below 2^32
    pub(crate) fn initial_max_path_id(max_path_id: Option<u32>, max_concurrent: u32) -> Option<u32> {
        let max_concurrent = max_concurrent.clamp(1, MAX_CONCURRENT_PATHS);
        max_path_id.map(|max| max.min(max_concurrent - 1))
    }

    /// Both ends sent initial_max_path_id; this is the peer's.
    pub(crate) fn negotiate(&mut self, peers: u32) {
        self.negotiated = true;
        self.peers = peers;
        self.peers_initial = peers;
    }

    /// Whether the extension is in use.
    #[inline]
    pub(crate) fn is_negotiated(&self) -> bool {
        self.negotiated
    }

    /// What a path id in a multipath frame refers to.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if it is above what we announced, or if the extension is not in use (section 4).
    //= multipath-2-1: nothing of multipath is used unless both ends sent the parameter
    //= multipath-4-3: a path id above the announced maximum: PROTOCOL_VIOLATION
    //= multipath-4.7-1: PATHS_BLOCKED or PATH_CIDS_BLOCKED above our limit: PROTOCOL_VIOLATION
    pub(crate) fn check(&self, path: PathId) -> Result<IdState, TransportError> {
        if !self.negotiated {
            return Err(TransportError::protocol_violation("multipath frame without negotiation"));
        }
        if path.0 > self.ours {
            return Err(TransportError::protocol_violation(format!(
                "path id {path} is above the announced maximum {}",
                self.ours
            )));
        }
        Ok(if self.is_alive(path) { IdState::Alive } else { IdState::Dead })
    }

    /// Whether this id exists and is not closed.
    #[inline]
    pub(crate) fn is_alive(&self, path: PathId) -> bool {
        self.alive.binary_search(&path.0).is_ok()
    }

    /// The ids for which connection ids are to be issued: not closed, and allowed by both ends.
    //= multipath-3.2.1-1: connection ids are issued for all path ids that both ends allow
    //= multipath-3.2.1-2: connection ids are issued for path ids without gaps
    //= multipath-3.2.1-4: no path id beyond the peer's limit gets connection ids
    pub(crate) fn issuable(&self) -> impl Iterator<Item = PathId> + '_ {
        let limit = if self.negotiated { self.ours.min(self.peers) } else { 0 };
        self.alive.iter().copied().take_while(move |id| *id <= limit).map(PathId)
    }

    /// The id of the next path. `has_cids` tells whether both ends have connection ids for it. Ids are taken
    /// without gaps (section 3.2.1). If the peer's limit is what hinders us, it is told.
    ///
    /// # Errors
    /// [`CannotOpen`], with the reason.
    //= multipath-3.1-1: a new path has an unused path id and an id of its own
    //= multipath-3.2.1-3: paths are opened without gaps in the path ids
    //= multipath-3.2.1-5: an endpoint without a path id left sends PATHS_BLOCKED or MAX_PATH_ID
    pub(crate) fn next_to_open(
        &mut self,
        has_cids: impl FnOnce(PathId) -> bool,
    ) -> Result<PathId, CannotOpen> {
        if !self.negotiated {
            return Err(CannotOpen::NotNegotiated);
        }
        if self.side != Side::Client {
            return Err(CannotOpen::NotClient);
        }
        match self.alive.iter().copied().find(|id| *id > self.last_opened) {
            None if self.ours < self.peers => Err(CannotOpen::OwnLimit(self.ours)),
            Some(id) if id <= self.peers => {
                let path = PathId(id);
                if has_cids(path) { Ok(path) } else { Err(CannotOpen::NoConnectionIds(path)) }
            }
            _ => {
                self.blocked.get_or_insert(Delivery::Queued);
                Err(CannotOpen::PeerLimit(self.peers))
            }
        }
    }

    /// The path returned by [`next_to_open`](Self::next_to_open) was opened.
    pub(crate) fn on_opened(&mut self, path: PathId) {
        self.last_opened = self.last_opened.max(path.0);
    }

    /// A path is closed for good. Its id is never used again; the peer gets another one instead, so that it can
    /// always have as many paths as configured. Returns whether the maximum rose.
    //= multipath-3.2.1-5: an endpoint without a path id left sends PATHS_BLOCKED or MAX_PATH_ID
    //= multipath-3.4-7: path ids are not used twice
    //= multipath-4.6-1: MAX_PATH_ID is below 2^32
    pub(crate) fn on_closed(&mut self, path: PathId) -> bool {
        let Ok(position) = self.alive.binary_search(&path.0) else { return false };
        self.alive.remove(position);
        // The nonce has room for 2^32 ids (section 2.4); after that no path can be opened any more.
        let (true, Some(next)) = (self.negotiated, self.ours.checked_add(1)) else { return false };
        self.ours = next;
        self.alive.push(next);
        self.announcement = Delivery::Queued;
        true
    }

    /// MAX_PATH_ID arrived. Returns whether more ids may be used now.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if it is lower than initial_max_path_id (section 4.6).
    //= multipath-4.6-2: MAX_PATH_ID is not below initial_max_path_id
    //= multipath-4.6-3: MAX_PATH_ID below initial_max_path_id or above 2^32 - 1: PROTOCOL_VIOLATION
    //= multipath-4.6-4: a MAX_PATH_ID that raises nothing is ignored
    pub(crate) fn on_max_path_id(&mut self, maximum: u32) -> Result<bool, TransportError> {
        self.check(PathId::ZERO)?;
        if maximum < self.peers_initial {
            return Err(TransportError::protocol_violation(format!(
                "MAX_PATH_ID {maximum} is below initial_max_path_id {}",
                self.peers_initial
            )));
        }
        if maximum <= self.peers {
            return Ok(false);
        }
        self.peers = maximum;
        self.blocked = None;
        Ok(true)
    }

    /// PATHS_BLOCKED arrived. There is nothing to do about it: ids are given back as soon as paths close.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if it names a limit that we never gave (section 4.7).
    //= multipath-4.7-1: PATHS_BLOCKED or PATH_CIDS_BLOCKED above our limit: PROTOCOL_VIOLATION
    pub(crate) fn on_paths_blocked(&self, maximum: u32) -> Result<(), TransportError> {
        self.check(PathId(maximum)).map(|_| ())
    }

    /// Whether a frame is to be sent.
    #[inline]
    pub(crate) fn pending(&self) -> bool {
        self.announcement.is_queued() || self.blocked == Some(Delivery::Queued)
    }

    /// Writes as many of the pending frames as fit.
    pub(crate) fn write(&mut self, writer: &mut Writer<'_>, frames: &mut SentFrames) {
        if self.announcement.is_queued()
            && put(writer, frames, &Frame::MaxPathId(self.ours), PathControl::MaxPathId)
        {
            self.announcement = Delivery::InFlight;
        }
        if self.blocked == Some(Delivery::Queued)
            && put(writer, frames, &Frame::PathsBlocked(self.peers), PathControl::PathsBlocked)
        {
            self.blocked = Some(Delivery::InFlight);
        }
    }

    /// A local MAX_PATH_ID is lost; the present value is sent. Acknowledgements are not followed: which value
    /// they confirm is not recorded.
    //= multipath-4.6-5: MAX_PATH_ID is retransmitted with its newest value
    pub(crate) fn on_max_path_id_lost(&mut self) {
        self.announcement.on_lost();
    }

    /// A local PATHS_BLOCKED arrived. It is not repeated for the same limit.
    pub(crate) fn on_blocked_acked(&mut self) {
        if self.blocked == Some(Delivery::InFlight) {
            self.blocked = Some(Delivery::Acknowledged);
        }
    }

    /// A local PATHS_BLOCKED is lost; said again, with the present limit, only if it is still so.
    pub(crate) fn on_blocked_lost(&mut self) {
        if let Some(delivery) = &mut self.blocked {
            delivery.on_lost();
        }
    }
}

#[cfg(test)]
mod tests;
