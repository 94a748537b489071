//! PATH_CHALLENGE and PATH_RESPONSE (RFC 9000 section 8.2).

use std::collections::VecDeque;
use std::time::Duration;

use hawser_policy::Time;
use hawser_wire::{Frame, Writer};
use smallvec::SmallVec;

use super::amplification::AMPLIFICATION_FACTOR;
use crate::FourTuple;
use crate::connection::arrival::Arrival;

/// Probe timeouts after which a validation is given up (RFC 9000 section 8.2.4).
//= rfc9000-8.2.4-2: a validation lasts three of the larger of the present PTO and a new path's
const GIVE_UP_PROBE_TIMEOUTS: u32 = 3;

/// The first repetition comes after this part of a probe timeout, the next after twice as long. With the period above
/// that makes four challenges: no more than a client would send Initial packets in that time (RFC 9000 section 8.2.1;
/// RFC 9002 section 6.2.4 allows two per probe timeout), and enough for a path that loses many packets.
const FIRST_INTERVAL_DIVISOR: u32 = 4;

/// Challenges of one validation that may still be answered.
const MAX_OPEN_CHALLENGES: usize = 4;

/// Challenges of the peer on one path that wait for their answer. The oldest gives way: the peer repeats.
pub(crate) const MAX_PENDING_RESPONSES: usize = 8;

/// Validations of the peer's addresses that may begin at once, and how often another one may. Each sends a datagram
/// of 1200 bytes to an address that the peer names, on any path: unpaced, many paths moving at once would converge on
/// a victim (draft-ietf-quic-multipath-21 section 8.2).
const VALIDATION_BURST: u32 = 16;
const VALIDATION_INTERVAL: Duration = Duration::from_millis(250);

/// Validations beyond the burst that may wait for their turn; later ones begin with the last of these. Most of a flood never
/// begin: the next move of their path replaces them. What is left is bounded by the number of paths, and nobody waits
/// longer than four seconds.
const MAX_VALIDATION_DEBT: u32 = 16;

/// What a PATH_RESPONSE did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseEffect {
    /// It answers no challenge of this validation.
    None,
    /// The address is the peer's. Whether datagrams of 1200 bytes get through is still to be seen.
    AddressProven,
    /// The address is the peer's and the path carries datagrams of 1200 bytes.
    Complete,
}

/// Why a validation failed.
//= rfc9000-14-1: a path must carry 1200 bytes
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValidationFailure {
    /// No answer.
    Unreachable,
    /// Small datagrams were answered, those of 1200 bytes were not.
    DatagramsTooSmall,
}

