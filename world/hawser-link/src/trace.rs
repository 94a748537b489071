//! Mahimahi traces: a list of delivery chances.

use crate::time::{MILLISECOND, Nanos, SECOND};

/// Bytes that one line of a mahimahi trace can carry.
pub(crate) const OPPORTUNITY_BYTES: u32 = 1500;

/// A mahimahi trace: each line is a time in ms at which 1500 bytes can leave; the trace repeats indefinitely.
///
/// As in mahimahi the last time stamp is also the period: the next repetition counts from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    milliseconds: Vec<u32>,
}

/// Why a list of times is no mahimahi trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// There is no time.
    #[error("the trace is empty; a mahimahi trace has at least one time")]
    Empty,
    /// A time is before the one before it.
    #[error("time {index} of the trace goes back")]
    NotMonotonic {
        /// Which, counted from 0.
        index: usize,
    },
    /// All chances lie at time zero, so the trace has no length.
    #[error("the trace has no length: its last time is 0 ms")]
    NoLength,
}

impl Trace {
    /// A trace of these times in ms. `hawser-trace` reads them from a text.
    ///
    /// # Errors
    /// Fails without a time, on times that go back, and when the last time is 0.
    pub fn new(milliseconds: Vec<u32>) -> Result<Self, TraceError> {
        if let Some(index) = milliseconds.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(TraceError::NotMonotonic { index: index + 1 });
        }
        match milliseconds.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::NoLength),
            Some(_) => Ok(Self { milliseconds }),
        }
    }

    /// Length of one repetition.
    pub fn period(&self) -> Nanos {
        u64::from(self.milliseconds.last().copied().unwrap_or(1)) * MILLISECOND
    }

    /// Chances per repetition.
    pub fn opportunities(&self) -> usize {
        self.milliseconds.len()
    }

    /// Mean rate in bit/s.
    pub fn mean_rate(&self) -> u64 {
        let bits = self.milliseconds.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8;
        (bits * u128::from(SECOND) / u128::from(self.period())) as u64
    }

    /// Time of chance `index`, counted over all repetitions.
    pub(crate) fn time_of(&self, index: u64) -> Nanos {
        let count = self.milliseconds.len() as u64;
        (index / count) * self.period() + u64::from(self.milliseconds[(index % count) as usize]) * MILLISECOND
    }

    /// The first chance at or after `time`.
    pub(crate) fn first_at(&self, time: Nanos) -> u64 {
        let count = self.milliseconds.len() as u64;
        // A chance at the very end of a repetition belongs to that repetition: look there first.
        let repetition = (time / self.period()).saturating_sub(1);
        for repetition in repetition..=repetition + 2 {
            let base = repetition * self.period();
            let inside =
                self.milliseconds.partition_point(|&stamp| base + u64::from(stamp) * MILLISECOND < time)
                    as u64;
            if inside < count {
                return repetition * count + inside;
            }
        }
        (repetition + 3) * count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_repeat_after_the_last_stamp() {
        let trace = Trace::new(vec![0, 5, 5, 10]).unwrap();
        let times: Vec<_> = (0..8).map(|index| trace.time_of(index) / MILLISECOND).collect();
        assert_eq!(times, [0, 5, 5, 10, 10, 15, 15, 20]);
        assert_eq!(trace.mean_rate(), 4 * 12_000 * 100);
    }

    #[test]
    fn the_first_chance_is_found_in_any_repetition() {
        let trace = Trace::new(vec![0, 5, 5, 10]).unwrap();
        for time in 0..60 * MILLISECOND / 100_000 {
            let time = time * 100_000;
            let index = trace.first_at(time);
            assert!(trace.time_of(index) >= time);
            assert!(
                index == 0 || trace.time_of(index - 1) < time,
                "time {time}: chance {index} is not the first"
            );
        }
    }

    #[test]
    fn bad_traces_are_refused() {
        assert_eq!(Trace::new(Vec::new()), Err(TraceError::Empty));
        assert_eq!(Trace::new(vec![0, 0]), Err(TraceError::NoLength));
        assert_eq!(Trace::new(vec![1, 3, 2]), Err(TraceError::NotMonotonic { index: 2 }));
    }
}
