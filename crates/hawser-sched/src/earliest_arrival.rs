use std::time::Duration;

use hawser_policy::{
    Assignment, Commands, Decision, Event, Interests, PathChange, PathMask, PathView, PolicyInfo, Scheduler,
    Selection, SendView, Time,
};
use smallvec::SmallVec;

mod parameters;
mod progress;
mod rescue;
mod standing;

pub use parameters::EarliestArrivalParameters;
use progress::Watch;
use rescue::Budget;
use standing::{StandingQueue, is_lasting};

use crate::arrival::window_rate;
use crate::choose::{explore, explored, mask};

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
/// * **Retransmissions wait for a faster path** if that brings them sooner: a hole holds up everything behind it.
///   Datagrams wait only as long as the faster path needs for those before them.
/// * **Nobody waits for the dead.** A path whose acknowledgements are due and missing for twice as long as they lately did
///   is left out until it answers. So is one that holds more than it delivers in two and a half seconds.
/// * **What is late is copied to another path**: while that has other work, oldest first and at half its rate at most;
///   when nothing is queued any more, as soon as a round trip takes longer than usual, or as the slow path would be
///   done later. A message that fits one packet goes on two paths at once if nobody knows whether the first is alive.
/// * **Copies have a budget.** What turns out to have been copied needlessly may not exceed one percent of what was
///   acknowledged. A link that pauses all the time uses it up and is left in peace.
#[derive(Clone, Debug, Default)]
pub struct EarliestArrival {
    parameters: EarliestArrivalParameters,
    standing: Option<StandingQueue>,
    watch: Watch,
    budget: Budget,
    /// Since when nothing is queued.
    empty_since: Option<Time>,
}

impl EarliestArrival {
    /// Its name in the registry; the entry `default` is the same.
    pub const NAME: &'static str = "earliestarrival";

    /// The same with other parameters.
    pub fn with_parameters(parameters: EarliestArrivalParameters) -> Self {
        EarliestArrival { parameters, ..EarliestArrival::default() }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        parameters::info()
    }

    fn place(
        &mut self,
        view: &SendView<'_>,
        order: &Order<'_>,
        first: Candidate<'_>,
        lasting: bool,
    ) -> Decision {
        let fast = first.path;
        if fast.sendable() > 0 {
            let copies = self.second_for_small(view, order, fast);
            return Decision::Send(Assignment { copies, ..Assignment::next(fast.id) });
        }
        let wait = Decision::Wait(fast.next_release);
        let Some(second) = order.soonest(|path| path.sendable() > 0) else { return wait };
        let (path, lag) = (second.path, second.delay.saturating_sub(first.delay));
        if view.queue.retransmit > 0 {
            // The fast path opens within half a round trip even when it has just reduced its window.
            if lag > fast.smoothed_rtt / 2 {
                return wait;
            }
            return Decision::Send(Assignment {
                max_bytes: view.queue.retransmit,
                ..Assignment::next(path.id)
            });
        }
        if view.queue.datagrams > 0 {
            // What is queued before the last one keeps the fast path busy for so long.
            let queued = window_rate(fast).time_for(view.queue.datagrams);
            if lag > queued.max(fast.smoothed_rtt / 2) {
                return wait;
            }
            let one = u64::from(path.max_datagram_size);
            return Decision::Send(Assignment { max_bytes: one, ..Assignment::next(path.id) });
        }
        let unsent = view.queue.unsent;
        let gap = order.gap(second);
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

    /// When an empty queue will be found to be the end, rather than a buffer that is about to be refilled.
    fn end(&self, view: &SendView<'_>) -> Option<Time> {
        let fast = view.preferred().min_by_key(|path| path.smoothed_rtt)?;
        let end = self.empty_since? + rescue::refill_time(fast);
        (end > view.now && view.paths.len() > 1).then_some(end)
    }

    /// The path that takes a copy of all that is queued, if that fits one packet and the fast path may have died since it
    /// was last heard from: a request of 200 bytes costs nothing, and its answer may hang on it.
    #[inline]
    fn second_for_small(&mut self, view: &SendView<'_>, order: &Order<'_>, fast: &PathView) -> PathMask {
        let bytes = view.queue.total();
        let is_small = view.queue.datagrams == 0 && bytes <= u64::from(fast.max_datagram_size);
        let is_heard = fast.heard_at.is_some_and(|at| view.now.since(at) <= fast.smoothed_rtt);
        if !is_small || !self.parameters.rescue || fast.bytes_in_flight > 0 || is_heard {
            return PathMask::NONE;
        }
        self.copy_small(view, order, fast, bytes)
    }

    #[cold]
    fn copy_small(
        &mut self,
        view: &SendView<'_>,
        order: &Order<'_>,
        fast: &PathView,
        bytes: u64,
    ) -> PathMask {
        let room = |path: &PathView| path.id != fast.id && path.sendable() > 0;
        let Some(second) = order.soonest(room) else { return PathMask::NONE };
        if self.budget.left(view, self.parameters.needless) < bytes {
            return PathMask::NONE;
        }
        self.budget.spend(bytes);
        mask(view, |path| path.id == second.path.id)
    }
}

/// The paths that are compared by when they deliver, each with its delay. Made once for a decision, which asks several
/// times.
struct Order<'a>(SmallVec<[Candidate<'a>; 4]>);

