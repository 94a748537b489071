//! LEAP: layered video with a requirement of delay and reliability, by forecasts of what each path will carry and a code across
//! paths.
//!
//! | file | subject |
//! |---|---|
//! | `forecast` | what a path will carry at the least: samples, filter, percentile |
//! | `parity` | how many repair symbols a block across paths needs |
//! | `state` | what the parts know in common: deliveries of each path |
//! | `controller` | rate and window by the forecast |
//! | `scheduler` | data and repair symbols in proportion to the forecasts |
//! | `protection` | blocks across paths, by layer |

mod controller;
mod forecast;
mod parameters;
mod parity;
mod protection;
mod scheduler;
mod state;

use std::sync::Arc;

use hawser_policy::{
    Composed, ControllerInit, Parameters, PolicyInfo, PolicySet, PolicySetFactory, Registry, SetInit,
};

use crate::MinRtt;

pub use forecast::{LeapForecast, leap_low_forecast};
pub use parameters::LeapParameters;
pub use parity::{LeapShare, leap_parity};

/// LEAP as a policy set: the system that QC-MAB is compared with (W. Yang, dissertation, University of Victoria 2024, section
/// 4.5.1), after Chiariotti, Kucera, Zanella and Claussen (IEEE/ACM Transactions on Networking, 2019).
///
/// The sender forecasts what each path will carry at the least within the deadline, and sends no faster. It splits each layer
/// of a frame over the paths in proportion, and adds as many repair symbols across all paths as the layer needs to be decoded
/// in time with the wanted probability. Losses do not slow it down.
///
/// The dissertation gives no algorithm; `docs/qc-mab-causes.md` says what is Hawser's.
#[derive(Clone)]
pub struct Leap {
    parameters: LeapParameters,
    parts: Composed,
}

impl Leap {
    /// Its name in the registry.
    pub const NAME: &'static str = "leap";

    /// A set with these acknowledgements; everything else is its own.
    pub fn new(parameters: LeapParameters, parts: Composed) -> Self {
        Leap { parameters, parts }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        parameters::info()
    }

    /// Adds the set. It takes its acknowledgements from the registry as it is now, if that has them.
    pub fn register(registry: &mut Registry) {
        let Ok(congestion) = registry.congestion("newreno") else { return };
        let Ok(acks) = registry.acks("default") else { return };
        registry.add_sets(Self::info(), move |parameters: &Parameters| {
            let parts =
                Composed::new(Arc::new(|_: &_| Box::new(MinRtt) as Box<_>), congestion.clone(), acks.clone());
            Arc::new(Leap::new(LeapParameters::read(parameters), parts))
        });
    }
}

impl PolicySetFactory for Leap {
    fn build(&self, init: &SetInit) -> PolicySet {
        let parameters = self.parameters;
        let shared = state::Shared::new(parameters);
        let of_controllers = shared.clone();
        let congestion = move |init: &ControllerInit| {
            Box::new(controller::LeapController::new(of_controllers.clone(), parameters.headroom, init))
                as Box<_>
        };
        self.parts.build(init).with(|set| {
            set.scheduler = Box::new(scheduler::LeapScheduler::new(shared.clone(), parameters));
            set.congestion = Arc::new(congestion);
            set.protection = Some(Box::new(protection::LeapProtection::new(shared, parameters)));
        })
    }

    fn wants_receive_timestamps(&self) -> bool {
        true
    }

    fn repairs(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
