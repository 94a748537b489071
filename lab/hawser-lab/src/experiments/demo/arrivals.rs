//! When the bytes of a file arrived, and what is compared about it.
//!
//! Three figures, the same for every transport:
//! * **goodput**: bytes of the file over the time from the start of connecting to the last byte;
//! * **longest stall**: the longest time between two arrivals, from the first byte to the last;
//! * **slowest 100 ms**: the goodput that 99 % of all intervals of 100 ms reach or exceed (their first
//!   percentile, by nearest rank), the intervals counted from the start of connecting and taken from the one
//!   after the first byte to the one before the last byte, so that none is cut short.

use std::time::Duration;

/// Length of a bin.
pub const BIN: Duration = Duration::from_millis(100);

/// Takes arrivals down.
#[derive(Debug, Default)]
pub struct Arrivals {
    bytes: u64,
    first: Option<Duration>,
    last: Duration,
    longest_stall: Duration,
    stalled_at: Duration,
    bins: Vec<u64>,
}

impl Arrivals {
    /// Bytes arrived at `time` since the start of connecting. Times do not decrease.
    pub fn record(&mut self, time: Duration, bytes: u64) {
        if bytes == 0 {
            return;
        }
        if self.first.is_none() {
            self.first = Some(time);
        } else if time.saturating_sub(self.last) > self.longest_stall {
            self.longest_stall = time.saturating_sub(self.last);
            self.stalled_at = self.last;
        }
        let bin = (time.as_nanos() / BIN.as_nanos()) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += bytes;
        self.bytes += bytes;
        self.last = time;
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// From the start to the last arrival.
    pub fn duration(&self) -> Duration {
        self.last
    }

    /// Longest time between two arrivals.
    pub fn longest_stall(&self) -> Duration {
        self.longest_stall
    }

    /// When the longest stall began.
    pub fn stalled_at(&self) -> Duration {
        self.stalled_at
    }

    /// Bytes in each 100 ms since the start.
    pub fn into_bins(self) -> Vec<u64> {
        self.bins
    }
}

/// The slowest 100 ms in bit/s, as defined at the top of this page; `None` when there is no whole interval
/// between the first byte and the last.
pub fn slowest_interval(bins: &[u64]) -> Option<f64> {
    let first = bins.iter().position(|&bytes| bytes > 0)?;
    let last = bins.iter().rposition(|&bytes| bytes > 0)?;
    let mut whole = bins.get(first + 1..last)?.to_vec();
    whole.sort_unstable();
    let rank = whole.len().div_ceil(100);
    let bytes = *whole.get(rank.checked_sub(1)?)?;
    Some(bytes as f64 * 8.0 / BIN.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_count_between_the_first_byte_and_the_last() {
        let mut arrivals = Arrivals::default();
        for millis in [400, 450, 455, 700, 710] {
            arrivals.record(Duration::from_millis(millis), 10);
        }
        arrivals.record(Duration::from_secs(5), 0);
        assert_eq!(arrivals.longest_stall(), Duration::from_millis(245));
        assert_eq!(arrivals.stalled_at(), Duration::from_millis(455));
        assert_eq!((arrivals.bytes(), arrivals.duration()), (50, Duration::from_millis(710)));
        assert_eq!(arrivals.into_bins(), [0, 0, 0, 0, 30, 0, 0, 20]);
    }

    #[test]
    fn the_slowest_interval_leaves_out_those_cut_short() {
        // 1 Mbit/s is 12,500 bytes per bin. The bins of the first and of the last byte do not count.
        assert_eq!(slowest_interval(&[0, 0, 5, 12_500, 25_000, 1, 0]), Some(1e6));
        assert_eq!(slowest_interval(&[0, 5, 1]), None);
        assert_eq!(slowest_interval(&[]), None);
    }

    #[test]
    fn one_interval_in_a_hundred_may_be_slower() {
        let mut bins = vec![12_500; 202];
        (bins[50], bins[60]) = (0, 0);
        assert_eq!(slowest_interval(&bins), Some(0.0), "two of 200");
        bins[60] = 12_500;
        assert_eq!(slowest_interval(&bins), Some(1e6), "one of 200");
    }
}
