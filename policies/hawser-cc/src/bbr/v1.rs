//! BBRv1 (Cardwell and others, "BBR: congestion-based congestion control", ACM Queue 2016), and its coupled form.

use std::ops::RangeInclusive;
use std::time::Duration;

use hawser_policy::{
    CongestionController, ControllerInit, Loss, LossCause, ParameterInfo, Parameters, PolicyInfo, Siblings,
    Time,
};

use super::backward::{self, Backward};
use super::common::{Common, Sample};
use super::filter::RoundWindow;
use super::min_rtt::{MinRtt, Reordered};
use super::phase::{self, Phase};
use super::{Bbr, Gains, Model};

#[cfg(test)]
mod tests;

/// 2 / ln 2: the least gain at which the rate doubles per round trip.
const STARTUP_GAIN: f64 = 2.885;
/// Drain is Startup's inverse.
const DRAIN_GAIN: f64 = 1.0 / STARTUP_GAIN;
/// The cycle has eight phases of about a round-trip time: up, down, six of cruise.
const CYCLE: u64 = 8;
const CRUISES: u64 = 6;
/// What coupling leaves a path at least of its bandwidth.
const LEAST_COUPLED_GAIN: f64 = 0.25;
/// Share of the bytes acknowledged or declared lost in a round trip that was lost: above it a round trip without growth shows a full pipe even
/// if the sender paused.
/// As much random loss is what BBRv1 bears (Cardwell and others, figure 8).
const OVERFLOW: f64 = 0.2;

/// What can be set of BBRv1.
#[derive(Clone, Copy, Debug)]
struct Settings {
    name: &'static str,
    window_gain: f64,
    up_gain: f64,
    down_gain: f64,
    bandwidth_rounds: u64,
    min_rtt_window: Duration,
    coupled: bool,
}

#[derive(Clone, Debug)]
pub(super) struct V1 {
    settings: Settings,
    bandwidth: RoundWindow,
    /// Round trips of Cruise that are left in this cycle.
    cruises_left: u64,
    /// The first round trip of a recovery: as much leaves as arrives.
    conserving: bool,
    /// Whether less than a bandwidth-delay product was in flight when what was lost first in this recovery had left.
    was_unfilled: bool,
    recovering: bool,
    /// Bytes acknowledged and lost in this round trip.
    acked_and_lost: [f64; 2],
    /// Pacing gain in Cruise; one unless coupled.
    cruise_gain: f64,
}

impl V1 {
    fn new(settings: Settings) -> V1 {
        V1 {
            settings,
            bandwidth: RoundWindow::new(settings.bandwidth_rounds),
            cruises_left: CRUISES,
            conserving: false,
            was_unfilled: false,
            recovering: false,
            acked_and_lost: [0.0; 2],
            cruise_gain: 1.0,
        }
    }

    /// `gain` bandwidth-delay products and what sits in batches at both ends.
    fn inflight(&self, common: &Common, gain: f64) -> f64 {
        gain * common.bdp(self.bandwidth()) + 3.0 * common.quantum()
    }

    fn enter_cycle(&mut self, common: &mut Common, now: Time) {
        // Anywhere but in Down, so that flows that begin together do not probe together.
        let phase = common.random.below(CYCLE - 1);
        if phase == 0 {
            common.phases.enter(Phase::Up, now);
        } else {
            self.cruises_left = phase;
            common.phases.enter(Phase::Cruise, now);
        }
    }

    /// Whether a round trip is over that tells whether the pipe is full. One in which the sender paused does not, as it delivers less for
    /// that reason; but where bursts between pauses overflow the queue, they show it.
    fn says_whether_full(&mut self, sample: &Sample) -> bool {
        let [acked, lost] = &mut self.acked_and_lost;
        *acked += sample.acked;
        *lost += sample.newly_lost;
        if !sample.round_start {
            return false;
        }
        let [acked, lost] = std::mem::take(&mut self.acked_and_lost);
        !sample.limited || lost > OVERFLOW * (acked + lost)
    }

