//! Round-trip time (RFC 9002 section 5).

use std::time::Duration;

use hawser_policy::Time;

#[cfg(test)]
mod tests;

/// kGranularity of RFC 9002 section 6.1.2: no timer fires more finely.
pub(crate) const GRANULARITY: Duration = Duration::from_millis(1);

/// Silence, as a multiple of half the probe timeout, after which a path that owes an acknowledgement is suspect while
/// others work. One and a half probe timeouts: late acknowledgements come within one, and re-sent data must arrive
/// within three.
const SILENCE_HALF_TIMEOUTS: u32 = 3;

/// Round-trip time of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    latest: Duration,
    smoothed: Duration,
    variance: Duration,
    min: Duration,
    min_at: Time,
    first_sample_at: Option<Time>,
    /// The peer's: for how long it may hold back an acknowledgement.
    max_ack_delay: Duration,
    bounds: Bounds,
}

/// What follows from smoothed RTT, variance and delay of acknowledgements: asked for many times per sample.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    round_trip: Duration,
    probe_timeout: Duration,
    silence: Duration,
}

impl Bounds {
    fn new(smoothed: Duration, variance: Duration, max_ack_delay: Duration) -> Self {
        let round_trip = smoothed + (variance * 4).max(GRANULARITY);
        let probe_timeout = round_trip + max_ack_delay;
        Bounds { round_trip, probe_timeout, silence: probe_timeout * SILENCE_HALF_TIMEOUTS / 2 }
    }
}

impl RttEstimator {
    /// No sample yet: `initial` is assumed (RFC 9002 section 6.2.2).
    pub(crate) fn new(initial: Duration, max_ack_delay: Duration) -> Self {
        RttEstimator {
            latest: initial,
            smoothed: initial,
            variance: initial / 2,
            min: initial,
            min_at: Time::ZERO,
            first_sample_at: None,
            max_ack_delay,
            bounds: Bounds::new(initial, initial / 2, max_ack_delay),
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
        self.bounds = Bounds::new(smoothed, variance, self.max_ack_delay);
    }

    /// The peer promises to hold back acknowledgements for no longer than this.
    pub(crate) fn set_max_ack_delay(&mut self, max_ack_delay: Duration) {
        self.max_ack_delay = max_ack_delay;
        self.bounds = Bounds::new(self.smoothed, self.variance, max_ack_delay);
    }

    /// For how long the peer may hold back an acknowledgement.
    pub(crate) fn max_ack_delay(&self) -> Duration {
        self.max_ack_delay
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
    #[inline]
    pub(crate) fn round_trip_bound(&self) -> Duration {
        self.bounds.round_trip
    }

    /// Probe timeout of application data, without back-off (section 6.2.1).
    #[inline]
    pub(crate) fn probe_timeout(&self) -> Duration {
        self.bounds.probe_timeout
    }

    /// Silence after which a path is suspect if there is another.
    #[inline]
    pub(crate) fn silence(&self) -> Duration {
        self.bounds.silence
    }
}
