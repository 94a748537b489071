//! What a stack would otherwise draw by itself.

use hawser_link::derive_seed;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ring::hmac;

/// All that an endpoint draws, following from a seed.
pub(super) struct Seeds {
    /// The key of stateless resets.
    pub(super) reset_key: hmac::Key,
    /// The seed of the stack's own generator.
    pub(super) generator: [u8; 32],
    /// Connection ids.
    pub(super) ids: SeededIds,
}

impl Seeds {
    /// Those of a stack of this name.
    pub(super) fn new(seed: u64, stack: &str) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(derive_seed(seed, stack));
        let mut key = [0; 32];
        random.fill_bytes(&mut key);
        let mut generator = [0; 32];
        random.fill_bytes(&mut generator);
        Seeds { reset_key: hmac::Key::new(hmac::HMAC_SHA256, &key), generator, ids: SeededIds(random) }
    }
}

/// Connection ids as the stacks make them, but for where they are drawn from.
#[derive(Clone)]
pub(super) struct SeededIds(ChaCha8Rng);

impl SeededIds {
    /// Bytes of an id.
    pub(super) const LENGTH: usize = 8;

    /// The next id.
    pub(super) fn draw(&mut self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}
