use hawser_policy::{
    CongestionController, ControllerInit, Loss, ParameterInfo, Parameters, PolicyInfo, Sent, Siblings,
    Snapshot,
};

use crate::queue_delay::{DelayRound, QueueDelay};
use crate::slow_start;
use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};

const SOURCE: &str = "Liu, Basar and Srikant, Performance Evaluation 2008; Linux";
/// Windows under this, in datagrams, are moved as Reno's.
const SMALL_WINDOW: f64 = 15.0;
/// Round trips with hardly a queue before growth is the fastest again.
const QUIET_ROUNDS: u32 = 5;
const BASE_ALPHA: f64 = 1.0;
const BASE_BETA: f64 = 0.5;

/// Illinois: loss says when, delay says how much: fast growth and small cuts while the queue is short.
#[derive(Clone, Debug)]
pub(crate) struct IllinoisRule {
    alpha_range: [f64; 2],
    beta_range: [f64; 2],
    hystart: bool,
    delay: QueueDelay,
    alpha: f64,
    beta: f64,
    /// The queue was more than hardly there, and for how many round trips it has not been since.
    was_above: bool,
    quiet_rounds: u32,
}

impl IllinoisRule {
    pub(crate) fn info() -> PolicyInfo {
        let number = |name: &str, range, default, meaning: &str| {
            ParameterInfo::number(name, range, default).meaning(meaning).source(SOURCE)
        };
        PolicyInfo::new("illinois", "loss says when, delay says how much")
            .source(SOURCE)
            .parameter(number("alpha_min", 0.1..=1.0, 0.3, "datagrams per round trip with the longest queue"))
            .parameter(number("alpha_max", 1.0..=100.0, 10.0, "datagrams per round trip without a queue"))
            .parameter(number("beta_min", 0.01..=0.5, 0.125, "what a loss takes without a queue"))
            .parameter(number("beta_max", 0.1..=0.9, 0.5, "what a loss takes with the longest queue"))
            .parameter(slow_start::hystart(true))
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        let rule = IllinoisRule {
            alpha_range: [parameters.number("alpha_min"), parameters.number("alpha_max")],
            beta_range: [parameters.number("beta_min"), parameters.number("beta_max")],
            hystart: parameters.flag("hystart"),
            delay: QueueDelay::default(),
            alpha: BASE_ALPHA,
            beta: BASE_BETA,
            was_above: false,
            quiet_rounds: 0,
        };
        Box::new(WindowBased::start(init, rule))
    }

    fn judge(&mut self, window: &Window, round: &DelayRound) {
        if window.exact() < SMALL_WINDOW * window.datagram() {
            (self.alpha, self.beta) = (BASE_ALPHA, BASE_BETA);
            return;
        }
        let (mean, largest) = (round.mean - round.base, round.largest - round.base);
        self.alpha = self.alpha_for(mean, largest);
        self.beta = beta_for(mean, largest, self.beta_range);
    }

    /// Datagrams per round trip at a mean queueing delay, the largest one known.
    fn alpha_for(&mut self, mean: f64, largest: f64) -> f64 {
        let [least, most] = self.alpha_range;
        let hardly = largest / 100.0;
        if mean <= hardly {
            if !self.was_above {
                return most;
            }
            self.quiet_rounds += 1;
            if self.quiet_rounds < QUIET_ROUNDS {
                return self.alpha;
            }
            (self.was_above, self.quiet_rounds) = (false, 0);
            return most;
        }
        (self.was_above, self.quiet_rounds) = (true, 0);
        let (range, over) = (largest - hardly, mean - hardly);
        range * most / (range + over * (most - least) / least)
    }
}

/// What a loss takes: the least up to a tenth of the largest delay, the most from eight tenths on.
fn beta_for(mean: f64, largest: f64, [least, most]: [f64; 2]) -> f64 {
    let (low, high) = (largest * 0.1, largest * 0.8);
    if mean <= low {
        least
    } else if mean >= high {
        most
    } else {
        least + (most - least) * (mean - low) / (high - low)
    }
}

impl Rule for IllinoisRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        "illinois"
    }

    fn hystart(&self) -> bool {
        self.hystart
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.delay.on_sent(sent);
    }

    fn measure(&mut self, window: &mut Window, acked: &Acked<'_>) {
        if let Some(round) = self.delay.on_ack(acked) {
            self.judge(window, &round);
        }
    }

    fn avoid(&mut self, window: &mut Window, _acked: &Acked<'_>, bytes: f64) {
        window.grow(self.alpha * window.datagram() * bytes / window.exact());
    }

    fn reduce(&mut self, window: &mut Window, _loss: &Loss, _siblings: &Siblings<'_>) {
        window.reduce(1.0 - self.beta);
    }

    fn on_persistent_congestion(&mut self) {
        (self.alpha, self.beta) = (BASE_ALPHA, BASE_BETA);
    }

    fn restart(&mut self) {
        self.delay = QueueDelay::default();
        (self.alpha, self.beta, self.was_above, self.quiet_rounds) = (BASE_ALPHA, BASE_BETA, false, 0);
    }

    fn seed(&mut self, from: &Snapshot) {
        self.delay.seed(from.min_rtt);
    }
}

#[cfg(test)]
mod tests;
