//! Announced breaks: something else will serve a link, and nothing is carried meanwhile.
//!
//! Nothing new leaves on a path that would meet its break; what is not acknowledged when all that was sent before should be is taken for
//! gone, and copied; when the break should be over the path is asked, and goes on with its window. A forecast may be wrong: during the
//! break the path is asked as well, and its answer ends it. Waiting that was for nothing has a budget.

use std::time::Duration;

use hawser_paths::HandOverNotice;
use hawser_policy::{Command, Commands, HandOver, LinkId, LinkUpdate, PathId, PathView, SendView, Time};

use super::progress::Watch;

/// Breaks that are remembered, and notices that wait for the next decision.
const MAX_BREAKS: usize = 32;
/// Where nobody knows how long it takes: a handover of LTE and one of a dish take half of that to twice as much.
const UNKNOWN: Duration = Duration::from_millis(100);
/// Nobody waits longer than that; a longer one is found as any outage is.
const LONGEST: Duration = Duration::from_secs(1);
/// Notices of the same break differ by no more than that.
const SAME: Duration = Duration::from_millis(50);
/// Waiting for nothing that is put up with: at the start, and as a share of the time.
const INITIAL_BUDGET: Duration = Duration::from_millis(500);
const BUDGET_SHARE: f64 = 0.01;

/// Whose link it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// A link of this end: what is sent is at the link at once.
    Own,
    /// A link of the peer: what is sent takes a one-way delay until it is there.
    Peers,
}

/// What was heard, and not yet compared with the paths.
#[derive(Clone, Copy, Debug)]
enum Heard {
    Link(LinkId, HandOver),
    Peer(PathId, Time, HandOverNotice),
}

/// A path that will carry nothing for a while.
#[derive(Clone, Copy, Debug)]
struct Break {
    path: PathId,
    /// When the link goes, and how long it is away.
    at: Time,
    away: Duration,
    whose: Whose,
    /// Since when nothing was sent because of it.
    since: Option<Time>,
    asked: Option<Time>,
}

impl Break {
    /// When the last packet leaves that still gets through: what is queued before it on the way takes its time.
    fn from(&self, path: &PathView) -> Time {
        let queued = path.smoothed_rtt.saturating_sub(path.min_rtt);
        self.at - queued - self.way(path)
    }

    /// When the first one leaves that gets through again.
    fn until(&self, path: &PathView) -> Time {
        self.at + self.away - self.way(path)
    }

    fn way(&self, path: &PathView) -> Duration {
        match self.whose {
            Whose::Own => Duration::ZERO,
            Whose::Peers => path.min_rtt / 2,
        }
    }

    /// When all that was sent before it should be acknowledged.
    fn settled(&self, path: &PathView) -> Time {
        let late = path.rtt_variance.saturating_mul(4);
        self.at.max(self.since.unwrap_or(self.at) + path.smoothed_rtt.saturating_add(late))
    }

