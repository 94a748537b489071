//! What trials and probes lose, next to what is lost anyway.

use hawser_policy::{Loss, Time};

use super::super::common::Sample;
use super::super::phase::Phase;

/// Bytes that were acknowledged and lost.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    acked: f64,
    lost: f64,
}

impl Count {
    fn share(self) -> f64 {
        if self.lost > 0.0 { self.lost / (self.acked + self.lost) } else { 0.0 }
    }
}

/// Losses of the present trial or probe, and of the last Cruises.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// When the first packet of the trial left.
    since: Option<Time>,
    trial: Count,
    /// Earlier Cruises count half, a quarter, and so on.
    cruise: Count,
}

impl Losses {
    /// Try1 or Up begins.
    pub(super) fn start_trial(&mut self, now: Time) {
        (self.since, self.trial) = (Some(now), Count::default());
    }

    pub(super) fn start_cruise(&mut self) {
        self.since = None;
        self.cruise = Count { acked: self.cruise.acked / 2.0, lost: self.cruise.lost / 2.0 };
    }

    pub(super) fn on_loss(&mut self, loss: &Loss) {
        let lost = loss.bytes as f64;
        match self.since {
            Some(since) if loss.largest_sent_at >= since => self.trial.lost += lost,
            // What Refill lost was sent in Cruise, or at its rate.
            _ => self.cruise.lost += lost,
        }
    }

    pub(super) fn on_sample(&mut self, sample: &Sample, phase: Phase) {
        match self.since {
            Some(since) if sample.sent_at >= since => self.trial.acked += sample.acked,
            _ if matches!(phase, Phase::Cruise | Phase::Refill) => self.cruise.acked += sample.acked,
            _ => {}
        }
    }

    /// The trial lost more than what is lost anyway by this share.
    pub(super) fn show_no_room(&self, share: f64) -> bool {
        self.trial.share() > self.cruise.share() + share
    }
}
