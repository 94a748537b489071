//! How much all uploads together may let a folder grow.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a file costs besides its bytes: its inode, its name, and the rest of its last block.
pub(super) const FILE_COST: u64 = 4096;

/// Bytes that uploads may still take, shared by all of them. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Quota {
    most: Option<u64>,
    used: Arc<AtomicU64>,
    /// Held from the look at what a file replaces to its replacement: what goes is given back once.
    replacing: Arc<Mutex<()>>,
}

impl Quota {
    /// `None`: no limit.
    pub(crate) fn new(most: Option<u64>) -> Self {
        Quota { most, used: Arc::default(), replacing: Arc::default() }
    }

    /// All that there may be.
    pub(super) fn most(&self) -> Option<u64> {
        self.most
    }

    /// What one upload takes of it: nothing yet.
    pub(super) fn reservation(&self) -> Reservation {
        Reservation { quota: self.clone(), bytes: 0 }
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
    bytes: u64,
}

impl Reservation {
    /// Whether the upload may have this many bytes in all, as far as is known now.
    pub(super) fn has_room_for(&self, total: u64) -> bool {
        let used = self.quota.used.load(Ordering::Relaxed).saturating_sub(self.bytes);
        self.quota.most.is_none_or(|most| used.saturating_add(total) <= most)
    }

    /// Takes more; `false`: there is not so much.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        let taken = self.quota.take(bytes);
        self.bytes += if taken { bytes } else { 0 };
        taken
    }

    /// The file is stored, in the place of one with so many bytes.
    pub(super) fn keep(mut self, replaced: u64) {
        self.bytes = 0;
        self.quota.give_back(replaced);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.quota.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_stored_is_given_back_and_so_is_what_was_replaced() {
        let quota = Quota::new(Some(1_000));
        let mut first = quota.reservation();
        assert!(first.has_room_for(1_000) && !first.has_room_for(1_001));
        assert!(first.take(600) && !first.take(401) && first.take(100));
        let mut second = quota.reservation();
        assert!(!second.has_room_for(301) && second.take(300) && !second.take(1));
        drop(second);
        first.keep(0);
        let mut third = quota.reservation();
        assert!(third.take(300) && !third.take(1));
        // In the place of one that was there with 5,000 bytes before.
        third.keep(5_000);
        assert!(quota.reservation().has_room_for(1_000));
        assert!(Quota::new(None).reservation().take(u64::MAX));
    }
}
