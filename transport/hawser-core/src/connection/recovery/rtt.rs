//! Round-trip time (RFC 9002 section 5).

use std::time::Duration;

use hawser_policy::{PathId, Time};

#[cfg(test)]
mod tests;

/// kGranularity of RFC 9002 section 6.1.2: no timer fires more finely.
//= rfc9002-6.1.2-5: kGranularity is 1 ms
pub(crate) const GRANULARITY: Duration = Duration::from_millis(1);

/// Silence, as a multiple of half the probe timeout, after which a path with an acknowledgement outstanding is suspect while
/// others work. One and a half probe timeouts: late acknowledgements come within one, and re-sent data must arrive
/// within three.
const SILENCE_HALF_TIMEOUTS: u64 = 3;

/// Return paths that are told apart.
const MAX_RETURN_PATHS: usize = 4;
/// A return path without a sample for longer than this and for [`STALE_ROUND_TRIPS`] is no longer in use.
const STALE_AFTER: Duration = Duration::from_millis(500);
const STALE_ROUND_TRIPS: u64 = 4;
/// What a sample adds to the weight of its return path, of which each sample of any takes an eighth: RFC 9002's memory.
const SAMPLE_WEIGHT: u16 = 32;
/// The weight of a return path that has all samples.
const FULL_WEIGHT: u16 = 8 * SAMPLE_WEIGHT;

/// Round-trip time of one path.
///
/// With draft-ietf-quic-multipath-21 a round trip is the way there on this path and the way back on whichever path
/// the acknowledgement took. Under load nearly all take the quickest; but where traffic is sparse, some of them ride on
/// another path, and one estimator for all would wander between both sums and have their difference as its variance. So
/// each return path has an estimate of its own, by the formulas of RFC 9002. The *smoothed* time of the path is that of its
/// usual return path: the one of most recent samples. Another replaces it when it has half as many samples again; for
/// that of the path itself it needs twice as many, and gives way when it has fewer: where acknowledgements take turns, the
/// smoothed time is always that of their own path. Neither the quickest nor a mean would do: a rare acknowledgement that
/// comes another way would move them. The probe timeout waits
/// for the slowest return path in use, since an acknowledgement on that one is no sign of loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    /// The path whose round trips these are.
    own: PathId,
    latest: Duration,
    /// Of the usual return path.
    smoothed: Duration,
    variance: Duration,
    min: Duration,
    min_at: Time,
    first_sample_at: Option<Time>,
    /// The peer's: for how long it may hold back an acknowledgement.
    max_ack_delay: Duration,
    /// No probe timeout is shorter.
    least_timeout: Duration,
    /// One for each return path seen, the rest unused.
    returns: [Return; MAX_RETURN_PATHS],
    returns_used: u8,
    /// Position of the usual one.
    usual: u8,
    bounds: Bounds,
}

/// Round trips with one return path. In nanoseconds: every acknowledgement computes with them, and a `Duration` has to be
/// taken apart for that.
#[derive(Clone, Copy, Debug)]
struct Return {
    path: PathId,
    smoothed: u64,
    variance: u64,
    /// Least sample with this return path.
    min: u64,
    sampled_at: Time,
    /// How much of the recent samples it had.
    weight: u16,
}

impl Return {
    const UNUSED: Return =
        Return { path: PathId::ZERO, smoothed: 0, variance: 0, min: 0, sampled_at: Time::ZERO, weight: 0 };

    /// RFC 9002 section 5.3.
    fn smooth(&mut self, now: Time, sample: Duration) {
        let sample = nanos(sample);
        self.variance = (self.variance * 3 + self.smoothed.abs_diff(sample)) / 4;
        self.smoothed = (self.smoothed * 7 + sample) / 8;
        self.min = self.min.min(sample);
        self.sampled_at = now;
    }

    /// The first sample after a pause. What it was before, of another queue perhaps, would count for longer than the path is in use.
    #[cold]
    fn restart(&mut self, now: Time, sample: Duration, variance: Duration) {
        (self.smoothed, self.variance) = (nanos(sample), nanos(variance));
        self.min = self.min.min(self.smoothed);
        self.sampled_at = now;
    }

