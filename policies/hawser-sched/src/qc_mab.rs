//! QC-MAB: a mobile receiver of layered video learns which access points to use and which paths to protect.
//!
//! | file | subject |
//! |---|---|
//! | `formulas` | reward, decoding, goodput (equations 4.1, 4.4, 4.5, 4.19) |
//! | `context` | what is measured, filtered, and cut into cells (4.7 to 4.18) |
//! | `bandit` | upper confidence bounds (4.21 to 4.23) |
//! | `learner` | one interface: context, arms, decisions, rewards |
//! | `receiver` | the agent at the mobile host, which decides |
//! | `sender` | the agent and the protection at the sender, which apply it |
//! | `messages` | what they say to each other |

mod bandit;
mod context;
mod formulas;
mod learner;
mod loss_events;
mod messages;
mod parameters;
mod receiver;
mod sender;

use std::sync::Arc;

use hawser_policy::{
    Composed, FeatureId, FeatureSet, Parameters, PolicyInfo, PolicySet, PolicySetFactory, Registry, SetInit,
    Side,
};

use crate::MinRtt;

pub use bandit::{QcMabArm, QcMabBandit};
pub use context::{QcMabContext, QcMabSample};
pub use formulas::{QcMabEta, qc_mab_block_failure, qc_mab_goodput, qc_mab_on_time, qc_mab_reward};
pub use learner::{QcMabDecision, QcMabLearner, QcMabObservation, QcMabPoint};
pub use messages::{PathDecision, PathReport};
pub use parameters::{QcMabFec, QcMabKey, QcMabParameters};

/// QC-MAB (W. Yang, dissertation, University of Victoria 2024, chapter 4), as a policy set.
///
/// A mobile client receives layered video, each frame of use until it is shown. At each display event, told by
/// [`Feedback::LayeredFrame`](hawser_policy::Feedback::LayeredFrame), the client's agent chooses for each path an access point
/// ([`Command::Attach`](hawser_policy::Command::Attach)) and whether the server protects the path ([`PathDecision`]). The
/// server's agent reports its side of each path ([`PathReport`]), also which frames were sent under which decision, so that
/// each reward goes to the decision that earned it. Packets go by MinRTT, controllers are New Reno's.
#[derive(Clone)]
pub struct QcMab {
    parameters: QcMabParameters,
    parts: Composed,
}

impl QcMab {
    /// Its name in the registry.
    pub const NAME: &'static str = "qc-mab";

    /// A set with these parts; protection is that of the set.
    pub fn new(parameters: QcMabParameters, parts: Composed) -> Self {
        QcMab { parameters, parts }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        parameters::info()
    }

    /// Adds the set. It takes its controllers and acknowledgements from the registry as it is now, if that has them.
    pub fn register(registry: &mut Registry) {
        let Ok(congestion) = registry.congestion("newreno") else { return };
        let Ok(acks) = registry.acks("default") else { return };
        registry.add_sets(Self::info(), move |parameters: &Parameters| {
            let parts =
                Composed::new(Arc::new(|_: &_| Box::new(MinRtt) as Box<_>), congestion.clone(), acks.clone());
            Arc::new(QcMab::new(QcMabParameters::read(parameters), parts))
        });
    }
}

impl PolicySetFactory for QcMab {
    fn build(&self, init: &SetInit) -> PolicySet {
        let QcMabParameters { fec, redundancy, deadline, .. } = self.parameters;
        let parts = self.parts.build(init);
        if init.side == Side::Client {
            let agent = receiver::Receiver::new(self.parameters, init.seed);
            return parts.with(|set| {
                set.agent = Some(Box::new(agent));
                set.features = self.features();
            });
        }
        let shared = sender::Shared::default();
        let protection = sender::Decided { shared: shared.clone(), fec, redundancy };
        let agent = sender::Reporter { shared, period: deadline, next: None };
        parts.with(|set| {
            set.protection = Some(Box::new(protection));
            set.agent = Some(Box::new(agent));
            set.features = self.features();
        })
    }

    fn features(&self) -> FeatureSet {
        FeatureSet::NONE.with(FeatureId::PATH_DECISION).with(FeatureId::PATH_REPORT)
    }

    fn repairs(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