impl ValidationFailure {
    /// Whether more than the addresses may be to blame: challenges were lost where something was heard since they `began`; and
    /// large ones need not have been too large where nothing at all was heard meanwhile.
    pub(crate) fn is_doubtful(self, began: Time, heard_at: Option<Time>) -> bool {
        match self {
            ValidationFailure::Unreachable => heard_at.is_some_and(|at| at >= began),
            ValidationFailure::DatagramsTooSmall => heard_at.is_none_or(|at| at <= began),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Challenge {
    data: [u8; 8],
    full_size: bool,
}

/// The validation of one 4-tuple.
///
/// A challenge leaves at once and is repeated, with new data, after one probe timeout, then after two more; after
/// three in all the attempt is given up. When the amplification limit kept the datagram below 1200 bytes, an answer
/// proves the address only; then a second round with full datagrams follows.
//= rfc9000-8.2.1-2: a new path is not probed more often than Initial packets would be sent
#[derive(Clone, Debug)]
pub(crate) struct TupleValidation {
    began: Time,
    probe_timeout: Duration,
    /// When the next challenge leaves; `None` when the last one is out.
    next_send: Option<Time>,
    next_interval: Duration,
    give_up: Time,
    address_proven: bool,
    open: SmallVec<[Challenge; MAX_OPEN_CHALLENGES]>,
}

impl TupleValidation {
    /// Begins at `start`. `probe_timeout` is the larger of the path's present one and that of a path without samples
    /// (RFC 9000 section 8.2.4): the new addresses may be farther away.
    pub(crate) fn new(start: Time, probe_timeout: Duration) -> Self {
        TupleValidation {
            began: start,
            probe_timeout,
            next_send: Some(start),
            next_interval: probe_timeout / FIRST_INTERVAL_DIVISOR,
            give_up: start + probe_timeout * GIVE_UP_PROBE_TIMEOUTS,
            address_proven: false,
            open: SmallVec::new(),
        }
    }

    /// Whether a challenge is to be sent now.
    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.next_send.is_some_and(|at| at <= now)
    }

    /// Writes a challenge if one is due. `data` must be unpredictable and new; `full_size` tells whether the datagram
    /// will have 1200 bytes or more. Nothing is noted for the recovery of losses: a new challenge follows anyway.
    //= rfc9000-8.2.1-3: challenges are unpredictable and new
    pub(crate) fn write(
        &mut self,
        now: Time,
        data: [u8; 8],
        full_size: bool,
        writer: &mut Writer<'_>,
    ) -> bool {
        if !self.is_due(now) || Frame::PathChallenge(data).encode(writer).is_err() {
            return false;
        }
        if self.open.len() == MAX_OPEN_CHALLENGES {
            self.open.remove(0);
        }
        self.open.push(Challenge { data, full_size });
        let next = now + self.next_interval;
        self.next_interval *= 2;
        self.next_send = (next < self.give_up).then_some(next);
        true
    }

    /// A PATH_RESPONSE arrived, on whichever addresses (RFC 9000 section 8.2.3).
    //= rfc9000-8.2.1-5: a validation in a smaller datagram is followed by one in 1200 bytes
    //= rfc9000-8.2.3-1: an address proven by a small datagram is validated again with 1200 bytes
    pub(crate) fn on_response(&mut self, now: Time, data: [u8; 8]) -> ResponseEffect {
        let Some(position) = self.open.iter().position(|challenge| challenge.data == data) else {
            return ResponseEffect::None;
        };
        let challenge = self.open.remove(position);
        if challenge.full_size {
            return ResponseEffect::Complete;
        }
        if !self.address_proven {
            self.address_proven = true;
            self.began = now;
            self.next_send = Some(now);
            self.next_interval = self.probe_timeout / FIRST_INTERVAL_DIVISOR;
            self.give_up = now + self.probe_timeout * GIVE_UP_PROBE_TIMEOUTS;
        }
        ResponseEffect::AddressProven
    }

    /// Why the attempt is over, if it is.
    //= rfc9000-8.2.4-1: a validation is abandoned after a time
    pub(crate) fn failure(&self, now: Time) -> Option<ValidationFailure> {
        (self.give_up <= now).then_some(if self.address_proven {
            ValidationFailure::DatagramsTooSmall
        } else {
            ValidationFailure::Unreachable
        })
    }

    /// When the first challenge could leave, or the first one of full size.
    pub(crate) fn began(&self) -> Time {
        self.began
    }

    /// When the attempt is over.
    pub(crate) fn give_up(&self) -> Time {
        self.give_up
    }

    /// When a challenge is due or the attempt is over.
    pub(crate) fn timeout(&self) -> Time {
        self.next_send.map_or(self.give_up, |at| at.min(self.give_up))
    }
}

/// Paces the validations of all paths of a connection.
#[derive(Clone, Debug)]
pub(crate) struct ValidationPacer {
    /// When all of the burst is available again.
    full_at: Time,
    initial_pto: Duration,
}

impl ValidationPacer {
    /// `initial_pto` is the probe timeout of a path without samples.
    pub(crate) fn new(initial_pto: Duration) -> Self {
        ValidationPacer { full_at: Time::ZERO, initial_pto }
    }

    /// The probe timeout of a path without samples: addresses that nothing is known of may be so far away.
    pub(crate) fn initial_pto(&self) -> Duration {
        self.initial_pto
    }

    /// When a validation wanted now may begin: at once as long as few began in the recent past.
    pub(crate) fn begin(&mut self, now: Time) -> Time {
        let longest = now + VALIDATION_INTERVAL * (VALIDATION_BURST + MAX_VALIDATION_DEBT);
        self.full_at = (self.full_at.max(now) + VALIDATION_INTERVAL).min(longest);
        (self.full_at - VALIDATION_INTERVAL * VALIDATION_BURST).max(now)
    }
}

/// A PATH_RESPONSE to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PendingResponse {
    tuple: FourTuple,
    data: [u8; 8],
    /// Bytes of the datagram that brought the challenge; of several that came in one, only the first has them.
    received: u64,
    /// That datagram.
    datagram_number: u64,
}

/// Pending answers of one path. They go back over the addresses on which the challenge came, with a connection id of
/// the same path (draft-ietf-quic-multipath-21 section 3.1), and are never repeated: the peer sends another challenge.
//= rfc9000-8.2.2-1: PATH_CHALLENGE is answered with its data
#[derive(Clone, Debug, Default)]
pub(crate) struct ResponseQueue {
    pending: VecDeque<PendingResponse>,
    stopped: bool,
}

impl ResponseQueue {
    /// A PATH_CHALLENGE arrived.
    pub(crate) fn push(&mut self, arrival: &Arrival, data: [u8; 8]) {
        if self.stopped {
            return;
        }
        let Arrival { tuple, datagram_number, .. } = *arrival;
        let is_counted = self.pending.back().is_some_and(|last| last.datagram_number == datagram_number);
        let received = if is_counted { 0 } else { arrival.datagram_bytes as u64 };
        if self.pending.len() == MAX_PENDING_RESPONSES {
            self.pending.pop_front();
        }
        self.pending.push_back(PendingResponse { tuple, data, received, datagram_number });
    }

    /// Whether nobody waits for an answer.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The addresses to answer, in the order in which they asked.
    #[inline]
    pub(crate) fn tuples(&self) -> impl Iterator<Item = FourTuple> + '_ {
        self.pending.iter().map(|response| response.tuple)
    }

    /// What the datagrams that brought the waiting challenges from these addresses allow to send there: all that may
    /// be sent to addresses of which nothing else is known (RFC 9000 section 8.2.2).
    pub(crate) fn allowance(&self, tuple: FourTuple) -> u64 {
        let received: u64 = self.pending.iter().filter(|r| r.tuple == tuple).map(|r| r.received).sum();
        received * AMPLIFICATION_FACTOR
    }

    /// Writes the answers to these addresses, as many as fit. Returns whether any was written.
    //= multipath-3.1-5: PATH_RESPONSE goes back on the path of the challenge
    //= rfc9000-8.2.2-3: PATH_RESPONSE goes back on the path of the challenge
    //= rfc9000-8.2.2-7: one answer to a challenge, never retransmitted
    //= rfc9000-19.17-1: PATH_CHALLENGE is answered
    pub(crate) fn write(&mut self, tuple: FourTuple, writer: &mut Writer<'_>) -> bool {
        let before = self.pending.len();
        self.pending.retain(|response| {
            response.tuple != tuple || Frame::PathResponse(response.data).encode(writer).is_err()
        });
        self.pending.len() < before
    }

    /// The path is abandoned: nothing may be sent on it any more, and elsewhere an answer would be wrong.
    pub(crate) fn stop(&mut self) {
        self.pending.clear();
        self.stopped = true;
    }
}

#[cfg(test)]
mod tests;
