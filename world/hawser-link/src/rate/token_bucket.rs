//! A token bucket, as the queueing discipline tbf has it: a mean rate, and bursts at a higher one.

use crate::time::{NEVER, Nanos, SECOND};

/// A rate limiter that saves up what is not used, to a bound.
///
/// In any stretch of `t` seconds at most `rate t + 8 burst` bits leave, and at most `peak_rate t`.
/// A packet larger than the burst waits until the bucket could have given it that much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    /// Mean rate in bit/s, above zero.
    pub rate: u64,
    /// Bytes that may leave at once after a pause; the bucket is full at the start.
    pub burst: u64,
    /// Rate of a burst in bit/s; without one a burst leaves in no time.
    pub peak_rate: Option<u64>,
}

/// Content of a bucket in bit-nanoseconds per second, at a time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tokens {
    content: u128,
    at: Nanos,
}

/// The unit of [`Tokens::content`] for one byte.
const BYTE: u128 = 8 * SECOND as u128;

impl Tokens {
    pub(super) fn full(bucket: &TokenBucket) -> Self {
        Self { content: u128::from(bucket.burst) * BYTE, at: 0 }
    }
}

impl TokenBucket {
    /// The most bits that leave within `time`, if the bucket was empty `idle` before it; [`NEVER`]: it is full, as at the
    /// start.
    pub(super) fn most_bits(&self, time: Nanos, idle: Nanos) -> u64 {
        let bits = |rate: u64, time: Nanos| u128::from(rate) * u128::from(time) / u128::from(SECOND);
        let full = 8 * u128::from(self.burst);
        let saved = if idle == NEVER { full } else { full.min(bits(self.rate, idle)) };
        let by_tokens = bits(self.rate, time) + saved;
        let most = self.peak_rate.map_or(by_tokens, |peak| by_tokens.min(bits(peak, time)));
        u64::try_from(most).unwrap_or(u64::MAX)
    }

    /// When a packet that comes first at `start` has left, and what the bucket holds then.
    pub(super) fn plan(&self, tokens: Tokens, start: Nanos, length: u32) -> (Nanos, Tokens) {
        let rate = u128::from(self.rate.max(1));
        let (full, cost) = (u128::from(self.burst) * BYTE, u128::from(length) * BYTE);
        let idle = u128::from(start.saturating_sub(tokens.at));
        let content = (tokens.content + rate * idle).min(full);
        let wait = cost.saturating_sub(content).div_ceil(rate);
        let earned = start.saturating_add(u64::try_from(wait).unwrap_or(Nanos::MAX));
        let sent = match self.peak_rate {
            Some(peak) => start.saturating_add((cost.div_ceil(u128::from(peak.max(1)))) as Nanos),
            None => start,
        };
        let finish = earned.max(sent);
        // While a packet leaves, the bucket fills and empties at the same time: nothing is lost over the brim.
        let filled = rate * u128::from(finish - start);
        let content = (content + filled).saturating_sub(cost).min(full);
        (finish, Tokens { content, at: finish })
    }
}
