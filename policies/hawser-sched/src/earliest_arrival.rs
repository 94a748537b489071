use std::sync::Arc;

use hawser_paths::{HandOverNotice, LinkReporter, MeteredNotice};
use hawser_policy::{
    Agent, Commands, Decision, Event, FeatureSet, Figures, Interests, MessageOrigin, Parameters, PathChange,
    PathView, PolicyInfo, Scheduler, SchedulerFactory, SchedulerInit, SendView, Time,
};

mod breaks;
mod costs;
mod messages;
mod order;
mod parameters;
mod pauses;
mod placement;
mod progress;
mod rescue;
mod standing;
mod thin_return;

use breaks::Breaks;
use costs::Costs;
use messages::Messages;
use order::Order;
pub use parameters::EarliestArrivalParameters;
use placement::Placement;
pub(crate) use progress::Watch;
use rescue::Budget;
use standing::{StandingQueue, is_lasting};
use thin_return::ThinReturn;

use crate::choose::explore;

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
/// * **Retransmissions wait for a faster path** if that brings them sooner: a hole holds up everything behind it. Slower
///   paths carry what was never sent meanwhile. Datagrams wait only as long as the faster path presumably needs until it
///   has room, and for those before them, which count fourfold: they keep others waiting as well.
/// * **Nobody waits for the dead.** A path whose acknowledgements are due and missing for twice as long as in recent round trips
///   is left out until it answers. So is one that holds more than it delivers in two and a half seconds.
/// * **What is late is copied to another path**: while that has other work, oldest first and at half its rate at most;
///   when nothing is queued any more, as soon as a round trip takes longer than usual, or as the slow path would be
///   done later. A message that fits one packet goes on two paths at once if nobody knows whether the first is alive.
/// * **A break that is announced is kept out of.** Before something else serves a link ([`HandOver`](hawser_policy::HandOver)), told by our
///   own link or by the peer, nothing new leaves that would meet it, and the path is asked when it should be over.
/// * **Acknowledgements leave room on their way back.** Where it is full, as next to an upload, fewer of them are asked for.
/// * **Messages go on two paths.** What is queued is copied to a second path if it is no more than a message, off links that are metered,
///   within a budget of its own: an answer comes when the quicker of two paths delivers it.
/// * **Copies have a budget.** What turns out to have been copied needlessly may not exceed 1 % of what was
///   acknowledged. A link that pauses all the time uses it up and is left in peace.
#[derive(Clone, Debug)]
pub struct EarliestArrival {
    parameters: EarliestArrivalParameters,
    standing: Option<StandingQueue>,
    watch: Watch,
    budget: Budget,
    breaks: Breaks,
    thin_return: ThinReturn,
    messages: Messages,
    costs: Costs,
    /// Since when nothing is queued.
    empty_since: Option<Time>,
}

impl EarliestArrival {
    /// Its name in the registry; the entry `default` is the same.
    pub const NAME: &'static str = "earliestarrival";

    /// The same with other parameters.
    pub fn with_parameters(parameters: EarliestArrivalParameters) -> Self {
        EarliestArrival {
            parameters,
            standing: None,
            watch: Watch::default(),
            budget: Budget::default(),
            breaks: Breaks::default(),
            thin_return: ThinReturn::default(),
            messages: Messages::new(parameters.message, parameters.budget),
            costs: Costs::default(),
            empty_since: None,
        }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        parameters::info()
    }

    /// Makes it for each connection, with the agent that tells the peer of our links.
    pub fn factory(parameters: EarliestArrivalParameters) -> Arc<dyn SchedulerFactory> {
        Arc::new(Warned {
            warnings: parameters.warnings,
            build: move || Box::new(EarliestArrival::with_parameters(parameters)) as Box<_>,
        })
    }

    pub(crate) fn read(parameters: &Parameters) -> Arc<dyn SchedulerFactory> {
        Self::factory(EarliestArrivalParameters::read(parameters))
    }

    /// Whether other paths are to be preferred to this one: it is silent, or holds more than it delivers.
    pub(crate) fn is_avoided(&self, path: &PathView) -> bool {
        self.watch.is_avoided(path)
    }

