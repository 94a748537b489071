//! What a peer's packets may cost.
//!
//! Bytes that arrive pay in, and packets that leave, since what their acknowledgement costs is owed to those. Every loop over what
//! the peer named or can make long charges. What a peer may only ask for,
//! as repair symbols, is [paid](Work::pay) *before* it is done, and left undone if the account does not suffice. Everything else is
//! [charged](Work::charge), and a connection that has overdrawn waits: what arrives meanwhile is dropped, as if the network
//! had, until time has paid off the debt. One that goes on like that is closed.
//!
//! A unit is one multiplication in GF(2^8) as vector instructions do it, about an eighth of a nanosecond.

use hawser_policy::Time;

#[cfg(test)]
mod tests;

/// Units that each byte of an authentic packet pays in: some 50 ns, so that a packet of 1,150 bytes buys less than 60 µs
/// whatever is in it. A repair symbol of a full block takes a fifth of that to be solved for.
pub(crate) const PER_BYTE: u64 = 400;

/// Units that each such packet pays in besides, and each ack-eliciting packet that leaves.
pub(crate) const PER_PACKET: u64 = 20_000;

/// Units that may be saved up, some 1 ms: a full block of which half is missing.
pub(crate) const MOST: u64 = 8 << 20;

/// To look at an entry of a list.
pub(crate) const ENTRY: u64 = 16;

/// To find a place in a sorted list.
pub(crate) const SEARCH: u64 = 4 * ENTRY;

/// To move an entry of a list to make room for another.
pub(crate) const MOVE: u64 = 8;

/// To look up something in a map: a piece of a stream, a stream, a source symbol.
pub(crate) const LOOKUP: u64 = 512;

/// Units that a nanosecond pays of a debt: an eighth of a core.
const PER_NANOSECOND: u64 = 1;

/// A connection that has overdrawn so often without ever having paid in what it may save up is closed.
const MAX_OVERDRAFTS: u32 = 64;

/// The account of a connection. See the module.
#[derive(Debug)]
pub(crate) struct Work {
    credit: u64,
    /// Above zero only while `credit` is zero.
    debt: u64,
    /// Until when the debt was paid off.
    paid_until: Time,
    overdrafts: u32,
    spent: u64,
}

impl Work {
    /// Enough for the first symbols of small blocks.
    pub(crate) fn new() -> Self {
        Work { credit: MOST / 8, debt: 0, paid_until: Time::ZERO, overdrafts: 0, spent: 0 }
    }

    /// An authentic packet of so many bytes arrived.
    #[inline]
    pub(crate) fn earn_packet(&mut self, bytes: usize) {
        self.earn_units(PER_PACKET + bytes as u64 * PER_BYTE);
    }

    /// A packet left that the peer will acknowledge.
    #[inline]
    pub(crate) fn earn_sent(&mut self) {
        self.earn_units(PER_PACKET);
    }

    /// Bytes arrived.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn earn(&mut self, bytes: usize) {
        self.earn_units((bytes as u64).saturating_mul(PER_BYTE));
    }

    #[inline]
    fn earn_units(&mut self, units: u64) {
        let repaid = units.min(self.debt);
        self.debt -= repaid;
        self.credit = self.credit.saturating_add(units - repaid).min(MOST);
        if self.credit == MOST {
            self.overdrafts = 0;
        }
    }

    /// Pays for what is to be done. Returns false, and leaves nothing, if that is more than there is: nobody gains by asking
    /// for much.
    pub(crate) fn pay(&mut self, units: usize, price: u64) -> bool {
        let total = (units as u64).saturating_mul(price);
        let paid = total.min(self.credit);
        self.credit -= paid;
        self.spent = self.spent.saturating_add(paid);
        paid == total
    }

    /// So much was done, or will be whatever it costs.
    #[inline]
    pub(crate) fn charge(&mut self, units: u64) {
        self.spent = self.spent.saturating_add(units);
        let paid = units.min(self.credit);
        self.credit -= paid;
        self.debt = self.debt.saturating_add(units - paid);
    }

    /// Whether the connection has to wait.
    #[inline]
    pub(crate) fn is_overdrawn(&mut self, now: Time) -> bool {
        self.debt > 0 && self.still_overdrawn(now)
    }

    #[cold]
    fn still_overdrawn(&mut self, now: Time) -> bool {
        let passed = u64::try_from(now.since(self.paid_until).as_nanos()).unwrap_or(u64::MAX);
        self.paid_until = self.paid_until.max(now);
        self.debt = self.debt.saturating_sub(passed.saturating_mul(PER_NANOSECOND));
        self.debt > 0
    }

    /// A packet was processed. Returns false if the connection has overdrawn too often.
    #[inline]
    pub(crate) fn is_tolerable(&mut self, now: Time) -> bool {
        self.debt == 0 || self.note_overdraft(now)
    }

    #[cold]
    fn note_overdraft(&mut self, now: Time) -> bool {
        self.paid_until = now;
        self.overdrafts += 1;
        self.overdrafts <= MAX_OVERDRAFTS
    }

    /// Units spent since the beginning.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }
}
