//! One budget for what all connections of an endpoint keep until it is acknowledged.
//!
//! A path of large bandwidth and delay needs much of it, and few connections have such paths. So each may keep up to a quarter
//! of what is free, which is what shared buffers of switches do: one alone gets what it needs, many get less each, and
//! nobody has to be counted. The sum stays below the budget and the [`FLOOR`] of each connection, and none has
//! more than an eighth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Smaller changes are not passed on: they would cost every packet.
const STEP: u64 = 64 << 10;

/// What a connection may keep however little is left.
pub(crate) const FLOOR: u64 = 1 << 20;

/// The largest part of the whole for one connection.
const LARGEST_PART: u64 = 8;

/// The part of what is free for one connection.
const PART_OF_FREE: u64 = 4;

/// Most bytes that the connections of one endpoint, or of several, keep of what their applications wrote, until it is
/// acknowledged. Clones are the same budget.
#[derive(Clone, Debug)]
pub struct SendMemory(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    limit: u64,
    held: AtomicU64,
}

impl SendMemory {
    /// A budget of its own, in bytes. Applications that write more than their connection may keep wait.
    pub fn new(limit: u64) -> Self {
        SendMemory(Arc::new(Pool { limit, held: AtomicU64::new(0) }))
    }

    /// What is kept now, to within 64 KiB for each connection.
    pub fn held(&self) -> u64 {
        self.0.held.load(Ordering::Relaxed)
    }

    /// A further connection takes part.
    pub(crate) fn join(&self) -> Share {
        Share { pool: self.0.clone(), held: 0 }
    }
}

/// What one connection keeps.
#[derive(Debug)]
pub(crate) struct Share {
    pool: Arc<Pool>,
    held: u64,
}

impl Share {
    /// The connection keeps so much.
    #[inline]
    pub(crate) fn update(&mut self, held: u64) {
        if held.abs_diff(self.held) >= STEP {
            self.settle(held);
        }
    }

    #[inline(never)]
    fn settle(&mut self, held: u64) {
        // Wraps where it falls, as the counter does.
        self.pool.held.fetch_add(held.wrapping_sub(self.held), Ordering::Relaxed);
        self.held = held;
    }

    /// How much it may keep.
    pub(crate) fn most(&self) -> u64 {
        let free = self.pool.limit.saturating_sub(self.pool.held.load(Ordering::Relaxed));
        (free / PART_OF_FREE).min(self.pool.limit / LARGEST_PART).max(FLOOR)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.held.fetch_sub(self.held, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn one_connection_gets_an_eighth_and_many_get_less_each() {
        let memory = SendMemory::new(1_024 * MIB);
        let mut shares: Vec<Share> = (0..100).map(|_| memory.join()).collect();
        assert_eq!(shares[0].most(), 128 * MIB);
        // Each keeps as much as it may, one after the other, until nobody may keep more.
        for _ in 0..200 {
            for share in &mut shares {
                share.update(share.most().max(share.held));
            }
        }
        let held = memory.held();
        assert!(held <= 1_024 * MIB + 100 * FLOOR, "{held} bytes");
        assert!(shares[99].most() >= FLOOR);
        shares.truncate(1);
        assert_eq!(memory.held(), shares[0].held);
        shares[0].update(0);
        assert_eq!((memory.held(), shares[0].most()), (0, 128 * MIB));
    }

    /// What a greedy connection keeps, it gives back as it is acknowledged: then others come to the same.
    #[test]
    fn equal_needs_lead_to_equal_parts() {
        let memory = SendMemory::new(1_024 * MIB);
        let mut shares: Vec<Share> = (0..20).map(|_| memory.join()).collect();
        for _ in 0..500 {
            for share in &mut shares {
                let most = share.most();
                // A part of what is kept is acknowledged, and more is written where that is allowed.
                share.update((share.held - share.held / 8).max(most.min(share.held + 2 * MIB)));
            }
        }
        let least = shares.iter().map(|share| share.held).min().unwrap();
        let most = shares.iter().map(|share| share.held).max().unwrap();
        assert!(least >= 30 * MIB && most <= 60 * MIB, "{least} to {most} bytes");
    }
}
