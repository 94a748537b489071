use super::super::common::Sample;

/// What a round trip showed of congestion. Its rounds are its own: one begins with the first loss.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    /// Largest rate and volume delivered in the round, bytes per second and bytes.
    pub(crate) bandwidth_latest: f64,
    pub(crate) inflight_latest: f64,
    pub(crate) loss_in_round: bool,
    /// Detections of loss, which stand for ranges of lost packets.
    pub(crate) loss_events: u32,
    /// Whether the present acknowledgement ends the round.
    pub(crate) round_over: bool,
    round_ends_at: u64,
}

impl Signals {
    pub(crate) fn on_loss(&mut self, delivered: u64) {
        if !self.loss_in_round {
            self.round_ends_at = delivered;
        }
        self.loss_in_round = true;
    }

    pub(crate) fn on_ack(&mut self, sample: &Sample, delivered: u64) {
        self.bandwidth_latest = self.bandwidth_latest.max(sample.rate.unwrap_or(0.0));
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.round_over = sample.delivered > 0.0 && sample.prior_delivered >= self.round_ends_at;
        if self.round_over {
            self.round_ends_at = delivered;
        }
    }

    /// At the end of an acknowledgement: the next round begins with what this one brought.
    pub(crate) fn advance(&mut self, sample: &Sample) {
        if self.round_over {
            self.bandwidth_latest = sample.rate.unwrap_or(0.0);
            self.inflight_latest = sample.delivered;
            self.loss_in_round = false;
            self.loss_events = 0;
        }
    }

    pub(crate) fn clear(&mut self) {
        (self.bandwidth_latest, self.inflight_latest) = (0.0, 0.0);
        self.loss_in_round = false;
    }
}
