//! One budget for what all connections of an endpoint hold unread.
//!
//! Flow control bounds each connection, but not their number times that bound. Windows do not grow beyond half of an equal
//! share of the budget. Where it is exceeded all the same, a connection that holds more than an equal share is closed: so nobody who
//! keeps to his share suffers from others, and all together hold less than twice the budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Smaller changes are not passed on: they would cost every packet.
const STEP: u64 = 32 << 10;

/// Most bytes that the connections of one endpoint, or of several, may hold for applications that do not read. Clones are
/// the same budget.
#[derive(Clone, Debug)]
pub struct ReceiveMemory(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    limit: u64,
    held: AtomicU64,
    connections: AtomicU64,
}

impl ReceiveMemory {
    /// A budget of its own. Data of streams counts from the first byte unread to the highest received, with the gaps in
    /// between; unread datagrams count with what they cost.
    pub fn new(limit: u64) -> Self {
        let pool = Pool { limit, held: AtomicU64::new(0), connections: AtomicU64::new(0) };
        ReceiveMemory(Arc::new(pool))
    }

    /// What is held now, to within 32 KiB for each connection.
    pub fn held(&self) -> u64 {
        self.0.held.load(Ordering::Relaxed)
    }

    /// A further connection takes part.
    pub(crate) fn join(&self) -> Share {
        self.0.connections.fetch_add(1, Ordering::Relaxed);
        Share { pool: self.0.clone(), held: 0 }
    }
}

/// What one connection holds.
#[derive(Debug)]
pub(crate) struct Share {
    pool: Arc<Pool>,
    held: u64,
}

impl Share {
    /// The connection holds so much. Whether that is too much: more than an equal share of a budget that is exceeded.
    #[inline]
    #[must_use]
    pub(crate) fn update(&mut self, held: u64) -> bool {
        held.abs_diff(self.held) >= STEP && self.settle(held)
    }

    /// What its windows may grow to: half of an equal share, so that a connection whose application reads does not come near to it.
    pub(crate) fn largest_window(&self) -> u64 {
        self.pool.limit / 2 / self.pool.connections.load(Ordering::Relaxed).max(1)
    }

    #[inline(never)]
    fn settle(&mut self, held: u64) -> bool {
        // Wraps where it falls, as the counter does.
        let change = held.wrapping_sub(self.held);
        let before = self.pool.held.fetch_add(change, Ordering::Relaxed);
        let grows = held > self.held;
        self.held = held;
        let connections = self.pool.connections.load(Ordering::Relaxed);
        let exceeded = before.wrapping_add(change) > self.pool.limit;
        grows && exceeded && held > self.pool.limit / connections.max(1)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.held.fetch_sub(self.held, Ordering::Relaxed);
        self.pool.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    #[test]
    fn whoever_exceeds_his_share_of_an_exceeded_budget_holds_too_much() {
        let memory = ReceiveMemory::new(1_000 * KIB);
        let mut shares: Vec<Share> = (0..4).map(|_| memory.join()).collect();
        assert!(!shares[0].update(700 * KIB), "more than an equal share, but there is room");
        assert!(!shares[1].update(200 * KIB));
        assert!(!shares[2].update(240 * KIB), "the budget is exceeded, by somebody else");
        assert!(shares[0].update(740 * KIB));
        assert!(!shares[0].update(600 * KIB), "what falls is on its way to be well");
        drop(shares.remove(0));
        assert_eq!(memory.held(), 440 * KIB);
        assert!(!shares[0].update(500 * KIB));
        drop(shares);
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn small_changes_are_not_passed_on() {
        let memory = ReceiveMemory::new(0);
        let mut share = memory.join();
        assert!(!share.update(STEP - 1));
        assert_eq!(memory.held(), 0);
        assert!(share.update(STEP));
        assert!(!share.update(1));
        assert_eq!(memory.held(), STEP);
        assert!(!share.update(0));
        assert_eq!(memory.held(), 0);
    }
}
