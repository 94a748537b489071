//! How late the emulator is.

use serde::Serialize;

/// Width of a histogram bin.
const BIN_MICROSECONDS: u64 = 10;
/// Bins up to 100 ms; what is later counts in the last one, and the maximum is kept apart.
const BINS: usize = 10_000;

/// Histogram of delays between the time a packet was due and the time it was written.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    bins: Vec<u32>,
    samples: u64,
    maximum_nanos: u64,
}

/// Summary of the emulator's lateness, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Lateness {
    /// Median.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Largest.
    pub max_ms: f64,
    /// Number of packets.
    pub samples: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { bins: vec![0; BINS], samples: 0, maximum_nanos: 0 }
    }

    pub(crate) fn record(&mut self, nanos: u64) {
        let bin = ((nanos / 1000 / BIN_MICROSECONDS) as usize).min(BINS - 1);
        self.bins[bin] = self.bins[bin].saturating_add(1);
        self.samples += 1;
        self.maximum_nanos = self.maximum_nanos.max(nanos);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (bin, count) in self.bins.iter_mut().zip(&other.bins) {
            *bin = bin.saturating_add(*count);
        }
        self.samples += other.samples;
        self.maximum_nanos = self.maximum_nanos.max(other.maximum_nanos);
    }

    pub(crate) fn summary(&self) -> Lateness {
        Lateness {
            p50_ms: self.quantile_ms(0.5),
            p99_ms: self.quantile_ms(0.99),
            max_ms: self.maximum_nanos as f64 / 1e6,
            samples: self.samples,
        }
    }

    /// Upper edge of the bin that holds the quantile, but never more than the maximum.
    fn quantile_ms(&self, share: f64) -> f64 {
        let rank = (self.samples as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (index, &count) in self.bins.iter().enumerate() {
            seen += u64::from(count);
            if seen >= rank && seen > 0 {
                let edge = (index as u64 + 1) * BIN_MICROSECONDS * 1000;
                return edge.min(self.maximum_nanos) as f64 / 1e6;
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_ramp() {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|index| histogram.record(index * 10_000 - 1));
        let summary = histogram.summary();
        assert!((summary.p50_ms - 5.0).abs() < 0.011 && (summary.p99_ms - 9.9).abs() < 0.011, "{summary:?}");
        assert_eq!((summary.max_ms, summary.samples), (9.999_999, 1000));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!(twice.summary().p50_ms, summary.p50_ms);
        assert_eq!(Histogram::new().summary(), Lateness::default());
    }

    #[test]
    fn a_stall_beyond_the_bins_is_still_the_maximum() {
        let mut histogram = Histogram::new();
        histogram.record(3_000_000_000);
        assert_eq!(histogram.summary().max_ms, 3000.0);
    }
}
