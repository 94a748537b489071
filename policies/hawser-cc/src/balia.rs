use hawser_policy::{CongestionController, ControllerInit, Loss, Parameters, PolicyInfo, Siblings};

use crate::coupled::Coupled;
use crate::slow_start;
use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};

/// The largest ratio of rates that deepens a cut.
const DEEPEST: f64 = 1.5;

/// BALIA (Peng, Walid, Hwang and Low, IEEE/ACM Transactions on Networking 2016): between the fairness of OLIA and the
/// responsiveness of LIA.
#[derive(Clone, Debug)]
pub(crate) struct BaliaRule {
    hystart: bool,
}

impl BaliaRule {
    pub(crate) fn info() -> PolicyInfo {
        PolicyInfo::new("balia", "coupled: fair like OLIA, quick like LIA")
            .source("Peng and others, IEEE/ACM Transactions on Networking 2016")
            .parameter(slow_start::hystart(true))
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        Box::new(WindowBased::start(init, BaliaRule { hystart: parameters.flag("hystart") }))
    }
}

/// Rate of the fastest coupled path over that of this one: a of the paper, at least one.
fn ratio(coupled: &Coupled<'_>) -> f64 {
    let largest = coupled.paths().map(|path| path.rate()).fold(0.0, f64::max);
    (largest / coupled.own().rate()).max(1.0)
}

/// Growth in datagrams per acknowledged datagram: x/rtt / (sum of x)^2 (1 + a)/2 (4 + a)/5 with rates x.
fn increase(window: &Window, siblings: &Siblings<'_>) -> f64 {
    let Some(coupled) = Coupled::new(siblings, window) else {
        return window.datagram() / window.exact();
    };
    let (own, total, a) = (coupled.own(), coupled.total_rate(), ratio(&coupled));
    own.rate() / own.rtt / (total * total) * (1.0 + a) / 2.0 * (4.0 + a) / 5.0
}

impl Rule for BaliaRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        "balia"
    }

    fn hystart(&self) -> bool {
        self.hystart
    }

    fn is_coupled(&self) -> bool {
        true
    }

    fn avoid(&mut self, window: &mut Window, acked: &Acked<'_>, bytes: f64) {
        // A path with next to nothing has a huge ratio: it doubles per round trip at most.
        window.grow(bytes * increase(window, acked.siblings).min(1.0));
    }

    /// Half of the window, or three quarters where the path is not the fastest.
    fn reduce(&mut self, window: &mut Window, _loss: &Loss, siblings: &Siblings<'_>) {
        let a = Coupled::new(siblings, window).map_or(1.0, |coupled| ratio(&coupled));
        window.reduce(1.0 - a.min(DEEPEST) / 2.0);
    }

    fn restart(&mut self) {}
}

#[cfg(test)]
mod tests;
