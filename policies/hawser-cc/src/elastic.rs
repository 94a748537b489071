use hawser_policy::{
    CongestionController, ControllerInit, Loss, Parameters, PolicyInfo, Sent, Siblings, Snapshot,
};

use crate::queue_delay::QueueDelay;
use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};
use crate::{new_reno, slow_start};

const SOURCE: &str = "Alrshah, Al-Maqri and Othman, IEEE Systems Journal 2019";
const LOSS_REDUCTION: f64 = 0.5;

/// Elastic-TCP: grows by the square root of the window, and the more so the further the round-trip time is from the largest
/// one seen.
#[derive(Clone, Debug)]
pub(crate) struct ElasticRule {
    beta: f64,
    hystart: bool,
    delay: QueueDelay,
    /// Newest sample, seconds.
    rtt: Option<f64>,
}

impl ElasticRule {
    pub(crate) fn info() -> PolicyInfo {
        PolicyInfo::new("elastic", "grows by the square root of window and free queue")
            .alias("elastic-tcp")
            .source(SOURCE)
            .parameter(new_reno::beta(LOSS_REDUCTION, SOURCE))
            .parameter(slow_start::hystart(true))
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        let rule = ElasticRule {
            beta: parameters.number("beta"),
            hystart: parameters.flag("hystart"),
            delay: QueueDelay::default(),
            rtt: None,
        };
        Box::new(WindowBased::start(init, rule))
    }

    /// The window-correlated weighting function: sqrt(RTTmax / RTT w), datagrams per round trip.
    fn weight(&self, packets: f64) -> f64 {
        let ratio = self.rtt.map_or(1.0, |rtt| (self.delay.largest() / rtt).max(1.0));
        (ratio * packets).sqrt()
    }
}

impl Rule for ElasticRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        "elastic"
    }

    fn hystart(&self) -> bool {
        self.hystart
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.delay.on_sent(sent);
    }

    fn measure(&mut self, _window: &mut Window, acked: &Acked<'_>) {
        self.delay.on_ack(acked);
        self.rtt = acked.rtt.map(|sample| sample.adjusted.as_secs_f64()).or(self.rtt);
    }

    fn avoid(&mut self, window: &mut Window, _acked: &Acked<'_>, bytes: f64) {
        let packets = window.exact() / window.datagram();
        // No more than slow start, whatever a round-trip time of next to nothing says.
        window.grow(bytes * (self.weight(packets) / packets).min(1.0));
    }

    fn reduce(&mut self, window: &mut Window, _loss: &Loss, _siblings: &Siblings<'_>) {
        window.reduce(self.beta);
    }

    fn restart(&mut self) {
        self.delay = QueueDelay::default();
        self.rtt = None;
    }

    fn seed(&mut self, from: &Snapshot) {
        self.delay.seed(from.min_rtt);
    }
}

#[cfg(test)]
mod tests;
