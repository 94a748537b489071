//! The policy set of a connection: what it is shown, what it is asked, and what it orders.
//!
//! [`Policies`] owns the set and all that belongs to asking it: the views of the paths, the assignment that waits its turn,
//! the commands that are still to be applied, why the scheduler is not asked now. It has no pointer to the connection: what
//! it looks at, and what commands change, comes with each call.
//!
//! | file | subject |
//! |---|---|
//! | `schedule` | which data goes where next, and why sending stopped |
//! | `wait` | why the scheduler is not asked, and what wakes it |
//! | `commands` | what policies order besides their answers |
//! | `reinject` | what is in flight on one path, for another one |
//! | `events` | what policies are told |
//! | `protect` | whether data is protected by an erasure code |
//! | `acknowledge` | when acknowledgements leave, and where |
//! | `traced` | what controllers do, for those who listen |

mod acknowledge;
mod commands;
mod events;
mod protect;
mod reinject;
pub(crate) mod schedule;
mod traced;
mod wait;
mod waiting;

use std::collections::VecDeque;
use std::sync::Arc;

use hawser_numbers::SplitMix64;
use hawser_policy::{
    Assignment, AttachRequest, Commands, ControllerFactory, Earliest, FeatureId, Interests, PathId, PathView,
    PolicySet, Scheduler, SendView, StreamRange, Time, Trace,
};
use smallvec::SmallVec;

use self::wait::Wait;
use self::waiting::Waiting;
use super::ack_frequency::AckFrequencies;
use super::datagrams::DatagramQueue;
use super::messages::Messages;
use super::paths::set::PathSet;
use super::repair::Repair;
use super::streams::Streams;

/// What policies look at and commands change.
pub(crate) struct Targets<'a> {
    pub(crate) now: Time,
    pub(crate) paths: &'a mut PathSet,
    pub(crate) streams: &'a mut Streams,
    pub(crate) datagrams: &'a DatagramQueue,
    pub(crate) messages: &'a mut Messages,
    pub(crate) ack_frequencies: &'a mut AckFrequencies,
    pub(crate) repair: &'a Repair,
}

/// Requests to attach links elsewhere that wait for the driver; more are refused.
const MAX_ATTACH_REQUESTS: usize = 8;

/// The policy set of a connection. See the module.
pub(crate) struct Policies {
    set: PolicySet,
    /// Makes the controllers: the factory of the set, traced where somebody wants to hear of them.
    controllers: Arc<dyn ControllerFactory>,
    /// Who hears what they note.
    trace: Trace,
    scheduler_interests: Interests,
    agent_interests: Interests,
    /// Those that the agent has and nobody else.
    agent_alone: Interests,
    protection_interests: Interests,
    /// Of all.
    interests: Interests,
    wait: Wait,
    /// An assignment that waits while something more urgent is sent.
    pending_assignment: Option<Assignment>,
    commands: Commands,
    views: Vec<PathView>,
    /// For each path, by its position, the one on which its acknowledgements were last found to return.
    ack_return_paths: SmallVec<[Option<PathId>; 8]>,
    /// Paths whose acknowledgements leave on another one by command.
    ack_return_commands: Vec<(PathId, PathId)>,
    /// Links that the driver is still to be asked to attach elsewhere, at most [`MAX_ATTACH_REQUESTS`].
    attach_requests: VecDeque<AttachRequest>,
    /// Stream ranges of the packet that is being reported.
    ranges: Vec<StreamRange>,
    /// For the seeds of controllers that are replaced.
    seeds: SplitMix64,
    ignored_commands: u64,
    /// Packets in flight that orders to copy them have looked at.
    packets_looked_at: u64,
}

impl Policies {
    pub(crate) fn new(set: PolicySet, seed: u64) -> Self {
        let mut policies = Policies {
            controllers: set.congestion.clone(),
            set,
            trace: Trace::default(),
            scheduler_interests: Interests::NONE,
            agent_interests: Interests::NONE,
            agent_alone: Interests::NONE,
            protection_interests: Interests::NONE,
            interests: Interests::NONE,
            wait: Wait::default(),
            pending_assignment: None,
            commands: Vec::new(),
            views: Vec::new(),
            ack_return_paths: SmallVec::new(),
            ack_return_commands: Vec::new(),
            attach_requests: VecDeque::new(),
            ranges: Vec::new(),
            seeds: SplitMix64::new(seed),
            ignored_commands: 0,
            packets_looked_at: 0,
        };
        policies.ask_interests();
        policies
    }

    fn ask_interests(&mut self) {
        self.scheduler_interests = self.set.scheduler.interests();
        self.agent_interests = self.set.agent.as_ref().map_or(Interests::NONE, |agent| agent.interests());
        let protection = self.set.protection.as_ref();
        self.protection_interests = protection.map_or(Interests::NONE, |policy| policy.interests());
        let others = self.scheduler_interests | self.protection_interests;
        self.agent_alone = self.agent_interests.without(others);
        self.interests = self.agent_interests | others;
    }

