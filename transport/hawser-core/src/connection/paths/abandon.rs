//! PATH_ABANDON: said, answered, and how long the path is remembered (draft-ietf-quic-multipath-21 section 3.4).

use std::time::Duration;

use hawser_policy::{PathId, Time};
use hawser_wire::{Frame, Writer};

use super::{ABANDON_PROBE_TIMEOUTS, Delivery, put};
use crate::Code;
use crate::connection::frames::{PathControl, SentFrame, SentFrames};

/// The abandonment of one path. Exists from the moment either end abandons the path.
///
/// Our PATH_ABANDON is repeated until it is acknowledged, even after the peer's came: when both ends gave up at the
/// same time, the peer's frame was no answer to the local one, and it still waits for one.
#[derive(Clone, Debug)]
pub(crate) struct Abandonment {
    path: PathId,
    code: Code,
    delivery: Delivery,
    /// Three probe timeouts after the peer's PATH_ABANDON; `None` until that arrives.
    drained_at: Option<Time>,
    /// Three probe timeouts after the local frame was acknowledged.
    unanswered_at: Option<Time>,
    /// When it is said again if the peer still sends on the path; `None` until it did so once.
    repeat_at: Option<Time>,
}

impl Abandonment {
    /// This end abandons the path.
    pub(crate) fn by_us(path: PathId, code: Code) -> Self {
        Abandonment {
            path,
            code,
            delivery: Delivery::Queued,
            drained_at: None,
            unanswered_at: None,
            repeat_at: None,
        }
    }

    /// The peer gave the path up first; it is answered with NO_ERROR. `probe_timeout` is the largest of all paths:
    /// late packets may come on a slow one.
    //= multipath-3.4-4: PATH_ABANDON is answered by one
    pub(crate) fn by_peer(path: PathId, now: Time, probe_timeout: Duration) -> Self {
        let mut abandonment = Abandonment::by_us(path, Code::NO_ERROR);
        abandonment.on_peer(now, probe_timeout);
        abandonment
    }

    /// The peer's PATH_ABANDON arrived. Repetitions do not prolong the period.
    pub(crate) fn on_peer(&mut self, now: Time, probe_timeout: Duration) {
        self.drained_at.get_or_insert(now + probe_timeout * ABANDON_PROBE_TIMEOUTS);
    }

    /// The peer sent a packet on the path. Some are under way when the path is abandoned; a peer that still sends after a probe
    /// timeout did not hear of it, and as nothing may be sent on the path, nothing there tells. PATH_ABANDON is then
    /// repeated once in a probe timeout, without the back-off of the path that carried it.
    pub(crate) fn on_packet(&mut self, now: Time, probe_timeout: Duration) {
        if self.delivery != Delivery::InFlight || self.drained_at.is_some() {
            return;
        }
        if self.repeat_at.is_some_and(|at| at <= now) {
            self.delivery = Delivery::Queued;
        }
        if self.repeat_at.is_none_or(|at| at <= now) {
            self.repeat_at = Some(now + probe_timeout);
        }
    }

    /// Whether PATH_ABANDON is to be sent, on any other open path.
    #[inline]
    pub(crate) fn pending(&self) -> bool {
        self.delivery.is_queued()
    }

    /// Writes the frame if it is pending and fits.
    //= multipath-3.4-1: a path is abandoned with PATH_ABANDON
    pub(crate) fn write(&mut self, writer: &mut Writer<'_>, frames: &mut SentFrames) {
        if self.pending() {
            self.write_again(writer, frames);
        }
    }

    /// Writes the frame unless it was acknowledged, or the packet has it. A probe has it, whichever path it goes on: the one that carried it may be
    /// silent for the peer, and until the peer hears of it, it may wait for a path on which nobody sends.
    pub(crate) fn write_again(&mut self, writer: &mut Writer<'_>, frames: &mut SentFrames) {
        let is_there = |frame: &SentFrame| matches!(frame, SentFrame::PathControl(PathControl::Abandon(path)) if *path == self.path);
        if self.delivery == Delivery::Acknowledged || frames.iter().any(is_there) {
            return;
        }
        let frame = Frame::PathAbandon { path_id: self.path.0, error_code: self.code.0 };
        if put(writer, frames, &frame, PathControl::Abandon(self.path)) {
            self.delivery = Delivery::InFlight;
        }
    }

    /// Our frame arrived.
    //= multipath-3.4-6: a path is forgotten after three PTO even without an answer to PATH_ABANDON
    pub(crate) fn on_acked(&mut self, now: Time, probe_timeout: Duration) {
        self.delivery = Delivery::Acknowledged;
        self.unanswered_at.get_or_insert(now + probe_timeout * ABANDON_PROBE_TIMEOUTS);
    }

    /// A packet with our frame is lost.
    //= multipath-4.2-1: a lost PATH_ABANDON is repeated
    pub(crate) fn on_lost(&mut self) {
        self.delivery.on_lost();
    }

    /// When the path may be forgotten: three probe timeouts after the peer's PATH_ABANDON. A peer that acknowledged
    /// the local one has retired the connection ids and must answer; if it does not, the same time after its acknowledgement.
    /// `None` while the peer may not yet know that the path is abandoned.
    //= multipath-3.4-5: connection ids and packet numbers of an abandoned path are kept for three PTO
    pub(crate) fn timeout(&self) -> Option<Time> {
        if self.delivery != Delivery::Acknowledged {
            return None;
        }
        self.drained_at.or(self.unanswered_at)
    }
}

#[cfg(test)]
mod tests;
