//! Packet numbers of one space, with gaps that only an honest peer can see.

use std::ops::{Range, RangeInclusive};

use crate::error::TransportError;

#[cfg(test)]
mod tests;

/// Skipped numbers that are remembered. Older ones lie far behind everything in flight: to acknowledge them gains an
/// attacker nothing.
const MAX_SKIPPED: usize = 16;
/// The first gap comes within this many packets.
const FIRST_PERIOD: u64 = 64;
/// Gaps grow apart up to this many packets: each costs the peer an ACK range.
const LAST_PERIOD: u64 = 1 << 16;

/// Hands out packet numbers and remembers the ones it left out.
///
/// A peer that acknowledges packets it never received makes us send faster than the network carries. It cannot know
/// which numbers were left out, so sooner or later it acknowledges one of them (RFC 9000 section 21.4).
#[derive(Debug)]
pub(crate) struct PacketNumbers {
    next: u64,
    skipping: bool,
    next_skip: u64,
    period: u64,
    /// Ascending, and few.
    skipped: Vec<u64>,
}

impl PacketNumbers {
    /// Numbers from zero, with or without gaps.
    pub(crate) fn new(skipping: bool) -> Self {
        PacketNumbers { next: 0, skipping, next_skip: 0, period: FIRST_PERIOD, skipped: Vec::new() }
    }

    /// The number of the next packet, which stays the same until [`commit`](Self::commit). `rng` is uniformly random.
    #[inline]
    pub(crate) fn peek(&mut self, rng: u64) -> u64 {
        if self.skipping && self.next >= self.next_skip {
            self.skip(rng);
        }
        self.next
    }

    /// A packet with the number last peeked left.
    //= rfc9000-12.3-1: packet numbers rise
    //= rfc9000-12.3-2: packet numbers are never used twice, not after a Retry either
    #[inline]
    pub(crate) fn commit(&mut self) {
        self.next += 1;
    }

    /// Peeks and commits.
    #[cfg(test)]
    pub(crate) fn take(&mut self, rng: u64) -> u64 {
        let number = self.peek(rng);
        self.commit();
        number
    }

    /// One past the largest number in use.
    pub(crate) fn end(&self) -> u64 {
        self.next
    }

    /// How many of these numbers were left out (and are remembered).
    pub(crate) fn skipped_between(&self, numbers: &Range<u64>) -> usize {
        self.skipped.iter().filter(|skipped| numbers.contains(skipped)).count()
    }

    /// RFC 9000 section 13.1: an acknowledgement of a packet that was never sent is an error.
    //= rfc9000-13.1-2: acknowledgement of a packet that was not sent: PROTOCOL_VIOLATION
    #[inline]
    pub(crate) fn check_acknowledged(&self, range: &RangeInclusive<u64>) -> Result<(), TransportError> {
        let (start, end) = (*range.start(), *range.end());
        if start > end || end >= self.next {
            return Err(TransportError::protocol_violation(format!(
                "acknowledged packet {end}, but only packets below {} were sent",
                self.next
            )));
        }
        match self.skipped.iter().rev().take_while(|&&skipped| skipped >= start).find(|&&s| s <= end) {
            None => Ok(()),
            Some(skipped) => Err(TransportError::protocol_violation(format!(
                "acknowledged packet {skipped}, whose number was skipped"
            ))),
        }
    }

    fn skip(&mut self, rng: u64) {
        // Zero is the state before the first draw: nothing is left out yet.
        if self.next_skip > 0 {
            if self.skipped.len() == MAX_SKIPPED {
                self.skipped.remove(0);
            }
            self.skipped.push(self.next);
            self.next += 1;
            self.period = (self.period * 2).min(LAST_PERIOD);
        }
        self.next_skip = self.next + self.period / 2 + rng % (self.period / 2) + 1;
    }
}
