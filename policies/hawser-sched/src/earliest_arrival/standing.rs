//! Whether the queue lasts, or is the end of the data.

use hawser_policy::{PathId, PathView, Time};

/// Watches whether the queue holds its level although the fastest path works at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StandingQueue {
    fast: PathId,
    /// Start of the current round, and what was queued then.
    round_start: Time,
    unsent: u64,
    /// Rounds in which the queue held.
    rounds: u32,
}

/// Notes what is queued; whether it has stood for as many `rounds` as make it count as lasting.
pub(super) fn is_lasting(
    watch: &mut Option<StandingQueue>,
    rounds: u32,
    fast: &PathView,
    unsent: u64,
    now: Time,
) -> bool {
    let fresh = StandingQueue { fast: fast.id, round_start: now, unsent, rounds: 0 };
    let standing = watch.get_or_insert(fresh);
    // Without refill it falls by a window per round.
    let drains = standing.unsent.saturating_sub(unsent) > fast.congestion_window / 2;
    if fast.sendable() >= unsent || standing.fast != fast.id || drains {
        *standing = fresh;
    } else if now.since(standing.round_start) >= fast.smoothed_rtt {
        *standing = StandingQueue { rounds: standing.rounds.saturating_add(1), ..fresh };
    }
    standing.rounds >= rounds
}
