//! What the controllers of one connection know together: where each path is attached, its largest round-trip time, and the
//! windows at which it met congestion.

use std::collections::VecDeque;
use std::mem::discriminant;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_policy::{AttachmentPoint, PathId, Time};

/// Windows that are remembered of a path.
const MAX_WINDOWS: usize = 32;
/// Paths that are remembered, those that are gone included.
const MAX_PATHS: usize = 16;

/// A handle on the common state; it belongs to the controller of one path.
#[derive(Debug)]
pub(super) struct Shared {
    state: Arc<Mutex<Paths>>,
    path: PathId,
    /// Tells a controller from its successor on the same path.
    owner: u64,
}

/// All paths of a connection.
#[derive(Debug, Default)]
pub(super) struct Paths {
    entries: Vec<Entry>,
    next_owner: u64,
}

#[derive(Debug)]
struct Entry {
    path: PathId,
    /// None: its controller is gone, its windows are not.
    owner: Option<u64>,
    point: Option<AttachmentPoint>,
    /// Seconds; zero before the first sample.
    largest_rtt: f64,
    /// When congestion was met, and with which window, in bytes.
    windows: VecDeque<(Time, f64)>,
}

impl Entry {
    /// The largest window at congestion of the recent past; without one, the last.
    fn recent_window(&self, now: Time, history: Duration) -> Option<f64> {
        let recent = self.windows.iter().filter(|(at, _)| now.since(*at) <= history);
        let largest = recent.map(|(_, window)| *window).reduce(f64::max);
        largest.or(self.windows.back().map(|(_, window)| *window))
    }
}

impl Shared {
    /// Registers the controller of a path.
    pub(super) fn join(state: &Arc<Mutex<Paths>>, path: PathId) -> Shared {
        let mut paths = lock(state);
        paths.next_owner += 1;
        let owner = paths.next_owner;
        match paths.entries.iter_mut().find(|entry| entry.path == path) {
            Some(entry) => entry.owner = Some(owner),
            None => {
                if paths.entries.len() >= MAX_PATHS
                    && let Some(gone) = paths.entries.iter().position(|entry| entry.owner.is_none())
                {
                    paths.entries.remove(gone);
                }
                paths.entries.push(Entry {
                    path,
                    owner: Some(owner),
                    point: None,
                    largest_rtt: 0.0,
                    windows: VecDeque::with_capacity(MAX_WINDOWS),
                });
            }
        }
        drop(paths);
        Shared { state: state.clone(), path, owner }
    }

    /// The path is attached there.
    pub(super) fn attach(&self, point: Option<AttachmentPoint>) {
        self.with_own(|entry| entry.point = point);
    }

    /// How many paths of the connection share the attachment point of this one, itself included.
    pub(super) fn sharers(&self) -> usize {
        let paths = lock(&self.state);
        let own = paths.entries.iter().find(|entry| entry.path == self.path);
        match own.and_then(|entry| entry.point) {
            Some(point) => paths.on(point).count().max(1),
            None => 1,
        }
    }

    /// How many there would be at another point, this one included.
    pub(super) fn sharers_at(&self, point: AttachmentPoint) -> usize {
        lock(&self.state).on(point).filter(|entry| entry.path != self.path).count() + 1
    }

    /// Congestion was met with this window.
    pub(super) fn record(&self, now: Time, window: f64) {
        self.with_own(|entry| {
            if entry.windows.len() == MAX_WINDOWS {
                entry.windows.pop_front();
            }
            entry.windows.push_back((now, window));
        });
    }

    /// The window that history suggests, in bytes: the path's own, else that of another one on the same kind of link
    /// (W. Yang 2024, eqs. (3.15) and (3.16)). What other kinds carry says nothing.
    pub(super) fn remembered(&self, now: Time, history: Duration) -> Option<f64> {
        let paths = lock(&self.state);
        let own = paths.entries.iter().find(|entry| entry.path == self.path)?;
        own.recent_window(now, history).or_else(|| {
            let kind = discriminant(&own.point?);
            let alike = |entry: &&Entry| entry.point.is_some_and(|point| discriminant(&point) == kind);
            let others = paths.entries.iter().filter(alike);
            others.filter_map(|entry| entry.recent_window(now, history)).reduce(f64::max)
        })
    }

    /// A round-trip sample, in seconds.
    pub(super) fn on_rtt(&self, rtt: f64) {
        self.with_own(|entry| entry.largest_rtt = entry.largest_rtt.max(rtt));
    }

    /// Another network: its largest round-trip time is to be seen.
    pub(super) fn forget_largest_rtt(&self) {
        self.with_own(|entry| entry.largest_rtt = 0.0);
    }

    /// All paths, to be looked at.
    pub(super) fn look(&self) -> MutexGuard<'_, Paths> {
        lock(&self.state)
    }

    fn with_own(&self, change: impl FnOnce(&mut Entry)) {
        let mut paths = lock(&self.state);
        let own = |entry: &&mut Entry| entry.path == self.path && entry.owner == Some(self.owner);
        if let Some(entry) = paths.entries.iter_mut().find(own) {
            change(entry);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.with_own(|entry| entry.owner = None);
    }
}

impl Paths {
    /// The largest round-trip time of a path, in seconds; zero: not known.
    pub(super) fn largest_rtt(&self, path: PathId) -> f64 {
        self.entries.iter().find(|entry| entry.path == path).map_or(0.0, |entry| entry.largest_rtt)
    }

    /// The paths in use that are attached there.
    fn on(&self, point: AttachmentPoint) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.owner.is_some() && entry.point == Some(point))
    }
}

/// One connection runs on one thread at a time, so nobody waits; numbers are whole even after a panic.
fn lock(state: &Mutex<Paths>) -> MutexGuard<'_, Paths> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
