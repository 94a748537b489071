//! The cycle of probes: when to look for more bandwidth, how far, and what a probe that lost too much means.

use hawser_policy::{Loss, Time};

use super::super::common::{Common, Sample};
use super::super::phase::Phase;
use super::super::plus::{AfterTry, AfterUp, CruiseEnd, Plus};
use super::{Bounded, Version};

/// What acknowledgements tell about a probe (draft-ietf-ccwg-bbr, BBR.ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckPhase {
    /// Nothing.
    #[default]
    Init,
    /// They refill the pipe.
    Refilling,
    /// The probe began, its packets are not acknowledged yet.
    Starting,
    /// They are.
    Feedback,
    /// The probe is over, its packets are still being acknowledged.
    Stopping,
}

/// Where a controller is between two probes.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    ack_phase: AckPhase,
    /// Acknowledgements and losses are those of a probe: too many losses set `inflight_hi`, once.
    samples: bool,
    previous_too_high: bool,
    /// The last probe stopped at the `inflight_hi` of one before, out of caution.
    stopped_risky: bool,
    cycle_since: Time,
    /// Seconds to wait for the next probe.
    wait: f64,
    rounds_since: u64,
    up_rounds: u32,
    up_acked: f64,
    /// Acknowledged bytes for which `inflight_hi` grows by a datagram.
    acked_per_datagram: f64,
    pub(super) drain_round: u64,
}

impl Probe {
    /// Bounds the doubling of growth.
    const MOST_UP_ROUNDS: u32 = 30;
    const SETTLED_GAIN: f64 = 1.25;
}

impl Bounded {
    /// A loss of packets of a probe: was too much in flight, and how much would not have been?
    pub(super) fn on_lost_while_probing(&mut self, common: &mut Common, loss: &Loss) {
        if !self.probe.samples {
            return;
        }
        let threshold = self.rules.loss_threshold;
        let (inflight, lost) = (loss.inflight_at_send as f64, loss.lost_since_sent as f64);
        if lost <= threshold * inflight {
            return;
        }
        // The packets of a detection left one after the other: where among them did losses cross the threshold
        // (draft-ietf-ccwg-bbr section 5.5.10.2)?
        let before = (inflight - loss.bytes as f64).max(0.0);
        let lost_before = (lost - loss.bytes as f64).max(0.0);
        let allowed = threshold * before;
        let cut = if lost_before >= allowed || threshold >= 1.0 {
            before
        } else {
            before + (allowed - lost_before) / (1.0 - threshold)
        };
        self.on_too_high(common, cut, loss.limited_by.leaves_window_unused(), loss.now);
    }

    /// One answer to each probe that went too high.
    fn on_too_high(&mut self, common: &mut Common, inflight: f64, limited: bool, now: Time) {
        self.probe.previous_too_high = true;
        self.probe.samples = false;
        if !limited {
            let least = (1.0 - self.rules.beta) * self.target_inflight(common);
            self.bounds.inflight_hi = inflight.max(least).max(common.minimum());
        }
        if common.phase() == Phase::Up {
            if let Some(undo) = &mut self.undo {
                undo.phase = Some(Phase::Up);
            }
            self.start_down(common, now, Phase::Down);
        }
    }

    /// Upper bounds, then the phase.
    pub(super) fn update_cycle(&mut self, common: &mut Common, sample: &Sample) {
        if sample.round_start {
            self.probe.rounds_since += 1;
        }
        if !common.full_pipe.reached || self.adapt_upper_bounds(common, sample) || !common.phase().is_cycle()
        {
            return;
        }
        let round = sample.round_start;
        match common.phase() {
            Phase::Cruise | Phase::Down | Phase::DownSlight => self.update_between(common, sample),
            Phase::Refill if round => match self.plus.as_mut().filter(|plus| plus.is_own_mode()) {
                Some(plus) => {
                    plus.start_try(sample.now);
                    self.next_round_phase(common, sample.now, Phase::Try1);
                }
                None => self.start_up(common, sample),
            },
            Phase::Try1 if round => {
                if let Some(plus) = &mut self.plus {
                    plus.end_try(common.phases.since(), sample.now);
                }
                self.next_round_phase(common, sample.now, Phase::Try2);
            }
            Phase::Try2 if round => match self.plus.as_mut().map(|plus| plus.after_try()) {
                Some(AfterTry::Probe) => self.start_up(common, sample),
                _ => self.start_down(common, sample.now, Phase::DownSlight),
            },
            Phase::Up => self.update_up(common, sample),
            Phase::PostUp if round => match self.plus.as_mut().map(|plus| plus.after_up()) {
                Some(AfterUp::Again) => self.start_up(common, sample),
                _ => self.start_down(common, sample.now, Phase::Down),
            },
            _ => {}
        }
    }

