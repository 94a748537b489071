//! Where the head of the queue goes.

use std::time::Duration;

use hawser_policy::{Assignment, Decision, PathMask, PathView, QueueView, Selection, SendView};

use super::order::{Candidate, Order};
use super::rescue::Budget;
use crate::arrival::paced_rate;
use crate::choose::mask;

/// What is lost and left to a fast path that is full, rather than sent on one that delivers later by `lag`: what it delivers
/// meanwhile. Of more than that the slow path takes its share, since everything waits for the last of it. A fast path opens within
/// half a round trip even when it has just reduced its window; for less than that nothing waits.
pub(super) fn delivered_before(fast: &PathView, lag: Duration) -> u64 {
    if lag <= fast.smoothed_rtt / 2 { 0 } else { paced_rate(fast).bytes_in(lag) }
}

/// When a path that is full will presumably have room again: with the next burst of the pacer, or the next acknowledgement. `None` if
/// that is overdue.
fn opens_within(view: &SendView<'_>, path: &PathView) -> Option<Duration> {
    if path.window_left() >= u64::from(path.max_datagram_size) {
        return Some(path.next_release.map_or(Duration::ZERO, |at| at.since(view.now)));
    }
    let due = path.oldest_in_flight? + path.smoothed_rtt;
    let tolerance = path.rtt_variance.saturating_mul(4);
    (view.now <= due + tolerance).then(|| due.since(view.now))
}

/// How much what is queued before a datagram counts, against the time until a faster path has room. By 1, each would arrive as soon as
/// it can by itself.
const QUEUE_WEIGHT: u32 = 4;

/// One decision about what is queued.
pub(super) struct Placement<'v, 'a> {
    pub(super) view: &'v SendView<'a>,
    pub(super) order: Order<'v, 'a>,
    /// Whether the queue is more than the end of the data.
    pub(super) lasting: bool,
    /// What copies may cost; `None` if nothing is copied.
    pub(super) budget: Option<(&'v mut Budget, f64)>,
}

impl Placement<'_, '_> {
    /// The path of `first` delivers soonest, whether it can send now or not; that of `second` among those that can.
    pub(super) fn decide(self, first: Candidate<'_>, second: Option<Candidate<'_>>) -> Decision {
        let fast = first.path;
        if fast.sendable() > 0 {
            let copies = self.second_for_small(fast);
            return Decision::Send(Assignment::next(fast.id).with(|assignment| assignment.copies = copies));
        }
        let wait = Decision::Wait(fast.next_release);
        let Some(second) = second else { return wait };
        let (view, path) = (self.view, second.path);
        let lag = second.delay.saturating_sub(first.delay);
        if view.queue.retransmit > 0 {
            let max_bytes = view.queue.retransmit.saturating_sub(delivered_before(fast, lag));
            if max_bytes == 0 {
                return self.beyond_lost(second).unwrap_or(wait);
            }
            return Decision::Send(
                Assignment::next(path.id).with(|assignment| assignment.max_bytes = max_bytes),
            );
        }
        if view.queue.datagrams > 0 {
            // Bytes that wait behind others keep those waiting that follow: where more comes than the fast path takes, what is too
            // much goes elsewhere in the end, and the sooner it does the shorter is the queue for all.
            let queued = paced_rate(fast).time_for(view.queue.datagrams).saturating_mul(QUEUE_WEIGHT);
            let opens_later = |time: Duration| time.saturating_add(queued) < lag;
            if lag > fast.smoothed_rtt / 2 && opens_within(view, fast).is_some_and(opens_later) {
                return wait;
            }
            let one = u64::from(path.max_datagram_size);
            return Decision::Send(Assignment::next(path.id).with(|assignment| assignment.max_bytes = one));
        }
        self.ahead(second).unwrap_or(wait)
    }

    /// What was lost waits for the fast path. Meanwhile the other one carries bytes that the fast path would not deliver sooner
    /// after that, if there are any.
    fn beyond_lost(&self, second: Candidate<'_>) -> Option<Decision> {
        let QueueView { unsent, retransmit, .. } = self.view.queue;
        let skipped = self.order.gap(second).saturating_sub(retransmit);
        (skipped < unsent).then(|| {
            Decision::Send(Assignment::next(second.path.id).with(|assignment| {
                assignment.selection = Selection::Unsent(skipped);
                assignment.max_bytes = unsent - skipped;
            }))
        })
    }

    /// Bytes so far ahead that they arrive in order, if there are any.
    fn ahead(&self, second: Candidate<'_>) -> Option<Decision> {
        let unsent = self.view.queue.unsent;
        let gap = self.order.gap(second);
        let last_datagram = unsent.saturating_sub(u64::from(second.path.max_datagram_size));
        let skipped = match gap < unsent {
            true => gap,
            false if self.lasting && last_datagram > 0 => last_datagram,
            false => return None,
        };
        Some(Decision::Send(Assignment::next(second.path.id).with(|assignment| {
            assignment.selection = Selection::Skip(skipped);
            assignment.max_bytes = unsent - skipped;
        })))
    }

    /// The path that takes a copy of all that is queued, if that fits one packet and the fast path may have died since it
    /// was last heard from: a request of 200 bytes costs nothing, and its answer may hang on it.
    #[inline]
    fn second_for_small(self, fast: &PathView) -> PathMask {
        let bytes = self.view.queue.total();
        let is_small = self.view.queue.datagrams == 0 && bytes <= u64::from(fast.max_datagram_size);
        let is_heard = fast.heard_at.is_some_and(|at| self.view.now.since(at) <= fast.smoothed_rtt / 4);
        if !is_small || fast.bytes_in_flight > 0 || is_heard {
            return PathMask::NONE;
        }
        self.copy_small(fast, bytes)
    }

    #[cold]
    fn copy_small(self, fast: &PathView, bytes: u64) -> PathMask {
        let Some((budget, needless)) = self.budget else { return PathMask::NONE };
        let Some(second) = self.order.soonest_sendable_beside(fast.id) else { return PathMask::NONE };
        if budget.left(self.view, needless) < bytes {
            return PathMask::NONE;
        }
        budget.spend(bytes);
        mask(self.view, |path| path.id == second.path.id)
    }
}
