//! All parameters of one direction of a link.

use crate::delay::DelayModel;
use crate::impairments::Impairments;
use crate::loss::LossModel;
use crate::outage::{OutagePolicy, Outages};
use crate::queue::QueueConfig;
use crate::rate::RateModel;
use crate::time::{Nanos, SECOND};

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
    pub const DEFAULT_QUEUE_BYTES: u64 = 250_000;

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
    /// and losses not counted; `None` when unlimited. The yardstick for "share of the sum of all links".
    pub fn mean_rate(&self, until: Nanos) -> Option<u64> {
        let (mut time, mut bits) = (0, 0);
        while time < until {
            let up = self.outages.next_up(time).min(until);
            let down = self.outages.next_down(up).unwrap_or(until).min(until);
            bits += self.rate.capacity_bits(down)? - self.rate.capacity_bits(up)?;
            time = down.max(up);
        }
        Some((u128::from(bits) * u128::from(SECOND) / u128::from(until.max(1))) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
