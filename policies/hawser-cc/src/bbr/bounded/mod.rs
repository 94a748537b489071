//! BBRv2 and what came of it: BBR whose volume in flight is bounded by loss and marks.
//!
//! The model adds two kinds of bounds. The long-term one, `inflight_hi`, is what was in flight when a probe lost too much;
//! the short-term ones, `bandwidth_lo` and `inflight_lo`, follow the losses between probes and are forgotten before the
//! next. BBRv2 (as in Linux, v2alpha), BBRv3 (draft-ietf-ccwg-bbr) and BBRv2+ (Yang's thesis, Sorbonne 2022, chapter 4)
//! differ in constants and in a few rules, all of them in [`Rules`]; BBRv2+ has a cycle of its own in [`Plus`].

mod ecn;
mod probe;
mod rules;
mod signals;

use hawser_policy::{Figures, Loss, LossCause, Siblings, Time};

pub(crate) use ecn::Ecn;
pub(crate) use rules::{EcnResponse, Rules, Version};

use super::common::{Common, Sample};
use super::filter::TwoSlotMax;
use super::phase::Phase;
use super::plus::Plus;
use super::{Gains, Model, is_mark};
use probe::Probe;
use signals::Signals;

/// Bounds of volume (bytes) and bandwidth (bytes per second); infinite until loss or marks set them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) bandwidth_lo: f64,
    pub(crate) inflight_lo: f64,
    pub(crate) inflight_hi: f64,
}

impl Bounds {
    const NONE: Bounds =
        Bounds { bandwidth_lo: f64::INFINITY, inflight_lo: f64::INFINITY, inflight_hi: f64::INFINITY };

    fn reset_lower(&mut self) {
        (self.bandwidth_lo, self.inflight_lo) = (f64::INFINITY, f64::INFINITY);
    }
}

/// What to go back to when the losses of a recovery turn out to be reordering.
#[derive(Clone, Copy, Debug)]
struct Undo {
    bounds: Bounds,
    /// The probing phase that the losses ended.
    phase: Option<Phase>,
}

/// BBRv2, BBRv3 or BBRv2+.
#[derive(Clone, Debug)]
pub(crate) struct Bounded {
    rules: Rules,
    bandwidth: TwoSlotMax,
    bounds: Bounds,
    signals: Signals,
    ecn: Ecn,
    probe: Probe,
    undo: Option<Undo>,
    plus: Option<Plus>,
}

impl Bounded {
    pub(crate) fn new(rules: Rules, plus: Option<Plus>) -> Bounded {
        Bounded {
            rules,
            bandwidth: TwoSlotMax::default(),
            bounds: Bounds::NONE,
            signals: Signals::default(),
            ecn: Ecn::new(rules.ecn),
            probe: Probe::default(),
            undo: None,
            plus,
        }
    }

    /// `gain` bandwidth-delay products of `bandwidth`, no less than what sits in batches.
    fn inflight(&self, common: &Common, bandwidth: f64, gain: f64) -> f64 {
        let budget = (gain * common.bdp(bandwidth)).max(3.0 * common.quantum()).max(common.minimum());
        // Small windows need room to probe at all (draft-ietf-ccwg-bbr section 5.6.4.2).
        let room = common.phase() == Phase::Up && self.rules.version == Version::V3;
        if room { budget + 2.0 * common.datagram } else { budget }
    }

    /// What is wanted in flight: a bandwidth-delay product, unless congestion cut the window.
    fn target_inflight(&self, common: &Common) -> f64 {
        common.bdp(self.bandwidth()).min(common.window)
    }

    /// `inflight_hi` with room for others.
    fn with_headroom(&self, common: &Common) -> f64 {
        let hi = self.bounds.inflight_hi;
        if hi.is_infinite() {
            return hi;
        }
        (hi - (hi * self.rules.headroom).max(common.datagram)).max(common.minimum())
    }

    /// More was in flight than the path carries.
    fn is_too_high(&self, sample: &Sample) -> bool {
        sample.lost_since_sent > self.rules.loss_threshold * sample.inflight_at_send
            || self.ecn.is_too_high(sample)
    }

