//! How often acknowledgements are wanted (draft-ietf-quic-ack-frequency): what we ask of the peer, and what it asks of us.
//!
//! Both are a matter of the connection, as `max_ack_delay` is: neither ACK_FREQUENCY nor draft-ietf-quic-multipath-21
//! names a path. Packets are counted, and reordering is judged, in the packet-number space of each path.

use std::time::Duration;

use hawser_policy::{AckFrequency, PathId};
use hawser_wire::frame::{AckFrequency as AckFrequencyFrame, Frame};
use hawser_wire::{Writer, varint};
use smallvec::SmallVec;

use super::frames::{SentFrame, SentFrames};
use crate::TransportError;

#[cfg(test)]
mod tests;

/// The least delay that we accept, and announce as min_ack_delay: no timer is finer.
pub(crate) const MIN_ACK_DELAY: Duration = Duration::from_millis(1);

/// Requests that can be under way at once. Another one waits for one of them to be acknowledged or lost.
const MAX_IN_FLIGHT: usize = 4;

/// Paths on which IMMEDIATE_ACK can wait to be sent.
const MAX_IMMEDIATE: usize = 64;

/// Values of max_ack_delay end below 2^14 ms (RFC 9000 section 18.2).
const MAX_DELAY: Duration = Duration::from_micros((1 << 14) * 1_000 - 1);

/// The peer takes no requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer does not let others set its acknowledgement frequency")]
pub struct AckFrequencyUnsupported;

/// A request that the peer may not have received yet.
#[derive(Clone, Copy, Debug)]
struct Request {
    sequence: u64,
    max_ack_delay: Duration,
}

/// Acknowledgement frequency of a connection, both ways.
#[derive(Debug)]
pub(crate) struct AckFrequencies {
    /// The peer's min_ack_delay, if it takes requests.
    peer_min: Option<Duration>,
    /// What is to be asked of the peer.
    pending: Option<AckFrequency>,
    /// What was asked last.
    asked: Option<AckFrequency>,
    next_sequence: u64,
    in_flight: SmallVec<[Request; 1]>,
    /// The peer's max_ack_delay, as far as it is known to have heard of it.
    peer_max_ack_delay: Duration,
    /// Paths on which an acknowledgement is wanted at once.
    immediate: SmallVec<[PathId; 2]>,
    /// Our min_ack_delay.
    our_min: Duration,
    /// Sequence number of the peer's newest request, and what it asks for.
    largest_received: Option<u64>,
    wanted: Option<AckFrequency>,
    /// The packet that is being processed has IMMEDIATE_ACK.
    immediately: bool,
}

impl AckFrequencies {
    /// `max_ack_delay` is the local one.
    pub(crate) fn new(max_ack_delay: Duration) -> Self {
        AckFrequencies {
            peer_min: None,
            pending: None,
            asked: None,
            next_sequence: 0,
            in_flight: SmallVec::new(),
            peer_max_ack_delay: Duration::ZERO,
            immediate: SmallVec::new(),
            our_min: min_ack_delay(max_ack_delay),
            largest_received: None,
            wanted: None,
            immediately: false,
        }
    }

    /// The peer's transport parameters are known.
    pub(crate) fn negotiate(&mut self, peer_min: Option<Duration>, peer_max_ack_delay: Duration) {
        (self.peer_min, self.peer_max_ack_delay) = (peer_min, peer_max_ack_delay);
    }

    /// Asks the peer for another frequency; only what was asked last is sent. The delay is clamped to what the peer
    /// takes.
    ///
    /// # Errors
    /// If it takes no requests.
    pub(crate) fn request(&mut self, frequency: AckFrequency) -> Result<(), AckFrequencyUnsupported> {
        let min = self.peer_min.ok_or(AckFrequencyUnsupported)?;
        let max_ack_delay = frequency.max_ack_delay.min(MAX_DELAY).max(min);
        self.pending = Some(AckFrequency { max_ack_delay, ..frequency });
        Ok(())
    }

    /// Asks the peer for an immediate acknowledgement of a packet on this path.
    ///
    /// # Errors
    /// If it takes no requests.
    pub(crate) fn request_immediate(&mut self, path: PathId) -> Result<(), AckFrequencyUnsupported> {
        self.peer_min.ok_or(AckFrequencyUnsupported)?;
        if !self.immediate.contains(&path) && self.immediate.len() < MAX_IMMEDIATE {
            self.immediate.push(path);
        }
        Ok(())
    }

    /// Whether ACK_FREQUENCY is to be sent.
    #[inline]
    pub(crate) fn has_pending(&self) -> bool {
        self.pending.is_some() && self.in_flight.len() < MAX_IN_FLIGHT
    }

    /// Paths on which IMMEDIATE_ACK is to be sent.
    #[inline]
    pub(crate) fn immediate_paths(&self) -> &[PathId] {
        &self.immediate
    }

