//! The BBR family: controllers with a model of the path, its bandwidth and its round-trip time without queue.
//!
//! One skeleton serves all of them. [`Common`] measures (rounds, minimum round-trip time, aggregation of acknowledgements,
//! full pipe), moves window and pacing rate, and knows in which [`Phase`](phase::Phase) the controller is; the
//! [`Model`] of a member says what a sample means: which phase follows, which gains hold, what bounds the window. Phases
//! follow each other by a table that each member declares ([`phase`]).

pub(crate) mod backward;
mod bounded;
mod common;
mod filter;
mod min_rtt;
mod parameters;
mod phase;
mod plus;
#[cfg(test)]
mod tests;
mod v1;

use std::fmt;
use std::time::Duration;

use hawser_policy::{
    Ack, CongestionController, ControllerInit, Figures, Loss, LossCause, Rate, Sent, Siblings, Snapshot,
    SpuriousLoss, Time,
};

use common::{Common, Sample};
use min_rtt::ProbeRtt;
use phase::Phase;

pub(crate) use parameters::{
    build_v2, build_v2_alpha_beta, build_v2_plus, build_v3, info_v2, info_v2_alpha_beta, info_v2_plus,
    info_v3,
};
pub(crate) use v1::{build as build_v1, build_coupled, info as info_v1, info_coupled};

/// Multiples of the model that hold in a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gains {
    /// Of the bandwidth.
    pub(crate) pacing: f64,
    /// Of the bandwidth-delay product.
    pub(crate) window: f64,
}

/// What a member of the family makes of a sample.
pub(crate) trait Model: fmt::Debug + Send {
    fn name(&self) -> &'static str;

    /// Bytes per second that the path is taken to carry at present.
    fn bandwidth(&self) -> f64;

    fn gains(&self, phase: Phase) -> Gains;

    /// Bandwidth, congestion signals, and the phase that follows; not ProbeRTT.
    fn on_ack(&mut self, common: &mut Common, sample: &Sample, siblings: &Siblings<'_>);

    /// After ProbeRTT was dealt with.
    fn after_phases(&mut self, _common: &mut Common, _sample: &Sample) {}

    fn on_loss(&mut self, common: &mut Common, loss: &Loss, enters_recovery: bool);

    /// A packet came back that had been declared lost.
    fn on_late(&mut self, _common: &mut Common, _bytes: f64) {}

    /// Nearly all losses of the last recovery came back.
    fn on_spurious_loss(&mut self, _common: &mut Common, _now: Time) {}

    /// ProbeRTT begins after phase `from`.
    fn on_probe_rtt(&mut self, _common: &mut Common, _from: Phase) {}

    fn probe_rtt_window(&self, common: &Common) -> f64;

    /// ProbeRTT is over: chooses what follows.
    fn leave_probe_rtt(&mut self, common: &mut Common, now: Time);

    /// What the window grows to.
    fn target(&self, common: &Common) -> f64;

    /// The window under the bounds of the model.
    fn bound(&self, _common: &Common, window: f64) -> f64 {
        window
    }

    /// Whether recovery sets the window instead; then to what.
    fn in_recovery(&mut self, _common: &mut Common, _sample: &Sample) -> Option<f64> {
        None
    }

    /// Another network path.
    fn restart(&mut self);

    /// What it says of itself besides what all members do.
    fn fill_figures(&self, _common: &Common, _figures: &mut Figures) {}

    /// The predecessor, or what was known of the path before, measured this bandwidth.
    fn seed(&mut self, bandwidth: f64);

    fn wants_siblings(&self) -> bool {
        false
    }
}

/// A member of the family on the seam.
#[derive(Debug)]
pub(crate) struct Bbr<M> {
    pub(crate) common: Common,
    pub(crate) model: M,
}

impl<M: Model> Bbr<M> {
    pub(crate) fn new(init: &ControllerInit, mut common: Common, mut model: M) -> Bbr<M> {
        if let Some(snapshot) = &init.snapshot {
            model.seed(common.take_over(snapshot));
        }
        let mut bbr = Bbr { common, model };
        if bbr.common.full_pipe.reached {
            bbr.set_pacing(bbr.common.min_rtt.duration());
        }
        bbr
    }

    fn update_probe_rtt(&mut self, sample: &Sample) {
        let common = &mut self.common;
        let due = common.min_rtt.expired() && !common.idle_restart;
        if due && common.phase() != Phase::ProbeRtt {
            let from = common.phase();
            common.save_window();
            common.phases.enter(Phase::ProbeRtt, sample.now);
            common.min_rtt.enter();
            common.rounds.restart(common.delivered);
            self.model.on_probe_rtt(common, from);
        }
        if common.phase() == Phase::ProbeRtt {
            common.hold_down(sample.in_flight);
            let quiet = sample.in_flight <= self.model.probe_rtt_window(common);
            match common.min_rtt.probe(sample.now, quiet, sample.round_start) {
                ProbeRtt::Wait => {}
                ProbeRtt::Begin => common.rounds.restart(common.delivered),
                ProbeRtt::Done => self.end_probe_rtt(sample.now),
            }
        }
        if sample.acked > 0.0 {
            self.common.idle_restart = false;
        }
    }

