use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{Forecast, LinkId, LinkObserver, LinkState, Rate, Time};

use crate::profile::{Profile, Sample, sample_at};
use crate::random::{Random, mix};

/// How good a forecaster is. All of them see the outlook only, never the channel's draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ForecastQuality {
    /// Knows the outlook at every time.
    Perfect,
    /// Knows what held a while ago, and takes the future to come that much later, too.
    Delayed(Duration),
    /// Capacity is off by a factor with this relative standard deviation, drawn anew for each 100 ms that is asked for.
    Noisy {
        /// For example 0.2.
        deviation: f64,
        /// Of the errors.
        seed: u64,
    },
    /// Knows nothing.
    Absent,
}

/// Which end of the link asks: its sending direction is what it observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The moving host: it sends towards the network.
    Host,
    /// The other end, or a host that reports what it can receive.
    Network,
}

/// A [`LinkObserver`] over the outlooks of profiles.
#[derive(Clone, Debug)]
pub struct ProfileObserver {
    links: Vec<(LinkId, Arc<Profile>)>,
    sender: Sender,
    quality: ForecastQuality,
    horizon: Duration,
}

/// Two questions within this time get the same error.
const ERROR_GRID: u64 = 100_000_000;

impl ProfileObserver {
    /// Watches some links. Forecasts end at a horizon of 1 s: beyond it, the last value holds.
    pub fn new(
        links: impl IntoIterator<Item = (LinkId, Arc<Profile>)>,
        sender: Sender,
        quality: ForecastQuality,
    ) -> Self {
        let links = links.into_iter().collect();
        ProfileObserver { links, sender, quality, horizon: Duration::from_secs(1) }
    }

    /// Changes how far ahead it sees.
    #[must_use]
    pub fn with_horizon(mut self, horizon: Duration) -> Self {
        self.horizon = horizon;
        self
    }

    fn state(&self, link: LinkId, at: Time) -> Option<LinkState> {
        let profile = &self.links.iter().find(|known| known.0 == link)?.1;
        let at = match self.quality {
            ForecastQuality::Absent => return None,
            ForecastQuality::Delayed(by) => at - by,
            ForecastQuality::Perfect | ForecastQuality::Noisy { .. } => at,
        };
        let samples = match self.sender {
            Sender::Host => &profile.outlook.up,
            Sender::Network => &profile.outlook.down,
        };
        let sample = sample_at(samples, at.as_nanos())?;
        Some(LinkState {
            up: sample.up,
            capacity: Some(Rate::from_bits_per_second(self.capacity(sample, link, at))),
            loss: Some(sample.loss),
            delay: Some(Duration::from_nanos(sample.delay)),
            position: profile.position_at(at.as_nanos()),
        })
    }

    fn capacity(&self, sample: &Sample, link: LinkId, at: Time) -> u64 {
        if !sample.up {
            return 0;
        }
        let ForecastQuality::Noisy { deviation, seed } = self.quality else { return sample.rate };
        let key = mix(at.as_nanos() / ERROR_GRID) ^ mix(u64::from(link.0) << 40);
        let error = 1.0 + deviation * Random::new(seed ^ key, "forecast").normal();
        (sample.rate as f64 * error.max(0.0)) as u64
    }
}

impl LinkObserver for ProfileObserver {
    fn observe(&mut self, now: Time, link: LinkId) -> Option<LinkState> {
        self.state(link, now)
    }

    fn forecast(&mut self, now: Time, link: LinkId, at: Time) -> Option<Forecast> {
        let seen = at.min(now + self.horizon).max(now);
        let state = self.state(link, seen)?;
        let capacity = state.capacity.map_or(0.0, |rate| rate.bits_per_second() as f64);
        let capacity_deviation = match self.quality {
            ForecastQuality::Perfect => Some(0.0),
            ForecastQuality::Noisy { deviation, .. } => Some(deviation * capacity),
            ForecastQuality::Delayed(_) | ForecastQuality::Absent => None,
        };
        Some(Forecast { at, state, capacity_deviation })
    }
}

#[cfg(test)]
mod tests;