    fn is_in_use(&self, now: Time) -> bool {
        let silence = now.as_nanos().saturating_sub(self.sampled_at.as_nanos());
        silence <= (STALE_AFTER.as_nanos() as u64).max(self.smoothed * STALE_ROUND_TRIPS)
    }

    /// Nanoseconds within which an acknowledgement comes this way, the peer's delay aside (section 6.2.1).
    //= rfc9002-6.2.1-1: the probe timeout is kGranularity at least
    fn bound(&self) -> u64 {
        self.smoothed + (self.variance * 4).max(GRANULARITY.as_nanos() as u64)
    }
}

/// What follows from smoothed RTT, variance and delay of acknowledgements: asked for many times per sample.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    round_trip: Duration,
    probe_timeout: Duration,
    silence: Duration,
}

impl Bounds {
    fn new(round_trip: u64, max_ack_delay: Duration, least: Duration) -> Self {
        let probe_timeout = (round_trip + nanos(max_ack_delay)).max(nanos(least));
        Bounds {
            round_trip: Duration::from_nanos(round_trip),
            probe_timeout: Duration::from_nanos(probe_timeout),
            silence: Duration::from_nanos(probe_timeout * SILENCE_HALF_TIMEOUTS / 2),
        }
    }
}

/// Of a round trip; those of centuries count as the longest that formulas can do with.
fn nanos(duration: Duration) -> u64 {
    duration.as_nanos().min(u128::from(u64::MAX / 16)) as u64
}

impl RttEstimator {
    /// No sample yet: `initial` is assumed (RFC 9002 section 6.2.2).
    pub(crate) fn new(own: PathId, initial: Duration, max_ack_delay: Duration) -> Self {
        let round_trip = initial + (initial * 2).max(GRANULARITY);
        RttEstimator {
            own,
            latest: initial,
            smoothed: initial,
            variance: initial / 2,
            min: initial,
            min_at: Time::ZERO,
            first_sample_at: None,
            max_ack_delay,
            least_timeout: Duration::ZERO,
            returns: [Return::UNUSED; MAX_RETURN_PATHS],
            returns_used: 0,
            usual: 0,
            bounds: Bounds::new(nanos(round_trip), max_ack_delay, Duration::ZERO),
        }
    }

    /// With probe timeouts of this at least.
    pub(crate) fn with_least_timeout(mut self, least: Duration) -> Self {
        self.least_timeout = least;
        self.set_max_ack_delay(self.max_ack_delay);
        self
    }

    /// What no probe timeout is shorter than.
    pub(crate) fn least_timeout(&self) -> Duration {
        self.least_timeout
    }

    /// The path whose round trips these are.
    pub(crate) fn own(&self) -> PathId {
        self.own
    }

    /// A sample, how long the peer says it held the acknowledgement, and the path on which that came. Returns the sample
    /// less that delay.
    //= rfc9002-5.2-1: min_rtt is the least RTT sample
    //= rfc9002-5.3-4: the ACK delay takes no sample below min_rtt
    pub(crate) fn on_sample(
        &mut self,
        now: Time,
        sample: Duration,
        ack_delay: Duration,
        received_on: PathId,
    ) -> Duration {
        // Virtual links can have no delay at all; formulas divide by this.
        let sample = sample.max(Duration::from_nanos(1));
        self.latest = sample;
        if self.first_sample_at.is_none() {
            self.first_sample_at = Some(now);
            (self.min, self.min_at) = (sample, now);
            self.variance = sample / 2;
            self.begin_return(now, sample, received_on);
            return sample;
        }
        // Section 5.2: the minimum ignores the peer's word on its delay.
        if sample <= self.min {
            (self.min, self.min_at) = (sample, now);
        }
        // Section 5.3: a delay that would take the sample under the minimum is not believed.
        let adjusted = if sample >= self.min + ack_delay { sample - ack_delay } else { sample };
        match self.known_returns().iter().position(|known| known.path == received_on) {
            Some(at) => {
                match at == usize::from(self.usual) || self.returns[at].is_in_use(now) {
                    true => self.returns[at].smooth(now, adjusted),
                    false => self.returns[at].restart(now, adjusted, self.variance),
                }
                self.choose_return(now, at);
            }
            None => self.begin_return(now, adjusted, received_on),
        }
        adjusted
    }

