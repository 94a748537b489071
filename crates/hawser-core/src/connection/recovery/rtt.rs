//! Round-trip time (RFC 9002 section 5).

use std::time::Duration;

use hawser_policy::Time;

#[cfg(test)]
mod tests;

/// kGranularity of RFC 9002 section 6.1.2: no timer fires more finely.
pub(crate) const GRANULARITY: Duration = Duration::from_millis(1);

/// Round-trip time of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    latest: Duration,
    smoothed: Duration,
    variance: Duration,
    min: Duration,
    min_at: Time,
    first_sample_at: Option<Time>,
    /// By smoothed RTT and variance: asked for many times per sample.
    round_trip_bound: Duration,
}

impl RttEstimator {
    /// No sample yet: `initial` is assumed (RFC 9002 section 6.2.2).
    pub(crate) fn new(initial: Duration) -> Self {
        RttEstimator {
            latest: initial,
            smoothed: initial,
            variance: initial / 2,
            min: initial,
            min_at: Time::ZERO,
            first_sample_at: None,
            round_trip_bound: round_trip_bound(initial, initial / 2),
        }
    }

    /// A sample, and how long the peer says it held the acknowledgement. Returns the sample less that delay.
    pub(crate) fn on_sample(&mut self, now: Time, sample: Duration, ack_delay: Duration) -> Duration {
        // Virtual links can have no delay at all; formulas divide by this.
        let sample = sample.max(Duration::from_nanos(1));
        self.latest = sample;
        if self.first_sample_at.is_none() {
            self.first_sample_at = Some(now);
            (self.min, self.min_at) = (sample, now);
            self.smooth(sample, sample / 2);
            return sample;
        }
        // Section 5.2: the minimum ignores the peer's word on its delay.
        if sample <= self.min {
            (self.min, self.min_at) = (sample, now);
        }
        // Section 5.3: a delay that would take the sample under the minimum is not believed.
        let adjusted = if sample >= self.min + ack_delay { sample - ack_delay } else { sample };
        let variance = (self.variance * 3 + self.smoothed.abs_diff(adjusted)) / 4;
        self.smooth((self.smoothed * 7 + adjusted) / 8, variance);
        adjusted
    }

    fn smooth(&mut self, smoothed: Duration, variance: Duration) {
        (self.smoothed, self.variance) = (smoothed, variance);
        self.round_trip_bound = round_trip_bound(smoothed, variance);
    }

    /// Section 5.2: after persistent congestion the minimum starts from the newest sample.
    pub(crate) fn restart_minimum(&mut self, now: Time) {
        (self.min, self.min_at) = (self.latest, now);
    }

    /// Most recent sample.
    pub(crate) fn latest(&self) -> Duration {
        self.latest
    }

    /// Smoothed RTT.
    pub(crate) fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// Mean deviation.
    pub(crate) fn variance(&self) -> Duration {
        self.variance
    }

    /// Least sample.
    pub(crate) fn min(&self) -> Duration {
        self.min
    }

    /// When the least sample came.
    pub(crate) fn min_at(&self) -> Time {
        self.min_at
    }

    /// When the first sample came.
    pub(crate) fn first_sample_at(&self) -> Option<Time> {
        self.first_sample_at
    }

    /// Whether there is a sample.
    pub(crate) fn has_sample(&self) -> bool {
        self.first_sample_at.is_some()
    }

    /// Time within which a packet and its acknowledgement pass, the peer's ack delay aside (section 6.2.1).
    pub(crate) fn round_trip_bound(&self) -> Duration {
        self.round_trip_bound
    }
}

fn round_trip_bound(smoothed: Duration, variance: Duration) -> Duration {
    smoothed + (variance * 4).max(GRANULARITY)
}
