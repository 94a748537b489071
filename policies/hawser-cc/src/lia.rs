use hawser_policy::{CongestionController, ControllerInit, Loss, Parameters, PolicyInfo, Siblings};

use crate::coupled::Coupled;
use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};
use crate::{new_reno, slow_start};

const LOSS_REDUCTION: f64 = 0.5;
const SOURCE: &str = "RFC 6356";

/// LIA (RFC 6356): the paths together grow like one flow on the best of them, none faster than a flow of its own.
#[derive(Clone, Debug)]
pub(crate) struct LiaRule {
    beta: f64,
    hystart: bool,
}

impl LiaRule {
    pub(crate) fn info() -> PolicyInfo {
        PolicyInfo::new("lia", "coupled: the paths together grow like one flow on the best of them")
            .source(SOURCE)
            .parameter(new_reno::beta(LOSS_REDUCTION, SOURCE))
            .parameter(slow_start::hystart(true))
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        let rule = LiaRule { beta: parameters.number("beta"), hystart: parameters.flag("hystart") };
        Box::new(WindowBased::start(init, rule))
    }
}

/// Growth in datagrams per acknowledged datagram: min(max(w/rtt^2) / (sum of w/rtt)^2, 1/w), RFC 6356 sections 3 and 4.
pub(crate) fn increase(window: &Window, siblings: &Siblings<'_>) -> f64 {
    let alone = window.datagram() / window.exact();
    let Some(coupled) = Coupled::new(siblings, window) else { return alone };
    let best = coupled.paths().map(|path| path.rate() / path.rtt).fold(0.0, f64::max);
    let total = coupled.total_rate();
    (best / (total * total)).min(alone)
}

impl Rule for LiaRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        "lia"
    }

    fn hystart(&self) -> bool {
        self.hystart
    }

    fn is_coupled(&self) -> bool {
        true
    }

    fn avoid(&mut self, window: &mut Window, acked: &Acked<'_>, bytes: f64) {
        window.grow(bytes * increase(window, acked.siblings));
    }

    fn reduce(&mut self, window: &mut Window, _loss: &Loss, _siblings: &Siblings<'_>) {
        window.reduce(self.beta);
    }

    fn restart(&mut self) {}
}

#[cfg(test)]
mod tests;
