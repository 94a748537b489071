//! Shape of a series over intervals: skewness, mean absolute deviation and how often the means cross their own mean.
//!
//! These are the summary statistics with which RFC 8382 (section 3.2) and F. Yang's thesis (2022, equations 5.1 to 5.7) tell
//! which series have a common cause. None of them changes when a constant is added to all values.

use std::collections::VecDeque;

/// One interval that is over.
#[derive(Debug, Clone, Copy, Default)]
struct Interval {
    mean: f64,
    /// Values.
    count: f64,
    /// Values below the mean of earlier intervals less those above it (equation 5.3).
    skew_base: f64,
    /// Sum of distances from the mean of the interval before (equation 5.5).
    deviation_base: f64,
    /// Values that had an earlier mean to be compared with: all, but for those of the first interval.
    compared: f64,
    /// Events counted with the values, such as losses.
    events: f64,
}

/// What counts alike in [`IntervalStatistics::skewness`] and [`IntervalStatistics::deviation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weights {
    /// Each value, as RFC 8382 and the thesis have it: what was sampled more often counts for more.
    #[default]
    Values,
    /// Each interval that had values, however many: two samplers of one series agree although they sample it at rates that
    /// change, as senders do, one of which has just halved its window.
    Intervals,
}

/// Memory of [`IntervalStatistics::mean`], [`IntervalStatistics::skewness`] and [`IntervalStatistics::deviation`] that is shorter than that
/// of the rest, so that they follow a change sooner (RFC 8382, sections 2.2 and 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recent {
    /// Intervals that they run over (M).
    pub intervals: usize,
    /// The newest ones, which weigh alike in skewness and deviation (F): what is older weighs linearly less.
    pub alike: usize,
}

impl Recent {
    /// The values of RFC 8382.
    pub const RFC8382: Recent = Recent { intervals: 30, alike: 20 };

    /// Weight of an interval with this many newer ones.
    fn weight(self, newer: usize) -> f64 {
        self.intervals.saturating_sub(newer.max(self.alike.saturating_sub(1))) as f64
    }
}

/// Statistics of a series over the last `capacity` intervals that had values.
///
/// Values are compared with means of *earlier* intervals: with the mean of their own one the skewness would be about zero
/// whatever the series does. Those of the first interval have none, and so count for the means alone.
///
/// ```
/// use hawser_learn::IntervalStatistics;
///
/// let mut series = IntervalStatistics::new(50);
/// for _ in 0..2 {
///     [10.0, 10.0, 10.0, 50.0].into_iter().for_each(|value| series.insert(value));
///     series.close();
/// }
/// // Three of four values of the second interval lie below the mean of the first, 20.
/// assert_eq!((series.skewness(), series.deviation()), (0.5, 15.0));
/// ```
#[derive(Debug, Clone)]
pub struct IntervalStatistics {
    weights: Weights,
    capacity: usize,
    recent: Option<Recent>,
    closed: VecDeque<Interval>,
    /// Mean of the interval before, if that had values.
    previous: Option<f64>,
    /// Mean of the means held, for the interval that runs.
    base: Option<f64>,
    sum: f64,
    current: Interval,
}

impl IntervalStatistics {
    /// Nothing seen yet; `capacity` intervals (at least 1) will be held. Each value counts alike.
    pub fn new(capacity: usize) -> Self {
        Self::weighted(capacity, Weights::Values)
    }

    /// The same with other weights.
    pub fn weighted(capacity: usize, weights: Weights) -> Self {
        let capacity = capacity.max(1);
        IntervalStatistics {
            weights,
            capacity,
            recent: None,
            closed: VecDeque::with_capacity(capacity),
            previous: None,
            base: None,
            sum: 0.0,
            current: Interval::default(),
        }
    }

    /// With a shorter memory for mean, skewness and deviation; all intervals weigh alike without.
    pub fn with_recent(mut self, recent: Option<Recent>) -> Self {
        self.recent = recent;
        self
    }

