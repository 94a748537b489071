//! How much of a user's traffic passes: a rate in each direction, and a volume.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A rate may be exceeded for so long after a rest.
const BURST: Duration = Duration::from_millis(100);
/// And by so many bytes at least: a block of a stream.
const LEAST_BURST: f64 = 65_536.0;
/// Packets are dropped that would have to wait for longer than this.
const PATIENCE: Duration = Duration::from_millis(50);
/// The longest a stream waits before it is looked again how much it may send.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Which way traffic goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the client.
    Up,
    /// To the client.
    Down,
}

/// The user's volume is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsedUp;

/// What a user has sent and received, and may.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Bits per second; 0: as many as come.
    rate: AtomicU64,
    /// Bytes; 0: as many as come.
    volume: AtomicU64,
    used: AtomicU64,
    buckets: [Mutex<Bucket>; 2],
}

/// What is left of a rate: below 0 it is owed.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    bytes: f64,
    filled: Option<Instant>,
}

impl Bucket {
    /// Takes so many bytes, and returns how long to wait for them.
    fn take(&mut self, now: Instant, rate: f64, bytes: usize) -> Duration {
        let most = (rate * BURST.as_secs_f64()).max(LEAST_BURST);
        let more = self.filled.map_or(most, |filled| rate * now.duration_since(filled).as_secs_f64());
        self.bytes = (self.bytes + more).min(most) - bytes as f64;
        self.filled = Some(now);
        if self.bytes >= 0.0 { Duration::ZERO } else { Duration::from_secs_f64(-self.bytes / rate) }
    }
}

impl Meter {
    /// Sets the limits, in bits per second and bytes.
    pub(crate) fn limit(&self, rate: Option<u64>, volume: Option<u64>) {
        self.rate.store(rate.unwrap_or(0), Ordering::Relaxed);
        self.volume.store(volume.unwrap_or(0), Ordering::Relaxed);
    }

    /// Bytes so far.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Counts from here on.
    pub(crate) fn set_used(&self, bytes: u64) {
        self.used.store(bytes, Ordering::Relaxed);
    }

    /// Whether nothing more may pass.
    pub(crate) fn is_used_up(&self) -> bool {
        let volume = self.volume.load(Ordering::Relaxed);
        volume > 0 && self.used() >= volume
    }

    /// Bytes of a stream: waits until they may pass. They pass as a whole, and those behind them wait for it.
    ///
    /// # Errors
    /// When no more may.
    pub(crate) async fn pass(&self, direction: Direction, bytes: usize) -> Result<(), UsedUp> {
        if self.is_used_up() {
            return Err(UsedUp);
        }
        self.used.fetch_add(bytes as u64, Ordering::Relaxed);
        let mut wait = self.take(direction, bytes);
        while !wait.is_zero() {
            tokio::time::sleep(wait.min(LONGEST_WAIT)).await;
            // The rate may have been changed meanwhile.
            wait = if wait > LONGEST_WAIT { self.take(direction, 0) } else { Duration::ZERO };
        }
        Ok(())
    }

    /// Whether a packet may pass: it is dropped if not, as on any link that is full.
    pub(crate) fn admits(&self, direction: Direction, bytes: usize) -> bool {
        if self.is_used_up() || self.take(direction, 0) > PATIENCE {
            return false;
        }
        self.take(direction, bytes);
        self.used.fetch_add(bytes as u64, Ordering::Relaxed);
        true
    }

    fn take(&self, direction: Direction, bytes: usize) -> Duration {
        let rate = self.rate.load(Ordering::Relaxed) as f64 / 8.0;
        if rate == 0.0 {
            return Duration::ZERO;
        }
        let [up, down] = &self.buckets;
        let bucket = if direction == Direction::Up { up } else { down };
        bucket.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now(), rate, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(rate: Option<u64>, volume: Option<u64>) -> Meter {
        let meter = Meter::default();
        meter.limit(rate, volume);
        meter
    }

    #[tokio::test(start_paused = true)]
    async fn streams_together_keep_to_the_rate_in_each_direction() {
        let meter = limited(Some(8_000_000), None);
        let start = Instant::now();
        let stream = async |direction| {
            for _ in 0..50 {
                meter.pass(direction, 50_000).await.unwrap();
            }
        };
        tokio::join!(stream(Direction::Up), stream(Direction::Up), stream(Direction::Down));
        // 5 MB up at 1 MB/s, and 0.1 s of it at once.
        let took = start.elapsed().as_secs_f64();
        assert!((4.8..=5.05).contains(&took), "{took}");
        assert_eq!(meter.used(), 7_500_000);
    }

    #[tokio::test(start_paused = true)]
    async fn packets_beyond_the_rate_are_dropped() {
        let meter = limited(Some(8_000_000), None);
        let mut passed = 0;
        for _ in 0..10_000 {
            passed += if meter.admits(Direction::Down, 1_000) { 1_000 } else { 0 };
            tokio::time::advance(Duration::from_micros(500)).await;
        }
        // 5 s of 2 MB/s.
        assert!((5_000_000..5_200_000).contains(&passed), "{passed}");
        assert!(meter.admits(Direction::Up, 1_000), "the other direction has its own");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_used_up_ends_streams_and_drops_packets() {
        let meter = limited(None, Some(1_000));
        assert_eq!(meter.pass(Direction::Up, 600).await, Ok(()));
        assert!(meter.admits(Direction::Down, 600) && meter.is_used_up());
        assert_eq!(meter.pass(Direction::Up, 1).await, Err(UsedUp));
        assert!(!meter.admits(Direction::Down, 1));
        meter.limit(None, Some(2_000));
        assert_eq!(meter.pass(Direction::Up, 1).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_that_is_raised_counts_for_those_who_wait() {
        let meter = limited(Some(8_000), None);
        let start = Instant::now();
        let wait = meter.pass(Direction::Up, 1_065_536);
        let raise = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            meter.limit(None, None);
        };
        let (passed, ()) = tokio::join!(wait, raise);
        assert_eq!(passed, Ok(()));
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    }
}
