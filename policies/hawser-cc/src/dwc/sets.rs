//! Which paths of a connection are taken to share a bottleneck, by losses and delays that coincide.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_policy::{GroupId, PathId, Sibling, Siblings, Time};

/// A queue of less than this share of the least round-trip time is none: its largest value is that of jitter.
const LEAST_QUEUE: f64 = 0.1;

/// When losses and delays coincide, and for how long that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rules {
    /// Round trips within which they do.
    pub(super) window: f64,
    /// Share of its largest queueing delay from which on a path's delay is near its maximum.
    pub(super) near: f64,
    /// Over which that is the largest.
    pub(super) memory: Duration,
    /// Losses in a row of either path, without anything of the other, that part two.
    pub(super) misses: u64,
}

/// All paths of a connection.
#[derive(Debug, Default)]
pub(super) struct Sets {
    entries: Vec<Entry>,
    /// Pairs that are coupled; both are in `entries`.
    pairs: Vec<Pair>,
    next_owner: u64,
}

#[derive(Debug)]
struct Entry {
    path: PathId,
    /// Tells a controller from its successor on the same path.
    owner: u64,
    lost_at: Option<Time>,
    delay: Delay,
    /// The least path of its set.
    set: PathId,
}

#[derive(Debug)]
struct Pair {
    paths: [PathId; 2],
    /// Losses in a row that spoke against it.
    misses: u64,
}

/// Smoothed round-trip times of a path in seconds: the last one, and least and largest of this and the last half of a memory.
#[derive(Clone, Copy, Debug)]
struct Delay {
    at: Time,
    now: f64,
    since: Time,
    ranges: [(f64, f64); 2],
}

const NO_RANGE: (f64, f64) = (f64::INFINITY, 0.0);

impl Delay {
    const UNKNOWN: Delay = Delay { at: Time::ZERO, now: 0.0, since: Time::ZERO, ranges: [NO_RANGE; 2] };

    fn on_sample(&mut self, now: Time, rtt: f64, memory: Duration) {
        let age = now.since(self.since);
        if age > memory / 2 {
            self.ranges = [if age > memory { NO_RANGE } else { self.ranges[1] }, NO_RANGE];
            self.since = now;
        }
        let (least, largest) = &mut self.ranges[1];
        (*least, *largest) = (least.min(rtt), largest.max(rtt));
        (self.at, self.now) = (now, rtt);
    }

    /// Whether so large a share of the largest queue waits now.
    fn is_near_maximum(&self, share: f64) -> bool {
        let [before, present] = self.ranges;
        let (least, largest) = (before.0.min(present.0), before.1.max(present.1));
        let queue = largest - least;
        queue > LEAST_QUEUE * least && self.now - least >= share * queue
    }
}

/// The entry of one controller.
#[derive(Debug)]
pub(super) struct Member {
    sets: Arc<Mutex<Sets>>,
    owner: u64,
    rules: Rules,
}

impl Member {
    pub(super) fn join(sets: &Arc<Mutex<Sets>>, path: PathId, rules: Rules) -> Member {
        let mut known = lock(sets);
        known.next_owner += 1;
        let owner = known.next_owner;
        match known.entries.iter_mut().find(|entry| entry.path == path) {
            Some(entry) => entry.owner = owner,
            None => {
                let entry = Entry { path, owner, lost_at: None, delay: Delay::UNKNOWN, set: path };
                known.entries.push(entry);
            }
        }
        drop(known);
        Member { sets: sets.clone(), owner, rules }
    }

    pub(super) fn on_rtt(&self, now: Time, smoothed_rtt: Duration) {
        if let Some(own) = lock(&self.sets).of(self.owner) {
            own.delay.on_sample(now, smoothed_rtt.as_secs_f64(), self.rules.memory);
        }
    }

    /// A recovery epoch begins: what coincides with it joins the path, what does not for the last of several times is parted from it.
    pub(super) fn on_loss(&self, now: Time, siblings: &Siblings<'_>) {
        let mut sets = lock(&self.sets);
        let Some(own) = sets.of(self.owner) else { return };
        own.lost_at = Some(now);
        let own = own.path;
        let Some(shown) = siblings.own_entry() else { return };
        for other in siblings.paths.iter().filter(|other| other.usable && other.path != own) {
            let coincides = sets.coincides(other, now, shown.smoothed_rtt, &self.rules);
            sets.judge([own.min(other.path), own.max(other.path)], coincides, self.rules.misses);
        }
        sets.label();
    }

    /// Another network: what was shared there is not here.
    pub(super) fn reset(&self) {
        let mut sets = lock(&self.sets);
        if let Some(own) = sets.of(self.owner) {
            (own.lost_at, own.delay) = (None, Delay::UNKNOWN);
            let path = own.path;
            sets.part(path);
        }
    }

    /// The path's set: one of its own where it shares nothing.
    pub(super) fn group(&self) -> GroupId {
        GroupId(lock(&self.sets).of(self.owner).map_or(0, |own| own.set.0.saturating_add(1)))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut sets = lock(&self.sets);
        if let Some(own) = sets.of(self.owner) {
            let path = own.path;
            sets.part(path);
            sets.entries.retain(|entry| entry.owner != self.owner);
        }
    }
}

impl Sets {
    fn of(&mut self, owner: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.owner == owner)
    }

    /// Whether another path lost something, or had its delay near the maximum, within the round trip that ends now.
    fn coincides(&self, other: &Sibling, now: Time, own_rtt: Duration, rules: &Rules) -> bool {
        let Some(entry) = self.entries.iter().find(|entry| entry.path == other.path) else { return false };
        let window = own_rtt.max(other.smoothed_rtt).as_secs_f64() * rules.window;
        let recent = |at: Time| now.since(at).as_secs_f64() <= window;
        entry.lost_at.is_some_and(recent)
            || (recent(entry.delay.at) && entry.delay.is_near_maximum(rules.near))
    }

    fn judge(&mut self, paths: [PathId; 2], coincides: bool, misses: u64) {
        let at = self.pairs.iter().position(|pair| pair.paths == paths);
        match (at, coincides) {
            (Some(at), true) => self.pairs[at].misses = 0,
            (None, true) => self.pairs.push(Pair { paths, misses: 0 }),
            (Some(at), false) => {
                self.pairs[at].misses += 1;
                if self.pairs[at].misses >= misses {
                    self.pairs.swap_remove(at);
                }
            }
            (None, false) => {}
        }
    }

    fn part(&mut self, path: PathId) {
        self.pairs.retain(|pair| !pair.paths.contains(&path));
        self.label();
    }

    /// Sets are what pairs connect.
    fn label(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.set = entry.path);
        for _ in 0..self.entries.len() {
            for pair in &self.pairs {
                let members = self.entries.iter().filter(|entry| pair.paths.contains(&entry.path));
                let Some(least) = members.map(|entry| entry.set).min() else { continue };
                for entry in self.entries.iter_mut().filter(|entry| pair.paths.contains(&entry.path)) {
                    entry.set = least;
                }
            }
        }
    }
}

/// One connection runs on one thread at a time, so nobody waits; numbers are whole even after a panic.
fn lock(sets: &Mutex<Sets>) -> MutexGuard<'_, Sets> {
    sets.lock().unwrap_or_else(PoisonError::into_inner)
}
