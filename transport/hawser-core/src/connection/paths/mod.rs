//! What belongs to a path.
//!
//! A path here has two layers. The outer one is the path of draft-ietf-quic-multipath-21: a path id with its own
//! packet numbers, recovery and connection ids, which lives from the first packet (or the first connection id) to
//! the end of its abandonment. Inside it is the ordinary 4-tuple handling of RFC 9000 sections 8, 9 and 14: the
//! addresses in use, their validation, how much may be sent to an address that nobody has vouched for, and how
//! large a datagram may be. A change of addresses is an event of the inner layer only; the outer path goes on.
//!
//! | part | subject |
//! |---|---|
//! | [`life_cycle`] | states of the outer path, as a table |
//! | [`path_ids`] | which path ids exist, how many more the peer may use |
//! | [`local_cids`], [`remote_cids`] | connection ids of one path, local and the peer's |
//! | [`status`] | available or backup |
//! | [`abandon`] | PATH_ABANDON and what follows from it |
//! | [`migration`] | the 4-tuple in use, the one to fall back to |
//! | [`validation`] | PATH_CHALLENGE, PATH_RESPONSE |
//! | [`amplification`] | at most three times what came in |
//! | [`mtu`] | datagram size |
//! | [`copy_queue`], [`settled`] | copies for this path, and what others took over from it |
//!
//! Every part says whether it has frames to send (`pending`), writes them (`write`) and hears what became of them.
//! None keeps a value that it has sent: what is sent again after a loss is the value of that later moment, if it
//! still matters.

pub(crate) mod abandon;
pub(crate) mod amplification;
pub(crate) mod batches;
pub(crate) mod control;
pub(crate) mod copy_queue;
pub(crate) mod life_cycle;
pub(crate) mod local_cids;
pub(crate) mod memo;
pub(crate) mod migration;
pub(crate) mod mtu;
pub(crate) mod path;
pub(crate) mod path_ids;
pub(crate) mod remote_cids;
pub(crate) mod set;
pub(crate) mod settled;
pub(crate) mod status;
pub(crate) mod validation;

use hawser_policy::PathId;
use hawser_wire::{ConnectionId, Frame, StatelessResetToken, Writer};

use super::frames::{PathControl, SentFrame, SentFrames};

/// The smallest datagram that every path must carry (RFC 9000 section 14), in bytes of UDP payload.
pub(crate) const MIN_DATAGRAM_SIZE: u16 = 1200;

/// Probe timeouts that a path is kept after its abandonment (draft-ietf-quic-multipath-21 section 3.4).
pub(crate) const ABANDON_PROBE_TIMEOUTS: u32 = 3;

/// News for the endpoint, which routes datagrams by connection id and recognises stateless resets by token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CidChange {
    /// Datagrams to this connection id belong to this path from now on.
    Added(ConnectionId, PathId),
    /// They no longer do.
    Removed(ConnectionId),
    /// We now send to a connection id of the peer that has this token, on this path.
    ResetTokenAdded(StatelessResetToken, PathId),
    /// We no longer do. RFC 9000 section 10.3.1: the token must not be recognised any more.
    ResetTokenRemoved(StatelessResetToken),
}

/// A new connection id for the peer to reach us with, and the token that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IssuedCid {
    pub(crate) id: ConnectionId,
    pub(crate) reset_token: StatelessResetToken,
}

/// Makes connection ids that the endpoint can route, never the same twice; `None` when there are no more.
pub(crate) trait CidIssuer {
    fn issue(&mut self) -> Option<IssuedCid>;
}

impl CidIssuer for crate::endpoint::CidIssuer {
    fn issue(&mut self) -> Option<IssuedCid> {
        self.issue_further().map(|(id, reset_token)| IssuedCid { id, reset_token })
    }
}

#[cfg(test)]
impl<F: FnMut() -> IssuedCid> CidIssuer for F {
    fn issue(&mut self) -> Option<IssuedCid> {
        Some(self())
    }
}

/// Where a frame stands that must reach the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// To be sent.
    Queued,
    /// Sent, nothing heard.
    InFlight,
    /// Arrived.
    Acknowledged,
}

impl Delivery {
    pub(crate) fn is_queued(self) -> bool {
        self == Delivery::Queued
    }

    /// A packet that carried it is lost. An earlier copy may have arrived all the same.
    pub(crate) fn on_lost(&mut self) {
        if *self == Delivery::InFlight {
            *self = Delivery::Queued;
        }
    }
}

/// Which form the frames have that exist with and without path id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CidFrames {
    /// NEW_CONNECTION_ID and RETIRE_CONNECTION_ID: the multipath extension is not in use.
    Plain,
    /// PATH_NEW_CONNECTION_ID and PATH_RETIRE_CONNECTION_ID, for path 0 too (draft-ietf-quic-multipath-21
    /// section 3.2).
    WithPath,
}

impl CidFrames {
    /// The path id field. Only path 0 can be meant by a frame without one.
    //= multipath-3.2-1: PATH_NEW_CONNECTION_ID and PATH_RETIRE_CONNECTION_ID are used for path 0, too
    fn path_field(self, path: PathId) -> Option<u32> {
        (self == CidFrames::WithPath || path != PathId::ZERO).then_some(path.0)
    }
}

/// Writes a frame and notes it. `false`: no room, nothing was written.
fn put(writer: &mut Writer<'_>, frames: &mut SentFrames, frame: &Frame<'_>, sent: PathControl) -> bool {
    let written = frame.encode(writer).is_ok();
    if written {
        frames.push(SentFrame::PathControl(sent));
    }
    written
}

#[cfg(test)]
mod testing;
