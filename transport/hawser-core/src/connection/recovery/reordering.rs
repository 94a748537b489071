//! How much reordering a path shows, and so how patient loss detection must be.
//!
//! RFC 9002 section 6.1 starts with three packets and 9/8 of a round trip and recommends that senders adapt. On
//! radio links with jitter most "losses" at threshold three are packets that come a moment later, and each costs a
//! retransmission and a window cut. So a packet that is acknowledged after it was declared lost raises the
//! thresholds to what would have spared it; they sink back slowly when that stops.

use std::time::Duration;

#[cfg(test)]
mod tests;

/// kPacketThreshold (RFC 9002 section 6.1.1).
pub(crate) const PACKET_THRESHOLD: u64 = 3;
/// kTimeThreshold in eighths (RFC 9002 section 6.1.2).
const TIME_THRESHOLD: u32 = 9;
/// Two round trips, in eighths. Waiting longer costs more than a spurious retransmission.
const MAX_TIME_THRESHOLD: u32 = 16;
/// Round trips without a spurious loss after which half of what was added is taken back.
const DECAY_ROUNDS: u64 = 16;

/// Thresholds of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReorderingTolerance {
    packets: u64,
    time_eighths: u32,
    changed_in_round: u64,
}

impl ReorderingTolerance {
    /// As RFC 9002 recommends.
    pub(crate) fn new() -> Self {
        ReorderingTolerance { packets: PACKET_THRESHOLD, time_eighths: TIME_THRESHOLD, changed_in_round: 0 }
    }

    /// A packet counts as lost when one sent this many numbers later is acknowledged. Never more than half the
    /// window: what is left must be enough to notice a loss before the window runs dry.
    pub(crate) fn packet_threshold(&self, window_packets: u64) -> u64 {
        self.packets.min((window_packets / 2).max(PACKET_THRESHOLD))
    }

    /// A packet counts as lost this long after it left, once a later one is acknowledged.
    pub(crate) fn time_threshold(&self, rtt: Duration) -> Duration {
        rtt * self.time_eighths / 8
    }

    /// A packet was acknowledged after all, `distance` numbers behind the largest and `elapsed` after it left.
    pub(crate) fn on_spurious_loss(
        &mut self,
        distance: u64,
        elapsed: Duration,
        rtt: Duration,
        window_packets: u64,
        round: u64,
    ) {
        let limit = (window_packets / 2).max(PACKET_THRESHOLD);
        self.packets = self.packets.max(distance.saturating_add(1).min(limit));
        let eighths = (elapsed.as_nanos() * 8).div_ceil(rtt.as_nanos().max(1)) + 1;
        let eighths = u32::try_from(eighths).unwrap_or(u32::MAX).min(MAX_TIME_THRESHOLD);
        self.time_eighths = self.time_eighths.max(eighths);
        self.changed_in_round = round;
    }

    /// Round trip number `round` began.
    pub(crate) fn on_round(&mut self, round: u64) {
        if round.saturating_sub(self.changed_in_round) < DECAY_ROUNDS {
            return;
        }
        self.packets = PACKET_THRESHOLD + (self.packets - PACKET_THRESHOLD) / 2;
        self.time_eighths = TIME_THRESHOLD + (self.time_eighths - TIME_THRESHOLD) / 2;
        self.changed_in_round = round;
    }
}
