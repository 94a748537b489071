//! How much all uploads together may let a folder grow.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser::source_of;

/// What a file costs besides its bytes: its inode, its name, and the rest of its last block.
pub(super) const FILE_COST: u64 = 4096;

/// Sources of which it is known what they stored; beyond it, what those with least have stored is forgotten.
const MAX_SOURCES: usize = 1 << 16;

/// Bytes that uploads may still take, shared by all of them. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Quota {
    most: Option<u64>,
    used: Arc<AtomicU64>,
    /// Of which one source may take so much.
    share: Option<u64>,
    sources: Arc<Mutex<BTreeMap<IpAddr, u64>>>,
    /// Held from the look at what a file replaces to its replacement: what goes is given back once.
    replacing: Arc<Mutex<()>>,
}

impl Quota {
    /// `None`: no limit.
    pub(crate) fn new(most: Option<u64>) -> Self {
        Quota { most, used: Arc::default(), share: None, sources: Arc::default(), replacing: Arc::default() }
    }

    /// With a limit for one source: what it stored is not given back when it is replaced.
    #[must_use]
    pub(crate) fn with_share(self, share: Option<u64>) -> Self {
        Quota { share, ..self }
    }

    /// All that there may be.
    pub(super) fn most(&self) -> Option<u64> {
        self.most
    }

    /// What one upload from this address takes of it: nothing yet. `None`: of somebody whom the limit for a source does not concern.
    pub(super) fn reservation(&self, source: Option<IpAddr>) -> Reservation {
        Reservation {
            quota: self.clone(),
            source: source.map(source_of).filter(|_| self.share.is_some()),
            bytes: 0,
        }
    }

    /// What a source has of it.
    fn of(&self, source: IpAddr) -> u64 {
        self.lock().get(&source).copied().unwrap_or(0)
    }

    /// Takes these bytes from the share of a source, or none.
    fn take_share(&self, source: Option<IpAddr>, bytes: u64) -> bool {
        let (Some(source), Some(share)) = (source, self.share) else { return true };
        let mut sources = self.lock();
        if sources.len() >= MAX_SOURCES && !sources.contains_key(&source) {
            let least = sources.iter().min_by_key(|(_, used)| **used).map(|(source, _)| *source);
            least.map(|least| sources.remove(&least));
        }
        let used = sources.entry(source).or_default();
        let sum = used.checked_add(bytes).filter(|sum| *sum <= share);
        *used = sum.unwrap_or(*used);
        sum.is_some()
    }

    fn give_share_back(&self, source: Option<IpAddr>, bytes: u64) {
        let Some(source) = source else { return };
        let mut sources = self.lock();
        if let Some(used) = sources.get_mut(&source) {
            *used = used.saturating_sub(bytes);
            if *used == 0 {
                sources.remove(&source);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<IpAddr, u64>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While this is held no other upload replaces a file.
    pub(super) fn replace(&self) -> MutexGuard<'_, ()> {
        self.replacing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes these bytes, or none.
    fn take(&self, bytes: u64) -> bool {
        let Some(most) = self.most else { return true };
        let add = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= most);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Gives bytes back. What was there before the server came to know of it counts for nothing.
    fn give_back(&self, bytes: u64) {
        if self.most.is_some() {
            let less = |used: u64| Some(used.saturating_sub(bytes));
            let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }
}

/// The bytes of one upload. Dropped, they are given back.
#[derive(Debug)]
pub(super) struct Reservation {
    quota: Quota,
    source: Option<IpAddr>,
    bytes: u64,
}

impl Reservation {
    /// Whether the upload may have this many bytes in all, as far as is known now.
    pub(super) fn has_room_for(&self, total: u64) -> bool {
        let used = self.quota.used.load(Ordering::Relaxed).saturating_sub(self.bytes);
        let own = self.source.map_or(0, |source| self.quota.of(source)).saturating_sub(self.bytes);
        let share = self.quota.share.filter(|_| self.source.is_some());
        self.quota.most.is_none_or(|most| used.saturating_add(total) <= most)
            && share.is_none_or(|share| own.saturating_add(total) <= share)
    }

    /// Takes more; `false`: there is not so much.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        if !self.quota.take_share(self.source, bytes) {
            return false;
        }
        let taken = self.quota.take(bytes);
        if !taken {
            self.quota.give_share_back(self.source, bytes);
        }
        self.bytes += if taken { bytes } else { 0 };
        taken
    }

    /// The file is stored, in the place of one with so many bytes: of the share of its source no more than its own come back, as it
    /// may be another's that was replaced.
    pub(super) fn keep(mut self, replaced: u64) {
        self.quota.give_share_back(self.source, replaced.min(self.bytes));
        self.bytes = 0;
        self.quota.give_back(replaced);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.quota.give_share_back(self.source, self.bytes);
        self.quota.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_stored_is_given_back_and_so_is_what_was_replaced() {
        let quota = Quota::new(Some(1_000));
        let mut first = quota.reservation(None);
        assert!(first.has_room_for(1_000) && !first.has_room_for(1_001));
        assert!(first.take(600) && !first.take(401) && first.take(100));
        let mut second = quota.reservation(None);
        assert!(!second.has_room_for(301) && second.take(300) && !second.take(1));
        drop(second);
        first.keep(0);
        let mut third = quota.reservation(None);
        assert!(third.take(300) && !third.take(1));
        // In the place of one that was there with 5,000 bytes before.
        third.keep(5_000);
        assert!(quota.reservation(None).has_room_for(1_000));
        assert!(Quota::new(None).reservation(None).take(u64::MAX));
    }

    #[test]
    fn one_source_takes_its_share_and_others_theirs() {
        let quota = Quota::new(Some(1_000)).with_share(Some(400));
        let address = |text: &str| Some(text.parse().unwrap());
        let mut first = quota.reservation(address("2001:db8::1"));
        assert!(first.take(300) && !first.take(101) && !first.has_room_for(401) && first.has_room_for(400));
        let mut second = quota.reservation(address("2001:db8::2"));
        assert!(!second.has_room_for(101) && second.take(100), "one network is one source");
        drop(second);
        first.keep(1_000);
        let mut third = quota.reservation(address("2001:db8::1"));
        assert!(third.take(400), "what it stored took the place of as much");
        third.keep(0);
        assert!(!quota.reservation(address("2001:db8::1")).take(1));
        assert!(quota.reservation(address("192.0.2.1")).take(400));
        assert!(quota.reservation(None).take(600), "who named a key");
        assert_eq!(quota.lock().len(), 1, "nothing is kept of those who have nothing");
    }
}
