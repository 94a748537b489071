use hawser_policy::{
    CongestionController, ControllerInit, Loss, ParameterInfo, Parameters, PolicyInfo, Siblings,
};

use crate::coupled::{Coupled, CoupledPath};
use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};
use crate::{new_reno, slow_start};

/// draft-khalili-mptcp-congestion-control-05 section 2: the decrease is TCP's.
const LOSS_REDUCTION: f64 = 0.5;
const DRAFT: &str = "draft-khalili-mptcp-congestion-control-05 section 2";

/// Which path is the best one, by the bytes l between losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OliaQuality {
    /// l / rtt^2, as deployed in kernels.
    Deployed,
    /// l^2 / rtt, as drafted.
    Drafted,
}

/// How the increase is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OliaIncrement {
    /// Per acknowledged datagram, and downwards where the formula says so.
    Literal,
    /// Once per acknowledgement and never downwards, as the ns-3 module does with which several papers were measured.
    PerAck,
}

/// What can be set of [`Olia`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OliaParameters {
    /// What remains of the window after congestion.
    pub beta: f64,
    /// Whether a rising round-trip time ends the first slow start (RFC 9406).
    pub hystart: bool,
    /// Which path is the best one.
    pub quality: OliaQuality,
    /// How the increase is applied.
    pub increment: OliaIncrement,
}

impl Default for OliaParameters {
    fn default() -> Self {
        OliaParameters {
            beta: LOSS_REDUCTION,
            hystart: true,
            quality: OliaQuality::Deployed,
            increment: OliaIncrement::Literal,
        }
    }
}

impl OliaParameters {
    /// Those of a spec such as `olia,beta=0.7`.
    pub(crate) fn read(parameters: &Parameters) -> Self {
        let quality = match parameters.choice("quality") {
            "drafted" => OliaQuality::Drafted,
            _ => OliaQuality::Deployed,
        };
        let increment = match parameters.choice("increment") {
            "per-ack" => OliaIncrement::PerAck,
            _ => OliaIncrement::Literal,
        };
        let (beta, hystart) = (parameters.number("beta"), parameters.flag("hystart"));
        OliaParameters { beta, hystart, quality, increment }
    }
}

/// OLIA (Khalili 2013; draft-khalili-mptcp-congestion-control-05): coupled increase over the paths of a connection.
///
/// Together the paths take no more from a shared bottleneck than one flow would, and what they take moves to the best
/// paths. Paths are coupled when they are usable and in the same bottleneck group as this one; without a detector all
/// are in `GroupId(0)` and so coupled with each other. Slow start and decrease are those of a single path. The bytes between
/// losses are kept by the path ([`Sibling::acked_since_loss`](hawser_policy::Sibling::acked_since_loss)) and so survive a swap.
pub type Olia = WindowBased<OliaRule>;

/// The rule of [`Olia`].
#[derive(Clone, Debug)]
pub struct OliaRule {
    parameters: OliaParameters,
}

impl Olia {
    /// Its name in the registry.
    pub const NAME: &'static str = "olia";

    /// A controller for a new or a running path.
    pub fn new(init: &ControllerInit) -> Self {
        Olia::with_parameters(init, OliaParameters::default())
    }

    /// The same with other parameters.
    pub fn with_parameters(init: &ControllerInit, parameters: OliaParameters) -> Self {
        WindowBased::start(init, OliaRule { parameters })
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = OliaParameters::default();
        PolicyInfo::new(Olia::NAME, "coupled: paths through one bottleneck take the share of one flow")
            .source("Khalili and others, IEEE/ACM Transactions on Networking 2013")
            .parameter(new_reno::beta(default.beta, DRAFT))
            .parameter(slow_start::hystart(default.hystart))
            .parameter(
                ParameterInfo::choice("quality", ["deployed", "drafted"])
                    .meaning("which path is best: l/rtt^2 as in kernels, or l^2/rtt; l are the bytes between losses")
                    .source(DRAFT),
            )
            .parameter(
                ParameterInfo::choice("increment", ["literal", "per-ack"])
                    .meaning("per acknowledged datagram, or once per acknowledgement and never downwards, as in ns-3")
                    .source("the ns-3 MPQUIC module"),
            )
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        Box::new(Olia::with_parameters(init, OliaParameters::read(parameters)))
    }
}

impl OliaRule {
    /// Growth in datagrams per acknowledged datagram: w/rtt^2 / (sum of w/rtt)^2 + alpha/w.
    fn increase(&self, window: &Window, siblings: &Siblings<'_>) -> f64 {
        let Some(coupled) = Coupled::new(siblings, window) else {
            return window.datagram() / window.exact(); // alone: Reno
        };
        let (own, total) = (coupled.own(), coupled.total_rate());
        own.rate() / own.rtt / (total * total) + self.alpha(&coupled) / own.window
    }

    /// The term that moves windows from the largest ones (M) to the best paths that do not have one (B without M).
    fn alpha(&self, coupled: &Coupled<'_>) -> f64 {
        // Whole datagrams: windows that differ by a fraction are equally large.
        let largest = coupled.paths().map(|path| path.window as u64).max().unwrap_or(0);
        let best = coupled.paths().map(|path| self.quality(&path)).fold(0.0, f64::max);
        let has_largest = |path: &CoupledPath<'_>| path.window as u64 == largest;
        let is_deprived = |path: &CoupledPath<'_>| self.quality(path) >= best && !has_largest(path);

        let deprived = coupled.paths().filter(is_deprived).count();
        if deprived == 0 {
            return 0.0;
        }
        let (own, paths) = (coupled.own(), coupled.paths().count() as f64);
        if is_deprived(&own) {
            1.0 / (paths * deprived as f64)
        } else if has_largest(&own) {
            -1.0 / (paths * coupled.paths().filter(has_largest).count() as f64)
        } else {
            0.0
        }
    }

    fn quality(&self, path: &CoupledPath<'_>) -> f64 {
        let bytes = path.entry.acked_since_loss.max(path.entry.acked_between_losses) as f64;
        match self.parameters.quality {
            OliaQuality::Deployed => bytes / (path.rtt * path.rtt),
            OliaQuality::Drafted => bytes * bytes / path.rtt,
        }
    }
}

impl Rule for OliaRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        Olia::NAME
    }

    fn hystart(&self) -> bool {
        self.parameters.hystart
    }

    fn is_coupled(&self) -> bool {
        true
    }

    fn avoid(&mut self, window: &mut Window, acked: &Acked<'_>, bytes: f64) {
        let increase = self.increase(window, acked.siblings);
        // Per datagram it may be negative; bytes cancel against the datagram size.
        window.step(match self.parameters.increment {
            OliaIncrement::Literal => bytes * increase,
            OliaIncrement::PerAck => window.datagram() * increase.abs(),
        });
    }

    fn reduce(&mut self, window: &mut Window, _loss: &Loss, _siblings: &Siblings<'_>) {
        window.reduce(self.parameters.beta);
    }

    fn restart(&mut self) {}
}

#[cfg(test)]
mod tests;