    fn update_bandwidth(&mut self, sample: &Sample) {
        if let Some(rate) = sample.rate.filter(|rate| !sample.limited || *rate >= self.bandwidth.max()) {
            let raises = rate >= self.bandwidth.max();
            self.bandwidth.update(rate);
            if let Some(plus) = self.plus.as_mut().filter(|_| raises) {
                plus.on_bandwidth_confirmed();
            }
        }
    }

    /// Once per round trip with loss: the short-term bounds follow what the path delivered in it.
    fn adapt_lower_bounds(&mut self, common: &Common) {
        let keep = 1.0 - self.rules.beta;
        let bounds = &mut self.bounds;
        if self.signals.loss_in_round {
            if bounds.bandwidth_lo.is_infinite() {
                bounds.bandwidth_lo = self.bandwidth.max();
            }
            if bounds.inflight_lo.is_infinite() {
                bounds.inflight_lo = common.window;
            }
            bounds.bandwidth_lo = self.signals.bandwidth_latest.max(keep * bounds.bandwidth_lo);
            bounds.inflight_lo = self.signals.inflight_latest.max(keep * bounds.inflight_lo);
        }
        if let Some(factor) = self.ecn.cut() {
            let start = if bounds.inflight_lo.is_infinite() { common.window } else { bounds.inflight_lo };
            bounds.inflight_lo = bounds.inflight_lo.min(factor * start);
        }
    }

    /// Startup ends when a round trip of recovery loses too much in too many places, or is marked too often.
    fn check_startup_loss(&mut self, common: &mut Common, sample: &Sample) {
        if common.full_pipe.reached || !self.signals.round_over {
            return;
        }
        let lossy = common.recovery_until.is_some()
            && self.signals.loss_events >= self.rules.full_loss_count
            && self.is_too_high(sample);
        if lossy || self.ecn.ends_startup() {
            common.full_pipe.reached = true;
            let bdp = self.inflight(common, self.bandwidth.max(), 1.0);
            self.bounds.inflight_hi = match self.rules.version {
                Version::V2 => bdp,
                Version::V3 => bdp.max(self.signals.inflight_latest),
            };
        }
    }

    fn check_full_pipe(&mut self, common: &mut Common, sample: &Sample) {
        if !sample.round_start || sample.limited {
            return;
        }
        match (self.rules.version, sample.rate) {
            (Version::V2, _) if !common.full_pipe.reached => common.full_pipe.on_round(self.bandwidth.max()),
            (Version::V3, Some(rate)) => common.full_pipe.on_round(rate),
            _ => {}
        }
    }

    fn check_drain(&mut self, common: &mut Common, sample: &Sample) {
        if common.phase() == Phase::Startup && common.full_pipe.reached {
            self.signals.clear();
            common.phases.enter(Phase::Drain, sample.now);
            self.probe.drain_round = common.rounds.count;
        }
        if common.phase() == Phase::Drain {
            let late = self.rules.version == Version::V3 && common.rounds.count > self.probe.drain_round + 3;
            if late || sample.in_flight <= self.inflight(common, self.bandwidth.max(), 1.0) {
                self.start_down(common, sample.now, Phase::Down);
            }
        }
    }
}