    fn end_probe_rtt(&mut self, now: Time) {
        self.common.restore_window();
        self.model.leave_probe_rtt(&mut self.common, now);
    }

    fn set_pacing(&mut self, smoothed_rtt: Duration) {
        let gain = self.model.gains(self.common.phase()).pacing;
        self.common.set_pacing(gain, self.model.bandwidth(), smoothed_rtt);
    }

    fn set_window(&mut self, sample: &Sample) {
        let common = &mut self.common;
        match self.model.in_recovery(common, sample) {
            Some(window) => common.set_window(window),
            None => {
                let target = self.model.target(common);
                common.grow_window(sample.acked, target);
            }
        }
        if common.phase() == Phase::ProbeRtt {
            common.set_window(common.window.min(self.model.probe_rtt_window(common)));
        }
        common.set_window(self.model.bound(common, common.window));
    }
}

impl<M: Model> CongestionController for Bbr<M> {
    fn name(&self) -> &'static str {
        self.model.name()
    }

    fn on_sent(&mut self, sent: &Sent) {
        let was_idle = self.common.idle_restart;
        self.common.on_sent(sent);
        if self.common.idle_restart && !was_idle {
            // draft-ietf-ccwg-bbr section 5.4.1: the queue is empty now, so there is nothing to let go and no hurry.
            if self.common.phase().is_cycle() {
                self.common.set_pacing(1.0, self.model.bandwidth(), Duration::ZERO);
            } else if self.common.phase() == Phase::ProbeRtt && self.common.min_rtt.finish(sent.now) {
                self.end_probe_rtt(sent.now);
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        let sample = self.common.measure(ack);
        self.model.on_ack(&mut self.common, &sample, siblings);
        self.update_probe_rtt(&sample);
        self.model.after_phases(&mut self.common, &sample);
        self.set_pacing(ack.smoothed_rtt);
        self.set_window(&sample);
    }

    fn on_loss(&mut self, loss: &Loss, _siblings: &Siblings<'_>) {
        let enters = self.common.note_loss(loss);
        self.model.on_loss(&mut self.common, loss, enters);
        let bounded = self.model.bound(&self.common, self.common.window);
        self.common.set_window(bounded.min(self.common.window));
    }

    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        self.common.note_late(spurious.bytes as f64);
        self.model.on_late(&mut self.common, spurious.bytes as f64);
        if spurious.undone == Some(0) {
            self.common.recovery_until = None;
            self.common.restore_window();
            self.model.on_spurious_loss(&mut self.common, spurious.now);
        }
    }

    fn on_path_reset(&mut self, now: Time) {
        self.common.restart(now);
        self.model.restart();
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        let bandwidth = self.common.take_over(before);
        self.model.seed(bandwidth);
        self.set_pacing(before.smoothed_rtt);
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.common.datagram = f64::from(bytes.max(1));
        self.common.set_window(self.common.window);
    }

    fn window(&self) -> u64 {
        self.common.window as u64
    }

    fn in_slow_start(&self) -> bool {
        self.common.phase() == Phase::Startup
    }

    fn pacing_rate(&self) -> Option<Rate> {
        // At least a datagram per second, so that nothing stops for good.
        let bytes = self.common.pacing?.max(self.common.datagram);
        Some(Rate::from_bits_per_second((bytes * 8.0) as u64))
    }

    fn wants_siblings(&self) -> bool {
        self.model.wants_siblings()
    }

    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        snapshot.pipe_full = self.common.full_pipe.reached;
    }

    fn fill_figures(&self, figures: &mut Figures) {
        let gains = self.model.gains(self.common.phase());
        figures.word("phase", self.common.phase().name());
        figures.number("bandwidth_bps", self.model.bandwidth() * 8.0);
        figures.number("min_rtt_ms", self.common.min_rtt.duration().as_secs_f64() * 1e3);
        figures.number("pacing_gain", gains.pacing);
        figures.number("window_gain", gains.window);
        figures.word("pipe", if self.common.full_pipe.reached { "full" } else { "filling" });
        figures.number("cwnd_bytes", self.common.window);
        figures.number("rounds", self.common.rounds.count as f64);
        // Moves between phases that the table does not have. They were not made.
        figures.number("illegal_moves", self.common.phases.illegal_moves() as f64);
        self.model.fill_figures(&self.common, figures);
    }
}

/// Whether a mark counts as congestion here; persistent congestion and losses always do.
pub(crate) fn is_mark(loss: &Loss) -> bool {
    loss.cause == LossCause::EcnMark
}
