//! DQN-like: deep Q-learning chooses the path of each burst.
//!
//! | file | subject |
//! |---|---|
//! | `state` | what the network sees: the last four samples of both paths |
//! | `scheduler` | one decision for each burst, and what leaves meanwhile |
//! | `model` | the trained network as a file |
//! | `reward` | what a burst brought, as the sender sees it |
//! | `training` | simulated connections that explore, and learn |

mod model;
mod reward;
mod scheduler;
mod state;
mod training;

use std::sync::Arc;

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo, Registry, SchedulerInit, Side};

pub use model::{DqnModel, DqnModelError};
pub use scheduler::DqnScheduler;
pub use training::{DqnChooser, DqnTraining};

/// What can be set of [`DqnScheduler`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DqnParameters {
    /// What happens while the window of the chosen path is full.
    pub full: DqnFull,
    /// Chance chooses in the network's place.
    pub random: bool,
}

/// What happens while the window of the chosen path is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DqnFull {
    /// The burst waits for it.
    #[default]
    Wait,
    /// The other path takes what it can.
    Other,
}

impl DqnParameters {
    /// As a text chose them.
    pub fn read(parameters: &Parameters) -> Self {
        let full = if parameters.choice("full") == "other" { DqnFull::Other } else { DqnFull::Wait };
        DqnParameters { full, random: parameters.choice("chooses") == "random" }
    }
}

impl DqnScheduler {
    /// Its name in the registry.
    pub const NAME: &'static str = "dqn";

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "DQN-like: deep Q-learning, after ReLeS, chooses the path of each burst of 10 ms")
            .source("Zhang and others, INFOCOM 2019; Song and others, JCST 2024, as DQN*")
            .parameter(
                ParameterInfo::choice("full", ["wait", "other"])
                    .meaning("while the window of the chosen path is full: the burst waits for it, or the other path sends")
                    .source("Hawser"),
            )
            .parameter(
                ParameterInfo::choice("chooses", ["network", "random"])
                    .meaning("who chooses: the trained network, or chance, to compare it with")
                    .source("Hawser"),
            )
            .parameter(
                ParameterInfo::file("model")
                    .meaning("the network, in place of that which comes with it; a file, or a folder of `hawser lab prelearn --dqn`")
                    .source("Hawser"),
            )
    }

    /// Adds it with the model that comes with this crate.
    #[cfg(feature = "learned")]
    pub fn register(registry: &mut Registry) {
        Self::register_with(registry, DqnModel::shipped(), None);
    }

    /// The same with another model, and with a training in which the ends take part that opened their connections, if there is
    /// one; in place of what was registered under this name.
    pub fn register_with(registry: &mut Registry, model: Arc<DqnModel>, training: Option<DqnTraining>) {
        registry.add_scheduler_with(Self::info(), move |init: &SchedulerInit, parameters| {
            let file: Option<Arc<DqnModel>> = parameters.file("model");
            let parameters = DqnParameters::read(parameters);
            let scheduler = DqnScheduler::new(parameters, file.as_ref().unwrap_or(&model), init.seed);
            match &training {
                Some(training) if init.side == Side::Client => {
                    Box::new(scheduler.with_training(training.clone()))
                }
                _ => Box::new(scheduler),
            }
        });
    }
}

#[cfg(test)]
mod tests;