impl Model for Bounded {
    fn name(&self) -> &'static str {
        self.rules.name
    }

    fn bandwidth(&self) -> f64 {
        self.bandwidth.max().min(self.bounds.bandwidth_lo)
    }

    fn gains(&self, phase: Phase) -> Gains {
        self.rules.gains(phase)
    }

    /// The order is that of the draft (section 5.2.3), and it matters.
    fn on_ack(&mut self, common: &mut Common, sample: &Sample, _siblings: &Siblings<'_>) {
        self.ecn.on_ack(sample, common.min_rtt.get());
        self.signals.on_ack(sample, common.delivered);
        self.update_bandwidth(sample);
        if self.signals.round_over {
            if !common.phase().is_probing() {
                self.adapt_lower_bounds(common);
            }
            self.ecn.on_loss_round();
        }
        common.aggregate(sample, self.bandwidth());
        self.check_startup_loss(common, sample);
        self.check_full_pipe(common, sample);
        self.check_drain(common, sample);
        self.update_cycle(common, sample);
        self.signals.advance(sample);
    }

    fn after_phases(&mut self, common: &mut Common, sample: &Sample) {
        if let Some(plus) = &mut self.plus {
            let advance = plus.on_sample(common, sample);
            if advance {
                plus.on_aged(self.bandwidth.max());
                self.bandwidth.advance();
            }
        }
    }

    fn on_loss(&mut self, common: &mut Common, loss: &Loss, enters_recovery: bool) {
        if is_mark(loss) {
            if self.rules.ecn == EcnResponse::Classic {
                self.signals.on_loss(common.delivered);
            }
            return;
        }
        if enters_recovery {
            self.undo = Some(Undo { bounds: self.bounds, phase: None });
        }
        if let Some(plus) = &mut self.plus {
            plus.on_loss(loss);
        }
        self.signals.on_loss(common.delivered);
        self.signals.loss_events = self.signals.loss_events.saturating_add(1);
        if loss.cause == LossCause::Persistent {
            if self.bounds.inflight_lo.is_infinite() && !common.phase().is_probing() {
                self.bounds.inflight_lo = common.saved_window;
            }
            return;
        }
        self.on_lost_while_probing(common, loss);
    }

    fn on_spurious_loss(&mut self, common: &mut Common, now: Time) {
        let Some(undo) = self.undo.take() else { return };
        self.signals.loss_in_round = false;
        let bounds = &mut self.bounds;
        bounds.bandwidth_lo = bounds.bandwidth_lo.max(undo.bounds.bandwidth_lo);
        bounds.inflight_lo = bounds.inflight_lo.max(undo.bounds.inflight_lo);
        bounds.inflight_hi = bounds.inflight_hi.max(undo.bounds.inflight_hi);
        // draft-ietf-ccwg-bbr section 5.5.11: back to the probe that the losses ended.
        if self.rules.version == Version::V3
            && undo.phase == Some(Phase::Up)
            && matches!(common.phase(), Phase::Down | Phase::Cruise)
        {
            self.start_refill(common, now);
        }
    }

    fn on_probe_rtt(&mut self, common: &mut Common, from: Phase) {
        self.stop_probing(common);
        if from == Phase::Cruise {
            self.judge_cruise(common);
        }
    }

    fn probe_rtt_window(&self, common: &Common) -> f64 {
        (self.rules.probe_rtt_gain * common.bdp(self.bandwidth())).max(common.minimum())
    }

    fn leave_probe_rtt(&mut self, common: &mut Common, now: Time) {
        self.bounds.reset_lower();
        if common.full_pipe.reached {
            self.start_down(common, now, Phase::Down);
            self.start_cruise(common, now);
        } else {
            common.phases.enter(Phase::Startup, now);
        }
    }

    fn target(&self, common: &Common) -> f64 {
        let gain = self.rules.window_gain(common.phase());
        let bandwidth = self.bandwidth();
        let extra = common.aggregation.extra(bandwidth);
        let jitter = self.plus.as_ref().map_or(0.0, |plus| plus.compensation(common));
        self.inflight(common, bandwidth, gain) + extra + gain * self.bandwidth.max() * jitter
    }

    fn bound(&self, common: &Common, window: f64) -> f64 {
        let cap = match common.phase() {
            Phase::Startup | Phase::Drain => f64::INFINITY,
            Phase::Cruise | Phase::ProbeRtt => self.with_headroom(common),
            _ => self.bounds.inflight_hi,
        };
        window.min(cap).min(self.bounds.inflight_lo)
    }

    fn restart(&mut self) {
        *self = Bounded::new(self.rules, self.plus.as_ref().map(Plus::restarted));
    }

    fn fill_figures(&self, common: &Common, figures: &mut Figures) {
        figures.number("max_bandwidth_bps", self.bandwidth.max() * 8.0);
        figures.number("bandwidth_lo_bps", self.bounds.bandwidth_lo * 8.0);
        figures.number("inflight_lo_bytes", self.bounds.inflight_lo);
        figures.number("inflight_hi_bytes", self.bounds.inflight_hi);
        if let Some(plus) = &self.plus {
            plus.fill_figures(common, figures);
        }
    }

    fn seed(&mut self, bandwidth: f64) {
        self.bandwidth.update(bandwidth);
    }
}
