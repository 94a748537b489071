//! A seed for each component of a run: none changes because another one joins.

use crate::GOLDEN;

/// The seed of a component. It depends on the seed of the run and on the component's name only, so that a further component changes
/// nothing for the others.
pub fn derive_seed(seed: u64, name: &str) -> u64 {
    mix(fnv1a(seed.wrapping_mul(GOLDEN), name.bytes()))
}

/// The hash FNV-1a of these bytes, with a salt in its basis; 0 is the usual one.
pub fn fnv1a(salt: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325 ^ salt, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The finaliser of SplitMix64: neighbouring numbers become unrelated ones.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the specification (draft-eastlake-fnv, appendix C).
    #[test]
    fn fnv1a_has_the_published_values() {
        let hash = |text: &str| fnv1a(0, text.bytes());
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn names_and_seeds_separate_generators() {
        let seeds = [derive_seed(1, "wifi0/up"), derive_seed(1, "wifi0/down"), derive_seed(2, "wifi0/up")];
        assert!(seeds[0] != seeds[1] && seeds[0] != seeds[2] && seeds[1] != seeds[2]);
    }
}
