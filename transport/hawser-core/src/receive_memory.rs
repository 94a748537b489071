//! One budget for what all connections of an endpoint hold unread.
//!
//! Flow control bounds each connection, but not their number times that bound. Windows do not grow beyond half of an equal
//! share of the budget, which those have that hold something: idle connections, however many, leave the windows of others as they are. Where it is exceeded all the same, a connection that holds more than an equal share is closed: so nobody who
//! keeps to his share suffers from others, and all together hold less than twice the budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Smaller changes are not passed on: they would cost every packet.
const STEP: u64 = 32 << 10;

/// The largest part of the whole for one connection.
const LARGEST_PART: u64 = 8;

/// A window that is enough for most paths: 1 Gbit/s over 400 ms.
const AMPLE: u64 = 48 << 20;

/// Most bytes that the connections of one endpoint, or of several, may hold for applications that do not read. Clones are
/// the same budget.
#[derive(Clone, Debug)]
pub struct ReceiveMemory(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    limit: u64,
    held: AtomicU64,
    /// Connections that hold something.
    holders: AtomicU64,
}

impl ReceiveMemory {
    /// A budget of its own. Data of streams counts from the first byte unread to the highest received, with the gaps in
    /// between; unread datagrams count with what they cost.
    pub fn new(limit: u64) -> Self {
        let pool = Pool { limit, held: AtomicU64::new(0), holders: AtomicU64::new(0) };
        ReceiveMemory(Arc::new(pool))
    }

    /// What is held now, to within 32 KiB for each connection.
    pub fn held(&self) -> u64 {
        self.0.held.load(Ordering::Relaxed)
    }

    /// A further connection takes part.
    pub(crate) fn join(&self) -> Share {
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

    /// What its windows may grow to: half of an equal share, so that a connection whose application reads does not come near to
    /// it; and however few others there are an eighth of the whole, unless that is less than most paths need.
    pub(crate) fn largest_window(&self) -> u64 {
        let others = self.pool.holders.load(Ordering::Relaxed).saturating_sub(u64::from(self.held > 0));
        let half_a_share = self.pool.limit / 2 / (others + 1);
        half_a_share.min((self.pool.limit / LARGEST_PART).max(AMPLE))
    }

    #[inline(never)]
    fn settle(&mut self, held: u64) -> bool {
        // Wraps where it falls, as the counter does.
        let change = held.wrapping_sub(self.held);
        let before = self.pool.held.fetch_add(change, Ordering::Relaxed);
        let grows = held > self.held;
        let held_before = std::mem::replace(&mut self.held, held);
        let holders = self.pool.count(held_before, held);
        let exceeded = before.wrapping_add(change) > self.pool.limit;
        grows && exceeded && held > self.pool.limit / holders.max(1)
    }
}

impl Pool {
    /// A connection held so much, and holds so much now. Returns how many hold something.
    fn count(&self, before: u64, now: u64) -> u64 {
        match (before > 0, now > 0) {
            (false, true) => self.holders.fetch_add(1, Ordering::Relaxed) + 1,
            (true, false) => self.holders.fetch_sub(1, Ordering::Relaxed) - 1,
            _ => self.holders.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.held.fetch_sub(self.held, Ordering::Relaxed);
        self.pool.count(self.held, 0);
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
    fn idle_connections_do_not_shrink_windows() {
        let memory = ReceiveMemory::new(1_000 * KIB);
        let mut shares: Vec<Share> = (0..1000).map(|_| memory.join()).collect();
        assert_eq!(shares[0].largest_window(), 500 * KIB);
        assert!(!shares[0].update(100 * KIB));
        assert_eq!(shares[0].largest_window(), 500 * KIB, "it holds something itself");
        assert_eq!(shares[1].largest_window(), 250 * KIB, "it would share with one other");
        assert!(!shares[1].update(100 * KIB));
        assert_eq!((shares[0].largest_window(), shares[2].largest_window()), (250 * KIB, 1_000 * KIB / 6));
        assert!(!shares[0].update(0));
        drop(shares.remove(1));
        assert_eq!(shares[2].largest_window(), 500 * KIB, "nobody holds anything");
    }

    /// One who sends fast to an application that reads fast, and then does not, fills an eighth.
    #[test]
    fn a_connection_alone_does_not_get_the_whole() {
        let window = |limit| ReceiveMemory::new(limit).join().largest_window();
        assert_eq!(window(1 << 30), 128 << 20);
        assert_eq!(window(256 << 20), AMPLE);
        assert_eq!(window(64 << 20), 32 << 20, "half of it");
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