    /// Says who hears what they note.
    pub(crate) fn set_trace(&mut self, trace: Trace) {
        self.trace = trace;
        self.hand_on_trace();
    }

    fn hand_on_trace(&mut self) {
        self.controllers = self.traced(self.set.congestion.clone());
        self.set.scheduler.set_trace(&self.trace);
        if let Some(agent) = &mut self.set.agent {
            agent.set_trace(&self.trace);
        }
    }

    /// These controllers, of which is noted what somebody wants to hear.
    pub(crate) fn traced(&self, controllers: Arc<dyn ControllerFactory>) -> Arc<dyn ControllerFactory> {
        traced::traced(controllers, &self.trace)
    }

    /// Whether messages of this feature are for the set.
    pub(crate) fn takes(&self, feature: FeatureId) -> bool {
        self.set.features.contains(feature)
    }

    /// Makes the controllers of this connection.
    pub(crate) fn controllers(&self) -> &dyn ControllerFactory {
        &*self.controllers
    }

    /// The scheduler that decides now.
    pub(crate) fn scheduler(&self) -> &dyn Scheduler {
        &*self.set.scheduler
    }

    /// Exchanges the scheduler while the connection runs.
    pub(crate) fn set_scheduler(&mut self, scheduler: Box<dyn Scheduler>) {
        self.set.scheduler = scheduler;
        self.hand_on_trace();
        self.ask_interests();
        self.on_paths_changed();
    }

    /// Exchanges what makes the controllers of paths to come; the caller replaces those that exist.
    pub(crate) fn set_controllers(&mut self, controllers: Arc<dyn ControllerFactory>) {
        self.set.congestion = controllers;
        self.hand_on_trace();
        self.wake();
    }

    /// Exchanges the whole set while the connection runs; the caller replaces the controllers.
    pub(crate) fn replace(&mut self, set: PolicySet) {
        self.set = set;
        self.hand_on_trace();
        self.commands.clear();
        self.ack_return_paths.clear();
        self.ack_return_commands.clear();
        self.ask_interests();
        self.on_paths_changed();
    }

    /// Something changed that may change the scheduler's mind.
    #[inline]
    pub(crate) fn wake(&mut self) {
        self.wait = Wait::None;
    }

    /// The paths are others than those that the scheduler saw.
    pub(crate) fn on_paths_changed(&mut self) {
        self.pending_assignment = None;
        self.wake();
    }

    /// When [`on_timeout`](Self::on_timeout) should be called.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        let agent = self.set.agent.as_ref().and_then(|agent| agent.next_timeout());
        Earliest::NONE.or(self.set.scheduler.next_timeout()).or(agent).or(self.wait.until()).time()
    }

    /// Timers of the set that expired. A scheduler that waits is asked again after any timer.
    pub(crate) fn on_timeout(&mut self, mut targets: Targets<'_>) {
        self.wake();
        let now = targets.now;
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let scheduler = is_due(self.set.scheduler.next_timeout());
        let agent = self.set.agent.as_ref().is_some_and(|agent| is_due(agent.next_timeout()));
        if !scheduler && !agent {
            return;
        }
        targets.paths.fill_views(now, &mut self.views);
        let queue = schedule::queue_view(targets.streams, targets.datagrams);
        let waiting = Waiting::new(&targets);
        let view = SendView::new(now, &self.views, queue, &waiting);
        if scheduler {
            self.set.scheduler.on_timeout(&view, &mut self.commands);
        }
        if let Some(agent) = self.set.agent.as_mut().filter(|_| agent) {
            agent.on_timeout(&view, &mut self.commands);
        }
        self.apply_commands(&mut targets);
    }

    /// The paths as policies see them.
    pub(crate) fn path_views(&mut self, now: Time, paths: &PathSet) -> &[PathView] {
        paths.fill_views(now, &mut self.views);
        &self.views
    }

    /// Whether a policy wants a link attached elsewhere.
    #[inline]
    pub(crate) fn has_attach_requests(&self) -> bool {
        !self.attach_requests.is_empty()
    }

    /// The next link that a policy wants attached elsewhere.
    #[inline]
    pub(crate) fn poll_attach_request(&mut self) -> Option<AttachRequest> {
        self.attach_requests.pop_front()
    }

    /// Packets in flight that [`Command::Reinject`](hawser_policy::Command::Reinject) and its like have looked at.
    #[cfg(test)]
    pub(crate) fn packets_looked_at(&self) -> u64 {
        self.packets_looked_at
    }

    /// Commands that could not be applied: no such path, nothing in that range, too many.
    pub(crate) fn ignored_commands(&self) -> u64 {
        self.ignored_commands
    }
}
