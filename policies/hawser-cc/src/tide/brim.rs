//! Whether packets are lost where the queue is full: at its brim.
//!
//! Random loss does not look at the queue. A queue that overflows loses packets when it is longest only. So losses are counted
//! apart, at the brim and below it; where more are lost at the brim than what is lost below explains, it overflowed.

/// From this share of the longest queue lately on it is the brim.
const BRIM: f64 = 0.85;
/// The longest queue fades by this per round trip: by half in 140.
const FADES: f64 = 0.995;
/// Packets below the brim that tell what is lost at random.
const TELLING: f64 = 300.0;
/// Counts are halved beyond so many packets, so that they follow the path.
const MOST_BELOW: f64 = 4_000.0;
const MOST_AT: f64 = 1_000.0;
/// Where less than this of a packet is lost at random meanwhile, one at the brim counts; elsewhere two, and this many times what is
/// explained.
const FEW: f64 = 0.1;
const LEAST: f64 = 1.0;
const TIMES: f64 = 3.0;
/// CUBIC with this share of random loss has a window of 60 datagrams (RFC 9438 section 5.2), and fills no queue.
pub(crate) const LOSSY: f64 = 0.004;
/// A queue shorter than this has no brim that could be told from noise, seconds.
const SHORTEST: f64 = 0.003;

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: f64,
    lost: f64,
}

impl Count {
    fn bound(&mut self, most: f64) {
        if self.packets > most {
            self.packets /= 2.0;
            self.lost /= 2.0;
        }
    }
}

/// What is lost at the brim and below it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Brim {
    /// Longest queue lately, seconds.
    longest: f64,
    at: Count,
    below: Count,
}

impl Brim {
    fn is_at(&self, queue: f64) -> bool {
        queue >= BRIM * self.longest
    }

    pub(crate) fn on_ack(&mut self, packets: f64, queue: f64) {
        self.longest = self.longest.max(queue);
        if self.is_at(queue) {
            self.at.packets += packets;
            self.at.bound(MOST_AT);
        } else {
            self.below.packets += packets;
            self.below.bound(MOST_BELOW);
        }
    }

    pub(crate) fn on_loss(&mut self, packets: f64, queue: f64) {
        if self.is_at(queue) {
            self.at.lost += packets;
        } else {
            self.below.lost += packets;
        }
    }

    pub(crate) fn on_round(&mut self) {
        self.longest *= FADES;
    }

    /// Whether the queue overflowed, with so many packets in a window; `None` while it cannot be told.
    pub(crate) fn overflowed(&self, window_packets: f64) -> Option<bool> {
        if self.below.packets < TELLING || self.longest < SHORTEST {
            return None;
        }
        let random = self.below.lost / self.below.packets * self.at.packets.max(window_packets);
        Some(self.at.lost >= if random < FEW { 1.0 } else { 1.0 + LEAST + TIMES * random })
    }

    /// Whether the path loses so much below the brim that no flow that heeds losses fills it.
    pub(crate) fn is_lossy(&self) -> bool {
        self.below.lost > LOSSY * self.below.packets.max(MOST_AT)
    }

    /// The longest queue lately, seconds.
    pub(crate) fn longest(&self) -> f64 {
        self.longest
    }

    /// The overflow was answered: the next one counts from here.
    pub(crate) fn begin_again(&mut self) {
        self.at = Count::default();
    }
}

#[cfg(test)]
mod tests;
