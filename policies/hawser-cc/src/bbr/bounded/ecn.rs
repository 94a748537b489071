use std::time::Duration;

use super::super::common::Sample;
use super::EcnResponse;

/// BBRv2's answer to marks, in proportion to their share, for networks that mark from the first queue on (Linux v2alpha).
#[derive(Clone, Debug)]
pub(crate) struct Ecn {
    response: EcnResponse,
    /// Smoothed share of marked bytes.
    alpha: f64,
    eligible: bool,
    /// Bytes delivered and marked since the round began.
    delivered: f64,
    marked: f64,
    marked_in_loss_round: bool,
    startup_rounds: u32,
}

impl Ecn {
    const GAIN: f64 = 1.0 / 16.0;
    /// What the largest share takes of `inflight_lo`.
    const FACTOR: f64 = 1.0 / 3.0;
    /// A share that means too much in flight.
    const THRESHOLD: f64 = 0.5;
    /// Only short paths have marks of this kind.
    const LONGEST_RTT: Duration = Duration::from_millis(5);
    const STARTUP_ROUNDS: u32 = 2;

    pub(crate) fn new(response: EcnResponse) -> Ecn {
        Ecn {
            response,
            alpha: 1.0,
            eligible: false,
            delivered: 0.0,
            marked: 0.0,
            marked_in_loss_round: false,
            startup_rounds: 0,
        }
    }

    pub(crate) fn on_ack(&mut self, sample: &Sample, min_rtt: Option<f64>) {
        if self.response != EcnResponse::Proportional {
            return;
        }
        self.eligible = min_rtt.is_some_and(|rtt| rtt <= Self::LONGEST_RTT.as_secs_f64());
        if sample.round_start && self.delivered > 0.0 {
            let share = (self.marked / self.delivered).min(1.0);
            self.alpha += Self::GAIN * (share - self.alpha);
            self.startup_rounds = if share >= Self::THRESHOLD { self.startup_rounds + 1 } else { 0 };
            (self.delivered, self.marked) = (0.0, 0.0);
        }
        self.delivered += sample.acked;
        self.marked += sample.marked;
        self.marked_in_loss_round |= sample.marked > 0.0;
    }

    pub(crate) fn on_loss_round(&mut self) {
        self.marked_in_loss_round = false;
    }

    /// What remains of `inflight_lo` after a round trip with marks.
    pub(crate) fn cut(&self) -> Option<f64> {
        (self.eligible && self.marked_in_loss_round).then_some(1.0 - self.alpha * Self::FACTOR)
    }

    pub(crate) fn is_too_high(&self, sample: &Sample) -> bool {
        self.eligible && sample.marked > 0.0 && self.marked >= Self::THRESHOLD * self.delivered
    }

    pub(crate) fn ends_startup(&self) -> bool {
        self.eligible && self.startup_rounds >= Self::STARTUP_ROUNDS
    }
}
