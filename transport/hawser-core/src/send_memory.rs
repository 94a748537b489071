//! One budget for what all connections of an endpoint keep until it is acknowledged.
//!
//! A path of large bandwidth and delay needs much of it, and few connections have such paths. So each may keep up to a quarter
//! of what is free, which is what shared buffers of switches do: one alone gets what it needs, many get less each, and
//! nobody has to be counted. A source has no more than an eighth of the whole, and each of its connections an equal part of
//! that. The sum stays below the budget, the [`FLOOR`] of each source and the [`CONNECTION_FLOOR`] of each connection.

use std::net::IpAddr;
use std::sync::Arc;

use crate::memory_pool::{self, LARGEST_PART, Pool};

/// What a source may keep however little is left.
pub(crate) const FLOOR: u64 = 1 << 20;

/// What a connection may keep however much others of its source do.
const CONNECTION_FLOOR: u64 = 64 << 10;

/// The part of what is free for one connection.
const PART_OF_FREE: u64 = 4;

/// Most bytes that the connections of one endpoint, or of several, keep of what their applications wrote, until it is
/// acknowledged. Clones are the same budget.
#[derive(Clone, Debug)]
pub struct SendMemory(Arc<Pool>);

impl SendMemory {
    /// A budget of its own, in bytes. Applications that write more than their connection may keep wait.
    pub fn new(limit: u64) -> Self {
        SendMemory(Pool::new(limit))
    }

    /// What is kept now, to within 32 KiB for each connection.
    pub fn held(&self) -> u64 {
        self.0.held()
    }

    /// A further connection takes part, of a client at this address.
    pub(crate) fn join(&self, client: Option<IpAddr>) -> Share {
        Share(self.0.join(client))
    }
}

/// What one connection keeps.
#[derive(Debug)]
pub(crate) struct Share(memory_pool::Share);

impl Share {
    /// The connection keeps so much. Returns true if what it may keep is to be looked at again.
    #[inline]
    #[must_use]
    pub(crate) fn update(&mut self, held: u64) -> bool {
        self.0.update(held)
    }

    /// How much it may keep.
    pub(crate) fn most(&self) -> u64 {
        let holdings = self.0.holdings();
        let free = holdings.limit.saturating_sub(holdings.held);
        let of_source = holdings.limit / LARGEST_PART;
        let others = holdings.of_source.saturating_sub(holdings.own);
        let part = (of_source / holdings.siblings).min(of_source.saturating_sub(others));
        let floor = FLOOR.saturating_sub(others).max(CONNECTION_FLOOR);
        (free / PART_OF_FREE).min(part).max(floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Each keeps as much as it may, one after the other, until nobody may keep more.
    fn fill(shares: &mut [(Share, u64)]) {
        for _ in 0..200 {
            for (share, held) in &mut *shares {
                *held = share.most().max(*held);
                let _ = share.update(*held);
            }
        }
    }

    #[test]
    fn one_connection_gets_an_eighth_and_many_get_less_each() {
        let memory = SendMemory::new(1_024 * MIB);
        let mut shares: Vec<_> = (0..100).map(|_| (memory.join(None), 0)).collect();
        assert_eq!(shares[0].0.most(), 128 * MIB);
        fill(&mut shares);
        let held = memory.held();
        assert!(held <= 1_024 * MIB + 100 * FLOOR, "{held} bytes");
        assert!(shares[99].0.most() >= FLOOR);
        shares.truncate(1);
        assert_eq!(memory.held(), shares[0].1);
        assert!(shares[0].0.update(0));
        assert_eq!((memory.held(), shares[0].0.most()), (0, 128 * MIB));
    }

    #[test]
    fn one_source_keeps_an_eighth_however_many_connections_it_has() {
        let memory = SendMemory::new(1_024 * MIB);
        let greedy = Some([192, 0, 2, 1].into());
        let mut shares: Vec<_> = (0..1_000).map(|_| (memory.join(greedy), 0)).collect();
        fill(&mut shares);
        let held = memory.held();
        assert!(held <= 128 * MIB + 1_000 * CONNECTION_FLOOR, "{} MiB", held >> 20);
        assert!(memory.join(greedy).most() >= CONNECTION_FLOOR, "and each goes on");
        let modest = memory.join(Some([192, 0, 2, 2].into())).most();
        assert_eq!(modest, 128 * MIB, "another source has what it had");
    }

    /// What a greedy connection keeps, it gives back as it is acknowledged: then others come to the same.
    #[test]
    fn equal_needs_lead_to_equal_parts() {
        let memory = SendMemory::new(1_024 * MIB);
        let mut shares: Vec<(Share, u64)> = (0..20).map(|_| (memory.join(None), 0)).collect();
        for _ in 0..500 {
            for (share, held) in &mut shares {
                let most = share.most();
                // A part of what is kept is acknowledged, and more is written where that is allowed.
                *held = (*held - *held / 8).max(most.min(*held + 2 * MIB));
                let _ = share.update(*held);
            }
        }
        let held = || shares.iter().map(|(_, held)| *held);
        let (least, most) = (held().min().unwrap(), held().max().unwrap());
        assert!(least >= 30 * MIB && most <= 60 * MIB, "{least} to {most} bytes");
    }
}
