//! What the path delivers.

use hawser_policy::{DeliverySample, Time};

/// Acknowledgements are counted over a round trip without queue, and at least so many seconds: a radio delivers in heaps. If the next
/// one comes later than so many of that, nothing was sent.
const SHORTEST_SPAN: f64 = 0.02;
const LONGEST_SPANS: f64 = 3.0;
/// Weight of a new sample; a sample is itself the mean of a round trip.
const GAIN: f64 = 0.25;

/// Weight of a round trip.
const SLOW_GAIN: f64 = 0.125;
const UNREST_GAIN: f64 = 0.03;
/// Round trips after the start, and after an estimate of another kind, in which the rate finds its place: they say nothing of the path.
const FIRST_ROUNDS: u32 = 10;
/// Below this mean distance from the mean a rate is steady: a dish or a cell has 0.2 and more, a share next to CUBIC 0.05.
const STEADY: f64 = 0.12;
/// It does not move where it rose or fell by less than this over the longer time: shaped links of the emulator on a busy machine have
/// 0.002 to 0.009, links of the scenarios that move 0.024 to 0.06.
const CALM: f64 = 0.01;
const CALM_ROUNDS: u32 = 30;

/// Delivery rate in bytes per second: at present, and the largest of this round trip and the last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateFilter {
    present: f64,
    rounds: [f64; 2],
    /// Moving average over round trips, and of the distance from it, in its shares.
    mean: f64,
    swing: f64,
    /// The same over a longer time, above the average and below it: what another flow takes only falls.
    above: f64,
    below: f64,
    settled_rounds: u32,
    /// Since when acknowledgements are counted, their bytes, and the rate at which they came last.
    since: Time,
    bytes: f64,
    drained: Option<f64>,
}

impl RateFilter {
    /// Counts an acknowledgement: how fast they come. A sample of the delivery rate looks back a whole round trip, which a queue makes long.
    pub(crate) fn on_ack(&mut self, now: Time, bytes: f64, base: Option<f64>) {
        let elapsed = now.since(self.since).as_secs_f64();
        let span = base.unwrap_or(0.0).max(SHORTEST_SPAN);
        if elapsed < span {
            self.bytes += bytes;
            return;
        }
        // After a pause it was not the path that was slow.
        self.drained = (elapsed < LONGEST_SPANS * span).then(|| (self.bytes + bytes) / elapsed);
        (self.since, self.bytes) = (now, 0.0);
    }

    /// How fast acknowledgements come: while a queue stands that is what the path carries. Infinite if they do not come one after the
    /// other.
    pub(crate) fn drained(&self) -> f64 {
        self.drained.unwrap_or(f64::INFINITY)
    }

    /// A round trip is over; `at_rest`: the sender did not hold back in it.
    pub(crate) fn next_round(&mut self, at_rest: bool) {
        if self.present > 0.0 && at_rest {
            self.mean = if self.mean > 0.0 {
                self.mean + SLOW_GAIN * (self.present - self.mean)
            } else {
                self.present
            };
            let distance = (self.present - self.mean) / self.mean;
            self.swing += SLOW_GAIN * (distance.abs() - self.swing);
            self.settled_rounds = self.settled_rounds.saturating_add(1);
            if self.settled_rounds > FIRST_ROUNDS {
                self.above += UNREST_GAIN * (distance.max(0.0) - self.above);
                self.below += UNREST_GAIN * ((-distance).max(0.0) - self.below);
            }
        }
        // Without a sample in it the last one's stays.
        if self.rounds[0] > 0.0 {
            self.rounds = [0.0, self.rounds[0]];
        }
    }

    /// Takes in a sample. One that the sender held down only raises.
    pub(crate) fn on_sample(&mut self, sample: &DeliverySample) {
        let Some(rate) = sample.rate.map(|rate| rate.bits_per_second() as f64 / 8.0) else { return };
        if sample.limited_by.leaves_window_unused() && rate < self.present {
            return;
        }
        self.present = if self.present > 0.0 { self.present + GAIN * (rate - self.present) } else { rate };
        self.rounds[0] = self.rounds[0].max(rate);
    }

    /// What an estimate of another kind found.
    pub(crate) fn seed(&mut self, rate: f64) {
        *self = RateFilter { present: rate, rounds: [rate, 0.0], ..RateFilter::default() };
    }

    /// Zero before the first sample.
    pub(crate) fn present(&self) -> f64 {
        self.present
    }

    /// Whether the path delivers as much in each round trip. Where it does not, a queue overflows because the capacity fell.
    pub(crate) fn is_steady(&self) -> bool {
        self.swing < STEADY
    }

    /// Whether it has been the same for a while, as near as samples tell.
    pub(crate) fn is_calm(&self) -> bool {
        self.settled_rounds > CALM_ROUNDS && self.is_steady() && self.above.min(self.below) < CALM
    }

    /// Whether it has not for a while: that of a cell or a dish, which rises as often as it falls. The rate of a sender that another flow
    /// pushes aside falls only.
    pub(crate) fn is_restless(&self) -> bool {
        2.0 * self.above.min(self.below) > STEADY
    }

    /// Whether it certainly does not.
    pub(crate) fn is_wild(&self) -> bool {
        self.swing > 2.0 * STEADY
    }

    /// The largest of this round trip and the last.
    pub(crate) fn largest(&self) -> f64 {
        self.rounds[0].max(self.rounds[1])
    }
}

#[cfg(test)]
mod tests;
