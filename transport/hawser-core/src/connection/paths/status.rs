//! What each end wants a path used for: PATH_STATUS_AVAILABLE and PATH_STATUS_BACKUP
//! (draft-ietf-quic-multipath-21 section 3.3).

use hawser_policy::{PathId, PathStatus};
use hawser_wire::{Frame, Writer};

use super::{Delivery, put};
use crate::connection::frames::{PathControl, SentFrames};

/// The wishes of both ends for one path, each with its own sequence numbers.
#[derive(Clone, Debug)]
pub(crate) struct StatusExchange {
    path: PathId,
    ours: PathStatus,
    /// Number of the newest local frame; `None` as long as the default stands and nothing need be said.
    sequence: Option<u64>,
    delivery: Delivery,
    peer: Option<(u64, PathStatus)>,
    stopped: bool,
}

impl StatusExchange {
    /// Both ends have said nothing: available.
    pub(crate) fn new(path: PathId) -> Self {
        StatusExchange {
            path,
            ours: PathStatus::Available,
            sequence: None,
            delivery: Delivery::Acknowledged,
            peer: None,
            stopped: false,
        }
    }

    /// The peer's wish, if it uttered one.
    pub(crate) fn peer(&self) -> Option<PathStatus> {
        self.peer.map(|(_, status)| status)
    }

    /// Backup if either end wants that.
    pub(crate) fn effective(&self) -> PathStatus {
        if self.ours == PathStatus::Backup || self.peer() == Some(PathStatus::Backup) {
            PathStatus::Backup
        } else {
            PathStatus::Available
        }
    }

    /// Changes our wish.
    //= multipath-4.3-1: the sequence number of path status rises
    pub(crate) fn set(&mut self, status: PathStatus) {
        if status == self.ours {
            return;
        }
        self.ours = status;
        self.sequence = Some(self.sequence.map_or(0, |sequence| sequence + 1));
        self.delivery = Delivery::Queued;
    }

    /// The peer's frame arrived. Returns whether its wish changed; a frame that is not newer than one seen before
    /// is ignored (draft-ietf-quic-multipath-21 section 4.3).
    //= multipath-4.3-2: a path status with an older sequence number is ignored
    pub(crate) fn on_frame(&mut self, sequence: u64, status: PathStatus) -> bool {
        if self.peer.is_some_and(|(newest, _)| sequence <= newest) {
            return false;
        }
        let changed = self.peer() != Some(status);
        self.peer = Some((sequence, status));
        changed
    }

    /// Whether a frame is to be sent.
    #[inline]
    pub(crate) fn pending(&self) -> bool {
        !self.stopped && self.delivery.is_queued()
    }

    /// Writes the frame if one is pending and fits.
    pub(crate) fn write(&mut self, writer: &mut Writer<'_>, frames: &mut SentFrames) {
        let (Some(sequence), true) = (self.sequence, self.pending()) else { return };
        let status = match self.ours {
            PathStatus::Available => hawser_wire::frame::PathStatus::Available,
            PathStatus::Backup => hawser_wire::frame::PathStatus::Backup,
        };
        let frame = Frame::PathStatus { path_id: self.path.0, sequence_number: sequence, status };
        if put(writer, frames, &frame, PathControl::Status { path: self.path, sequence }) {
            self.delivery = Delivery::InFlight;
        }
    }

    /// A local frame arrived.
    pub(crate) fn on_acked(&mut self, sequence: u64) {
        if Some(sequence) == self.sequence {
            self.delivery = Delivery::Acknowledged;
        }
    }

    /// A local frame is lost. It is sent again only if nothing newer was said.
    //= multipath-4.3-3: only the newest path status is retransmitted
    pub(crate) fn on_lost(&mut self, sequence: u64) {
        if Some(sequence) == self.sequence {
            self.delivery.on_lost();
        }
    }

    /// The path is abandoned: nothing more is said.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }
}

#[cfg(test)]
mod tests;
