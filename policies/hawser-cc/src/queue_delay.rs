//! Round-trip times by round, for controllers that judge by the delay of the queue.

use std::time::Duration;

use hawser_policy::Sent;

use crate::window_based::{Acked, PacketRounds};

/// Least, mean and largest round-trip time of each round, and of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueDelay {
    rounds: PacketRounds,
    /// Least of all, seconds.
    base: Option<f64>,
    largest: f64,
    min: f64,
    sum: f64,
    samples: u32,
}

/// A round that is over; seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DelayRound {
    pub(crate) min: f64,
    pub(crate) mean: f64,
    pub(crate) samples: u32,
    /// Least of all rounds.
    pub(crate) base: f64,
    /// Largest sample of all rounds.
    pub(crate) largest: f64,
}

impl QueueDelay {
    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        self.rounds.on_sent(sent.packet_number);
    }

    /// Takes the sample of an acknowledgement; the round, if it ends one with samples.
    pub(crate) fn on_ack(&mut self, acked: &Acked<'_>) -> Option<DelayRound> {
        if let Some(sample) = acked.rtt {
            if sample.changed {
                *self = QueueDelay { rounds: self.rounds, ..QueueDelay::default() };
            }
            let rtt = sample.adjusted.as_secs_f64();
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.largest = self.largest.max(rtt);
            self.min = if self.samples == 0 { rtt } else { self.min.min(rtt) };
            self.sum += rtt;
            self.samples = self.samples.saturating_add(1);
        }
        if !self.rounds.on_ack(acked.ack.largest_acked) || self.samples == 0 {
            return None;
        }
        let base = self.base?;
        let round = DelayRound {
            min: self.min,
            mean: self.sum / f64::from(self.samples),
            samples: self.samples,
            base,
            largest: self.largest,
        };
        (self.sum, self.samples) = (0.0, 0);
        Some(round)
    }

    /// What a predecessor knew.
    pub(crate) fn seed(&mut self, min_rtt: Duration) {
        if !min_rtt.is_zero() {
            self.base = Some(min_rtt.as_secs_f64());
        }
    }

    /// Least of all rounds, seconds.
    #[cfg(test)]
    pub(crate) fn base(&self) -> Option<f64> {
        self.base
    }

    /// Largest sample of all, seconds.
    pub(crate) fn largest(&self) -> f64 {
        self.largest
    }
}
