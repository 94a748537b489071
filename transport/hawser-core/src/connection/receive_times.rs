//! Receive timestamps (draft-ietf-quic-receive-ts-02): when packets arrived at the other end, and what that tells of the
//! delay of one direction.
//!
//! The clocks of both ends are not synchronised, and each end counts from a moment of its own: a one-way delay has an
//! offset that is unknown, and constant but for the skew of the clocks. It is the same for all paths of a connection, so
//! that differences between paths, and changes over time, mean something.

use std::time::Duration;

use hawser_policy::Time;
use hawser_wire::frame::{Ack, TimestampLimits};

use crate::TransportError;

#[cfg(test)]
mod tests;

/// Times reported to us count in 2^3 microseconds: fine enough for queues, and the first time of a frame, which counts
/// from the beginning, takes four bytes for two hours.
pub(crate) const RECEIVE_TIMESTAMPS_EXPONENT: u8 = 3;

/// Added to every one-way delay: both ends count from about the same moment, and the difference must not fall below zero
/// where a clock runs slow, or the path became quicker than it was in the handshake.
const MARGIN: Duration = Duration::from_secs(60);

/// Times count from up to so long before the beginning of the connection: how long this machine or process has been
/// running is nobody's business, and nobody can take the offset for zero.
const MAX_RANDOM_OFFSET: Duration = Duration::from_secs(16);

/// Receive timestamps of a connection, both ways.
#[derive(Debug)]
pub(crate) struct ReceiveTimes {
    /// When the connection began.
    start: Time,
    /// How many we asked for per acknowledgement; `None` if we did not.
    asked: Option<u64>,
    /// What the peer asked for.
    peer: Option<TimestampLimits>,
    /// How long before `start` the moment lies from which our times count.
    offset: Duration,
    /// Packet numbers and microseconds of the acknowledgement that is being processed, by number.
    reported: Vec<(u64, u64)>,
}

/// When packets arrived, as the acknowledgement that is being processed says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrivals<'a> {
    reported: &'a [(u64, u64)],
    start: Time,
}

impl Arrivals<'_> {
    /// Nothing is said.
    #[cfg(test)]
    pub(crate) const NONE: Arrivals<'static> = Arrivals { reported: &[], start: Time::ZERO };

    /// How long a packet took, plus an unknown constant; `None` if that is not said.
    #[inline]
    pub(crate) fn one_way_delay(&self, packet_number: u64, sent_at: Time) -> Option<Duration> {
        if self.reported.is_empty() {
            return None;
        }
        let at = self.reported.binary_search_by_key(&packet_number, |(number, _)| *number).ok()?;
        let (_, micros) = self.reported.get(at)?;
        let arrived = Duration::from_micros(*micros).saturating_add(MARGIN);
        Some(arrived.saturating_sub(sent_at.since(self.start)))
    }
}

impl ReceiveTimes {
    pub(crate) fn new(start: Time, asked: Option<u64>) -> Self {
        ReceiveTimes { start, asked, peer: None, offset: Duration::ZERO, reported: Vec::new() }
    }

    /// The peer asked for timestamps; `random` is uniformly random.
    pub(crate) fn on_peer_asks(&mut self, limits: TimestampLimits, random: u64) {
        self.peer = Some(limits);
        self.offset = Duration::from_nanos(random % MAX_RANDOM_OFFSET.as_nanos() as u64);
    }

    /// What the peer asked for.
    #[inline]
    pub(crate) fn peer_limits(&self) -> Option<TimestampLimits> {
        self.peer
    }

    /// A time as the peer is told it, in microseconds.
    #[inline]
    pub(crate) fn micros_of(&self, time: Time) -> u64 {
        u64::try_from((time.since(self.start) + self.offset).as_micros()).unwrap_or(u64::MAX)
    }

    /// Reads the timestamps of an acknowledgement, if it has some.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if they were not asked for, or so many were not.
    #[inline]
    pub(crate) fn read(&mut self, ack: &Ack<'_>) -> Result<(), TransportError> {
        if !self.reported.is_empty() {
            self.reported.clear();
        }
        if ack.receive_timestamps.is_none() { Ok(()) } else { self.read_some(ack) }
    }

    #[inline(never)]
    fn read_some(&mut self, ack: &Ack<'_>) -> Result<(), TransportError> {
        let Some(timestamps) = ack.receive_timestamps else { return Ok(()) };
        let Some(asked) = self.asked else {
            return Err(TransportError::protocol_violation("receive timestamps that were not asked for"));
        };
        if timestamps.count() > asked {
            return Err(TransportError::protocol_violation("more receive timestamps than were asked for"));
        }
        self.reported.extend(timestamps.iter(RECEIVE_TIMESTAMPS_EXPONENT));
        // The latest comes first, which is the one with the largest number unless packets overtook each other.
        self.reported.reverse();
        if !self.reported.is_sorted() {
            self.reported.sort_unstable();
        }
        Ok(())
    }

    /// What the acknowledgement that was read says.
    #[inline]
    pub(crate) fn arrivals(&self) -> Arrivals<'_> {
        Arrivals { reported: &self.reported, start: self.start }
    }
}
