//! When bytes arrived.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::report::unix_ms;

/// Length of a bin of [`ArrivalReport::bins`].
pub const BIN: Duration = Duration::from_millis(100);

/// Collects arrivals of delivered (in-order) bytes.
#[derive(Debug)]
pub struct Arrivals {
    began_unix_ms: u64,
    bins: Vec<u64>,
    last: Duration,
    longest_gap: Duration,
    gap_from: Duration,
}

/// When bytes were delivered to the application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArrivalReport {
    /// Time zero of everything here.
    pub began_unix_ms: u64,
    /// Longest time between two deliveries, milliseconds. The time before the first does not count.
    pub longest_gap_ms: f64,
    /// When that gap began, milliseconds, if known.
    pub gap_from_ms: Option<f64>,
    /// Length of a bin.
    pub bin_ms: u64,
    /// Bytes delivered in each bin.
    pub bins: Vec<u64>,
}

impl Arrivals {
    /// Time zero is now.
    pub fn new() -> Self {
        Self {
            began_unix_ms: unix_ms(),
            bins: Vec::new(),
            last: Duration::ZERO,
            longest_gap: Duration::ZERO,
            gap_from: Duration::ZERO,
        }
    }

    /// Counts `length` bytes delivered at `time`.
    pub fn record(&mut self, time: Duration, length: usize) {
        let bin = (time.as_nanos() / BIN.as_nanos()) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += length as u64;
        if !self.last.is_zero() && time - self.last > self.longest_gap {
            (self.longest_gap, self.gap_from) = (time - self.last, self.last);
        }
        self.last = time;
    }

    /// What was seen.
    pub fn report(self) -> ArrivalReport {
        ArrivalReport {
            began_unix_ms: self.began_unix_ms,
            longest_gap_ms: self.longest_gap.as_secs_f64() * 1e3,
            gap_from_ms: Some(self.gap_from.as_secs_f64() * 1e3),
            bin_ms: BIN.as_millis() as u64,
            bins: self.bins,
        }
    }
}

impl Default for Arrivals {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_between_deliveries() {
        let mut arrivals = Arrivals::new();
        for (millis, bytes) in [(500, 10), (510, 20), (750, 30), (760, 40)] {
            arrivals.record(Duration::from_millis(millis), bytes);
        }
        let report = arrivals.report();
        assert_eq!((report.longest_gap_ms, report.gap_from_ms), (240.0, Some(510.0)));
        assert_eq!(report.bins, [0, 0, 0, 0, 0, 30, 0, 70]);
    }
}
