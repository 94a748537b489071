//! Damage that real links do rarely and test beds do on purpose: copies, stragglers, flipped bits.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::random::generator;
use crate::time::Nanos;

/// Probabilities, each in `0.0..=1.0`, that something happens to a packet that was sent and not lost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Impairments {
    /// A copy follows the packet.
    pub duplication: f64,
    /// One bit of the packet flips, and it arrives so.
    pub corruption: f64,
    /// The packet is held back by [`reordering_delay`](Self::reordering_delay) and others overtake it.
    pub reordering: f64,
    /// How much later a packet held back arrives, nanoseconds.
    pub reordering_delay: Nanos,
}

/// What happens to one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fate {
    pub(crate) duplicated: bool,
    /// Position of the bit to flip.
    pub(crate) corrupted: Option<u64>,
    pub(crate) held_back: Option<Nanos>,
}

/// Draws the fate of one packet after the other.
#[derive(Debug, Clone)]
pub(crate) struct Damage {
    impairments: Impairments,
    random: Option<ChaCha8Rng>,
}

impl Damage {
    pub(crate) fn new(impairments: Impairments, seed: u64) -> Self {
        let none =
            impairments.duplication <= 0.0 && impairments.corruption <= 0.0 && impairments.reordering <= 0.0;
        Self { impairments, random: (!none).then(|| generator(seed, "impairments")) }
    }

    /// The fate of the next packet; `None` when the link does no damage at all.
    #[inline]
    pub(crate) fn next_fate(&mut self) -> Option<Fate> {
        let random = self.random.as_mut()?;
        Some(self.impairments.next_fate(random))
    }
}

impl Impairments {
    /// The fate of one packet.
    #[inline(never)]
    fn next_fate(&self, random: &mut ChaCha8Rng) -> Fate {
        // Always four draws: changing one probability leaves the other fates as they are.
        let [copy, flip, late] = [(); 3].map(|()| random.random::<f64>());
        let position = random.random::<u64>();
        Fate {
            duplicated: copy < self.duplication,
            corrupted: (flip < self.corruption).then_some(position),
            held_back: (late < self.reordering).then_some(self.reordering_delay),
        }
    }
}
