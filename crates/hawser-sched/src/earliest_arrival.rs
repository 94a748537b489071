use std::time::Duration;

use hawser_policy::{
    Assignment, Command, Commands, Decision, Event, Interests, ParameterInfo, Parameters, PathChange, PathId,
    PathView, PolicyInfo, Scheduler, Selection, SendView, Time,
};

use crate::arrival::{Arrivals, arrivals, window_rate};
use crate::choose::explore;

/// What can be set of [`EarliestArrival`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarliestArrivalParameters {
    /// How many round trips of the fastest path a queue must stand before it counts as lasting.
    pub standing_rounds: u32,
    /// Silence shorter than this is no silence: hosts pause, radio links take turns.
    pub shortest_silence: Duration,
    /// Whether what is in flight on a silent path, or at the end on slow ones, is copied to the fastest one.
    pub rescue: bool,
}

impl Default for EarliestArrivalParameters {
    fn default() -> Self {
        EarliestArrivalParameters {
            standing_rounds: 2,
            shortest_silence: Duration::from_millis(15),
            rescue: true,
        }
    }
}

impl EarliestArrivalParameters {
    /// Those of a spec such as `default,rescue=off`.
    pub(crate) fn read(parameters: &Parameters) -> Self {
        EarliestArrivalParameters {
            standing_rounds: u32::try_from(parameters.integer("standing_rounds")).unwrap_or(u32::MAX),
            shortest_silence: parameters.duration("shortest_silence"),
            rescue: parameters.flag("rescue"),
        }
    }
}

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
/// * **Nobody waits for the dead.** A path whose acknowledgements are due and missing for longer than they lately did is
///   left out until it answers, and what is in flight on it is copied to the fastest path: well before the core declares
///   it suspect. A false alarm costs one window of copies; a true one spares the reader the probe timeouts of a link
///   whose queue, as it faded, grew to many times its delay.
/// * **The end waits for no slow path.** When nothing is queued any more, the fastest path carries copies of what others
///   will not deliver by the time that it has delivered its own.
#[derive(Clone, Debug, Default)]
pub struct EarliestArrival {
    parameters: EarliestArrivalParameters,
    standing: Option<StandingQueue>,
    progress: ProgressWatch,
    /// Paths of which everything in flight was copied since something was last queued.
    copied: Vec<PathId>,
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

/// Notes what is queued; whether it has stood for as many `rounds` as make it count as lasting.
fn is_lasting(
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

/// For how long a receiver may hold back the acknowledgement of a last packet (RFC 9000 section 18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// More datagrams in flight than this, and acknowledgements follow without that delay: every second packet draws one,
/// and some may be lost.
const STREAMING: u64 = 8;

/// A pause is forgotten within this many round trips.
const PAUSE_MEMORY: u32 = 16;

/// How the acknowledgements of each path come in.
#[derive(Clone, Debug, Default)]
struct ProgressWatch(Vec<Progress>);

#[derive(Clone, Copy, Debug)]
struct Progress {
    path: PathId,
    /// Bytes acknowledged so far.
    acked: u64,
    /// When that last changed, or nothing was in flight.
    at: Time,
    /// The longest pause between acknowledgements, forgotten little by little.
    pause: Duration,
    /// Whether its acknowledgements are missing.
    silent: bool,
    /// Whether copies of what is in flight were ordered in this silence.
    rescued: bool,
}

impl Progress {
    fn update(&mut self, path: &PathView, now: Time, shortest_silence: Duration) {
        let answers = self.acked != path.bytes_acked;
        if answers {
            let pause = now.since(self.at);
            // Shorter ones decide nothing: any silence is more than twice as long.
            if pause.max(self.pause) > shortest_silence / 2 {
                self.remember(pause, path.smoothed_rtt);
            }
        }
        if answers || path.bytes_in_flight == 0 {
            (self.acked, self.at) = (path.bytes_acked, now);
            (self.silent, self.rescued) = (false, false);
        } else {
            self.silent = self.is_silent(path, now, shortest_silence);
        }
    }

    /// Keeps the longest pause; older ones count for less.
    fn remember(&mut self, pause: Duration, rtt: Duration) {
        // Without a round-trip time (zero by zero) nothing is remembered.
        let forgotten = (pause.as_secs_f64() / rtt.saturating_mul(PAUSE_MEMORY).as_secs_f64()).min(1.0);
        self.pause = pause.max(self.pause.mul_f64(1.0 - forgotten));
    }

    /// Acknowledgements are due, and have been missing for longer than they lately did, or for longer than round trips
    /// lately took. A probe timeout would be later by far on a path whose delay just grew, as that of a fading radio
    /// link does before it goes.
    fn is_silent(&self, path: &PathView, now: Time, shortest_silence: Duration) -> bool {
        let quiet = now.since(self.at);
        if quiet <= shortest_silence {
            return false;
        }
        let streams = path.bytes_in_flight > STREAMING * u64::from(path.max_datagram_size);
        let held_back = if streams { Duration::ZERO } else { MAX_ACK_DELAY };
        let expected = path.smoothed_rtt.saturating_add(held_back);
        let age = path.oldest_in_flight.map_or(Duration::ZERO, |sent| now.since(sent));
        let is_missing = quiet > self.pause.saturating_mul(2)
            || age > expected.saturating_add(path.rtt_variance.saturating_mul(4));
        quiet > path.probe_timeout || (age > expected && is_missing)
    }
}

impl ProgressWatch {
    /// Notes what was acknowledged; whether any path fell silent.
    fn note(&mut self, view: &SendView<'_>, shortest_silence: Duration) -> bool {
        let mut any_silent = false;
        for path in view.paths {
            match self.0.iter_mut().find(|progress| progress.path == path.id) {
                Some(progress) => {
                    progress.update(path, view.now, shortest_silence);
                    any_silent |= progress.silent;
                }
                None => self.0.push(Progress {
                    path: path.id,
                    acked: path.bytes_acked,
                    at: view.now,
                    pause: Duration::ZERO,
                    silent: false,
                    rescued: false,
                }),
            }
        }
        any_silent
    }

    fn is_silent(&self, path: &PathView) -> bool {
        self.0.iter().any(|progress| progress.path == path.id && progress.silent)
    }

    /// Orders copies of what is in flight on paths that fell silent, once for each silence.
    fn rescue(&mut self, view: &SendView<'_>, to: PathId, commands: &mut Commands) {
        for path in view.preferred().filter(|path| path.id != to && path.bytes_in_flight > 0) {
            let Some(progress) = self.0.iter_mut().find(|progress| progress.path == path.id) else {
                continue;
            };
            if !progress.rescued && progress.silent {
                progress.rescued = true;
                commands.push(Command::Reinject { from: path.id, to, max_bytes: u64::MAX });
            }
        }
    }
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
        let default = EarliestArrivalParameters::default();
        let second = Duration::from_secs(1);
        PolicyInfo::new(Self::NAME, "every byte where it arrives first; no path idle while work lasts")
            .alias(crate::DEFAULT)
            .source("Hawser; after STMS (Shi and others, USENIX ATC 2018)")
            .parameter(
                ParameterInfo::integer("standing_rounds", 0..=100, default.standing_rounds.into())
                    .unit("round trips")
                    .meaning("a queue that stands so long on the fastest path is no end of the data"),
            )
            .parameter(
                ParameterInfo::duration(
                    "shortest_silence",
                    Duration::ZERO..=second,
                    default.shortest_silence,
                )
                .meaning("missing acknowledgements make a path silent after no less than this"),
            )
            .parameter(ParameterInfo::flag("rescue", default.rescue).meaning(
                "copy what is in flight on silent paths, and at the end on slow ones, to the fastest",
            ))
    }

    /// Nothing is queued any more: the fastest path takes copies of what others have under way and will not deliver within a
    /// round trip after it has delivered all of its own. What is about to be acknowledged is waited for: the copy would come
    /// no sooner, and who is a little late is not lost.
    fn finish(
        copied: &mut Vec<PathId>,
        view: &SendView<'_>,
        fast: &PathView,
        commands: &mut Commands,
    ) -> Decision {
        let is_idle = fast.bytes_in_flight == 0;
        let round = fast.smoothed_rtt;
        let patience = if is_idle { round } else { round.saturating_mul(2) };
        let mut next_look: Option<Time> = None;
        for path in view.preferred().filter(|path| path.id != fast.id && path.bytes_in_flight > 0) {
            let Some(sent) = path.oldest_in_flight.filter(|_| !copied.contains(&path.id)) else { continue };
            let late = sent + path.smoothed_rtt + round;
            let is_late = is_idle && late < view.now;
            if is_late || window_rate(path).time_for(path.bytes_in_flight) > patience {
                copied.push(path.id);
                commands.push(Command::Reinject { from: path.id, to: fast.id, max_bytes: u64::MAX });
            } else if is_idle {
                next_look = Some(next_look.map_or(late, |at| at.min(late)));
            }
        }
        Decision::Wait(next_look)
    }

    fn place<'a>(
        view: &SendView<'_>,
        arrivals: Arrivals<impl Iterator<Item = &'a PathView> + Clone>,
        fast: &PathView,
        lasting: bool,
    ) -> Decision {
        if fast.sendable() > 0 {
            return Decision::Send(Assignment::next(fast.id));
        }
        let wait = Decision::Wait(fast.next_release);
        let Some(path) = arrivals.soonest_sendable() else { return wait };
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

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let EarliestArrivalParameters { standing_rounds, shortest_silence, rescue } = self.parameters;
        let any_silent = self.progress.note(view, shortest_silence);
        if let Some(decision) = explore(view) {
            return decision;
        }
        // When every path is silent, none is worse than the others.
        let is_silent = |path: &PathView| self.progress.is_silent(path);
        let avoids_silent = any_silent && !view.preferred().all(is_silent);
        let lively = arrivals(view, |path| !avoids_silent || !is_silent(path));
        let Some(fast) = lively.soonest() else { return Decision::Wait(None) };
        let decision = if view.queue.total() > 0 {
            self.copied.clear();
            let lasting = is_lasting(&mut self.standing, standing_rounds, fast, view.queue.unsent, view.now);
            Self::place(view, lively, fast, lasting)
        } else {
            drop(lively);
            if rescue { Self::finish(&mut self.copied, view, fast, commands) } else { Decision::Wait(None) }
        };
        if avoids_silent && rescue {
            self.progress.rescue(view, fast.id, commands);
        }
        decision
    }

    fn interests(&self) -> Interests {
        Interests::PATHS | Interests::IDLE
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        let Event::Path { path, change, .. } = *event else { return };
        self.standing = None;
        if matches!(change, PathChange::Abandoned | PathChange::Recovered) {
            self.progress.0.retain(|progress| progress.path != path);
        }
    }
}

#[cfg(test)]
mod tests;
