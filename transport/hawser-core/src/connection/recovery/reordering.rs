//! How much reordering a path shows, and so how patient loss detection must be.
//!
//! RFC 9002 section 6.1 starts with three packets and 9/8 of a round trip and recommends that senders adapt. On radio links
//! with jitter most "losses" at threshold three are packets that come a moment later, and each costs a retransmission and a window
//! cut. As in RACK (RFC 8985), the count of packets says nothing any more once a packet was acknowledged that more than two
//! others had overtaken; only time does. How much later than usual packets may come is not guessed in steps: acknowledgements
//! of overtaken packets tell it, whether these had been declared lost or not.
//!
//! All that is forgotten when packets were really lost for a while and none was overtaken.

use std::time::Duration;

use crate::config::LossRecovery;

#[cfg(test)]
mod tests;

/// kPacketThreshold (RFC 9002 section 6.1.1).
pub(crate) const PACKET_THRESHOLD: u64 = 3;
/// kTimeThreshold in eighths (RFC 9002 section 6.1.2).
const TIME_THRESHOLD: u32 = 9;
/// Round trips of a period; what was seen is remembered until the next one ends.
const PERIOD_ROUNDS: u64 = 16;
/// Waiting for longer than a round trip and so many more costs more than a spurious retransmission.
const MAX_EXTRA_ROUND_TRIPS: u32 = 3;

/// The packets of a period that were overtaken most.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    /// How many numbers they were behind the largest acknowledged.
    distance: u64,
    /// How much longer than a smoothed round trip they took.
    late: Duration,
}

impl Extent {
    fn or(self, other: Extent) -> Extent {
        Extent { distance: self.distance.max(other.distance), late: self.late.max(other.late) }
    }
}

/// Thresholds of one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReorderingTolerance {
    present: Extent,
    before: Extent,
    /// When the present period began.
    round: u64,
    epoch: u64,
    /// Nothing is learned.
    is_fixed: bool,
}

impl ReorderingTolerance {
    /// As RFC 9002 begins with.
    //= rfc9002-6.1.1-1: the packet threshold begins at 3
    pub(crate) fn new(recovery: LossRecovery) -> Self {
        ReorderingTolerance { is_fixed: recovery == LossRecovery::Rfc9002, ..Self::default() }
    }

    /// The same of a path of which nothing is known.
    pub(crate) fn forgotten(&self) -> Self {
        ReorderingTolerance { is_fixed: self.is_fixed, ..Self::default() }
    }

    /// Whether it stays with the thresholds of RFC 9002.
    #[inline]
    pub(crate) fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// A packet counts as lost when one sent this many numbers later is acknowledged; `None` where that says nothing.
    //= rfc9002-6.1.1-2: the packet threshold is never below 3
    #[inline]
    pub(crate) fn packet_threshold(&self) -> Option<u64> {
        let distance = self.present.distance.max(self.before.distance);
        (distance < PACKET_THRESHOLD).then_some(PACKET_THRESHOLD)
    }

    /// A packet counts as lost this long after it left, once a later one is acknowledged. `latest`, `smoothed` and `min` are
    /// round-trip times.
    //= rfc9002-6.1.2-4: the time threshold begins at 9/8
    #[inline]
    pub(crate) fn time_threshold(&self, latest: Duration, smoothed: Duration, min: Duration) -> Duration {
        let usual = smoothed.max(latest) * TIME_THRESHOLD / 8;
        let late = self.present.late.max(self.before.late);
        if late.is_zero() {
            return usual;
        }
        // Some hundred packets have shown how late they come; half as much again covers thousands. RFC 8985 begins with a quarter of
        // the least round trip.
        let extra = (late + late / 2).max(min / 4).min(smoothed * MAX_EXTRA_ROUND_TRIPS);
        usual.max(smoothed + extra)
    }

    /// A packet was acknowledged after one that left later, `distance` numbers behind the largest and `elapsed` after it left.
    pub(crate) fn on_overtaken(&mut self, distance: u64, elapsed: Duration, smoothed: Duration) {
        if self.is_fixed {
            return;
        }
        self.present = self.present.or(Extent { distance, late: elapsed.saturating_sub(smoothed) });
    }

    /// Round trip number `round` began; `epoch` is the number of the last recovery epoch. While nothing is lost, nothing is
    /// waited for without need.
    pub(crate) fn on_round(&mut self, round: u64, epoch: u64) {
        if round.saturating_sub(self.round) < PERIOD_ROUNDS || epoch == self.epoch {
            return;
        }
        *self = ReorderingTolerance { before: self.present, round, epoch, ..self.forgotten() };
    }
}
