//! `--limit-rate`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

/// Longest burst above the rate.
const BURST: Duration = Duration::from_millis(100);

/// Spreads bytes over time: each has its moment, and a task that is early waits.
#[derive(Debug)]
pub struct RateLimit {
    bytes_per_second: f64,
    /// When what was taken so far is paid for.
    paid_until: Instant,
}

/// One limit for several transfers.
pub type SharedLimit = Arc<Mutex<RateLimit>>;

impl RateLimit {
    /// A limit in bytes per second, for several transfers together.
    pub fn shared(bytes_per_second: u64) -> SharedLimit {
        Arc::new(Mutex::new(RateLimit::new(bytes_per_second)))
    }

    /// A limit in bytes per second.
    pub fn new(bytes_per_second: u64) -> Self {
        RateLimit { bytes_per_second: bytes_per_second.max(1) as f64, paid_until: Instant::now() }
    }

    /// Takes bytes at `now`; returns how long to wait before the next.
    pub fn take(&mut self, now: Instant, bytes: u64) -> Duration {
        // Time in which nothing was taken is lost, except for a short burst.
        let start = self.paid_until.max(now.checked_sub(BURST).unwrap_or(now));
        self.paid_until = start + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        self.paid_until.saturating_duration_since(now)
    }

    /// Takes bytes and waits.
    pub async fn pace(&mut self, bytes: u64) {
        let wait = self.take(Instant::now(), bytes);
        if wait > Duration::from_millis(1) {
            tokio::time::sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_run_rate_is_kept() {
        let mut limit = RateLimit::new(1_000_000);
        let start = Instant::now();
        let mut now = start;
        for _ in 0..100 {
            now += limit.take(now, 50_000);
        }
        let seconds = (now - start).as_secs_f64();
        assert!((4.8..=5.01).contains(&seconds), "5 MB at 1 MB/s took {seconds} s");
    }

    #[test]
    fn a_pause_is_not_made_up_for() {
        let mut limit = RateLimit::new(1_000_000);
        let later = Instant::now() + Duration::from_secs(60);
        let wait = limit.take(later, 1_000_000);
        assert!(wait >= Duration::from_millis(890), "{wait:?}");
    }
}
