//! What can be set.

use hawser_learn::{Accumulation, CutTest};
use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

use super::FtrlWrr;
use crate::dispatch::Redirect;
use crate::guard::Guard;

/// What can be set of [`FtrlWrr`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FtrlWrrParameters {
    /// Who learns the share.
    pub learner: FtrlLearner,
    /// How the gradients of the learner are accumulated.
    pub accumulation: Accumulation,
    /// What becomes of a packet whose path is full.
    pub redirect: Redirect,
    /// Who sets the pacing rates.
    pub pacing: FtrlPacing,
    /// Which time throughput is taken over.
    pub step_time: FtrlStepTime,
    /// How changes are told from chance: by Hoeffding's bound, or by the variance.
    pub variance_test: bool,
    /// Confidence of that test.
    pub confidence: f64,
}

/// Who learns the share of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FtrlLearner {
    /// Follow the regularised leader.
    #[default]
    Ftrl,
    /// Bandit gradient descent (Li 2024, section 2.4.1), an ablation; over two paths only.
    GradientDescent,
}

/// Who sets the pacing rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FtrlPacing {
    /// The congestion controllers.
    #[default]
    Controller,
    /// The same, but the rate of one path is raised so that the ratio is that of the shares (Li 2024, section 4.8).
    Learner,
    /// Nobody: windows leave in bursts, at ten times the controller's rate.
    Off,
}

/// Which time the throughput of a step is taken over; the thesis leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FtrlStepTime {
    /// From the start of the step to that of the next, so that the loss can be zero.
    #[default]
    SendSpan,
    /// From the start of the step to its last acknowledgement, as in the author's code: a round trip more.
    SendToAck,
}

/// Confidence of Hoeffding's bound in the author's code.
const HOEFFDING: f64 = 0.3;

impl Default for FtrlWrrParameters {
    fn default() -> Self {
        FtrlWrrParameters {
            learner: FtrlLearner::Ftrl,
            accumulation: Accumulation::PerStep,
            redirect: Redirect::Free,
            pacing: FtrlPacing::Controller,
            step_time: FtrlStepTime::SendSpan,
            variance_test: false,
            confidence: HOEFFDING,
        }
    }
}

impl FtrlWrrParameters {
    /// Returns what the parameters of a policy's text say, which are those of [`FtrlWrr::info`].
    pub fn read(parameters: &Parameters) -> Self {
        FtrlWrrParameters {
            learner: match parameters.choice("learner") {
                "gradient-descent" => FtrlLearner::GradientDescent,
                _ => FtrlLearner::Ftrl,
            },
            accumulation: match parameters.choice("accumulation") {
                "current-eta" => Accumulation::CurrentEta,
                _ => Accumulation::PerStep,
            },
            redirect: Redirect::read(parameters),
            pacing: match parameters.choice("pacing") {
                "learner" => FtrlPacing::Learner,
                "off" => FtrlPacing::Off,
                _ => FtrlPacing::Controller,
            },
            step_time: match parameters.choice("step_time") {
                "send-to-ack" => FtrlStepTime::SendToAck,
                _ => FtrlStepTime::SendSpan,
            },
            variance_test: parameters.choice("cut_test") == "variance",
            confidence: parameters.number("confidence"),
        }
    }

    pub(super) fn cut_test(&self) -> CutTest {
        let confidence = self.confidence;
        if self.variance_test { CutTest::Variance { confidence } } else { CutTest::Hoeffding { confidence } }
    }
}

pub(super) fn info() -> PolicyInfo {
    PolicyInfo::new(FtrlWrr::NAME, "learns the shares of the paths from what they carry together")
        .source("Li, University of Victoria 2024")
        .parameter(
            ParameterInfo::choice("learner", ["ftrl", "gradient-descent"])
                .meaning("who learns the share")
                .source("Li 2024, sections 2.4.2 and 2.4.1"),
        )
        .parameter(
            ParameterInfo::choice("accumulation", ["per-step", "current-eta"])
                .meaning("gradients weighed with the step size of their own update, or all with that of the newest")
                .source("Li 2024, algorithm 7, and the author's code"),
        )
        .parameter(Redirect::parameter())
        .parameter(
            ParameterInfo::choice("pacing", ["controller", "learner", "off"])
                .meaning("who sets the pacing rates; off: ten times the controller's")
                .source("Li 2024, section 4.8"),
        )
        .parameter(
            ParameterInfo::choice("step_time", ["send-span", "send-to-ack"])
                .meaning("which time the throughput of a step is taken over")
                .source("Hawser, and the author's code"),
        )
        .parameter(
            ParameterInfo::choice("cut_test", ["hoeffding", "variance"])
                .meaning("how ADWIN2 tells a change from chance")
                .source("Li 2024, section 3.2; Bifet 2007"),
        )
        .parameter(
            ParameterInfo::number("confidence", 1e-6..=1.0, HOEFFDING)
                .meaning("delta of that test; 0.002 is usual for variance")
                .source("the author's code"),
        )
        .parameter(Guard::parameter())
}