/// A path that is relied upon.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    path: &'a PathView,
    /// For comparison with other paths only.
    ///
    /// One-way delays share the unknown clock offset, so their difference is exact. Without them the round-trip times
    /// must do, and their whole difference is taken, not half: acknowledgements usually return on the fastest path, so
    /// that each round trip contains its path's forward delay and the same way back. A path whose oldest packet is
    /// late has a longer delay than its round trips told.
    delay: Duration,
}

impl<'a> Order<'a> {
    fn new(view: &SendView<'a>, watch: &Watch, amiss: bool) -> Self {
        // When every path is silent, none is worse than the others.
        let avoids = amiss && !view.preferred().all(|path| watch.is_avoided(path));
        let explored = explored(view);
        // Whether every path reports a one-way delay; a mixture could not be compared.
        let one_way = explored.clone().all(|path| path.one_way_delay.is_some());
        let mut order = Order(SmallVec::new());
        for path in explored {
            if avoids && watch.is_avoided(path) {
                continue;
            }
            let delay = path.one_way_delay.filter(|_| one_way).unwrap_or(path.smoothed_rtt);
            let lateness = if amiss { watch.lateness(path) } else { Duration::ZERO };
            order.0.push(Candidate { path, delay: delay.saturating_add(lateness) });
        }
        order
    }

    /// The one that delivers soonest of those that `select` picks.
    fn soonest(&self, select: impl Fn(&PathView) -> bool) -> Option<Candidate<'a>> {
        let candidates = self.0.iter().filter(|candidate| select(candidate.path));
        candidates.min_by_key(|candidate| (candidate.delay, candidate.path.id)).copied()
    }

    /// The gap of STMS, for any number of paths: bytes that the faster paths deliver before a byte sent on `slow` now
    /// arrives. What lies within the gap arrives sooner if it is left to them.
    ///
    /// A lag within the noise of the measurement is none: paths of equal delay share the head of the queue, which cuts
    /// it into fewer pieces.
    fn gap(&self, slow: Candidate<'_>) -> u64 {
        let noise = |path: &PathView| path.rtt_variance.max(path.smoothed_rtt / 8);
        let mut gap = 0_u64;
        for fast in self.0.iter().filter(|fast| fast.delay < slow.delay) {
            let lag = slow.delay - fast.delay;
            if lag > noise(fast.path) && lag > noise(slow.path) {
                gap = gap.saturating_add(window_rate(fast.path).bytes_in(lag));
            }
        }
        gap
    }
}

/// Waits no longer than until something is to be looked after.
fn until(decision: Decision, look: Option<Time>) -> Decision {
    match decision {
        Decision::Wait(at) => Decision::Wait(match (at, look) {
            (Some(at), Some(look)) => Some(at.min(look)),
            (at, look) => at.or(look),
        }),
        send => send,
    }
}

impl Scheduler for EarliestArrival {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let EarliestArrivalParameters { standing_rounds, shortest_silence, rescue, .. } = self.parameters;
        let amiss = self.watch.note(view, shortest_silence);
        if let Some(decision) = explore(view) {
            return decision;
        }
        let is_idle = view.queue.total() == 0;
        self.empty_since = is_idle.then(|| self.empty_since.unwrap_or(view.now));
        if rescue && (is_idle || amiss) {
            self.rescue(view, commands);
        }
        let decision = if is_idle {
            Decision::Wait(None)
        } else {
            let order = Order::new(view, &self.watch, amiss);
            match order.soonest(|_| true) {
                None => Decision::Wait(None),
                Some(fast) => {
                    let unsent = view.queue.unsent;
                    let lasting =
                        is_lasting(&mut self.standing, standing_rounds, fast.path, unsent, view.now);
                    self.place(view, &order, fast, lasting)
                }
            }
        };
        match decision {
            Decision::Wait(_) => {
                until(until(decision, self.watch.next_look(view, shortest_silence)), self.end(view))
            }
            send => send,
        }
    }

    fn interests(&self) -> Interests {
        Interests::PATHS | Interests::IDLE
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        let Event::Path { path, change, .. } = *event else { return };
        self.standing = None;
        if matches!(change, PathChange::Abandoned | PathChange::Recovered) {
            self.watch.forget(path);
        }
    }
}

#[cfg(test)]
mod tests;
