//! What one direction of a link did.

use serde::Serialize;

use crate::time::Nanos;

/// Why a packet did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// The queue was full.
    Queue,
    /// The queue discipline dropped it before the queue was full.
    Aqm,
    /// Random loss.
    Loss,
    /// The link was down.
    Down,
    /// Larger than the MTU.
    Mtu,
}

/// Counters of one direction since its start. `bytes` are those of IP packets.
///
/// At any moment `offered + duplicated = delivered + dropped + still inside`, in packets and in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LinkStats {
    /// Packets that were handed to the link.
    pub offered_packets: u64,
    /// Bytes of those.
    pub offered_bytes: u64,
    /// Packets that came out.
    pub delivered_packets: u64,
    /// Bytes of those.
    pub delivered_bytes: u64,
    /// Dropped because the queue was full.
    pub dropped_queue: u64,
    /// Dropped by the queue discipline before the queue was full.
    pub dropped_aqm: u64,
    /// Lost at random.
    pub dropped_loss: u64,
    /// Lost because the link was down.
    pub dropped_down: u64,
    /// Dropped because they were larger than the MTU.
    pub dropped_mtu: u64,
    /// Marked "congestion experienced" by the queue discipline.
    pub marked: u64,
    /// Copies that the link made.
    pub duplicated: u64,
    /// Packets with a bit flipped.
    pub corrupted: u64,
    /// Packets held back so that others overtake them.
    pub held_back: u64,
    /// Most bytes that ever waited.
    pub queue_peak_bytes: u64,
    /// Sum over all sent packets of the time between arrival and last bit sent, nanoseconds.
    pub queue_time_total: Nanos,
}

impl LinkStats {
    /// Counts a dropped packet.
    pub(crate) fn dropped(&mut self, cause: DropCause) {
        match cause {
            DropCause::Queue => self.dropped_queue += 1,
            DropCause::Aqm => self.dropped_aqm += 1,
            DropCause::Loss => self.dropped_loss += 1,
            DropCause::Down => self.dropped_down += 1,
            DropCause::Mtu => self.dropped_mtu += 1,
        }
    }

    /// Packets dropped for any cause.
    pub fn dropped_packets(&self) -> u64 {
        self.dropped_queue + self.dropped_aqm + self.dropped_loss + self.dropped_down + self.dropped_mtu
    }
}
