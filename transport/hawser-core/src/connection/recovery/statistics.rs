//! What became of the packets of a path: totals for people, recent shares for policies.

#[cfg(test)]
mod tests;

/// Old evidence is halved when this many packets were counted ...
const RECENT_PACKETS: u64 = 1024;
/// ... or, with at least an eighth of them, after this many rounds.
const RECENT_ROUNDS: u64 = 32;

/// Fewer packets than this say nothing about the share.
const HEAVY_PACKETS: u64 = 32;

/// Totals over the life of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathTotals {
    pub(crate) packets_sent: u64,
    pub(crate) bytes_sent: u64,
    /// Packets in flight that were acknowledged.
    pub(crate) packets_acked: u64,
    pub(crate) bytes_acked: u64,
    /// Packets declared lost, spurious ones included.
    pub(crate) packets_lost: u64,
    pub(crate) bytes_lost: u64,
    /// Packets in flight whose fate no longer mattered: keys dropped, path abandoned.
    pub(crate) packets_discarded: u64,
    /// Packets declared lost and acknowledged later.
    pub(crate) packets_spurious: u64,
    /// Reductions for loss or marks.
    pub(crate) congestion_events: u64,
    pub(crate) persistent_congestion: u64,
    pub(crate) probe_timeouts: u64,
    /// Congestion marks reported by the peer.
    pub(crate) congestion_marks: u64,
}

/// Share of lost bytes, with a memory of about a thousand packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecentLoss {
    acked: u64,
    lost: u64,
    packets: u64,
    halved_in_round: u64,
}

impl RecentLoss {
    /// Bytes of a packet were acknowledged.
    #[inline]
    pub(crate) fn on_acked(&mut self, bytes: u64) {
        self.acked += bytes;
        self.packets += 1;
    }

    /// Bytes of a packet were lost.
    pub(crate) fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
        self.packets += 1;
    }

    /// Bytes that counted as lost were acknowledged.
    pub(crate) fn on_spurious(&mut self, bytes: u64) {
        self.lost = self.lost.saturating_sub(bytes);
        self.acked += bytes;
    }

    /// Forgets slowly.
    #[inline]
    pub(crate) fn age(&mut self, round: u64) {
        let old = round.saturating_sub(self.halved_in_round) >= RECENT_ROUNDS;
        if self.packets >= RECENT_PACKETS || (old && self.packets >= RECENT_PACKETS / 8) {
            (self.acked, self.lost, self.packets) = (self.acked / 2, self.lost / 2, self.packets / 2);
            self.halved_in_round = round;
        }
    }

    /// Whether at least an eighth is lost, as far as some tens of packets can tell: what is answered late then was mostly lost.
    pub(crate) fn is_heavy(&self) -> bool {
        self.packets >= HEAVY_PACKETS && self.lost * 8 >= self.acked + self.lost
    }

    /// Lost share in parts per million.
    pub(crate) fn ppm(&self) -> u32 {
        let share = self.lost.saturating_mul(1_000_000) / (self.acked + self.lost).max(1);
        u32::try_from(share).unwrap_or(1_000_000)
    }
}
