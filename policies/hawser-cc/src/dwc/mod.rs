//! DWC (Hassayoun, Iyengar and Ros, ICNP 2011), simplified: paths whose losses and delays coincide form a set, in which they grow as
//! LIA has them; a path in none grows by itself.
//!
//! On a loss of one path every other path that lost something, or whose delay was near its maximum, within the same round trip joins
//! its set. A set holds as long as that is renewed: two paths part after a loss that was the one's alone, or after several in a
//! row (`misses`). The sets are shown as bottleneck groups ([`hawser_policy::Sibling::group`]), so that whatever couples by groups sees them.

mod sets;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_policy::{
    CongestionController, ControllerFactory, ControllerInit, GroupId, Loss, ParameterInfo, Parameters,
    PolicyInfo, Siblings, Side,
};

use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};
use crate::{lia, new_reno, slow_start};
use sets::{Member, Rules, Sets};

const SOURCE: &str = "Hassayoun, Iyengar and Ros, ICNP 2011";
const OURS: &str = "Hawser";
const LOSS_REDUCTION: f64 = 0.5;

/// What a registry tells of it.
pub(crate) fn info() -> PolicyInfo {
    let seconds = Duration::from_secs;
    PolicyInfo::new("dwc", "coupled where losses and delays of paths coincide, else each path by itself")
        .source(SOURCE)
        .parameter(new_reno::beta(LOSS_REDUCTION, SOURCE))
        .parameter(slow_start::hystart(true))
        .parameter(
            ParameterInfo::number("window", 0.1..=20.0, 1.0)
                .unit("round trips")
                .meaning("within which losses and delays coincide, of the path that has the longer ones")
                .source(OURS),
        )
        .parameter(
            ParameterInfo::number("near", 0.1..=1.0, 0.9)
                .meaning("share of its largest queueing delay that is near the maximum")
                .source(OURS),
        )
        .parameter(
            ParameterInfo::duration("memory", seconds(1)..=seconds(3_600), seconds(30))
                .meaning("over which the largest queueing delay is the largest")
                .source(OURS),
        )
        .parameter(
            ParameterInfo::integer("misses", 1..=100, 1)
                .unit("losses")
                .meaning("in a row that part two paths, if nothing of the other coincides with them")
                .source(OURS),
        )
}

/// Makes its factory.
pub(crate) fn factory(parameters: &Parameters) -> Arc<dyn ControllerFactory> {
    Arc::new(Factory {
        beta: parameters.number("beta"),
        hystart: parameters.flag("hystart"),
        rules: Rules {
            window: parameters.number("window"),
            near: parameters.number("near"),
            memory: parameters.duration("memory"),
            misses: parameters.integer("misses"),
        },
        sets: None,
    })
}

#[derive(Clone)]
struct Factory {
    beta: f64,
    hystart: bool,
    rules: Rules,
    /// Those of a connection.
    sets: Option<Arc<Mutex<Sets>>>,
}

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        let sets = self.sets.clone().unwrap_or_default();
        let member = Arc::new(Member::join(&sets, init.path, self.rules));
        Box::new(WindowBased::start(init, DwcRule { beta: self.beta, hystart: self.hystart, member }))
    }

    fn for_connection(&self, _side: Side, _seed: u64) -> Option<Arc<dyn ControllerFactory>> {
        Some(Arc::new(Factory { sets: Some(Arc::default()), ..self.clone() }))
    }
}

/// The rule of a path.
#[derive(Clone, Debug)]
struct DwcRule {
    beta: f64,
    hystart: bool,
    member: Arc<Member>,
}

impl Rule for DwcRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        "dwc"
    }

    fn hystart(&self) -> bool {
        self.hystart
    }

    fn is_coupled(&self) -> bool {
        true
    }

    fn group(&self) -> GroupId {
        self.member.group()
    }

    fn measure(&mut self, _window: &mut Window, acked: &Acked<'_>) {
        if acked.rtt.is_some() {
            // Smoothed, so that jitter is not taken for a full queue.
            self.member.on_rtt(acked.ack.now, acked.ack.smoothed_rtt);
        }
    }

    fn avoid(&mut self, window: &mut Window, acked: &Acked<'_>, bytes: f64) {
        // In a set of one that is what a flow of its own gains.
        window.grow(bytes * lia::increase(window, acked.siblings));
    }

    fn reduce(&mut self, window: &mut Window, loss: &Loss, siblings: &Siblings<'_>) {
        self.member.on_loss(loss.now, siblings);
        window.reduce(self.beta);
    }

    fn restart(&mut self) {
        self.member.reset();
    }
}
