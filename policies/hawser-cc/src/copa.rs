use std::time::Duration;

use hawser_policy::{
    CongestionController, ControllerInit, Loss, ParameterInfo, Parameters, PolicyInfo, Rate, Sent, Siblings,
    Snapshot,
};

use crate::two_buckets::TwoBuckets;
use crate::window::Window;
use crate::window_based::{Acked, PacketRounds, Rule, WindowBased};

const SOURCE: &str = "Arun and Balakrishnan, NSDI 2018";
/// Over which the round-trip time without queue is the least one.
const BASE_WINDOW: Duration = Duration::from_secs(10);
/// Round trips in one direction before the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// Round trips within which the queue of Copa flows alone is nearly empty once (section 2.2).
const EMPTY_ROUNDS: usize = 5;
const NEARLY_EMPTY: f64 = 0.1;
const MOST_VELOCITY: f64 = 65_536.0;

/// Copa: aims at the rate 1 / (delta d) with queueing delay d, so that the queue is a few packets and empties regularly; against
/// flows that keep it filled, delta follows AIMD.
#[derive(Clone, Debug)]
pub(crate) struct CopaRule {
    default_delta: f64,
    competes: bool,
    delta: f64,
    rounds: PacketRounds,
    base: TwoBuckets,
    standing: TwoBuckets,
    /// Largest and least round-trip time of each of the last rounds, seconds.
    recent: [(f64, f64); EMPTY_ROUNDS],
    recent_at: usize,
    velocity: f64,
    /// Direction of the last round, and round trips in it.
    upwards: bool,
    steady_rounds: u32,
    window_at_round: f64,
    competing: bool,
    lost_in_round: bool,
}

impl CopaRule {
    pub(crate) fn info() -> PolicyInfo {
        PolicyInfo::new("copa", "aims at a rate that falls with the queueing delay")
            .source(SOURCE)
            .parameter(
                ParameterInfo::number("delta", 0.004..=1.0, 0.5)
                    .meaning("weight of delay: 1/delta packets of this flow in the queue")
                    .source(SOURCE),
            )
            .parameter(
                ParameterInfo::flag("competitive", true)
                    .meaning("delta follows AIMD against flows that keep the queue filled")
                    .source(SOURCE),
            )
    }

    pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
        let rule = CopaRule::new(parameters.number("delta"), parameters.flag("competitive"));
        Box::new(WindowBased::start(init, rule))
    }

    fn new(delta: f64, competes: bool) -> CopaRule {
        CopaRule {
            default_delta: delta,
            competes,
            delta,
            rounds: PacketRounds::default(),
            base: TwoBuckets::EMPTY,
            standing: TwoBuckets::EMPTY,
            recent: [(0.0, f64::INFINITY); EMPTY_ROUNDS],
            recent_at: 0,
            velocity: 1.0,
            upwards: true,
            steady_rounds: 0,
            window_at_round: 0.0,
            competing: false,
            lost_in_round: false,
        }
    }

    /// Datagrams per second: 1 / (delta d); infinite without a queue.
    fn target_rate(&self, standing: f64, base: f64) -> f64 {
        let queue = standing - base;
        if queue > 0.0 { 1.0 / (self.delta * queue) } else { f64::INFINITY }
    }

    fn on_round(&mut self, window: &Window) {
        let upwards = window.exact() >= self.window_at_round;
        if upwards == self.upwards {
            self.steady_rounds += 1;
            if self.steady_rounds >= STEADY_ROUNDS {
                self.velocity = (self.velocity * 2.0).min(MOST_VELOCITY);
            }
        } else {
            (self.velocity, self.steady_rounds) = (1.0, 0);
        }
        (self.upwards, self.window_at_round) = (upwards, window.exact());
        self.choose_mode();
        self.recent_at = (self.recent_at + 1) % EMPTY_ROUNDS;
        self.recent[self.recent_at] = (0.0, f64::INFINITY);
        self.lost_in_round = false;
    }

    /// Copa's own queue is nearly empty once in five round trips; a queue that is not has other flows in it.
    fn choose_mode(&mut self) {
        let base = self.base.get();
        let (mut largest, mut least) = (0.0f64, f64::INFINITY);
        for (round_largest, round_least) in self.recent {
            (largest, least) = (largest.max(round_largest), least.min(round_least));
        }
        let known = self.recent.iter().all(|(_, least)| least.is_finite());
        let competing = self.competes && known && least - base > NEARLY_EMPTY * (largest - base);
        if !competing {
            self.delta = self.default_delta;
        } else if self.lost_in_round {
            self.delta = (self.delta * 2.0).min(self.default_delta);
        } else {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
        self.competing = competing;
    }

    fn steer(&mut self, window: &mut Window, acked: &Acked<'_>, standing: f64) {
        let target = self.target_rate(standing, self.base.get());
        let packets = window.exact() / window.datagram();
        let below = packets / standing <= target;
        if window.in_slow_start() {
            if !below {
                window.set_threshold_here();
            }
            return;
        }
        if below && acked.bytes <= 0.0 {
            return;
        }
        if below != self.upwards && self.velocity > 1.0 {
            (self.velocity, self.steady_rounds) = (1.0, 0);
        }
        // At most a doubling per round trip.
        let step = (self.velocity / (self.delta * packets)).min(1.0) * acked.ack.bytes as f64;
        window.step(if below { step } else { -step });
    }
}

