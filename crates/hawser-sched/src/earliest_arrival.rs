use hawser_policy::{
    Assignment, Commands, Decision, PathChange, PathId, PathView, Scheduler, Selection, SendView, Time,
};

use crate::arrival::Arrivals;
use crate::choose::explore;

/// How many round trips of the fastest path a queue must stand before it counts as lasting.
const STANDING_ROUNDS: u32 = 2;

/// EarliestArrival, the default: each byte goes where it arrives first, and no path idles while there is lasting work.
///
/// It is STMS's reasoning with what bulk transfer over links that come and go needs in addition:
///
/// * **The head of the queue goes on the fastest path**; slower ones take bytes so far ahead that they arrive in order.
///   Near the end of the data the fast path alone delivers sooner, and the slow one stays silent: a short transfer is
///   never slower than on the best path alone. (ECF reaches this by waiting, but reorders before.)
/// * **A standing queue is not an end.** An application that refills a small send buffer shows little queued at any
///   moment. If the queue has been there for two round trips without draining, the fast path is not enough, and slower
///   paths take the last bytes there are.
/// * **Retransmissions and datagrams wait for a faster path** if that brings them sooner: a hole holds up everything
///   behind it.
/// * **Nobody waits for the dead.** A path with data in flight and no acknowledgement for a probe timeout is left out
///   until it answers, well before the core declares it suspect.
#[derive(Clone, Debug, Default)]
pub struct EarliestArrival {
    standing: Option<StandingQueue>,
    progress: ProgressWatch,
}

/// Watches whether the queue holds its level although the fastest path works at it.
#[derive(Clone, Copy, Debug)]
struct StandingQueue {
    fast: PathId,
    /// Start of the current round, and what was queued then.
    round_start: Time,
    unsent: u64,
    /// Rounds in which the queue held.
    rounds: u32,
}

/// Notes what is queued; whether it has stood long enough to count as lasting.
fn is_lasting(watch: &mut Option<StandingQueue>, fast: &PathView, unsent: u64, now: Time) -> bool {
    let fresh = StandingQueue { fast: fast.id, round_start: now, unsent, rounds: 0 };
    let standing = watch.get_or_insert(fresh);
    // Without refill it falls by a window per round.
    let drains = standing.unsent.saturating_sub(unsent) > fast.congestion_window / 2;
    if fast.sendable() >= unsent || standing.fast != fast.id || drains {
        *standing = fresh;
    } else if now.since(standing.round_start) >= fast.smoothed_rtt {
        *standing = StandingQueue { rounds: standing.rounds.saturating_add(1), ..fresh };
    }
    standing.rounds >= STANDING_ROUNDS
}

/// Per path: its acknowledged bytes, and when that last changed or nothing was in flight.
#[derive(Clone, Debug, Default)]
struct ProgressWatch(Vec<(PathId, u64, Time)>);

impl ProgressWatch {
    fn note(&mut self, view: &SendView<'_>) {
        for path in view.paths {
            match self.0.iter_mut().find(|(id, ..)| *id == path.id) {
                Some((_, acked, at)) if *acked != path.bytes_acked || path.bytes_in_flight == 0 => {
                    (*acked, *at) = (path.bytes_acked, view.now);
                }
                Some(_) => {}
                None => self.0.push((path.id, path.bytes_acked, view.now)),
            }
        }
    }

    fn is_silent(&self, path: &PathView, now: Time) -> bool {
        self.0.iter().any(|(id, _, at)| *id == path.id && now.since(*at) > path.probe_timeout)
    }
}

impl EarliestArrival {
    /// Its name in the registry; the entry `default` is the same.
    pub const NAME: &'static str = "earliestarrival";

    fn place<F>(view: &SendView<'_>, arrivals: &Arrivals<'_, F>, fast: &PathView, lasting: bool) -> Decision
    where
        F: Fn(&PathView) -> bool,
    {
        let wait = Decision::Wait(fast.next_release);
        let Some(path) = arrivals.soonest_sendable() else { return wait };
        if path.id == fast.id {
            return Decision::Send(Assignment::next(path.id));
        }
        let urgent = view.queue.retransmit.saturating_add(view.queue.datagrams);
        if urgent > 0 {
            // The fast path opens within half a round trip even when it has just reduced its window.
            if arrivals.lag(path, fast) > fast.smoothed_rtt / 2 {
                return wait;
            }
            return Decision::Send(Assignment { max_bytes: urgent, ..Assignment::next(path.id) });
        }
        let unsent = view.queue.unsent;
        let gap = arrivals.gap(path);
        let last_datagram = unsent.saturating_sub(u64::from(path.max_datagram_size));
        let skipped = match gap < unsent {
            true => gap,
            false if lasting && last_datagram > 0 => last_datagram,
            false => return wait,
        };
        Decision::Send(Assignment {
            selection: Selection::Skip(skipped),
            max_bytes: unsent - skipped,
            ..Assignment::next(path.id)
        })
    }
}

impl Scheduler for EarliestArrival {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        self.progress.note(view);
        if let Some(decision) = explore(view) {
            return decision;
        }
        // When every path is silent, none is worse than the others.
        let is_silent = |path: &PathView| self.progress.is_silent(path, view.now);
        let all_silent = view.preferred().all(is_silent);
        let lively = Arrivals::new(view, |path| all_silent || !is_silent(path));
        let Some(fast) = lively.soonest() else { return Decision::Wait(None) };
        let lasting = is_lasting(&mut self.standing, fast, view.queue.unsent, view.now);
        Self::place(view, &lively, fast, lasting)
    }

    fn on_path_change(&mut self, path: PathId, change: PathChange, _now: Time) {
        self.standing = None;
        if matches!(change, PathChange::Abandoned | PathChange::Recovered) {
            self.progress.0.retain(|(id, ..)| *id != path);
        }
    }
}

#[cfg(test)]
mod tests;
