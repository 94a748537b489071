//! The plan of a cycle while it is carried out.

use std::time::Duration;

use hawser_policy::{PathId, PathView, SendView, Tag, Time};

/// Consecutive bytes of the queue for a path; what has left is no longer counted.
#[derive(Clone, Copy, Debug)]
struct Planned {
    path: PathId,
    bytes: u64,
}

/// A path that the plan uses.
#[derive(Clone, Copy, Debug)]
struct Used {
    path: PathId,
    /// Bytes that were acknowledged when the cycle began.
    acked: u64,
    /// Whether a timeout was heard of since.
    timed_out: bool,
}

/// A cycle: when it began, when it is over, and what is left of its plan.
///
/// Positions are relative to the head of what was never sent. What leaves is taken out of the queue and out of the plan, so
/// that they stay the same; what is lost has a queue of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    /// Also the tag of its packets; zero before the first.
    number: u64,
    began_at: Time,
    until: Time,
    runs: Vec<Planned>,
    /// Runs before this one have left.
    first: usize,
    used: Vec<Used>,
    /// Something happened that the plan does not know of.
    is_void: bool,
}

impl Cycle {
    /// Begins a cycle that takes `length` at most. Runs and paths are added to it.
    pub(super) fn begin(&mut self, now: Time, length: Duration) {
        self.number = self.number.wrapping_add(1).max(1);
        (self.began_at, self.until, self.first, self.is_void) = (now, now + length, 0, false);
        self.runs.clear();
        self.used.clear();
    }

    pub(super) fn add_run(&mut self, path: PathId, bytes: u64) {
        self.runs.push(Planned { path, bytes });
    }

    pub(super) fn add_path(&mut self, path: &PathView) {
        self.used.push(Used { path: path.id, acked: path.bytes_acked, timed_out: false });
    }

    pub(super) fn began_at(&self) -> Time {
        self.began_at
    }

    pub(super) fn until(&self) -> Time {
        self.until
    }

    pub(super) fn tag(&self) -> Tag {
        Tag(self.number)
    }

    /// Marks the plan as void if what happened matters.
    pub(super) fn void_if(&mut self, matters: bool) {
        self.is_void |= matters;
    }

    pub(super) fn on_timeout(&mut self, path: PathId) {
        self.used.iter_mut().filter(|used| used.path == path).for_each(|used| used.timed_out = true);
    }

    /// Whether there is no plan that holds: none was made, it was void, its time is over, all of it has left, or each of its
    /// paths was heard from about what it sent in the cycle.
    pub(super) fn is_over(&self, view: &SendView<'_>) -> bool {
        self.number == 0
            || self.is_void
            || view.now >= self.until
            || self.first >= self.runs.len()
            || self.used.iter().all(|used| self.has_answered(view, used))
    }

    fn has_answered(&self, view: &SendView<'_>, used: &Used) -> bool {
        let Some(path) = view.path(used.path) else { return true };
        let is_new = path.oldest_in_flight.is_none_or(|sent| sent >= self.began_at);
        used.timed_out || (is_new && path.bytes_acked > used.acked)
    }

    /// The next bytes of a path: how many lie before them, and how many they are.
    pub(super) fn next_of(&self, path: PathId) -> Option<(u64, u64)> {
        let mut before = 0u64;
        for run in self.runs.get(self.first..)? {
            if run.path == path && run.bytes > 0 {
                return Some((before, run.bytes));
            }
            before = before.saturating_add(run.bytes);
        }
        None
    }

    /// Bytes of this cycle left on a path. A packet may carry more than what was planned for its path: the next run is
    /// shorter then.
    pub(super) fn on_sent(&mut self, tag: Tag, path: PathId, bytes: u64) {
        if tag != self.tag() {
            return;
        }
        let runs = self.runs.get_mut(self.first..).unwrap_or_default();
        let own = runs.iter().position(|run| run.path == path && run.bytes > 0).unwrap_or(runs.len());
        let mut left = bytes;
        for run in runs.iter_mut().skip(own) {
            let taken = run.bytes.min(left);
            run.bytes -= taken;
            left -= taken;
            if left == 0 {
                break;
            }
        }
        self.first += runs.iter().take_while(|run| run.bytes == 0).count();
    }
}
