//! When bytes arrived: goodput, its distribution over time, and stalls.

use std::time::{Duration, Instant};

use serde::Serialize;

/// Width of a bin.
const BIN: Duration = Duration::from_millis(100);

/// Takes arrivals down.
#[derive(Debug)]
pub struct Recorder {
    started: Instant,
    first: Option<Instant>,
    last: Option<Instant>,
    longest_stall: Duration,
    stalled_at: Duration,
    total: u64,
    /// Bytes per bin since `started`.
    bins: Vec<u64>,
}

/// What a transfer achieved.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Goodput {
    /// Bytes of the file that were transferred.
    pub bytes: u64,
    /// From the start of connecting to the last byte.
    pub seconds: f64,
    /// From the start of connecting to the first byte.
    pub first_byte_seconds: f64,
    /// `bytes` over `seconds`.
    pub goodput_bps: f64,
    /// Longest gap between bytes.
    pub longest_stall_ms: f64,
    /// When it began.
    pub longest_stall_at_seconds: f64,
    /// Percentiles of goodput over intervals of 100 ms between the first byte and the last: 1 % of them were slower.
    pub bin_p1_bps: f64,
    /// The median.
    pub bin_p50_bps: f64,
    /// 1 % were faster.
    pub bin_p99_bps: f64,
    /// Bytes in each 100 ms since the start of connecting (with `--bins`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bins: Option<Vec<u64>>,
}

impl Recorder {
    /// Time counts from `started`.
    pub fn new(started: Instant) -> Self {
        Recorder {
            started,
            first: None,
            last: None,
            longest_stall: Duration::ZERO,
            stalled_at: Duration::ZERO,
            total: 0,
            bins: Vec::new(),
        }
    }

    /// Bytes arrived.
    pub fn record(&mut self, now: Instant, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let since_start = now.saturating_duration_since(self.started);
        self.first.get_or_insert(now);
        if let Some(last) = self.last {
            let gap = now.saturating_duration_since(last);
            if gap > self.longest_stall {
                self.longest_stall = gap;
                self.stalled_at = last.saturating_duration_since(self.started);
            }
        }
        self.last = Some(now);
        self.total += bytes;
        let bin = usize::try_from(since_start.as_millis() / BIN.as_millis()).unwrap_or(usize::MAX);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += bytes;
    }

    /// Bytes so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The summary; `with_bins` adds the bins themselves.
    pub fn summary(&self, with_bins: bool) -> Goodput {
        let since_start = |instant: Option<Instant>| {
            instant.map_or(Duration::ZERO, |instant| instant.saturating_duration_since(self.started))
        };
        let seconds = since_start(self.last).as_secs_f64();
        let rates = self.sorted_rates();
        let percentile = |percent: usize| {
            let index = (rates.len() * percent).div_ceil(100).saturating_sub(1);
            rates.get(index).copied().unwrap_or(0.0)
        };
        Goodput {
            bytes: self.total,
            seconds,
            first_byte_seconds: since_start(self.first).as_secs_f64(),
            goodput_bps: if seconds > 0.0 { self.total as f64 * 8.0 / seconds } else { 0.0 },
            longest_stall_ms: crate::paths::milliseconds(self.longest_stall),
            longest_stall_at_seconds: self.stalled_at.as_secs_f64(),
            bin_p1_bps: percentile(1),
            bin_p50_bps: percentile(50),
            bin_p99_bps: percentile(99),
            bins: with_bins.then(|| self.bins.clone()),
        }
    }

    /// Rates of the full bins: neither before the first byte nor, where there are others, the first and the last bin.
    fn sorted_rates(&self) -> Vec<f64> {
        let first = self.bins.iter().position(|bytes| *bytes > 0).unwrap_or(0);
        let full = match self.bins.get(first..) {
            Some([_, middle @ .., _]) if !middle.is_empty() => middle,
            Some(all) => all,
            None => &[],
        };
        let mut rates: Vec<f64> = full.iter().map(|bytes| *bytes as f64 * 8.0 / BIN.as_secs_f64()).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_flow_with_a_gap() {
        let start = Instant::now();
        let mut recorder = Recorder::new(start);
        for step in (0..100).chain(150..250) {
            recorder.record(start + Duration::from_millis(100 + step * 10), 1250);
        }
        let summary = recorder.summary(true);
        assert_eq!(summary.bytes, 250_000);
        assert!((summary.longest_stall_ms - 510.0).abs() < 0.1, "{summary:?}");
        assert!((summary.longest_stall_at_seconds - 1.09).abs() < 1e-6);
        assert!((summary.first_byte_seconds - 0.1).abs() < 1e-6);
        assert!((summary.bin_p50_bps - 1_000_000.0).abs() < 1.0);
        assert_eq!(summary.bin_p1_bps, 0.0);
        assert_eq!(summary.bins.map(|bins| bins.iter().sum()), Some(250_000));
    }

    #[test]
    fn nothing_is_no_reason_to_divide_by_zero() {
        let summary = Recorder::new(Instant::now()).summary(false);
        assert_eq!((summary.bytes, summary.goodput_bps, summary.bin_p50_bps), (0, 0.0, 0.0));
    }
}
