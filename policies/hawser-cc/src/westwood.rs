use std::time::Duration;

use hawser_policy::{
    CongestionController, ControllerInit, Loss, ParameterInfo, Parameters, PolicyInfo, Siblings, Snapshot,
    Time,
};

use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};
use crate::{new_reno, slow_start};

const SOURCE: &str = "Grieco and Mascolo, ACM CCR 2004 (Westwood+); Linux";
const FILTER: f64 = 1.0 / 8.0;

/// Westwood+: after a loss the window is what the path was measured to carry, not a fraction of what it was.
#[derive(Clone, Debug)]
pub(crate) struct WestwoodRule {
    least_interval: Duration,
    hystart: bool,
    /// The interval that is being measured: since when, and bytes acknowledged in it.
    since: Option<Time>,
    acked: f64,
    /// Two low-pass filters in a row, bytes per second; `None` before the first interval.
    filtered: Option<[f64; 2]>,
    /// Seconds.
    min_rtt: Option<f64>,
}

impl WestwoodRule {
    pub(crate) fn info() -> PolicyInfo {
        let range = Duration::from_millis(1)..=Duration::from_secs(1);
        PolicyInfo::new("westwood", "after a loss as much as the path was measured to carry")
            .alias("westwood+")
            .source(SOURCE)
            .parameter(
                ParameterInfo::duration("interval", range, Duration::from_millis(50))
                    .meaning("over which the bandwidth is measured, at least; else a round-trip time")
                    .source(SOURCE),
            )
            .parameter(slow_start::hystart(true))
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        let rule = WestwoodRule {
            least_interval: parameters.duration("interval"),
            hystart: parameters.flag("hystart"),
            since: None,
            acked: 0.0,
            filtered: None,
            min_rtt: None,
        };
        Box::new(WindowBased::start(init, rule))
    }

    /// Ends an interval of at least a round-trip time.
    fn filter(&mut self, now: Time, rtt: Duration) {
        let since = *self.since.get_or_insert(now);
        let elapsed = now.since(since);
        if elapsed < self.least_interval.max(rtt) || elapsed.is_zero() {
            return;
        }
        let sample = self.acked / elapsed.as_secs_f64();
        let smooth = |old: f64, new: f64| old + FILTER * (new - old);
        self.filtered = Some(match self.filtered {
            None => [sample; 2],
            Some([first, second]) => {
                let first = smooth(first, sample);
                [first, smooth(second, first)]
            }
        });
        (self.since, self.acked) = (Some(now), 0.0);
    }
}

impl Rule for WestwoodRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        "westwood"
    }

    fn hystart(&self) -> bool {
        self.hystart
    }

    fn measure(&mut self, _window: &mut Window, acked: &Acked<'_>) {
        if let Some(sample) = acked.rtt {
            let rtt = sample.adjusted.as_secs_f64();
            let known = self.min_rtt.filter(|_| !sample.changed);
            self.min_rtt = Some(known.map_or(rtt, |min| min.min(rtt)));
        }
        self.acked += acked.ack.bytes as f64;
        self.filter(acked.ack.now, acked.ack.smoothed_rtt);
    }

    fn avoid(&mut self, window: &mut Window, _acked: &Acked<'_>, bytes: f64) {
        new_reno::grow(window, bytes);
    }

    /// Bandwidth times the least round-trip time; half of the window while nothing was measured.
    fn reduce(&mut self, window: &mut Window, _loss: &Loss, _siblings: &Siblings<'_>) {
        let carried = self.filtered.zip(self.min_rtt).map(|([_, bandwidth], rtt)| bandwidth * rtt);
        let kept = carried.map_or(0.5, |bytes| (bytes / window.exact()).min(1.0));
        window.reduce(kept);
    }

    fn restart(&mut self) {
        (self.since, self.acked, self.filtered, self.min_rtt) = (None, 0.0, None, None);
    }

    fn seed(&mut self, from: &Snapshot) {
        if let Some(rate) = from.max_delivery_rate.filter(|_| !from.min_rtt.is_zero()) {
            self.filtered = Some([rate.bits_per_second() as f64 / 8.0; 2]);
            self.min_rtt = Some(from.min_rtt.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests;