    /// Writes ACK_FREQUENCY if it is to be sent and fits.
    pub(crate) fn write(&mut self, w: &mut Writer<'_>, frames: &mut SentFrames) {
        if !self.has_pending() {
            return;
        }
        let Some(frequency) = self.pending else { return };
        let micros = u64::try_from(frequency.max_ack_delay.as_micros()).unwrap_or(varint::MAX);
        let frame = AckFrequencyFrame {
            sequence_number: self.next_sequence,
            ack_eliciting_threshold: frequency.ack_eliciting_threshold.min(varint::MAX),
            requested_max_ack_delay: micros,
            reordering_threshold: frequency.reordering_threshold.min(varint::MAX),
        };
        if Frame::AckFrequency(frame).encode(w).is_ok() {
            let sequence = self.next_sequence;
            self.next_sequence += 1;
            self.in_flight.push(Request { sequence, max_ack_delay: frequency.max_ack_delay });
            (self.pending, self.asked) = (None, Some(frequency));
            frames.push(SentFrame::AckFrequency(sequence));
        }
    }

    /// Writes IMMEDIATE_ACK if it is to be sent on this path and fits. It is not repeated when it is lost (section 5).
    /// Returns whether it was written.
    pub(crate) fn write_immediate(&mut self, path: PathId, w: &mut Writer<'_>) -> bool {
        let Some(at) = self.immediate.iter().position(|other| *other == path) else { return false };
        let written = Frame::ImmediateAck.encode(w).is_ok();
        if written {
            self.immediate.swap_remove(at);
        }
        written
    }

    /// Writes IMMEDIATE_ACK in place of PING into a probe of a silent path, if the peer takes it and there is room: the answer
    /// says whether the path carries anything, and that is waited for. Returns whether it was written.
    pub(crate) fn write_probe(&self, w: &mut Writer<'_>) -> bool {
        self.peer_min.is_some() && Frame::ImmediateAck.encode(w).is_ok()
    }

    /// A path is gone.
    pub(crate) fn on_path_gone(&mut self, path: PathId) {
        self.immediate.retain(|other| *other != path);
    }

    /// The peer has this request, so that all earlier ones count for nothing.
    pub(crate) fn on_acked(&mut self, sequence: u64) {
        if let Some(request) = self.in_flight.iter().find(|request| request.sequence == sequence) {
            self.peer_max_ack_delay = request.max_ack_delay;
            self.in_flight.retain(|request| request.sequence > sequence);
        }
    }

    /// A request is lost: asked again, unless a newer one says something else.
    pub(crate) fn on_lost(&mut self, sequence: u64) {
        self.in_flight.retain(|request| request.sequence != sequence);
        if sequence + 1 == self.next_sequence && self.pending.is_none() {
            self.pending = self.asked;
        }
    }

    /// The longest that the peer may hold back an acknowledgement: until a request is acknowledged, the greater of both
    /// (section 8).
    pub(crate) fn peer_max_ack_delay(&self) -> Duration {
        let asked = self.in_flight.iter().map(|request| request.max_ack_delay).max();
        asked.map_or(self.peer_max_ack_delay, |asked| asked.max(self.peer_max_ack_delay))
    }

    /// ACK_FREQUENCY of the peer.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if it asks for less delay than our min_ack_delay (section 4).
    pub(crate) fn on_frame(&mut self, frame: &AckFrequencyFrame) -> Result<(), TransportError> {
        let max_ack_delay = Duration::from_micros(frame.requested_max_ack_delay);
        if max_ack_delay < self.our_min {
            return Err(TransportError::protocol_violation("asks for less delay than min_ack_delay"));
        }
        if self.largest_received.is_some_and(|largest| frame.sequence_number <= largest) {
            return Ok(());
        }
        self.largest_received = Some(frame.sequence_number);
        self.wanted = Some(AckFrequency {
            ack_eliciting_threshold: frame.ack_eliciting_threshold,
            max_ack_delay,
            reordering_threshold: frame.reordering_threshold,
        });
        Ok(())
    }

    /// IMMEDIATE_ACK of the peer.
    pub(crate) fn on_immediate_ack(&mut self) {
        self.immediately = true;
    }

    /// Whether the packet that was just processed is to be acknowledged at once.
    #[inline]
    pub(crate) fn take_immediate(&mut self) -> bool {
        std::mem::take(&mut self.immediately)
    }

    /// What the peer asked for last.
    #[inline]
    pub(crate) fn wanted(&self) -> Option<&AckFrequency> {
        self.wanted.as_ref()
    }
}

/// Our min_ack_delay where this is our max_ack_delay: it must not be above it (section 3).
pub(crate) fn min_ack_delay(max_ack_delay: Duration) -> Duration {
    MIN_ACK_DELAY.min(max_ack_delay)
}