    fn update_cycle(&mut self, common: &mut Common, sample: &Sample) {
        let elapsed = sample.now.since(common.phases.since()) > common.min_rtt.duration();
        let more_than = |gain| sample.prior_in_flight >= self.inflight(common, gain);
        match common.phase() {
            Phase::Up if elapsed && (sample.newly_lost > 0.0 || more_than(self.settings.up_gain)) => {
                common.phases.enter(Phase::Down, sample.now);
            }
            Phase::Down if elapsed || sample.prior_in_flight <= self.inflight(common, 1.0) => {
                self.cruises_left = CRUISES;
                common.phases.enter(Phase::Cruise, sample.now);
            }
            Phase::Cruise if elapsed => {
                self.cruises_left = self.cruises_left.saturating_sub(1);
                if self.cruises_left == 0 {
                    common.phases.enter(Phase::Up, sample.now);
                } else {
                    common.phases.renew(sample.now);
                }
            }
            _ => {}
        }
    }

    /// Coupled BBR: in Cruise the paths together take the share of the best one of them (eq. 2.10 of Yang's thesis,
    /// Sorbonne 2022): (4 b - 1) / 3 with b = B max(B) / sum of B^2 over the paths of a bottleneck group.
    fn couple(&mut self, siblings: &Siblings<'_>) {
        let own = self.bandwidth();
        let Some(entry) = siblings.own_entry().filter(|_| own > 0.0) else {
            self.cruise_gain = 1.0;
            return;
        };
        let (mut largest, mut squares) = (own, own * own);
        for other in siblings.paths.iter().filter(|path| path.usable && path.group == entry.group) {
            if other.path == siblings.own {
                continue;
            }
            let rate = other.max_delivery_rate.map_or(0.0, |rate| rate.bits_per_second() as f64 / 8.0);
            largest = largest.max(rate);
            squares += rate * rate;
        }
        let balance = own * largest / squares;
        self.cruise_gain = ((4.0 * balance - 1.0) / 3.0).clamp(LEAST_COUPLED_GAIN, 1.0);
    }
}

impl Model for V1 {
    fn name(&self) -> &'static str {
        self.settings.name
    }

    fn bandwidth(&self) -> f64 {
        self.bandwidth.max().unwrap_or(0.0)
    }

    fn gains(&self, phase: Phase) -> Gains {
        let window = self.settings.window_gain;
        match phase {
            Phase::Startup => Gains { pacing: STARTUP_GAIN, window: STARTUP_GAIN },
            Phase::Drain => Gains { pacing: DRAIN_GAIN, window: STARTUP_GAIN },
            Phase::Up => Gains { pacing: self.settings.up_gain, window },
            Phase::Down => Gains { pacing: self.settings.down_gain, window },
            Phase::Cruise => Gains { pacing: self.cruise_gain, window },
            _ => Gains { pacing: 1.0, window },
        }
    }

    fn on_ack(&mut self, common: &mut Common, sample: &Sample, siblings: &Siblings<'_>) {
        if sample.round_start {
            self.bandwidth.next_round();
            self.conserving = false;
        }
        if let Some(rate) = sample.rate.filter(|rate| !sample.limited || *rate >= self.bandwidth()) {
            self.bandwidth.raise(rate);
        }
        if self.settings.coupled {
            self.couple(siblings);
        }
        common.aggregate(sample, self.bandwidth());
        self.update_cycle(common, sample);
        if self.says_whether_full(sample) && !common.full_pipe.reached {
            common.full_pipe.on_round(self.bandwidth());
        }
        if common.phase() == Phase::Startup && common.full_pipe.reached {
            common.phases.enter(Phase::Drain, sample.now);
        }
        if common.phase() == Phase::Drain && sample.in_flight <= self.inflight(common, 1.0) {
            self.enter_cycle(common, sample.now);
        }
    }

    fn on_loss(&mut self, common: &mut Common, loss: &Loss, enters_recovery: bool) {
        if enters_recovery && loss.cause == LossCause::Loss {
            (self.conserving, self.recovering) = (true, true);
            self.was_unfilled = (loss.inflight_at_send as f64) < common.bdp(self.bandwidth());
            common.rounds.restart(common.delivered);
            common.set_window(loss.bytes_in_flight as f64);
        }
    }

    /// As much as arrives, for one round trip; at the end of recovery the window from before. What was lost leaves the window
    /// (draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.3.4).
    fn in_recovery(&mut self, common: &mut Common, sample: &Sample) -> Option<f64> {
        if sample.newly_lost > 0.0 {
            common.set_window(common.window - sample.newly_lost);
        }
        if self.recovering && common.recovery_until.is_none() {
            (self.recovering, self.conserving) = (false, false);
            common.restore_window();
        }
        // Where the path had not been given what it carries, rates of what leaves meanwhile are low for that reason: three such round
        // trips are no full pipe.
        if self.conserving && self.was_unfilled {
            common.hold_down(sample.in_flight);
        }
        self.conserving.then(|| common.window.max(sample.in_flight + sample.acked))
    }

    fn on_late(&mut self, common: &mut Common, bytes: f64) {
        let [acked, lost] = &mut self.acked_and_lost;
        (*acked, *lost) = (*acked + bytes, (*lost - bytes).max(0.0));
        if self.recovering {
            common.set_window(common.window + bytes);
        }
    }

    fn probe_rtt_window(&self, common: &Common) -> f64 {
        common.minimum()
    }

    fn leave_probe_rtt(&mut self, common: &mut Common, now: Time) {
        if common.full_pipe.reached {
            self.enter_cycle(common, now);
        } else {
            common.phases.enter(Phase::Startup, now);
        }
    }

    fn target(&self, common: &Common) -> f64 {
        let gain = self.gains(common.phase()).window;
        self.inflight(common, gain) + common.aggregation.extra(self.bandwidth())
    }

    fn restart(&mut self) {
        *self = V1::new(self.settings);
    }

    fn seed(&mut self, bandwidth: f64) {
        if bandwidth > 0.0 {
            self.bandwidth.raise(bandwidth);
        }
    }

    fn wants_siblings(&self) -> bool {
        self.settings.coupled
    }
}