    fn known_returns(&self) -> &[Return] {
        &self.returns[..usize::from(self.returns_used)]
    }

    /// The first sample with this return path. The way there is known already, and with it how much it varies.
    #[cold]
    fn begin_return(&mut self, now: Time, sample: Duration, path: PathId) {
        // The first has had all samples.
        let weight = if self.returns_used == 0 { FULL_WEIGHT } else { 0 };
        let (smoothed, variance) = (nanos(sample), nanos(self.variance));
        let new = Return { path, smoothed, variance, min: smoothed, sampled_at: now, weight };
        let at = if usize::from(self.returns_used) < MAX_RETURN_PATHS {
            self.returns_used += 1;
            usize::from(self.returns_used) - 1
        } else {
            let oldest = (0..MAX_RETURN_PATHS).min_by_key(|&at| self.returns[at].sampled_at);
            oldest.unwrap_or_default()
        };
        self.returns[at] = new;
        self.choose_return(now, at);
    }

    /// After a sample of the return path at `sampled`: takes over the estimate of the usual one, and the bound of the
    /// slowest in use.
    fn choose_return(&mut self, now: Time, sampled: usize) {
        let mut usual = usize::from(self.usual);
        let mut round_trip = self.returns[sampled].bound();
        // Nearly always there is one.
        if self.returns_used > 1 {
            for (at, known) in self.returns[..usize::from(self.returns_used)].iter_mut().enumerate() {
                known.weight -= known.weight / 8;
                if at != sampled && known.is_in_use(now) {
                    round_trip = round_trip.max(known.bound());
                }
            }
            self.returns[sampled].weight += SAMPLE_WEIGHT;
            if self.takes_over(&self.returns[sampled], &self.returns[usual]) {
                usual = sampled;
                self.usual = sampled as u8;
            }
        }
        let usual = &self.returns[usual];
        self.smoothed = Duration::from_nanos(usual.smoothed);
        self.variance = Duration::from_nanos(usual.variance);
        self.bounds = Bounds::new(round_trip, self.max_ack_delay, self.least_timeout);
    }

    /// Whether `next` is the usual return path from now on, in the place of `usual`.
    fn takes_over(&self, next: &Return, usual: &Return) -> bool {
        let (next_weight, usual_weight) = (u32::from(next.weight), u32::from(usual.weight));
        if next.path == self.own {
            next_weight > usual_weight
        } else if usual.path == self.own {
            next_weight > usual_weight * 2
        } else {
            next_weight * 2 > usual_weight * 3
        }
    }

    /// The peer promises to hold back acknowledgements for no longer than this.
    pub(crate) fn set_max_ack_delay(&mut self, max_ack_delay: Duration) {
        self.max_ack_delay = max_ack_delay;
        self.bounds = Bounds::new(nanos(self.bounds.round_trip), max_ack_delay, self.least_timeout);
    }

    /// For how long the peer may hold back an acknowledgement.
    pub(crate) fn max_ack_delay(&self) -> Duration {
        self.max_ack_delay
    }

    /// Section 5.2: after persistent congestion the minimum starts from the newest sample.
    //= rfc9002-5.2-2: min_rtt is reset after persistent congestion
    //= rfc9002-5.2-3: min_rtt is not reset often
    pub(crate) fn restart_minimum(&mut self, now: Time) {
        (self.min, self.min_at) = (self.latest, now);
        self.returns.iter_mut().for_each(|known| known.min = known.smoothed);
    }

    /// Whether packets wait somewhere: a round trip takes a quarter longer than it can with acknowledgements that return on the same
    /// path. Compared with the least of all return paths, the way back on a slower one would look like a queue.
    pub(crate) fn has_queue(&self) -> bool {
        let usual = &self.returns[usize::from(self.usual)];
        self.has_sample() && usual.smoothed.saturating_mul(4) >= usual.min.saturating_mul(5)
    }

    /// Most recent sample.
    pub(crate) fn latest(&self) -> Duration {
        self.latest
    }

    /// Smoothed RTT, with acknowledgements that return on their usual path.
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