impl Rule for CopaRule {
    type Memory = ();

    fn name(&self) -> &'static str {
        "copa"
    }

    /// The first queue ends slow start.
    fn hystart(&self) -> bool {
        false
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.rounds.on_sent(sent.packet_number);
    }

    fn measure(&mut self, window: &mut Window, acked: &Acked<'_>) {
        let over = self.rounds.on_ack(acked.ack.largest_acked);
        if let Some(sample) = acked.rtt {
            if sample.changed {
                (self.base, self.standing) = (TwoBuckets::EMPTY, TwoBuckets::EMPTY);
            }
            let (now, rtt) = (acked.ack.now, sample.adjusted.as_secs_f64());
            self.base.on_sample(now, rtt, BASE_WINDOW);
            let standing = self.standing.on_sample(now, rtt, acked.ack.smoothed_rtt / 2);
            let (largest, least) = &mut self.recent[self.recent_at];
            (*largest, *least) = (largest.max(rtt), least.min(rtt));
            self.steer(window, acked, standing);
        }
        if over {
            self.on_round(window);
        }
    }

    /// It was steered when it was measured.
    fn avoid(&mut self, _window: &mut Window, _acked: &Acked<'_>, _bytes: f64) {}

    /// Delay is what counts; against other flows a loss lets delta double.
    fn reduce(&mut self, window: &mut Window, _loss: &Loss, _siblings: &Siblings<'_>) {
        self.lost_in_round = true;
        if window.in_slow_start() {
            window.reduce(0.5);
        }
    }

    fn on_persistent_congestion(&mut self) {
        (self.velocity, self.steady_rounds) = (1.0, 0);
    }

    fn restart(&mut self) {
        *self = CopaRule { rounds: self.rounds, ..CopaRule::new(self.default_delta, self.competes) };
    }

    fn seed(&mut self, from: &Snapshot) {
        if !from.min_rtt.is_zero() {
            self.base = TwoBuckets::seeded(from.now, from.min_rtt.as_secs_f64());
        }
    }

    /// Twice the window per standing round-trip time (section 2.1), so that it is the window that holds back.
    fn pacing_rate(&self, window: &Window) -> Option<Rate> {
        let standing = self.standing.get();
        (standing.is_finite() && standing > 0.0)
            .then(|| Rate::from_bits_per_second((2.0 * 8.0 * window.exact() / standing).max(1.0) as u64))
    }
}

#[cfg(test)]
mod tests;