    /// A value of the interval that runs.
    pub fn insert(&mut self, value: f64) {
        self.sum += value;
        self.current.count += 1.0;
        let Some(base) = self.base else { return };
        self.current.compared += 1.0;
        self.current.skew_base += f64::from(i8::from(value < base) - i8::from(value > base));
        self.current.deviation_base += (value - self.previous.unwrap_or(base)).abs();
    }

    /// Events besides the values. Those of an interval without values count for the next one with some.
    pub fn count_events(&mut self, events: u64) {
        self.current.events += events as f64;
    }

    /// Ends the interval that runs; whether it had values. One without is not held, and does not displace another.
    pub fn close(&mut self) -> bool {
        if self.current.count == 0.0 {
            self.previous = None;
            return false;
        }
        if self.closed.len() == self.capacity {
            self.closed.pop_front();
        }
        self.current.mean = self.sum / self.current.count;
        self.previous = Some(self.current.mean);
        self.closed.push_back(self.current);
        self.base = Some(self.mean());
        self.sum = 0.0;
        self.current = Interval::default();
        true
    }

    /// Intervals held (equation 5.2's N).
    pub fn intervals(&self) -> usize {
        self.closed.len()
    }

    /// Mean of the intervals' means (equation 5.2); zero without any.
    pub fn mean(&self) -> f64 {
        let held = self.recent.map_or(self.closed.len(), |recent| recent.intervals.min(self.closed.len()));
        let skipped = self.closed.len() - held;
        self.closed.iter().skip(skipped).map(|interval| interval.mean).sum::<f64>() / held.max(1) as f64
    }

    /// Share of values below the mean less share above it, -1 to 1 (equation 5.4): low where a few values lie far below.
    pub fn skewness(&self) -> f64 {
        self.per_value(|interval| interval.skew_base)
    }

    /// Mean distance from the mean of the interval before (equation 5.6), in the unit of the values.
    pub fn deviation(&self) -> f64 {
        self.per_value(|interval| interval.deviation_base)
    }

    /// Events for each value.
    pub fn event_rate(&self) -> f64 {
        self.total(|interval| interval.events) / self.total(|interval| interval.count).max(1.0)
    }

    /// How many of the means go over to the other side of `mean ± share · deviation`, for each interval (equation 5.7). What
    /// lies between the two bounds is on neither side.
    pub fn crossing_rate(&self, share: f64) -> f64 {
        let (mean, margin) = (self.mean(), share * self.deviation());
        let side = |interval: &Interval| {
            i8::from(interval.mean > mean + margin) - i8::from(interval.mean < mean - margin)
        };
        let mut last = self.closed.front().map_or(0, side);
        let mut crossings = 0.0;
        for side in self.closed.iter().map(side).filter(|side| *side != 0) {
            if side != last {
                crossings += 1.0;
                last = side;
            }
        }
        crossings / self.closed.len().max(1) as f64
    }

    /// Bytes that it takes in memory besides itself, about.
    pub fn memory(&self) -> usize {
        self.closed.capacity() * size_of::<Interval>()
    }

    /// A sum over the values that had something to be compared with, for each of them; or of the intervals' means of that, for each
    /// interval.
    fn per_value(&self, sum: impl Fn(&Interval) -> f64) -> f64 {
        let divisor = |interval: &Interval| match self.weights {
            Weights::Values => 1.0,
            Weights::Intervals => interval.compared.max(1.0),
        };
        let count = self.weighted_total(|interval| interval.compared / divisor(interval));
        // Without any the sum is zero, too.
        if count > 0.0 {
            self.weighted_total(|interval| sum(interval) / divisor(interval)) / count
        } else {
            0.0
        }
    }

    /// As [`IntervalStatistics::total`], each interval with its weight.
    fn weighted_total(&self, part: impl Fn(&Interval) -> f64) -> f64 {
        let Some(recent) = self.recent else { return self.total(part) };
        let newer = (0..self.closed.len()).rev();
        self.closed.iter().zip(newer).map(|(interval, newer)| recent.weight(newer) * part(interval)).sum()
    }

    // Summed again each time, in a fixed order: a running sum would drift.
    fn total(&self, part: impl Fn(&Interval) -> f64) -> f64 {
        self.closed.iter().map(part).sum()
    }
}

#[cfg(test)]
mod tests;
