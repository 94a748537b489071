//! A policy set: all that decides for one connection.

use std::fmt;
use std::sync::Arc;

use crate::{
    AckPolicy, AckPolicyFactory, Commands, ControllerFactory, Event, FeatureSet, Interests,
    ProtectionFactory, ProtectionInit, ProtectionPolicy, Scheduler, SchedulerFactory, SchedulerInit,
    SendView, Side, Time, Trace,
};

/// What a policy set is told when it is made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SetInit {
    /// Our end.
    pub side: Side,
    /// Seed for its random decisions. A set with several random parts derives their seeds from it.
    pub seed: u64,
    /// The present.
    pub now: Time,
}

impl SetInit {
    /// Returns what a policy set of this end is told.
    pub fn new(side: Side, seed: u64, now: Time) -> Self {
        SetInit { side, seed, now }
    }
}

/// The part of a set that watches and steers: it is told what it asks for and answers with commands.
///
/// At the receiving end it sees what arrives, at the sending end what becomes of it; whatever it learns reaches the
/// scheduler and the controllers of its set through the state that they share.
pub trait Agent: Send {
    /// The events that it wants; asked once.
    fn interests(&self) -> Interests;

    /// One of them happened.
    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands);

    /// When [`on_timeout`](Agent::on_timeout) should be called.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The timer expired.
    fn on_timeout(&mut self, _view: &SendView<'_>, _commands: &mut Commands) {}

    /// As [`Scheduler::set_trace`].
    fn set_trace(&mut self, _trace: &Trace) {}
}

/// All that decides for one connection. Parts that must know of each other share state: the factory of the set makes it
/// and gives each part a handle (an `Arc<Mutex<..>>`; one connection runs on one thread at a time, so that nobody waits).
#[non_exhaustive]
pub struct PolicySet {
    /// Which path carries what.
    pub scheduler: Box<dyn Scheduler>,
    /// Makes the congestion controller of each path, also for a path whose controller is exchanged.
    pub congestion: Arc<dyn ControllerFactory>,
    /// When acknowledgements leave, and on which path.
    pub acks: Box<dyn AckPolicy>,
    /// Whether and how strongly data is protected; `None` if it is not.
    pub protection: Option<Box<dyn ProtectionPolicy>>,
    /// Watches and steers; `None` if the set has no such part.
    pub agent: Option<Box<dyn Agent>>,
    /// The features whose messages are for this set ([`Event::Message`]); others go to the application.
    pub features: FeatureSet,
}

impl PolicySet {
    /// Returns a set of these parts that protects nothing, has no agent and speaks no feature.
    pub fn new(
        scheduler: Box<dyn Scheduler>,
        congestion: Arc<dyn ControllerFactory>,
        acks: Box<dyn AckPolicy>,
    ) -> Self {
        PolicySet { scheduler, congestion, acks, protection: None, agent: None, features: FeatureSet::NONE }
    }
}

/// Makes the policy set of each connection.
pub trait PolicySetFactory: Send + Sync {
    /// The set of a new connection.
    fn build(&self, init: &SetInit) -> PolicySet;

    /// The features that its sets speak; they are offered to the peer. None by default.
    fn features(&self) -> FeatureSet {
        FeatureSet::NONE
    }

    /// Returns true if its sets use erasure codes at either end; then the extension is offered to the peer. Not by default.
    fn repairs(&self) -> bool {
        false
    }

    /// Whether its sets want one-way delays: then the peer is asked to report when packets arrive, which makes its
    /// acknowledgements about 12 bytes longer. Not by default.
    fn wants_receive_timestamps(&self) -> bool {
        false
    }
}

impl<F> PolicySetFactory for F
where
    F: Fn(&SetInit) -> PolicySet + Send + Sync,
{
    fn build(&self, init: &SetInit) -> PolicySet {
        self(init)
    }
}

impl fmt::Debug for PolicySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicySet")
            .field("scheduler", &self.scheduler.name())
            .field("protection", &self.protection.as_ref().map(|policy| policy.name()))
            .field("agent", &self.agent.is_some())
            .finish_non_exhaustive()
    }
}

/// A set of parts that do not know of each other.
#[derive(Clone)]
#[non_exhaustive]
pub struct Composed {
    /// Makes the scheduler.
    pub scheduler: Arc<dyn SchedulerFactory>,
    /// Makes the controllers.
    pub congestion: Arc<dyn ControllerFactory>,
    /// Makes the acknowledgement policy.
    pub acks: Arc<dyn AckPolicyFactory>,
    /// Makes the protection policy, if there is to be one.
    pub protection: Option<Arc<dyn ProtectionFactory>>,
}

impl Composed {
    /// Returns a set of these parts that protects nothing.
    pub fn new(
        scheduler: Arc<dyn SchedulerFactory>,
        congestion: Arc<dyn ControllerFactory>,
        acks: Arc<dyn AckPolicyFactory>,
    ) -> Self {
        Composed { scheduler, congestion, acks, protection: None }
    }
}

impl PolicySetFactory for Composed {
    fn build(&self, init: &SetInit) -> PolicySet {
        // Seeds of different parts must differ, or their choices would be correlated.
        let scheduler = SchedulerInit { side: init.side, seed: init.seed };
        let seed = init.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let protection = ProtectionInit { side: init.side, seed: seed.wrapping_add(0x9e37_79b9_7f4a_7c15) };
        PolicySet {
            scheduler: self.scheduler.build(&scheduler),
            congestion: self
                .congestion
                .for_connection(init.side, seed)
                .unwrap_or_else(|| self.congestion.clone()),
            acks: self.acks.build(),
            protection: self.protection.as_ref().and_then(|factory| factory.build(&protection)),
            agent: self.scheduler.agent(),
            features: self.features(),
        }
    }

    fn wants_receive_timestamps(&self) -> bool {
        self.congestion.wants_receive_timestamps()
    }

    fn features(&self) -> FeatureSet {
        let own = self.scheduler.features();
        self.protection.iter().fold(own, |features, factory| features.union(&factory.features()))
    }

    fn repairs(&self) -> bool {
        self.protection.as_ref().is_some_and(|factory| factory.repairs())
    }
}

impl fmt::Debug for Composed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Composed").finish_non_exhaustive()
    }
}
