//! What a peer's repair symbols may cost.
//!
//! Bytes that arrive pay in, and every loop over what the peer named pays out *before* it runs. Who is overdrawn is not
//! refused as a peer: its repair symbols are dropped until bytes have paid for them, and its data is retransmitted as without
//! erasure codes.
//!
//! A unit is one multiplication in GF(2^8) as vector instructions do it, about an eighth of a nanosecond.

/// Units that each byte of a REPAIR frame, or of stream data while something is protected, pays in: some 50 ns, so that a packet
/// of 1,150 bytes buys less than 60 µs whatever is in it. A symbol of a full block takes a fifth of that to be solved for.
pub(crate) const PER_BYTE: u64 = 400;

/// Units that may be saved up, some 1 ms: a full block of which half is missing.
pub(crate) const MOST: u64 = 8 << 20;

/// To look at an entry of a list.
pub(super) const ENTRY: u64 = 16;

/// To look up something in a map: a piece of a stream, a stream, a source symbol.
pub(super) const LOOKUP: u64 = 512;

/// See the module.
#[derive(Debug)]
pub(super) struct Work {
    credit: u64,
    spent: u64,
}

impl Work {
    /// Enough for the first symbols of small blocks.
    pub(super) fn new() -> Self {
        Work { credit: MOST / 8, spent: 0 }
    }

    /// Bytes arrived.
    pub(super) fn earn(&mut self, bytes: usize) {
        self.credit = self.credit.saturating_add((bytes as u64).saturating_mul(PER_BYTE)).min(MOST);
    }

    /// Pays for what is to be done. Returns false, and leaves nothing, if that is more than there is: nobody gains by asking
    /// for much.
    pub(super) fn pay(&mut self, units: usize, price: u64) -> bool {
        let total = (units as u64).saturating_mul(price);
        let paid = total.min(self.credit);
        self.credit -= paid;
        self.spent += paid;
        paid == total
    }

    /// Units spent since the beginning.
    pub(super) fn spent(&self) -> u64 {
        self.spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_spent_than_was_paid_in() {
        let mut work = Work::new();
        assert!(work.pay(1, MOST / 8));
        assert!(!work.pay(1, ENTRY));
        work.earn(10);
        assert!(work.pay(10, PER_BYTE));
        assert!(!work.pay(usize::MAX, u64::MAX));
        work.earn(usize::MAX);
        assert!(work.pay(1, MOST) && !work.pay(1, 1));
        assert_eq!(work.spent(), MOST / 8 + 10 * PER_BYTE + MOST);
    }
}
