//! The least value of a window of time, in two halves.

use std::time::Duration;

use hawser_policy::Time;

/// Least value of about a window of time: of this half and the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TwoBuckets {
    since: Time,
    values: [f64; 2],
}

impl TwoBuckets {
    pub(crate) const EMPTY: TwoBuckets = TwoBuckets { since: Time::ZERO, values: [f64::INFINITY; 2] };

    /// One value, seen then.
    pub(crate) fn seeded(since: Time, value: f64) -> TwoBuckets {
        TwoBuckets { since, values: [f64::INFINITY, value] }
    }

    pub(crate) fn on_sample(&mut self, now: Time, value: f64, window: Duration) -> f64 {
        if now.since(self.since) > window / 2 {
            self.values = if now.since(self.since) > window {
                [f64::INFINITY; 2]
            } else {
                [self.values[1], f64::INFINITY]
            };
            self.since = now;
        }
        self.values[1] = self.values[1].min(value);
        self.get()
    }

    /// Infinite before the first sample.
    pub(crate) fn get(&self) -> f64 {
        self.values[0].min(self.values[1])
    }
}