const SOURCE: &str = "Cardwell and others, ACM Queue 2016";

fn describe(info: PolicyInfo) -> PolicyInfo {
    let gain = |name: &str, range: RangeInclusive<f64>, default, meaning: &str| {
        ParameterInfo::number(name, range, default).meaning(meaning).source(SOURCE)
    };
    info.parameter(gain("window_gain", 1.0..=4.0, 2.0, "window in bandwidth-delay products"))
        .parameter(gain("up_gain", 1.0..=2.0, 1.25, "pacing while probing, in bandwidths"))
        .parameter(gain("down_gain", 0.1..=1.0, 0.75, "pacing after a probe, in bandwidths"))
        .parameter(
            ParameterInfo::integer("bandwidth_rounds", 1..=16, 10)
                .unit("round trips")
                .meaning("how long a bandwidth sample holds")
                .source(SOURCE),
        )
        .parameter(
            ParameterInfo::duration(
                "min_rtt_window",
                Duration::from_secs(1)..=Duration::from_secs(60),
                TEN_SECONDS,
            )
            .meaning("how long a minimum of the round-trip time holds, and how far ProbeRTT is apart")
            .source(SOURCE),
        )
        .parameter(backward::parameter())
        .parameter(Reordered::parameter())
}

const TEN_SECONDS: Duration = Duration::from_secs(10);

/// What a registry tells of BBRv1.
pub(crate) fn info() -> PolicyInfo {
    describe(PolicyInfo::new(
        "bbr",
        "as much in flight as bandwidth and round-trip time ask for; loss does not count",
    ))
    .alias("bbr1")
    .alias("bbrv1")
    .source(SOURCE)
}

/// What a registry tells of coupled BBR.
pub(crate) fn info_coupled() -> PolicyInfo {
    describe(PolicyInfo::new("coupled-bbr", "BBRv1 whose paths share the bandwidth of a common bottleneck"))
        .source("Han and others, coupled BBR, as in Yang's thesis (Sorbonne 2022), eq. (2.10)")
}

/// BBRv1 for a path.
pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
    Box::new(v1(init, parameters))
}

/// BBRv1 by value.
pub(super) fn v1(init: &ControllerInit, parameters: &Parameters) -> Bbr<V1> {
    make(init, parameters, "bbr", false)
}

/// Coupled BBR for a path.
pub(crate) fn build_coupled(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
    Box::new(make(init, parameters, "coupled-bbr", true))
}

fn make(init: &ControllerInit, parameters: &Parameters, name: &'static str, coupled: bool) -> Bbr<V1> {
    let settings = Settings {
        name,
        window_gain: parameters.number("window_gain"),
        up_gain: parameters.number("up_gain"),
        down_gain: parameters.number("down_gain"),
        bandwidth_rounds: parameters.integer("bandwidth_rounds"),
        min_rtt_window: parameters.duration("min_rtt_window"),
        coupled,
    };
    let min_rtt = MinRtt::new(settings.min_rtt_window, settings.min_rtt_window, init.now);
    let mut common = Common::new(init, phase::V1, min_rtt);
    common.backward = Backward::new(parameters);
    common.reordered = Reordered::read(parameters);
    Bbr::new(init, common, V1::new(settings))
}