    /// Whether the path answers although its link should be away: what was sent in the break came back before it ended.
    fn is_refuted(&self, path: &PathView, now: Time) -> bool {
        let answer = |asked: Time| path.heard_at.is_some_and(|heard| heard >= asked + path.min_rtt);
        now < self.at + self.away && self.asked.is_some_and(answer)
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Breaks {
    heard: Vec<Heard>,
    list: Vec<Break>,
    started: Option<Time>,
    /// For how long paths waited for nothing.
    wasted: Duration,
}

impl Breaks {
    /// News of an own link.
    pub(super) fn on_link(&mut self, update: &LinkUpdate<'_>) {
        if let Some(next) = update.state.hand_over.filter(|next| next.at > update.now) {
            self.hear(Heard::Link(update.link, next));
        }
    }

    /// A notice of the peer.
    pub(super) fn on_notice(&mut self, now: Time, path: PathId, notice: HandOverNotice) {
        self.hear(Heard::Peer(path, now, notice));
    }

    fn hear(&mut self, heard: Heard) {
        if self.heard.len() < MAX_BREAKS {
            self.heard.push(heard);
        }
    }

    /// Whether there are any.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.heard.is_empty() && self.list.is_empty()
    }

    /// Compares what was heard with the paths, tells the watch which of them are in a break, and asks these whether they are. True if any
    /// is.
    #[inline(never)]
    pub(super) fn apply(&mut self, view: &SendView<'_>, watch: &mut Watch, commands: &mut Commands) -> bool {
        let now = view.now;
        let started = *self.started.get_or_insert(now);
        for heard in std::mem::take(&mut self.heard) {
            self.note(view, heard);
        }
        let mut any = false;
        let budget = INITIAL_BUDGET + now.since(started).mul_f64(BUDGET_SHARE);
        let (list, wasted) = (&mut self.list, &mut self.wasted);
        list.retain_mut(|next| {
            let Some(path) = view.path(next.path) else {
                watch.set_break(next.path, None);
                return false;
            };
            let is_over = now >= next.until(path);
            let is_refuted = next.is_refuted(path, now);
            if is_over || is_refuted {
                if is_refuted {
                    *wasted = wasted.saturating_add(now.since(next.since.unwrap_or(now)));
                }
                watch.set_break(path.id, None);
                let is_silent = next.since.is_some() && path.bytes_in_flight > 0;
                if is_silent && !is_refuted {
                    commands.push(Command::Ping { path: path.id });
                }
                return false;
            }
            let is_affordable = next.since.is_some() || *wasted <= budget;
            if now < next.from(path) || !is_affordable {
                return true;
            }
            next.since.get_or_insert(now);
            if now >= next.at && next.asked.is_none() {
                next.asked = Some(now);
                commands.push(Command::Ping { path: path.id });
            }
            watch.set_break(path.id, Some(now >= next.settled(path)));
            any = true;
            true
        });
        any
    }

    /// When one of them begins or ends, or what was in flight is taken for gone.
    pub(super) fn next_change(&self, view: &SendView<'_>) -> Option<Time> {
        let of = |next: &Break| {
            let path = view.path(next.path)?;
            let changes = [next.at, next.settled(path), next.until(path)];
            changes.into_iter().filter(|at| *at > view.now).min()
        };
        self.list.iter().filter(|next| next.since.is_some()).filter_map(of).min()
    }

    fn note(&mut self, view: &SendView<'_>, heard: Heard) {
        match heard {
            Heard::Link(link, next) => {
                let away = next.interruption.unwrap_or(UNKNOWN);
                let of_link = view.paths.iter().filter(|path| path.link == Some(link));
                for path in of_link {
                    self.add(view.now, Break::of(path.id, next.at, away, Whose::Own));
                }
            }
            Heard::Peer(id, came, notice) => {
                // By the quickest way, as acknowledgements come.
                let way = view.paths.iter().map(|path| path.min_rtt / 2).min().unwrap_or_default();
                let at = (came + notice.starts_in) - way;
                self.add(view.now, Break::of(id, at, notice.interruption.unwrap_or(UNKNOWN), Whose::Peers));
            }
        }
    }

    /// A newer word of the same break takes the place of an older one, unless that has begun.
    fn add(&mut self, now: Time, new: Break) {
        if new.at + new.away <= now {
            return;
        }
        let of_path = |next: &&mut Break| next.path == new.path;
        if let Some(known) = self.list.iter_mut().find(of_path) {
            if known.since.is_none() {
                (known.at, known.away) = (new.at, new.away);
            } else if known.at.max(new.at).since(known.at.min(new.at)) <= SAME {
                known.away = new.away;
            }
        } else if self.list.len() < MAX_BREAKS {
            self.list.push(new);
        }
    }
}

impl Break {
    fn of(path: PathId, at: Time, away: Duration, whose: Whose) -> Self {
        Break { path, at, away: away.min(LONGEST), whose, since: None, asked: None }
    }
}

#[cfg(test)]
mod tests;
