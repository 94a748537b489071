use hawser_policy::{
    CongestionController, ControllerInit, Loss, ParameterInfo, Parameters, PolicyInfo, Sent, Siblings,
    Snapshot,
};

use crate::new_reno;
use crate::queue_delay::QueueDelay;
use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};

const SOURCE: &str = "Brakmo and Peterson, IEEE JSAC 1995; Linux";
/// Samples that a round trip needs to be judged.
const LEAST_SAMPLES: u32 = 3;
const LOSS_REDUCTION: f64 = 0.5;

/// Vegas: keeps a few packets in the queue, as the difference of expected and actual rate tells them.
#[derive(Clone, Debug)]
pub(crate) struct VegasRule {
    alpha: f64,
    beta: f64,
    gamma: f64,
    delay: QueueDelay,
    /// Whether the last round trip could be judged; else Reno's growth holds.
    judged: bool,
}

impl VegasRule {
    pub(crate) fn info() -> PolicyInfo {
        let packets = |name: &str, default, meaning: &str| {
            ParameterInfo::number(name, 0.5..=100.0, default)
                .unit("datagrams")
                .meaning(meaning)
                .source(SOURCE)
        };
        PolicyInfo::new("vegas", "keeps a few packets in the queue, by delay")
            .source(SOURCE)
            .parameter(packets("alpha", 2.0, "queued, at least"))
            .parameter(packets("beta", 4.0, "queued, at most"))
            .parameter(packets("gamma", 1.0, "queued, that end slow start"))
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        let rule = VegasRule {
            alpha: parameters.number("alpha"),
            beta: parameters.number("beta"),
            gamma: parameters.number("gamma"),
            delay: QueueDelay::default(),
            judged: false,
        };
        Box::new(WindowBased::start(init, rule))
    }

    /// Once per round trip.
    fn judge(&mut self, window: &mut Window, rtt: f64, base: f64) {
        let packets = window.exact() / window.datagram();
        let queued = packets * (rtt - base) / base;
        if window.in_slow_start() {
            if queued > self.gamma {
                // What the path holds without a queue, and one.
                window.set(window.exact().min((packets * base / rtt + 1.0) * window.datagram()));
                window.set_threshold_here();
            }
        } else if queued > self.beta {
            window.step(-window.datagram());
        } else if queued < self.alpha {
            window.step(window.datagram());
        }
    }
}

impl Rule for VegasRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        "vegas"
    }

    /// It has an end of slow start of its own.
    fn hystart(&self) -> bool {
        false
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.delay.on_sent(sent);
    }

    fn measure(&mut self, window: &mut Window, acked: &Acked<'_>) {
        let Some(round) = self.delay.on_ack(acked) else { return };
        self.judged = round.samples >= LEAST_SAMPLES;
        if self.judged && !acked.ack.limited_by.leaves_window_unused() {
            self.judge(window, round.min, round.base);
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
        self.judged = false;
    }

    fn seed(&mut self, from: &Snapshot) {
        self.delay.seed(from.min_rtt);
    }
}

#[cfg(test)]
mod tests;
