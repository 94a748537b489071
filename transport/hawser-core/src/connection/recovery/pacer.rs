//! Spreads packets over the round trip (RFC 9002 section 7.7): a token bucket in integer arithmetic.
//!
//! Two wishes pull apart. The network wants packets one by one; the host wants large batches, few system calls and
//! timers that may fire a millisecond late. The bucket therefore holds what passes in [`CREDIT_MILLIS`], so a late
//! timer costs nothing, and a sender that ran out of credit waits until a batch of [`BATCH_MILLIS`] is due. Where the
//! round trip is shorter than that (loopback, data centres), the window alone limits the sender, as it should.

use std::time::Duration;

use hawser_policy::{Rate, Time};

#[cfg(test)]
mod tests;

/// Credit that a sender can save up, in milliseconds at the pacing rate.
const CREDIT_MILLIS: u64 = 2;
/// What is waited for once the credit is used up, in milliseconds at the pacing rate.
const BATCH_MILLIS: u64 = 1;
/// Datagrams that may always leave together before a round trip was measured (RFC 9002 section 7.2).
//= rfc9002-7.7-3: bursts are limited to the initial window
const INITIAL_BURST: u64 = 10;
/// Likewise afterwards; at low rates this is more than [`CREDIT_MILLIS`] allows.
const MIN_BURST: u64 = 4;
/// The fixed point: tokens are counted in bytes / 2^32, and a nanosecond adds `tokens_per_nano` of them.
const FRACTION_BITS: u32 = 32;

/// Token bucket of one path.
//= rfc9002-7.7-2: bursts are limited by pacing or otherwise
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    rate: Rate,
    max_datagram_size: u64,
    initial: bool,
    /// Bytes in the bucket, fixed point.
    tokens: u64,
    capacity: u64,
    /// What a sender without credit waits for.
    batch: u64,
    /// Fixed point: 8 kbit/s is a millionth of a byte per nanosecond.
    tokens_per_nano: u64,
    filled_at: Time,
}

impl Pacer {
    /// A full bucket.
    pub(crate) fn new(now: Time, rate: Rate, max_datagram_size: u16) -> Self {
        let mut pacer = Pacer {
            rate: Rate::ZERO,
            max_datagram_size: u64::from(max_datagram_size),
            initial: true,
            tokens: 0,
            capacity: 0,
            batch: 0,
            tokens_per_nano: 0,
            filled_at: now,
        };
        pacer.configure(rate);
        pacer.tokens = pacer.capacity;
        pacer
    }

    /// The rate changed. Credit earned so far was earned at the old rate.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate, has_rtt_sample: bool) {
        if rate == self.rate && self.initial != has_rtt_sample {
            return;
        }
        self.fill(now);
        self.initial = !has_rtt_sample;
        self.configure(rate);
    }

    /// The datagram size changed.
    pub(crate) fn set_max_datagram_size(&mut self, now: Time, bytes: u16) {
        self.fill(now);
        self.max_datagram_size = u64::from(bytes);
        self.configure(self.rate);
    }

    /// The rate.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Bytes that may leave now.
    //= rfc9002-7.7-1: packets in flight are paced
    #[inline]
    pub(crate) fn budget(&self, now: Time) -> u64 {
        self.tokens_at(now) >> FRACTION_BITS
    }

    /// Bytes left. Packets that do not ask (probes, small remainders) may take more than there is.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u64) {
        self.fill(now);
        self.tokens = self.tokens.saturating_sub(bytes << FRACTION_BITS);
    }

    /// When the next batch may leave; `None` if at least a datagram may leave now.
    pub(crate) fn next_release(&self, now: Time) -> Option<Time> {
        let tokens = self.tokens_at(now);
        let datagram = self.max_datagram_size << FRACTION_BITS;
        if tokens >= datagram {
            return None;
        }
        let missing = self.batch - tokens;
        Some(now + Duration::from_nanos(missing.div_ceil(self.tokens_per_nano)))
    }

    fn configure(&mut self, rate: Rate) {
        // Above 512 Gbit/s the fixed point would overflow, and pacing has no meaning.
        const MAX_RATE: u64 = 512_000_000_000;
        let burst = if self.initial { INITIAL_BURST } else { MIN_BURST } * self.max_datagram_size;
        self.rate = rate;
        let bits = rate.bits_per_second().min(MAX_RATE);
        // bits / 8e9 bytes per nanosecond, as a product: this runs with every acknowledgement.
        const TOKENS_PER_BIT: u64 = ((1u128 << (FRACTION_BITS + 64)) / 8_000_000_000) as u64;
        let tokens_per_nano = (u128::from(bits) * u128::from(TOKENS_PER_BIT)) >> 64;
        self.tokens_per_nano = (tokens_per_nano as u64).max(1);
        self.capacity = (bits / 8 * CREDIT_MILLIS / 1000).max(burst) << FRACTION_BITS;
        self.batch = (bits / 8 * BATCH_MILLIS / 1000).max(self.max_datagram_size) << FRACTION_BITS;
        self.tokens = self.tokens.min(self.capacity);
    }

    #[inline]
    fn fill(&mut self, now: Time) {
        self.tokens = self.tokens_at(now);
        self.filled_at = self.filled_at.max(now);
    }

    #[inline]
    fn tokens_at(&self, now: Time) -> u64 {
        let elapsed = now.as_nanos().saturating_sub(self.filled_at.as_nanos());
        self.tokens.saturating_add(elapsed.saturating_mul(self.tokens_per_nano)).min(self.capacity)
    }
}
