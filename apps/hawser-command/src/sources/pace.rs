//! A least pace, in bytes per second.

use std::time::Duration;

use tokio::time::Instant;

/// Bytes per second of a transfer in the long run: what the slowest mobile networks carry.
/// Least rate of a transfer that keeps its place, in bytes/s.
pub(crate) const LEAST_RATE: u32 = 1 << 10;
/// How long a transfer may make no progress at all. Dead zones on the road take tens of seconds.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// A transfer that must keep up [`LEAST_RATE`]. Each byte buys time; no more than [`STALL_TIMEOUT`] is saved, so that
/// a fast beginning is no leave to hold on to a place for hours.
//= rfc9000-21.6-1: slow peers are bounded
#[derive(Debug)]
pub struct Pace {
    until: Instant,
}

/// Nothing moved for too long.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("less than {LEAST_RATE} bytes per second for {} s", STALL_TIMEOUT.as_secs())]
pub struct Stalled;

impl Pace {
    /// One that begins now.
    pub fn new(now: Instant) -> Self {
        Pace { until: now + STALL_TIMEOUT }
    }

    /// Waits, but not for longer than the pace allows.
    ///
    /// # Errors
    /// The transfer is too slow, and is to be given up.
    pub async fn keep<T>(&self, progress: impl Future<Output = T>) -> Result<T, Stalled> {
        tokio::time::timeout_at(self.until, progress).await.map_err(|_| Stalled)
    }

    /// The server itself took so long: that is not the client's fault.
    pub fn excuse(&mut self, time: Duration) {
        self.until += time;
    }

    /// So many bytes more have moved.
    pub fn count(&mut self, now: Instant, bytes: usize) {
        let bought = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / f64::from(LEAST_RATE);
        self.until = (self.until + Duration::from_secs_f64(bought)).min(now + STALL_TIMEOUT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a transfer lasts that moves so many bytes each second, an hour at most.
    async fn lasts(bytes: usize) -> Duration {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        while start.elapsed() < Duration::from_secs(3600) {
            if pace.keep(tokio::time::sleep(Duration::from_secs(1))).await.is_err() {
                break;
            }
            pace.count(Instant::now(), bytes);
        }
        start.elapsed()
    }

    //= rfc9000-21.6-1
    #[tokio::test(start_paused = true)]
    async fn a_byte_now_and_then_is_no_progress() {
        assert_eq!(lasts(0).await, STALL_TIMEOUT);
        assert!(lasts(1).await <= STALL_TIMEOUT + Duration::from_secs(1));
        let slow = lasts(LEAST_RATE as usize / 2).await;
        assert!(slow > STALL_TIMEOUT && slow <= 2 * STALL_TIMEOUT, "{slow:?}");
        assert!(lasts(LEAST_RATE as usize).await >= Duration::from_secs(3600));
    }

    /// A gigabyte at once allows no longer silence than a byte.
    #[tokio::test(start_paused = true)]
    async fn a_fast_beginning_saves_no_more_than_the_longest_silence() {
        let mut pace = Pace::new(Instant::now());
        pace.count(Instant::now(), 1 << 30);
        let start = Instant::now();
        assert!(pace.keep(std::future::pending::<()>()).await.is_err());
        assert_eq!(start.elapsed(), STALL_TIMEOUT);
        pace.excuse(Duration::from_secs(5));
        assert!(pace.keep(std::future::pending::<()>()).await.is_err());
        assert_eq!(start.elapsed(), STALL_TIMEOUT + Duration::from_secs(5));
    }
}
