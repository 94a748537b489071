//! The safety valve: loss that is congestion, whatever the delay says. In a shallow buffer the round-trip time never rises, and
//! a sender that asks the delay alone would ignore every overflow.

use hawser_policy::Ack;

use super::settings::Settings;
use crate::window_based::PacketRounds;

/// Loss by round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Valve {
    rounds: PacketRounds,
    acked: u64,
    lost: u64,
    /// Share lost in the last round trip.
    last_share: f64,
    /// Round trips with losses, in a row, up to the last.
    lossy: u32,
}

impl Valve {
    pub(super) fn on_sent(&mut self, packet_number: u64) {
        self.rounds.on_sent(packet_number);
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.acked = self.acked.saturating_add(ack.bytes);
        if self.rounds.on_ack(ack.largest_acked) {
            let total = self.acked.saturating_add(self.lost).max(1);
            self.last_share = self.lost as f64 / total as f64;
            self.lossy = if self.lost > 0 { self.lossy.saturating_add(1) } else { 0 };
            (self.acked, self.lost) = (0, 0);
        }
    }

    pub(super) fn on_loss(&mut self, bytes: u64) {
        self.lost = self.lost.saturating_add(bytes);
    }

    /// Whether loss is so heavy, or has lasted for so long.
    pub(super) fn is_open(&self, settings: &Settings) -> bool {
        let now = u32::from(self.lost > 0);
        settings.safety_valve
            && (self.last_share > settings.valve_loss
                || self.lossy.saturating_add(now) >= settings.valve_rounds)
    }

    /// The window was reduced for it.
    pub(super) fn close(&mut self) {
        *self = Valve { rounds: self.rounds, ..Valve::default() };
    }
}
