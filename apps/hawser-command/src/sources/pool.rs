//! Something scarce, of which a source has a share.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser::source_of;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The part of a pool that one source may have: one in so many.
pub(super) const SHARE: usize = 8;

/// So many units of something, and how many each source has of them. Cheap to clone. There are never more entries than
/// units that are taken or waited for.
#[derive(Clone, Debug)]
pub struct Pool {
    all: Arc<Semaphore>,
    share: usize,
    sources: Arc<Mutex<HashMap<IpAddr, Entry>>>,
}

/// The share of one source, as long as it has or wants something.
#[derive(Debug)]
struct Entry {
    own: Arc<Semaphore>,
    users: usize,
}

/// Keeps the entry of a source.
#[derive(Debug)]
struct User {
    sources: Arc<Mutex<HashMap<IpAddr, Entry>>>,
    source: IpAddr,
}

/// Units of a pool, given back when dropped.
#[derive(Debug)]
#[must_use = "dropped, it is given back"]
pub struct Taken {
    _all: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
    _user: User,
}

impl Pool {
    /// So many units, of which a source may have an eighth, but at least one.
    pub fn new(most: usize) -> Self {
        Pool::with_share(most, (most / SHARE).max(1))
    }

    /// So many units, of which a source may have `share`.
    pub fn with_share(most: usize, share: usize) -> Self {
        let limit = Semaphore::MAX_PERMITS;
        let all = Arc::new(Semaphore::new(most.min(limit)));
        Pool { all, share: share.min(most).min(limit), sources: Arc::default() }
    }

    /// Units that nobody has.
    #[cfg(test)]
    pub fn free(&self) -> usize {
        self.all.available_permits()
    }

    /// Takes units, or none.
    pub fn try_take(&self, address: IpAddr, units: u32) -> Option<Taken> {
        let (own, user) = self.enter(address);
        let own = own.try_acquire_many_owned(units).ok()?;
        let all = self.all.clone().try_acquire_many_owned(units).ok()?;
        Some(Taken { _all: all, _own: own, _user: user })
    }

    /// Waits for units, at most for as many as a share has. Who waits for units of its own share stands in nobody's way.
    pub async fn take(&self, address: IpAddr, units: u32) -> Taken {
        let units = units.min(u32::try_from(self.share).unwrap_or(u32::MAX));
        let (own, user) = self.enter(address);
        loop {
            // The semaphores are never closed.
            if let Ok(own) = own.clone().acquire_many_owned(units).await
                && let Ok(all) = self.all.clone().acquire_many_owned(units).await
            {
                return Taken { _all: all, _own: own, _user: user };
            }
        }
    }

    fn enter(&self, address: IpAddr) -> (Arc<Semaphore>, User) {
        let source = source_of(address);
        let own = {
            let mut sources = self.lock();
            let entry = sources
                .entry(source)
                .or_insert_with(|| Entry { own: Arc::new(Semaphore::new(self.share)), users: 0 });
            entry.users += 1;
            entry.own.clone()
        };
        (own, User { sources: self.sources.clone(), source })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Entry>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = sources.get_mut(&self.source) {
            entry.users -= 1;
            if entry.users == 0 {
                sources.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_source_has_so_many_connections_and_others_theirs() {
        let pool = Pool::with_share(100, 2);
        let first = pool.try_take(ip("2001:db8::1"), 1).unwrap();
        let _second = pool.try_take(ip("2001:db8::ffff"), 1).unwrap();
        assert!(pool.try_take(ip("2001:db8::2"), 1).is_none(), "one network");
        assert!(pool.try_take(ip("2001:db8:0:1::1"), 1).is_some(), "another");
        let mapped = pool.try_take(ip("::ffff:192.0.2.1"), 1).unwrap();
        let plain = pool.try_take(ip("192.0.2.1"), 1).unwrap();
        assert!(pool.try_take(ip("192.0.2.1"), 1).is_none() && pool.try_take(ip("192.0.2.2"), 1).is_some());
        drop(first);
        assert!(pool.try_take(ip("2001:db8::1"), 1).is_some());
        drop((mapped, plain));
        assert_eq!(pool.lock().len(), 1, "nothing is kept of those who left");
        assert_eq!(pool.free(), 99);
    }

    #[test]
    fn one_source_takes_an_eighth_and_all_of_them_no_more_than_there_is() {
        let pool = Pool::new(32);
        let mut held = Vec::new();
        for host in 0..10 {
            let address = IpAddr::from([192, 0, 2, host]);
            held.extend((0..10).filter_map(|_| pool.try_take(address, 1)));
        }
        assert_eq!((held.len(), pool.free(), pool.share), (32, 0, 4));
        assert!(pool.try_take(ip("198.51.100.1"), 1).is_none());
        drop(held);
        assert!(pool.lock().is_empty());
        assert!(Pool::new(3).try_take(ip("192.0.2.1"), 1).is_some(), "a small pool has shares, too");
        assert!(Pool::new(32).try_take(ip("192.0.2.1"), 5).is_none(), "more than a share at once");
    }

    /// A source that waits for its own share does not keep others waiting, however many wait.
    #[tokio::test(start_paused = true)]
    async fn waiting_for_ones_share_delays_nobody_else() {
        let pool = Pool::new(16);
        let greedy = ip("192.0.2.1");
        let held = pool.take(greedy, 2).await;
        let waiting: Vec<_> = (0..100)
            .map(|_| {
                let pool = pool.clone();
                tokio::spawn(async move { drop(pool.take(greedy, 1).await) })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(waiting.iter().all(|task| !task.is_finished()));
        let modest = tokio::time::timeout(Duration::from_millis(10), pool.take(ip("192.0.2.2"), 2)).await;
        assert!(modest.is_ok());
        drop(held);
        for task in waiting {
            task.await.unwrap();
        }
        drop(modest);
        assert!(pool.lock().is_empty());
        assert_eq!(pool.free(), 16);
    }
}
