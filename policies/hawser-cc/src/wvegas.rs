use hawser_policy::{
    CongestionController, ControllerInit, Loss, ParameterInfo, Parameters, PolicyInfo, Sent, Siblings,
    Snapshot,
};

use crate::coupled::Coupled;
use crate::new_reno;
use crate::queue_delay::{DelayRound, QueueDelay};
use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};

const SOURCE: &str = "Cao, Xu and Fu, ICNP 2012; Linux MPTCP";
/// A round trip needs more samples than this.
const FEW_SAMPLES: u32 = 2;
const LOSS_REDUCTION: f64 = 0.5;
/// Queued datagrams that end slow start.
const GAMMA: f64 = 1.0;

/// wVegas: Vegas on each path, whose aims add up to one: a path's share of the datagrams in queues is its share of the rate.
#[derive(Clone, Debug)]
pub(crate) struct WVegasRule {
    total_alpha: f64,
    least_alpha: f64,
    /// Datagrams that this path aims to have queued.
    alpha: f64,
    /// Least queueing delay since the last drain of rounds that had as much queued as it aims for, seconds.
    least_queue: Option<f64>,
    delay: QueueDelay,
    judged: bool,
}

impl WVegasRule {
    pub(crate) fn info() -> PolicyInfo {
        let packets = |name: &str, default, meaning: &str| {
            ParameterInfo::number(name, 1.0..=1000.0, default)
                .unit("datagrams")
                .meaning(meaning)
                .source(SOURCE)
        };
        PolicyInfo::new("wvegas", "coupled: Vegas whose paths share one aim")
            .source(SOURCE)
            .parameter(packets("total_alpha", 10.0, "queued by all paths together"))
            .parameter(packets("least_alpha", 2.0, "queued by a path, at least"))
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        let least_alpha = parameters.number("least_alpha");
        let rule = WVegasRule {
            total_alpha: parameters.number("total_alpha"),
            least_alpha,
            alpha: least_alpha,
            least_queue: None,
            delay: QueueDelay::default(),
            judged: false,
        };
        Box::new(WindowBased::start(init, rule))
    }

    /// This path's share of the rate of all, by what it measured itself.
    fn weight(window: &Window, rtt: f64, siblings: &Siblings<'_>) -> f64 {
        let own = window.exact() / window.datagram() / rtt;
        let Some(coupled) = Coupled::new(siblings, window) else { return 1.0 };
        let others: f64 = coupled.paths().filter(|path| !path.is_own).map(|path| path.rate()).sum();
        own / (own + others)
    }

    fn judge(&mut self, window: &mut Window, round: &DelayRound, siblings: &Siblings<'_>) {
        let (rtt, base, datagram) = (round.mean.max(round.base), round.base, window.datagram());
        let queued = window.exact() / datagram * (rtt - base) / rtt;
        if window.in_slow_start() {
            if queued > GAMMA {
                window.set(window.exact().min(window.exact() * base / rtt + datagram));
                window.set_threshold_here();
            }
            return;
        }
        if queued >= self.alpha {
            self.alpha = (self.total_alpha * Self::weight(window, rtt, siblings)).max(self.least_alpha);
        }
        if queued > self.alpha {
            window.step(-datagram);
        } else if queued < self.alpha {
            window.step(datagram);
        }
        // A queue that never empties hides the base: drain it when it is twice what it was where this path has its aim. Below that
        // the queue is still growing to it, from next to nothing after a drain, and jitter is twice what it was before all the time.
        if queued < self.alpha {
            return;
        }
        let queue = rtt - base;
        let least = self.least_queue.map_or(queue, |least| least.min(queue));
        self.least_queue = Some(least);
        if least > 0.0 && queue >= 2.0 * least {
            window.step(window.exact() * (base / (2.0 * rtt) - 1.0));
            self.least_queue = None;
        }
    }
}

impl Rule for WVegasRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        "wvegas"
    }

    /// It has an end of slow start of its own.
    fn hystart(&self) -> bool {
        false
    }

    fn is_coupled(&self) -> bool {
        true
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.delay.on_sent(sent);
    }

    fn measure(&mut self, window: &mut Window, acked: &Acked<'_>) {
        let Some(round) = self.delay.on_ack(acked) else { return };
        self.judged = round.samples > FEW_SAMPLES;
        if self.judged && !acked.ack.limited_by.leaves_window_unused() {
            self.judge(window, &round, acked.siblings);
        }
    }

    fn avoid(&mut self, window: &mut Window, _acked: &Acked<'_>, bytes: f64) {
        if !self.judged {
            new_reno::grow(window, bytes);
        }
    }

    fn reduce(&mut self, window: &mut Window, _loss: &Loss, _siblings: &Siblings<'_>) {
        window.reduce(LOSS_REDUCTION);
    }

    fn restart(&mut self) {
        self.delay = QueueDelay::default();
        (self.alpha, self.least_queue, self.judged) = (self.least_alpha, None, false);
    }

    fn seed(&mut self, from: &Snapshot) {
        self.delay.seed(from.min_rtt);
    }
}

#[cfg(test)]
mod tests;
