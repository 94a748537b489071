//! The hash of tables whose keys strangers choose.

use std::hash::{BuildHasher, DefaultHasher, Hasher};

/// SipHash with a secret first block: keyed, but the same for the same seed.
#[derive(Clone)]
pub(super) struct KeyedState(pub(super) u128);

impl KeyedState {
    /// Another key that tells nothing about this one.
    pub(super) fn derive(&self, label: &[u8]) -> Self {
        let half = |half: u8| u128::from(self.hash_one((label, half)));
        KeyedState(half(0) << 64 | half(1))
    }
}

impl BuildHasher for KeyedState {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        hasher.write_u128(self.0);
        hasher
    }
}
