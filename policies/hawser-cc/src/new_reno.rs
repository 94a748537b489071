use hawser_policy::{
    CongestionController, ControllerInit, Loss, ParameterInfo, Parameters, PolicyInfo, Siblings,
};

use crate::slow_start;
use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};

/// RFC 9002 section 7.3.2 and appendix B: kLossReductionFactor.
const LOSS_REDUCTION: f64 = 0.5;

/// NewReno as RFC 9002 section 7 and appendix B describe it: doubles per round trip up to the threshold, then one
/// datagram per round trip; halves once per recovery epoch.
pub type NewReno = WindowBased<NewRenoRule>;

/// The rule of [`NewReno`].
#[derive(Clone, Debug)]
pub struct NewRenoRule {
    /// What remains of the window after congestion.
    beta: f64,
    hystart: bool,
}

impl NewReno {
    /// Its name in the registry.
    pub const NAME: &'static str = "newreno";

    /// A controller for a new or a running path.
    pub fn new(init: &ControllerInit) -> Self {
        NewReno::with_beta(init, LOSS_REDUCTION)
    }

    /// The same where `beta` of the window remains after congestion.
    pub fn with_beta(init: &ControllerInit, beta: f64) -> Self {
        WindowBased::start(init, NewRenoRule { beta, hystart: false })
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(NewReno::NAME, "one datagram more per round, half after congestion")
            .source("RFC 9002 section 7")
            .parameter(beta(LOSS_REDUCTION, "RFC 9002 section 7.3.2"))
            .parameter(slow_start::hystart(false))
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        let rule = NewRenoRule { beta: parameters.number("beta"), hystart: parameters.flag("hystart") };
        Box::new(WindowBased::start(init, rule))
    }
}

/// The parameter that says what remains of the window after congestion.
pub(crate) fn beta(default: f64, source: &str) -> ParameterInfo {
    ParameterInfo::number("beta", 0.1..=0.95, default)
        .meaning("what remains of the window after congestion")
        .source(source)
}

/// RFC 9002 section 7.3.3: at most one datagram per window acknowledged.
//= rfc9002-7.3.3-1: in congestion avoidance the window grows by one datagram per window
pub(crate) fn grow(window: &mut Window, bytes: f64) {
    window.grow(window.datagram() * bytes / window.exact());
}

impl Rule for NewRenoRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        NewReno::NAME
    }

    fn hystart(&self) -> bool {
        self.hystart
    }

    fn avoid(&mut self, window: &mut Window, _acked: &Acked<'_>, bytes: f64) {
        grow(window, bytes);
    }

    //= rfc9002-7.3.2-1: loss sets the slow start threshold to half the window
    fn reduce(&mut self, window: &mut Window, _loss: &Loss, _siblings: &Siblings<'_>) {
        window.reduce(self.beta);
    }

    fn restart(&mut self) {}
}

#[cfg(test)]
mod tests;