    /// Cruise and the two Downs: is the queue gone, is it time to probe?
    fn update_between(&mut self, common: &mut Common, sample: &Sample) {
        let in_cruise = common.phase() == Phase::Cruise;
        let own_mode = self.plus.as_ref().is_some_and(|plus| plus.is_own_mode());
        if own_mode {
            if let Some(plus) = self.plus.as_mut().filter(|_| sample.round_start) {
                plus.on_waiting_round(in_cruise);
            }
            let waited =
                self.plus.as_ref().is_some_and(|plus| plus.has_waited()) || self.reno_would_probe(common);
            if in_cruise && waited {
                return self.end_cruise(common, sample);
            }
        } else if common.phase() != Phase::DownSlight
            && (sample.now.since(self.probe.cycle_since).as_secs_f64() > self.probe.wait
                || self.reno_would_probe(common))
        {
            return if in_cruise {
                self.end_cruise(common, sample)
            } else {
                self.start_refill(common, sample.now)
            };
        }
        let settled = sample.prior_in_flight <= self.with_headroom(common)
            && sample.prior_in_flight <= self.inflight(common, self.bandwidth.max(), 1.0);
        if !in_cruise && settled {
            self.start_cruise(common, sample.now);
        }
    }

    fn reno_would_probe(&self, common: &Common) -> bool {
        let window = (self.target_inflight(common) / common.datagram) as u64;
        self.probe.rounds_since >= window.min(self.rules.reno_rounds)
    }

    fn update_up(&mut self, common: &mut Common, sample: &Sample) {
        if self.probe.previous_too_high && sample.prior_in_flight >= self.bounds.inflight_hi {
            self.probe.stopped_risky = true;
            self.probe.previous_too_high = false;
            return self.start_down(common, sample.now, Phase::Down);
        }
        let over = match self.rules.version {
            Version::V2 => {
                let most = self.inflight(common, self.bandwidth.max(), Probe::SETTLED_GAIN);
                sample.now.since(common.phases.since()) > common.min_rtt.duration()
                    && sample.prior_in_flight >= most
            }
            Version::V3 if common.is_window_limited() && common.window >= self.bounds.inflight_hi => {
                // The bound is what limits the bandwidth: a plateau says nothing about the path.
                common.full_pipe.restart(sample.rate.unwrap_or(0.0));
                false
            }
            Version::V3 => common.full_pipe.now,
        };
        if over {
            self.probe.previous_too_high = false;
            if self.plus.as_ref().is_some_and(|plus| plus.is_own_mode()) {
                if let Some(plus) = &mut self.plus {
                    plus.end_up(common, sample.now);
                }
                self.next_round_phase(common, sample.now, Phase::PostUp);
            } else {
                self.start_down(common, sample.now, Phase::Down);
            }
        }
    }

    /// True when it decided the phase.
    fn adapt_upper_bounds(&mut self, common: &mut Common, sample: &Sample) -> bool {
        if sample.round_start {
            match self.probe.ack_phase {
                AckPhase::Starting => self.probe.ack_phase = AckPhase::Feedback,
                AckPhase::Stopping => {
                    self.probe.samples = false;
                    self.probe.ack_phase = AckPhase::Init;
                    let automatic = self.plus.as_ref().is_none_or(|plus| !plus.is_own_mode());
                    if common.phase().is_cycle() && !sample.limited && automatic {
                        self.bandwidth.advance();
                    }
                    let again = self.probe.stopped_risky && !self.probe.previous_too_high;
                    if again && matches!(common.phase(), Phase::Down | Phase::Cruise) {
                        self.start_refill(common, sample.now);
                        return true;
                    }
                }
                _ => {}
            }
        }
        if self.is_too_high(sample) {
            let decides = self.probe.samples && common.phase() == Phase::Up;
            if self.probe.samples {
                self.on_too_high(common, sample.inflight_at_send, sample.limited, sample.now);
            }
            return decides;
        }
        if self.bounds.inflight_hi.is_finite() {
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(sample.inflight_at_send);
            if common.phase() == Phase::Up {
                self.raise_inflight_hi(common, sample);
            }
        }
        false
    }

