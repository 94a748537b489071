use std::time::Duration;

use hawser_policy::{
    Ack, CongestionController, ControllerInit, Loss, ParameterInfo, Parameters, PolicyInfo, Sent, Siblings,
    Snapshot, Time,
};

use crate::cubic::{Avoidance, CubicParameters, CubicRule};
use crate::window::Window;
use crate::window_based::{Acked, Rule, WindowBased};

const SOURCE: &str = "Abbasloo, Xu and Chao, IEEE JSAC 2019";
/// How often the setpoint follows the target delay.
const ADAPT_EVERY: Duration = Duration::from_millis(500);
/// With a window of at most so many datagrams a sender has no queue of its own: a round trip that is over the setpoint then is the path's.
const NO_QUEUE_DATAGRAMS: f64 = 4.0;
const SETPOINTS: std::ops::RangeInclusive<f64> = 1.0..=10.0;

/// C2TCP: CUBIC with a guard on delay. While the round-trip time stays over the setpoint for an interval, the window collapses,
/// and again ever sooner.
#[derive(Clone, Debug)]
pub(crate) struct C2tcpRule {
    cubic: CubicRule,
    /// Setpoint in least round-trip times, and where it starts.
    setpoint: f64,
    first_setpoint: f64,
    /// Round-trip time to aim at; zero: the setpoint stays.
    target: Duration,
    min_rtt: Option<f64>,
    bad: Option<Above>,
    sum: f64,
    samples: u32,
    adapt_at: Option<Time>,
}

/// The round-trip time is over the setpoint.
#[derive(Clone, Copy, Debug)]
struct Above {
    /// When the window collapses.
    until: Time,
    count: f64,
}

impl C2tcpRule {
    pub(crate) fn info() -> PolicyInfo {
        let info =
            PolicyInfo::new("c2tcp", "CUBIC whose window collapses when the delay stays high").source(SOURCE);
        crate::cubic::describe(info)
            .parameter(
                ParameterInfo::number("setpoint", SETPOINTS, 1.5)
                    .unit("least round-trip times")
                    .meaning("round-trip time that is too long")
                    .source(SOURCE),
            )
            .parameter(
                ParameterInfo::duration("target", Duration::ZERO..=Duration::from_secs(10), Duration::ZERO)
                    .meaning("mean round-trip time that the setpoint is moved towards; zero leaves it")
                    .source(SOURCE),
            )
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        let setpoint = parameters.number("setpoint");
        let rule = C2tcpRule {
            cubic: CubicRule::new(CubicParameters::read(parameters)),
            setpoint,
            first_setpoint: setpoint,
            target: parameters.duration("target"),
            min_rtt: None,
            bad: None,
            sum: 0.0,
            samples: 0,
            adapt_at: None,
        };
        Box::new(WindowBased::start(init, rule))
    }

    fn adapt(&mut self, now: Time, rtt: f64) {
        if self.target.is_zero() {
            return;
        }
        self.sum += rtt;
        self.samples = self.samples.saturating_add(1);
        let at = *self.adapt_at.get_or_insert(now + ADAPT_EVERY);
        if now < at {
            return;
        }
        let (mean, target) = (self.sum / f64::from(self.samples), self.target.as_secs_f64());
        self.setpoint +=
            if mean <= target { (target - mean) / (2.0 * mean) } else { -2.0 * (mean - target) / target };
        self.setpoint = self.setpoint.clamp(*SETPOINTS.start(), *SETPOINTS.end());
        (self.sum, self.samples, self.adapt_at) = (0.0, 0, Some(now + ADAPT_EVERY));
    }

    /// Good, normal or bad (section IV of the paper).
    fn guard(&mut self, window: &mut Window, acked: &Acked<'_>, rtt: f64, setpoint: f64) {
        let now = acked.ack.now;
        if rtt <= setpoint {
            self.bad = None;
            if acked.bytes > 0.0 && !window.in_slow_start() {
                window.grow(setpoint / rtt * window.datagram() * acked.bytes / window.exact());
            }
            return;
        }
        let interval = Duration::try_from_secs_f64(setpoint).unwrap_or(Duration::MAX);
        match &mut self.bad {
            None => self.bad = Some(Above { until: now + interval, count: 1.0 }),
            // A least delay of a shorter path would keep the window at its minimum for good.
            Some(above) if now >= above.until && window.exact() <= NO_QUEUE_DATAGRAMS * window.datagram() => {
                (self.min_rtt, self.bad) = (Some(rtt), None);
            }
            Some(above) if now >= above.until => {
                above.count += 1.0;
                above.until = now + interval.div_f64(above.count.sqrt());
                self.cubic.cut(window);
                window.collapse();
            }
            Some(_) => {}
        }
    }
}

impl Rule for C2tcpRule {
    type Memory = Avoidance;

    fn name(&self) -> &'static str {
        "c2tcp"
    }

    fn hystart(&self) -> bool {
        self.cubic.hystart()
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.cubic.on_sent(sent);
    }

    fn measure(&mut self, window: &mut Window, acked: &Acked<'_>) {
        let Some(sample) = acked.rtt else { return };
        if sample.changed {
            (self.min_rtt, self.bad) = (None, None);
        }
        let rtt = sample.adjusted.as_secs_f64();
        let least = self.min_rtt.map_or(rtt, |min| min.min(rtt));
        self.min_rtt = Some(least);
        self.adapt(acked.ack.now, rtt);
        self.guard(window, acked, rtt, self.setpoint * least);
    }

    fn avoid(&mut self, window: &mut Window, acked: &Acked<'_>, bytes: f64) {
        self.cubic.avoid(window, acked, bytes);
    }

    fn on_unused(&mut self, ack: &Ack) {
        self.cubic.on_unused(ack);
    }

    fn reduce(&mut self, window: &mut Window, loss: &Loss, siblings: &Siblings<'_>) {
        self.cubic.reduce(window, loss, siblings);
    }

    fn on_persistent_congestion(&mut self) {
        self.cubic.on_persistent_congestion();
    }

    fn memory(&self) -> Avoidance {
        self.cubic.memory()
    }

    fn undo(&mut self, memory: Avoidance, now: Time) {
        self.cubic.undo(memory, now);
    }

    fn restart(&mut self) {
        self.cubic.restart();
        (self.setpoint, self.min_rtt, self.bad) = (self.first_setpoint, None, None);
        (self.sum, self.samples, self.adapt_at) = (0.0, 0, None);
    }

    fn seed(&mut self, from: &Snapshot) {
        if !from.min_rtt.is_zero() {
            self.min_rtt = Some(from.min_rtt.as_secs_f64());
        }
    }

    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        self.cubic.fill_snapshot(snapshot);
    }
}

#[cfg(test)]
mod tests;
