//! Paths of one connection at one bottleneck: together one CUBIC.
//!
//! Next to others each path is a CUBIC of its own, and two of them at one queue would have two shares of it. Those that a detector finds
//! at one bottleneck follow one curve: each grows by its part of what the sum of their windows would grow by, and what one loses all make
//! room for, once per round trip. The detector is that of [`sscc`](crate::sscc); it looks only while others fill the queue of two paths at
//! least, so that a path by itself, or with a queue of its own, costs nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_learn::Recent;
use hawser_policy::{Ack, GroupId, PathId, Time};

use crate::sscc::{Detector, DetectorSettings, Weights};

/// What `sscc` has by default: each interval of a path counts alike, and pairs stay together for a while, since a path that makes room
/// fills the queue less.
const DETECTION: DetectorSettings = DetectorSettings {
    weights: Weights::Intervals,
    recent: Some(Recent::RFC8382),
    keep: Duration::from_secs(10),
    ..DetectorSettings::THESIS
};

/// The paths of a connection that are next to others.
#[derive(Debug)]
pub(super) struct Pool {
    detector: Detector,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    path: PathId,
    /// Bytes.
    window: f64,
    /// When it made room last.
    cut_at: Time,
}

/// What the others of a bottleneck leave to a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    /// Of the sum of the windows.
    pub(super) share: f64,
    /// Another one made room, and this one has not since.
    pub(super) make_room: bool,
}

impl Part {
    const ALONE: Part = Part { share: 1.0, make_room: false };
}

impl Pool {
    pub(super) fn shared() -> Arc<Mutex<Pool>> {
        Arc::new(Mutex::new(Pool { detector: Detector::new(DETECTION), entries: Vec::new() }))
    }

    fn entry(&mut self, path: PathId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.path == path)
    }

    fn remove(&mut self, path: PathId) {
        self.entries.retain(|entry| entry.path != path);
        self.detector.remove(path);
    }

    /// The part of a path of which the window was just told.
    fn part(&self, path: PathId, smoothed_rtt: Duration) -> Part {
        let group = self.detector.group(path);
        let Some(own) = self.entries.iter().find(|entry| entry.path == path) else { return Part::ALONE };
        if group == GroupId(0) {
            return Part::ALONE;
        }
        let together = || self.entries.iter().filter(|entry| self.detector.group(entry.path) == group);
        Part {
            share: own.window / together().map(|entry| entry.window).sum::<f64>(),
            make_room: together().any(|entry| entry.cut_at > own.cut_at + smoothed_rtt),
        }
    }
}

/// A path of it.
#[derive(Debug)]
pub(super) struct Member {
    pool: Arc<Mutex<Pool>>,
    path: PathId,
}

impl Member {
    pub(super) fn new(pool: Arc<Mutex<Pool>>, path: PathId) -> Member {
        Member { pool, path }
    }

    /// Numbers are whole even after a panic.
    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Others fill its queue from now on.
    pub(super) fn enter(&self, now: Time, window: f64) {
        let mut pool = self.lock();
        pool.remove(self.path);
        pool.entries.push(Entry { path: self.path, window, cut_at: now });
    }

    /// They are gone.
    pub(super) fn leave(&self) {
        self.lock().remove(self.path);
    }

    /// An acknowledgement of a path that is next to others.
    pub(super) fn on_ack(&self, ack: &Ack, window: f64) -> Part {
        let mut pool = self.lock();
        let Some(entry) = pool.entry(self.path) else { return Part::ALONE };
        entry.window = window;
        if pool.entries.len() < 2 {
            return Part::ALONE;
        }
        if let Some(delay) = ack.one_way_delay {
            pool.detector.on_delay(ack.now, self.path, delay.as_nanos() as i128);
        }
        pool.part(self.path, ack.smoothed_rtt)
    }

    pub(super) fn on_loss(&self, now: Time, packets: u64) {
        let mut pool = self.lock();
        if pool.entries.len() > 1 {
            pool.detector.on_loss(now, self.path, packets);
        }
    }

    /// It made room.
    pub(super) fn on_cut(&self, now: Time) {
        if let Some(entry) = self.lock().entry(self.path) {
            entry.cut_at = now;
        }
    }

    /// Whether it made room within this time, together with others of its bottleneck: a loss of its own is then the same event.
    pub(super) fn has_made_room(&self, now: Time, within: Duration) -> bool {
        let pool = self.lock();
        let own = pool.entries.iter().find(|entry| entry.path == self.path);
        pool.detector.group(self.path) != GroupId(0) && own.is_some_and(|own| own.cut_at + within > now)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests;