    /// In Up: by 1, 2, 4 ... datagrams per round trip, as long as the bound is what holds the sender back.
    fn raise_inflight_hi(&mut self, common: &Common, sample: &Sample) {
        if !common.is_window_limited() || common.window < self.bounds.inflight_hi {
            self.probe.up_acked = 0.0;
            return;
        }
        self.probe.up_acked += sample.acked;
        let steps = (self.probe.up_acked / self.probe.acked_per_datagram).floor();
        if steps >= 1.0 {
            self.probe.up_acked -= steps * self.probe.acked_per_datagram;
            self.bounds.inflight_hi += steps * common.datagram;
        }
        if sample.round_start {
            self.steepen(common);
        }
    }

    fn steepen(&mut self, common: &Common) {
        let datagrams = f64::from(1u32 << self.probe.up_rounds);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(Probe::MOST_UP_ROUNDS);
        self.probe.acked_per_datagram = (common.window / datagrams).max(common.datagram);
    }

    fn next_round_phase(&mut self, common: &mut Common, now: Time, phase: Phase) {
        common.rounds.restart(common.delivered);
        common.phases.enter(phase, now);
    }

    /// Down or DownSlight.
    pub(super) fn start_down(&mut self, common: &mut Common, now: Time, phase: Phase) {
        self.signals.clear();
        self.probe.rounds_since = common.random.below(2);
        self.probe.wait = self.rules.wait[0] + self.rules.wait[1] * common.random.fraction();
        if let Some(plus) = &mut self.plus {
            plus.start_wait(common);
        }
        self.probe.cycle_since = now;
        self.stop_probing(common);
        common.phases.enter(phase, now);
    }

    /// No more growth; what was sent while probing is still being acknowledged.
    pub(super) fn stop_probing(&mut self, common: &mut Common) {
        self.probe.acked_per_datagram = f64::INFINITY;
        self.probe.ack_phase = AckPhase::Stopping;
        common.rounds.restart(common.delivered);
    }

    pub(super) fn start_cruise(&mut self, common: &mut Common, now: Time) {
        if self.bounds.inflight_lo.is_finite() {
            self.bounds.inflight_lo = self.bounds.inflight_lo.min(self.bounds.inflight_hi);
        }
        if let Some(plus) = &mut self.plus {
            plus.start_cruise();
        }
        common.phases.enter(Phase::Cruise, now);
    }

    fn end_cruise(&mut self, common: &mut Common, sample: &Sample) {
        if self.judge_cruise(common) {
            common.phases.enter(Phase::Startup, sample.now);
        } else {
            self.start_refill(common, sample.now);
        }
    }

    /// A Cruise is over, also one that ProbeRTT ended: with round-trip times of half a second hardly any ends otherwise. True
    /// when Startup has to follow.
    pub(super) fn judge_cruise(&mut self, common: &mut Common) -> bool {
        let ends = self.plus.as_mut().map(|plus| plus.end_cruise(common));
        let restarts = ends == Some(CruiseEnd::Restart);
        if restarts {
            // Bandwidth, RTprop and inflight_hi are kept: the bandwidth from before the other flow's queue aged it.
            self.bandwidth.update(self.plus.as_ref().map_or(0.0, Plus::unaged));
            common.full_pipe.reached = false;
            common.full_pipe.restart(0.0);
            self.bounds.reset_lower();
        }
        restarts
    }

    pub(super) fn start_refill(&mut self, common: &mut Common, now: Time) {
        self.bounds.reset_lower();
        (self.probe.up_rounds, self.probe.up_acked) = (0, 0.0);
        self.probe.stopped_risky = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.next_round_phase(common, now, Phase::Refill);
    }

    fn start_up(&mut self, common: &mut Common, sample: &Sample) {
        self.probe.samples = true;
        self.probe.ack_phase = AckPhase::Starting;
        if self.rules.version == Version::V3 {
            common.full_pipe.restart(sample.rate.unwrap_or(0.0));
        }
        if let Some(plus) = &mut self.plus {
            plus.start_up(common, sample.now);
        }
        self.next_round_phase(common, sample.now, Phase::Up);
        self.steepen(common);
    }
}