    /// Places what is queued, once.
    fn place(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let EarliestArrivalParameters { standing_rounds, shortest_silence, rescue, needless, .. } =
            self.parameters;
        let mut amiss = self.watch.note(view, shortest_silence);
        if !self.breaks.is_empty() {
            amiss |= self.breaks.apply(view, &mut self.watch, commands);
        }
        if self.parameters.thin_acks && self.thin_return.is_due(view.now) {
            self.thin_return.look(view, commands);
        }
        if let Some(decision) = explore(view) {
            return decision;
        }
        let is_idle = view.queue.total() == 0;
        if !is_idle && self.empty_since.is_some() && self.end(view).is_none() {
            // What is queued now is no refill of what was.
            self.standing = None;
        }
        self.empty_since = is_idle.then(|| self.empty_since.unwrap_or(view.now));
        if amiss && view.queue.datagrams > 0 {
            self.watch.ask(view, commands);
        }
        if rescue && (is_idle || amiss) {
            self.rescue(view, commands);
        }
        let decision = if is_idle {
            Decision::Wait(None)
        } else {
            let order = Order::new(view, &self.watch, amiss);
            match order.soonest() {
                (None, _) => Decision::Wait(None),
                (Some(fast), second) => {
                    let unsent = view.queue.unsent;
                    let lasting =
                        is_lasting(&mut self.standing, standing_rounds, fast.path, unsent, view.now);
                    let budget = rescue.then_some((&mut self.budget, needless));
                    Placement { view, order, lasting, budget }.decide(fast, second)
                }
            }
        };
        match decision {
            Decision::Wait(_) => {
                let look = self.watch.next_look(view, shortest_silence);
                until(until(until(decision, look), self.end(view)), self.breaks.next_change(view))
            }
            send => send,
        }
    }

    /// When an empty queue will be found to be the end, rather than a buffer that is about to be refilled.
    fn end(&self, view: &SendView<'_>) -> Option<Time> {
        let fast = view.preferred().min_by_key(|path| path.smoothed_rtt)?;
        let end = self.empty_since? + rescue::refill_time(fast);
        (end > view.now && view.paths.len() > 1).then_some(end)
    }
}

impl Default for EarliestArrival {
    fn default() -> Self {
        Self::with_parameters(EarliestArrivalParameters::default())
    }
}

/// Makes schedulers that read what the peer says of its links, and an agent that says it to the peer.
pub(crate) struct Warned<F> {
    pub(crate) warnings: bool,
    pub(crate) build: F,
}

impl<F: Fn() -> Box<dyn Scheduler> + Send + Sync> SchedulerFactory for Warned<F> {
    fn build(&self, _init: &SchedulerInit) -> Box<dyn Scheduler> {
        (self.build)()
    }

    fn agent(&self) -> Option<Box<dyn Agent>> {
        Some(Box::new(LinkReporter::new(self.warnings)))
    }

    fn features(&self) -> FeatureSet {
        LinkReporter::features(self.warnings)
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
        if self.is_message(view) { self.place_message(view, commands) } else { self.place(view, commands) }
    }

    fn fill_figures(&self, figures: &mut Figures) {
        let (silent, clogged) = self.watch.counts();
        figures.number("silent_paths", silent as f64);
        figures.number("clogged_paths", clogged as f64);
    }

    fn interests(&self) -> Interests {
        Interests::PATHS | Interests::IDLE | Interests::LINKS | Interests::MESSAGES
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        match *event {
            Event::Path { path, change, .. } => {
                self.standing = None;
                if change == PathChange::Abandoned {
                    self.costs.forget(path);
                }
                if matches!(change, PathChange::Abandoned | PathChange::Recovered) {
                    self.watch.forget(path);
                }
            }
            Event::Link(update) => {
                self.costs.on_link(update);
                if self.parameters.warnings {
                    self.breaks.on_link(update);
                }
            }
            Event::Message { now, origin: MessageOrigin::Peer, message } => {
                if let Some((path, MeteredNotice(metered))) = MeteredNotice::read(message) {
                    self.costs.on_notice(path, metered);
                } else if let Some((path, notice)) =
                    HandOverNotice::read(message).filter(|_| self.parameters.warnings)
                {
                    self.breaks.on_notice(now, path, notice);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
