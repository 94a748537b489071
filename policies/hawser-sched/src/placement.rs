//! Placing bytes by the time at which they arrive: what EDPF, DAPS, OTIAS, STTF, DPSAF and LATE have in common (and, in part, SEDPF).
//!
//! All of them put the next bytes of the queue on the path that delivers them first, counting what is queued on each path
//! already. On this seam a path with a full window takes no bytes ahead of time; instead a slower path that can send leaves at
//! the head what the faster ones will have delivered by the time that its own bytes arrive ([`Selection::Skip`]). The
//! schedulers differ in the two estimates.

use std::time::Duration;

use hawser_policy::{Assignment, Decision, PathView, Rate, Selection, SendView, Time};

use crate::arrival::paced_rate;
use crate::choose::explored;

/// The two estimates of a scheduler.
pub(crate) trait Estimates {
    /// When a datagram arrives that is given to the path now, from now.
    fn arrival(&mut self, path: &PathView) -> Duration;

    /// Bytes that `fast` delivers before what `slow` sends now arrives, `arrival` from now.
    fn delivered_before(&mut self, fast: &PathView, slow: &PathView, arrival: Duration) -> u64;
}

/// Sends on the path that delivers first among those that can send, behind what faster paths will deliver sooner.
pub(crate) fn place(view: &SendView<'_>, estimates: &mut impl Estimates) -> Decision {
    let mut best: Option<(Duration, &PathView)> = None;
    for path in explored(view).filter(|path| path.sendable() > 0) {
        let arrival = estimates.arrival(path);
        if best.is_none_or(|(least, other)| (arrival, path.id) < (least, other.id)) {
            best = Some((arrival, path));
        }
    }
    let Some((arrival, path)) = best else { return Decision::Wait(None) };
    let (mut gap, mut release) = (0u64, None);
    for fast in explored(view).filter(|fast| fast.id != path.id) {
        if estimates.arrival(fast) < arrival {
            gap = gap.saturating_add(estimates.delivered_before(fast, path, arrival));
            release = earlier(release, fast.next_release);
        }
    }
    behind(view, path, gap, release)
}

/// Sends on `path` what lies `gap` bytes behind the head of the queue; if nothing does, waits for the faster paths.
pub(crate) fn behind(view: &SendView<'_>, path: &PathView, gap: u64, release: Option<Time>) -> Decision {
    if gap == 0 {
        return Decision::Send(Assignment::next(path.id));
    }
    let unsent = view.queue.unsent;
    if gap >= unsent {
        return Decision::Wait(release);
    }
    Decision::Send(Assignment::next(path.id).with(|assignment| {
        assignment.selection = Selection::Skip(gap);
        assignment.max_bytes = unsent - gap;
    }))
}

pub(crate) fn earlier(first: Option<Time>, second: Option<Time>) -> Option<Time> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.min(second)),
        (first, second) => first.or(second),
    }
}

/// The one-way delay of a path, taken as half of the round-trip time as in the papers.
pub(crate) fn one_way(path: &PathView) -> Duration {
    path.smoothed_rtt / 2
}

/// How long a datagram takes at the rate at which a path uses its window.
pub(crate) fn serialisation(path: &PathView) -> Duration {
    let rate = paced_rate(path);
    // A path without window or delay is not held to be endlessly slow.
    if rate == Rate::ZERO { Duration::ZERO } else { rate.time_for(datagram(path)) }
}

/// The size of a datagram, never zero.
pub(crate) fn datagram(path: &PathView) -> u64 {
    u64::from(path.max_datagram_size).max(1)
}

/// Whole round trips of a path within `span`.
pub(crate) fn rounds_in(path: &PathView, span: Duration) -> u64 {
    let round = path.smoothed_rtt.as_nanos().max(1);
    u64::try_from(span.as_nanos() / round).unwrap_or(u64::MAX)
}
