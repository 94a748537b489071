//! Mahimahi traces: a list of delivery chances.

use crate::time::{MILLISECOND, Nanos, SECOND};

/// Bytes that one line of a mahimahi trace can carry.
pub(crate) const OPPORTUNITY_BYTES: u32 = 1500;

/// A mahimahi trace: each line is a time in ms at which 1500 bytes can leave; the trace repeats for ever.
///
/// As in mahimahi the last time stamp is also the period: the next repetition counts from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    milliseconds: Vec<u32>,
}

/// Why a text is no mahimahi trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The text has no line with a time.
    #[error("the trace is empty; a mahimahi trace has one time in milliseconds per line")]
    Empty,
    /// A line is not a number.
    #[error("line {line} of the trace is {text:?}; expected a whole number of milliseconds")]
    NotANumber {
        /// Line in the trace file, counted from 1.
        line: usize,
        /// What was found there.
        text: String,
    },
    /// A line goes back in time.
    #[error("line {line} of the trace goes back in time")]
    NotMonotonic {
        /// Line in the trace file, counted from 1.
        line: usize,
    },
    /// All chances lie at time zero, so the trace has no length.
    #[error("the trace has no length: its last time is 0 ms")]
    NoLength,
}

impl Trace {
    /// Reads the text of a trace file. Empty lines are skipped.
    ///
    /// # Errors
    /// Fails on an empty trace, on a line that is no number, on times that go back, and when the last time is 0.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut milliseconds: Vec<u32> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (line, text) = (index + 1, line.trim());
            if text.is_empty() {
                continue;
            }
            let time = text
                .parse()
                .map_err(|_| TraceError::NotANumber { line, text: text.chars().take(40).collect() })?;
            if milliseconds.last().is_some_and(|&last| time < last) {
                return Err(TraceError::NotMonotonic { line });
            }
            milliseconds.push(time);
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
        let trace = Trace::parse("0\n5\n5\n\n10\n").unwrap();
        let times: Vec<_> = (0..8).map(|index| trace.time_of(index) / MILLISECOND).collect();
        assert_eq!(times, [0, 5, 5, 10, 10, 15, 15, 20]);
        assert_eq!(trace.mean_rate(), 4 * 12_000 * 100);
    }

    #[test]
    fn the_first_chance_is_found_in_any_repetition() {
        let trace = Trace::parse("0\n5\n5\n10\n").unwrap();
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
        assert_eq!(Trace::parse("\n"), Err(TraceError::Empty));
        assert_eq!(Trace::parse("0\n0\n"), Err(TraceError::NoLength));
        assert_eq!(Trace::parse("1\n3\n2\n"), Err(TraceError::NotMonotonic { line: 3 }));
        assert!(matches!(Trace::parse("1\nx\n"), Err(TraceError::NotANumber { line: 2, .. })));
    }
}
