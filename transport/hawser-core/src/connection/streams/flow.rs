//! Flow control (RFC 9000 section 4): the credit we have, and the windows we grant.

use std::time::Duration;

use hawser_policy::Time;

/// What the peer lets us send on the connection.
#[derive(Debug, Default)]
pub(super) struct SendCredit {
    limit: u64,
    used: u64,
}

impl SendCredit {
    /// The peer's limit.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that may still be sent.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// Bytes were sent for the first time.
    //= rfc9000-2.2-3: stream data stays within the peer's flow control limits
    #[inline]
    pub(super) fn take(&mut self, bytes: u64) {
        self.used += bytes;
        debug_assert!(self.used <= self.limit, "sent {} of {} allowed", self.used, self.limit);
    }

    /// A limit from the peer; limits never fall. Whether it is news.
    //= rfc9000-4.1-3: limits that do not rise are ignored
    //= rfc9000-13.3-5: outdated frames are accepted
    pub(super) fn raise(&mut self, limit: u64) -> bool {
        let raised = limit > self.limit;
        self.limit = self.limit.max(limit);
        raised
    }
}

/// More was received than was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overrun {
    /// What the peer wanted to have sent.
    pub(super) total: u64,
    /// What was allowed.
    pub(super) limit: u64,
}

/// A receive window: of a stream, or of the connection (then all offsets are sums over the streams).
///
/// The window slides with what the application consumed and is announced again when a quarter of it is free. It
/// doubles when half of it was consumed in less than two round trips: then it may be what limits the sender. It also doubles, whatever
/// time that took, when the sender had used it up while all that there was to read had been read: then it is too small to send on
/// while lost data is retransmitted, which takes a round trip and more.
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    size: u64,
    cap: u64,
    received: u64,
    consumed: u64,
    announced: u64,
    epoch_start: Time,
    epoch_consumed: u64,
    /// Whether a hole has kept the reader waiting in this epoch while the window was used up.
    waited_at_hole: bool,
    /// What must be consumed for the window to be tuned. This and the next are asked for at every read.
    tuned_from: u64,
    /// What must be consumed for a new limit to be announced.
    announced_from: u64,
}

impl ReceiveWindow {
    /// A window of `size` bytes, already announced by transport parameters, that grows up to `cap`. No window is larger than an
    /// offset can be, so that sums of both fit.
    pub(super) fn new(size: u64, cap: u64, now: Time) -> Self {
        let [size, cap] = [size, cap].map(|bytes| bytes.min(hawser_wire::varint::MAX));
        let mut window = ReceiveWindow {
            size,
            cap: cap.max(size),
            received: 0,
            consumed: 0,
            announced: size,
            epoch_start: now,
            epoch_consumed: 0,
            waited_at_hole: false,
            tuned_from: 0,
            announced_from: 0,
        };
        window.set_thresholds();
        window
    }

    /// After each change of what they depend on.
    fn set_thresholds(&mut self) {
        self.tuned_from = self.epoch_consumed + self.size / 2;
        self.announced_from = (self.announced + (self.size / 4).max(1)).saturating_sub(self.size);
    }

    /// Bytes received: the highest offset of a stream, or the sum of them.
    #[inline]
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// What was received and not consumed.
    #[inline]
    pub(super) fn unconsumed(&self) -> u64 {
        self.received - self.consumed
    }

    /// Whether everything received was consumed.
    #[cfg(test)]
    pub(super) fn is_settled(&self) -> bool {
        self.consumed == self.received
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether the peer may send `bytes` more (RFC 9000 section 4.1).
    //= rfc9000-4.1-2: data beyond a limit: FLOW_CONTROL_ERROR
    #[inline]
    pub(super) fn check(&self, bytes: u64) -> Result<(), Overrun> {
        let total = self.received.saturating_add(bytes);
        if total > self.announced { Err(Overrun { total, limit: self.announced }) } else { Ok(()) }
    }

    /// Counts received bytes, after [`check`](Self::check). Whether at most an eighth of the window is left.
    #[inline]
    pub(super) fn receive(&mut self, bytes: u64) -> bool {
        self.received += bytes;
        self.announced - self.received <= self.size / 8
    }

    /// It is nearly used up, and the reader has read all that is there before a hole.
    pub(super) fn wait_at_hole(&mut self) {
        self.waited_at_hole = true;
    }

    /// Bytes were read by the application, or will never be.
    #[inline]
    pub(super) fn consume(&mut self, bytes: u64) {
        self.consumed += bytes;
        debug_assert!(self.consumed <= self.received);
    }

    /// Whether so much was consumed that the window may have to grow.
    #[inline]
    pub(super) fn is_tunable(&self) -> bool {
        self.consumed >= self.tuned_from
    }

    /// Grows the window if it seems to limit the sender, to at most `most`.
    pub(super) fn tune(&mut self, now: Time, rtt: Duration, most: u64) {
        if !self.is_tunable() {
            return;
        }
        if std::mem::take(&mut self.waited_at_hole) || now.since(self.epoch_start) < rtt * 2 {
            self.grow_to(self.size.saturating_mul(2).min(most));
        }
        self.epoch_start = now;
        self.epoch_consumed = self.consumed;
        self.set_thresholds();
    }

    /// Makes the window at least `size`, within its cap.
    pub(super) fn grow_to(&mut self, size: u64) {
        self.size = self.size.max(size.min(self.cap));
        self.set_thresholds();
    }

    /// Whether it is time to announce a new limit.
    //= rfc9000-4.2-1: credit does not wait for a BLOCKED frame
    #[inline]
    pub(super) fn wants_update(&self) -> bool {
        self.consumed >= self.announced_from
    }

    /// The limit to announce now.
    pub(super) fn announce(&mut self) -> u64 {
        let limit = (self.consumed + self.size).min(hawser_wire::varint::MAX);
        self.announced = self.announced.max(limit);
        self.set_thresholds();
        self.announced
    }
}

#[cfg(test)]
mod tests;
