//! All parameters of one direction of a link.

use crate::delay::DelayModel;
use crate::impairments::Impairments;
use crate::loss::LossModel;
use crate::outage::{OutagePolicy, Outages};
use crate::queue::QueueConfig;
use crate::rate::RateModel;
use crate::time::{NEVER, Nanos, SECOND};

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionConfig {
    /// How fast it sends.
    pub rate: RateModel,
    /// How long a packet travels.
    pub delay: DelayModel,
    /// What it loses at random, after serialisation: a lost packet has used its share of the rate.
    pub loss: LossModel,
    /// What waits before it.
    pub queue: QueueConfig,
    /// Copies, stragglers, flipped bits.
    pub impairments: Impairments,
    /// Largest IP packet, bytes; larger ones are dropped.
    pub mtu: u32,
    /// When it is down.
    pub outages: Outages,
    /// What happens to packets while it is down.
    pub outage_policy: OutagePolicy,
}

impl DirectionConfig {
    /// MTU of Ethernet, the default.
    pub const DEFAULT_MTU: u32 = 1500;
    /// Bytes of the queue unless the scenario says otherwise.
    pub const DEFAULT_QUEUE_BYTES: u64 = QueueConfig::DEFAULT_BYTES;

    /// An unlimited direction that delays by `delay` nanoseconds and does nothing else.
    pub fn with_delay(delay: Nanos) -> Self {
        Self {
            rate: RateModel::Unlimited,
            delay: DelayModel::constant(delay),
            loss: LossModel::None,
            queue: QueueConfig::default(),
            impairments: Impairments::default(),
            mtu: Self::DEFAULT_MTU,
            outages: Outages::none(),
            outage_policy: OutagePolicy::Drop,
        }
    }

    /// Mean rate in bit/s from time zero until `until` (above zero), with the time in outages counted as zero
    /// and losses not counted; `None` when unlimited. The yardstick for "share of the sum of all links". Of a random rate it
    /// is the expectation: see [`Self::realised`].
    pub fn mean_rate(&self, until: Nanos) -> Option<u64> {
        self.bits_between(0, until).map(|bits| mean(bits, until))
    }

    /// Bits that a direction that begins at `from` carries until `until`.
    pub(crate) fn bits_between(&self, from: Nanos, until: Nanos) -> Option<u64> {
        let (mut time, mut bits) = (from, 0);
        // What a token bucket has saved up: it is full at the start, and after an outage holds what came meanwhile.
        let mut idle = NEVER;
        while time < until {
            let up = self.outages.next_up(time).min(until);
            let down = self.outages.next_down(up).unwrap_or(until).min(until);
            if idle != NEVER {
                idle = up - time;
            }
            if up < down {
                bits += self.rate.bits_between(up, down, idle)?;
                idle = 0;
            }
            time = down.max(up);
        }
        Some(bits)
    }

    /// The same direction with its random rate replaced by the steps that a link with this `seed` takes until `until`: what
    /// it could carry in that run, and not what such links carry on average.
    #[must_use]
    pub fn realised(&self, seed: u64, until: Nanos) -> Self {
        Self { rate: self.rate.realised(seed, until), ..self.clone() }
    }
}

/// So many bits in the time from zero until `until`, as bit/s.
pub(crate) fn mean(bits: u64, until: Nanos) -> u64 {
    (u128::from(bits) * u128::from(SECOND) / u128::from(until.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::TokenBucket;
    use crate::series::Series;

    #[test]
    fn the_mean_rate_counts_outages_as_zero() {
        let series = Series::new(vec![(0, 8_000_000), (SECOND, 4_000_000)], None).unwrap();
        let config = DirectionConfig {
            rate: RateModel::Scheduled(series),
            outages: Outages::none().with_window(SECOND / 2, SECOND),
            ..DirectionConfig::with_delay(0)
        };
        assert_eq!(config.mean_rate(2 * SECOND), Some(4_000_000));
        assert_eq!(DirectionConfig::with_delay(0).mean_rate(SECOND), None);
    }

    #[test]
    fn the_mean_rate_counts_what_a_token_bucket_saves_up() {
        let bucket = TokenBucket { rate: 8_000_000, burst: 500_000, peak_rate: None };
        let with = |bucket, outages| DirectionConfig {
            rate: RateModel::TokenBucket(bucket),
            outages,
            ..DirectionConfig::with_delay(0)
        };
        // 8 Mbit and the 4 Mbit of the first burst, also if the link is down at first.
        assert_eq!(with(bucket, Outages::none()).mean_rate(SECOND), Some(12_000_000));
        let late = Outages::none().with_window(0, SECOND);
        assert_eq!(with(bucket, late).mean_rate(2 * SECOND), Some(6_000_000));
        // An outage of 250 ms saves up 2 Mbit, which leave after it.
        let paused = Outages::none().with_window(SECOND, SECOND + SECOND / 4);
        assert_eq!(with(bucket, paused).mean_rate(2 * SECOND), Some((16_000_000 + 4_000_000) / 2));
        // A second at no more than 10 Mbit/s lets 2 Mbit of the burst leave.
        let bounded = TokenBucket { peak_rate: Some(10_000_000), ..bucket };
        assert_eq!(with(bounded, Outages::none()).mean_rate(SECOND), Some(10_000_000));
    }
}
