//! RIDE on a connection: one decision for each tile, by the trained agent.
//!
//! | file | subject |
//! |---|---|
//! | `features` | what the agent sees, from what a connection knows |
//! | `units` | tiles that wait or are under way, and what was decided for them |
//! | `trust` | whether the agent decides: its guard |
//! | `scheduler` | all of them together |

mod features;
mod scheduler;
mod trust;
mod units;

use std::sync::Arc;

use hawser_policy::{
    Composed, ParameterInfo, Parameters, PolicyInfo, PolicySet, PolicySetFactory, Registry, SchedulerInit,
    SetInit,
};

use hawser_ride::Agent;

pub use scheduler::RideScheduler;
pub use trust::RideCounts;

/// RIDE (W. Yang, dissertation, University of Victoria 2024, chapter 5), as a policy set: tiles of 360-degree video over two
/// paths.
///
/// Each tile is a frame of [`FrameInfo`](hawser_policy::FrameInfo) with a deadline. When one is queued, the trained agent
/// ([`Agent::continuous`], unless that of E1 is asked for) decides once which path carries all of it, or that it is skipped
/// ([`Command::Discard`](hawser_policy::Command::Discard)): by windows, rates, round-trip times and loss rates of both paths, its
/// size, and the time that is left. It stays on that path, also when a part of it is lost, until the path carries data no
/// longer. What has no deadline goes on the path with the least round-trip time that can send.
///
/// The agent was trained in a model of two paths. A guard decides in its place, always for the path on which the tile arrives
/// first, where
///
/// * a path has no sample of its round-trip time, or what is known lies outside of what training saw;
/// * the network gives no numbers;
/// * a quarter of the last forty tiles for which the agent decided came late or never: then for two seconds, and for twice as
///   long each time that the guard does at least twice as well.
#[derive(Clone)]
pub struct Ride {
    agent: Agent,
    guards: bool,
    parts: Composed,
}

impl Ride {
    /// Its name in the registry.
    pub const NAME: &'static str = "ride";

    /// A set with the controllers and acknowledgements of `parts`, whose scheduler is left aside. `guards`: whether the guard
    /// takes over when tiles are late.
    pub fn new(agent: Agent, guards: bool, parts: Composed) -> Self {
        Ride { agent, guards, parts }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(
            Self::NAME,
            "a trained agent chooses a path for each tile of 360-degree video, or skips it",
        )
        .source("Yang 2024, chapter 5")
        .parameter(
            ParameterInfo::flag("guard", true)
                .meaning(
                    "tiles go where they arrive first for a while when a quarter of the agent's came late",
                )
                .source("Hawser"),
        )
        .parameter(
            ParameterInfo::choice("agent", ["continuous", "episodic"])
                .meaning("in which environment it was trained: E1, where each frame finds empty queues, or E2, where they last")
                .source("Yang 2024, section 5.4; Hawser"),
        )
    }

    /// Adds the set. It takes its controllers and acknowledgements from the registry as it is now, if that has them.
    pub fn register(registry: &mut Registry) {
        let Ok(congestion) = registry.congestion("cubic") else { return };
        let Ok(acks) = registry.acks("default") else { return };
        registry.add_sets(Self::info(), move |parameters: &Parameters| {
            let guards = parameters.flag("guard");
            let agent = match parameters.choice("agent") {
                "episodic" => Agent::shipped(),
                _ => Agent::continuous(),
            };
            let scheduler = agent.clone();
            let parts = Composed::new(
                Arc::new(move |_: &SchedulerInit| {
                    Box::new(RideScheduler::with_agent(scheduler.clone(), guards)) as Box<_>
                }),
                congestion.clone(),
                acks.clone(),
            );
            Arc::new(Ride::new(agent, guards, parts))
        });
    }
}

impl PolicySetFactory for Ride {
    fn build(&self, init: &SetInit) -> PolicySet {
        let scheduler = Box::new(RideScheduler::with_agent(self.agent.clone(), self.guards));
        self.parts.build(init).with(|set| set.scheduler = scheduler)
    }
}

#[cfg(test)]
mod tests;
