//! 4D-MAP: Dispatch, Duplicate, Discard and Decompensate for live streams.
//!
//! | file | subject |
//! |---|---|
//! | `dispatch` | how many bytes each path gets (equations 3 to 5) |
//! | `buffers` | what each path is to send |
//! | `loss`, `paths` | loss rates by windows; what is remembered of each path |
//! | `features` | the state that the learner sees |
//! | `mechanisms` | what may be done for a frame, and who decides |
//! | `frames` | frames that were written of late, and when a reward is complete |
//! | `reward` | what a frame's delivery is worth (equation 1) |
//! | `feedback` | the receiver's word of frames |
//! | `scheduler` | all of them together |
//! | `stored` | what was learned before, as text |

mod buffers;
mod dispatch;
mod features;
mod feedback;
mod frames;
mod loss;
mod mechanisms;
mod parameters;
mod paths;
mod reward;
mod scheduler;
mod stored;

use std::sync::Arc;

use hawser_policy::{
    Composed, FeatureId, FeatureSet, Parameters, PolicyInfo, PolicySet, PolicySetFactory, Registry,
    SchedulerInit, SetInit,
};

pub use dispatch::{FourDMapPath, four_d_map_shares};
pub use features::{FourDMapFeatures, FourDMapFrameState, FourDMapPathState};
pub use feedback::{FrameFeedback, FrameFeedbacks};
pub use mechanisms::{FourDMapChoice, FourDMapMechanism, FourDMapModel};
pub use parameters::FourDMapParameters;
pub use reward::FourDMapOutcome;
pub use scheduler::FourDMapScheduler;
pub use stored::FourDMapModelError;

/// 4D-MAP (Song, Han and Su: "4D-MAP: Multipath Adaptive Packet Scheduling for Live Streaming over QUIC", Journal of Computer
/// Science and Technology, 2024), as a policy set.
///
/// A live stream is one QUIC stream. Of each video frame the application writes a header
/// ([`SegmentKind::Signalling`](hawser_policy::SegmentKind::Signalling), reliable) and a body
/// ([`KeyFrame`](hawser_policy::SegmentKind::KeyFrame), reliable; or
/// [`DeltaFrame`](hawser_policy::SegmentKind::DeltaFrame), [`UntilDeadline`](hawser_policy::Reliability::UntilDeadline) without a
/// deadline), each a frame of [`FrameInfo`](hawser_policy::FrameInfo) with an id of its own. Dispatch spreads all bytes over the
/// paths, so that they arrive in order. For each body LinUCB decides whether more is done:
///
/// | mechanism | of | on the seam |
/// |---|---|---|
/// | Duplicate | key frames | on the path that loses least, with [`Assignment::copies`](hawser_policy::Assignment::copies) for the others |
/// | Discard | delta frames | [`Command::Discard`](hawser_policy::Command::Discard) before the first byte leaves |
/// | Decompensate | delta frames | [`Command::DoNotRetransmit`](hawser_policy::Command::DoNotRetransmit) |
///
/// The application at the receiver reports each frame ([`Feedback::Frame`](hawser_policy::Feedback::Frame), by the id of its
/// body); the agent there tells the sender ([`FrameFeedback`]), where four frames make a reward. Controllers are OLIA's, as
/// in the paper.
#[derive(Clone)]
pub struct FourDMap {
    parameters: FourDMapParameters,
    parts: Composed,
    model: Option<Arc<FourDMapModel>>,
}

impl FourDMap {
    /// Its name in the registry.
    pub const NAME: &'static str = "4d-map";

    /// A set with the controllers and acknowledgements of `parts`, whose scheduler is left aside; it has learned nothing before.
    pub fn new(parameters: FourDMapParameters, parts: Composed) -> Self {
        FourDMap { parameters, parts, model: None }
    }

    /// Every connection starts with what was learned before, if that fits the parameters.
    #[must_use]
    pub fn with_model(mut self, model: Arc<FourDMapModel>) -> Self {
        self.model = Some(model);
        self
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        parameters::info()
    }

    /// Adds the set with the model that comes with this crate. It takes its controllers and acknowledgements from the registry
    /// as it is now, if that has them.
    #[cfg(feature = "learned")]
    pub fn register(registry: &mut Registry) {
        Self::register_with(registry, FourDMapModel::shipped());
    }

    /// The same with another model, in place of what was registered under this name.
    pub fn register_with(registry: &mut Registry, model: Arc<FourDMapModel>) {
        let Ok(congestion) = registry.congestion("olia") else { return };
        let Ok(acks) = registry.acks("default") else { return };
        registry.add_sets(Self::info(), move |parameters: &Parameters| {
            let model = parameters.file("model").unwrap_or_else(|| model.clone());
            let parameters = FourDMapParameters::read(parameters);
            let scheduler = move |init: &SchedulerInit| {
                Box::new(FourDMapScheduler::new(parameters, None, init.seed)) as Box<_>
            };
            let parts = Composed::new(Arc::new(scheduler), congestion.clone(), acks.clone());
            Arc::new(FourDMap::new(parameters, parts).with_model(model))
        });
    }
}

impl PolicySetFactory for FourDMap {
    fn build(&self, init: &SetInit) -> PolicySet {
        let scheduler = FourDMapScheduler::new(self.parameters, self.model.as_deref(), init.seed);
        self.parts.build(init).with(|set| {
            set.scheduler = Box::new(scheduler);
            set.agent = Some(Box::new(feedback::Reporter::default()));
            set.features = self.features();
        })
    }

    fn features(&self) -> FeatureSet {
        FeatureSet::NONE.with(FeatureId::FRAME_FEEDBACK)
    }
}

#[cfg(test)]
mod tests;
