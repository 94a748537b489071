//! What the receiving end of a flow saw.

use std::time::Duration;

use hawser_policy::{StreamId, Time};
use serde::Serialize;

use super::delivery::Deliveries;
use crate::pattern::first_mismatch;

/// Counts what arrives in order.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// Bytes of application data.
    pub bytes: u64,
    /// When the first of them came.
    pub first_at: Option<Time>,
    /// When the last of them came.
    pub last_at: Option<Time>,
    /// Longest time between two arrivals.
    pub longest_gap: Duration,
    /// Requests answered, or datagrams received.
    pub completed: u64,
    /// Delays: of bytes in order since their first sending, of answers since their request, of datagrams on their way.
    pub delays: Delays,
    /// Offset of the first byte that was not what had been sent.
    pub corrupt_at: Option<u64>,
    /// When its bytes were first sent, and how many bytes of each stream come before those of the pattern.
    deliveries: Option<(Deliveries, u64)>,
}

/// Delays in bins that grow by a sixty-fourth of their octave: a quantile is off by less than 1.6 %.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    bins: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

/// A distribution of delays in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize)]
pub struct DelaySummary {
    /// How many.
    pub count: u64,
    /// Mean.
    pub mean_ms: f64,
    /// Smallest.
    pub min_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Largest.
    pub max_ms: f64,
}

/// Bins per octave.
const SHARES: u32 = 64;

impl Meter {
    /// A meter that tells what was delivered; `before` bytes of each stream come before those of the pattern.
    pub(super) fn of_deliveries(deliveries: Deliveries, before: u64) -> Self {
        Meter { deliveries: Some((deliveries, before)), ..Meter::default() }
    }

    /// A meter of streams of the same connection that are counted apart.
    pub(super) fn of_others(&self) -> Self {
        Meter { deliveries: self.deliveries.clone(), ..Meter::default() }
    }

    /// So many bytes arrived.
    pub fn arrived(&mut self, now: Time, bytes: u64) {
        if let Some(last) = self.last_at {
            self.longest_gap = self.longest_gap.max(now.since(last));
        }
        self.first_at.get_or_insert(now);
        self.last_at = Some(now);
        self.bytes += bytes;
    }

    /// Bytes of the [pattern](crate::pattern) arrived, which begin at `offset` of it.
    pub fn arrived_pattern(&mut self, now: Time, offset: u64, data: &[u8]) {
        self.corrupt_at = self.corrupt_at.or_else(|| first_mismatch(offset, data));
        self.arrived(now, data.len() as u64);
    }

    /// As [`arrived_pattern`](Self::arrived_pattern), on a stream whose sending end tells what it sends.
    pub(super) fn read_pattern(&mut self, now: Time, stream: StreamId, offset: u64, data: &[u8]) {
        if let Some((deliveries, before)) = &self.deliveries {
            deliveries.read(now, stream, offset + before, data.len() as u64, &mut self.delays);
        }
        self.arrived_pattern(now, offset, data);
    }

    /// What comes before the pattern was read.
    pub(super) fn read_request(&mut self, now: Time, stream: StreamId) {
        if let Some((deliveries, before)) = &self.deliveries {
            // A request is no data: nothing in it counts.
            deliveries.read(now, stream, *before, 0, &mut self.delays);
        }
    }

    /// The stream will not be read any further.
    pub(super) fn abandoned(&self, stream: StreamId) {
        if let Some((deliveries, _)) = &self.deliveries {
            deliveries.abandoned(stream);
        }
    }
}

impl Delays {
    /// Counts a delay `weight` times.
    pub fn record(&mut self, delay: Duration, weight: u64) {
        self.record_nanos(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX), weight);
    }

    /// As [`record`](Self::record), of a delay in nanoseconds: each packet has one or two, and a [`Duration`] divides.
    pub(super) fn record_nanos(&mut self, nanos: u64, weight: u64) {
        let bin = bin_of(nanos);
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += weight;
        self.least = if self.count == 0 { nanos } else { self.least.min(nanos) };
        self.most = self.most.max(nanos);
        self.count += weight;
        self.sum += u128::from(nanos) * u128::from(weight);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The delay that a share of all does not exceed; zero without samples.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bin, count) in self.bins.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Duration::from_nanos(middle_of(bin).clamp(self.least, self.most));
            }
        }
        Duration::ZERO
    }

    /// The usual figures.
    pub fn summary(&self) -> DelaySummary {
        let ms = |nanos: f64| nanos / 1e6;
        let quantile = |share| ms(self.quantile(share).as_nanos() as f64);
        DelaySummary {
            count: self.count,
            mean_ms: if self.count > 0 { ms(self.sum as f64 / self.count as f64) } else { 0.0 },
            min_ms: ms(self.least as f64),
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            max_ms: ms(self.most as f64),
        }
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.bins.resize(self.bins.len().max(other.bins.len()), 0);
        self.bins.iter_mut().zip(&other.bins).for_each(|(bin, count)| *bin += count);
        self.least = if self.count == 0 { other.least } else { self.least.min(other.least) };
        self.most = self.most.max(other.most);
        self.count += other.count;
        self.sum += other.sum;
    }
}

fn bin_of(nanos: u64) -> usize {
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(SHARES.ilog2() + 1);
    (shift * SHARES) as usize + (nanos >> shift) as usize
}

fn middle_of(bin: usize) -> u64 {
    let bin = bin as u64;
    let shares = u64::from(SHARES);
    let shift = (bin / shares).saturating_sub(1);
    let mantissa = bin - shift * shares;
    (mantissa << shift) + ((1u64 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_close() {
        let mut delays = Delays::default();
        (1..=100_000u64).for_each(|n| delays.record(Duration::from_micros(n), 1));
        for share in [0.001, 0.01, 0.5, 0.95, 0.99, 1.0] {
            let exact = 100_000.0 * share * 1e-6;
            let got = delays.quantile(share).as_secs_f64();
            assert!((got / exact - 1.0).abs() < 0.016, "{share}: {got} against {exact}");
        }
        assert_eq!(delays.summary().min_ms, 0.001);
        let mut twice = delays.clone();
        twice.merge(&delays);
        assert_eq!((twice.count(), twice.quantile(0.5)), (200_000, delays.quantile(0.5)));
    }

    #[test]
    fn bins_cover_all_values_in_order() {
        let mut last = 0;
        for nanos in (0..63).flat_map(|shift| [1u64 << shift, (1 << shift) + 1, (1 << shift) * 3 / 2]) {
            let bin = bin_of(nanos);
            assert!(bin >= last || nanos < 4, "{nanos}");
            last = last.max(bin);
            let middle = middle_of(bin) as f64;
            assert!((middle / nanos as f64 - 1.0).abs() < 0.016 || nanos < 64, "{nanos}: {middle}");
        }
    }
}
