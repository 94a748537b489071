use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser_policy::{PathId, Siblings};

/// Rates that the paths of a connection published last.
#[derive(Debug, Default)]
pub(super) struct Rates {
    entries: Vec<Entry>,
    next_owner: u64,
}

#[derive(Debug)]
struct Entry {
    path: PathId,
    /// Tells a controller from its successor on the same path.
    owner: u64,
    /// Mbit/s.
    rate: f64,
}

/// The entry of one controller.
#[derive(Debug)]
pub(super) struct Published {
    rates: Arc<Mutex<Rates>>,
    owner: u64,
}

impl Published {
    /// An entry for the controller of a path.
    pub(super) fn join(rates: &Arc<Mutex<Rates>>, path: PathId) -> Published {
        let mut table = lock(rates);
        table.next_owner += 1;
        let owner = table.next_owner;
        table.entries.retain(|entry| entry.path != path);
        table.entries.push(Entry { path, owner, rate: 0.0 });
        drop(table);
        Published { rates: rates.clone(), owner }
    }

    /// Publishes a rate.
    pub(super) fn set(&self, rate: f64) {
        let mut table = lock(&self.rates);
        if let Some(entry) = table.entries.iter_mut().find(|entry| entry.owner == self.owner) {
            entry.rate = rate;
        }
    }

    /// What the other paths that can send published, all together.
    pub(super) fn others(&self, siblings: &Siblings<'_>) -> f64 {
        let table = lock(&self.rates);
        let usable = |path: PathId| siblings.paths.iter().any(|other| other.path == path && other.usable);
        let others = table.entries.iter().filter(|entry| entry.owner != self.owner && usable(entry.path));
        others.map(|entry| entry.rate).sum()
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        lock(&self.rates).entries.retain(|entry| entry.owner != self.owner);
    }
}

/// One connection runs on one thread at a time, so nobody waits; numbers are whole even after a panic.
fn lock(rates: &Mutex<Rates>) -> MutexGuard<'_, Rates> {
    rates.lock().unwrap_or_else(PoisonError::into_inner)
}
