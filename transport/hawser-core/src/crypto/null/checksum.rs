//! A fast keyed checksum of 128 bits. Not cryptographic.

use twox_hash::XxHash3_64;

const MULTIPLIER_A: u64 = 0x9e37_79b9_7f4a_7c15;
const MULTIPLIER_B: u64 = 0xc2b2_ae3d_27d4_eb4f;

/// The key of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Secret([u64; 2]);

impl Secret {
    pub(super) fn new(label: &[u8], context: &[u8]) -> Self {
        Secret([MULTIPLIER_B, MULTIPLIER_A]).derive(label).derive(context)
    }

    /// A secret that depends on this one and `context`.
    pub(super) fn derive(self, context: &[u8]) -> Self {
        let mut checksum = Checksum::new(self.0);
        checksum.absorb(context);
        Secret(checksum.lanes())
    }

    pub(super) fn to_bytes(self) -> [u8; 16] {
        join(self.0)
    }

    #[inline]
    pub(super) fn checksum(self) -> Checksum {
        Checksum::new(self.0)
    }
}

/// A running checksum of two lanes. A change of a word is always found, since each step is one-to-one in the word it takes;
/// bytes are one word, their XXH3 of 64 bits, which misses a change with a probability of about 2^-64.
#[derive(Clone, Copy)]
pub(super) struct Checksum {
    lanes: [u64; 2],
}

impl Checksum {
    #[inline]
    pub(super) fn new(seed: [u64; 2]) -> Self {
        Checksum { lanes: seed }
    }

    #[inline]
    pub(super) fn absorb_word(&mut self, word: u64) {
        let [a, b] = &mut self.lanes;
        *a = (*a ^ word).wrapping_mul(MULTIPLIER_A);
        *a ^= *a >> 29;
        *b = (*b ^ word).wrapping_mul(MULTIPLIER_B);
        *b ^= *b >> 32;
    }

    /// Takes `bytes` and their number, so that neighbours cannot trade bytes.
    #[inline]
    pub(super) fn absorb(&mut self, bytes: &[u8]) {
        self.absorb_word(XxHash3_64::oneshot(bytes));
    }

    /// The two lanes, mixed so that each bit depends on all input.
    #[inline]
    fn lanes(self) -> [u64; 2] {
        let mut mixed = self;
        mixed.absorb_word(self.lanes[1].rotate_left(32));
        mixed.absorb_word(self.lanes[0]);
        mixed.lanes
    }

    #[inline]
    pub(super) fn finish(self) -> [u8; 16] {
        join(self.lanes())
    }
}

#[inline]
fn join([a, b]: [u64; 2]) -> [u8; 16] {
    ((u128::from(a) << 64) | u128::from(b)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn of(bytes: &[u8]) -> [u8; 16] {
        let mut checksum = Checksum::new([MULTIPLIER_B, MULTIPLIER_A]);
        checksum.absorb(bytes);
        checksum.finish()
    }

    #[test]
    fn bytes_hash_as_on_any_other_machine() {
        // As the xxhsum command of the original authors says; vector instructions take over above 240 bytes.
        let long: Vec<u8> = (0..=u8::MAX).cycle().take(1_452).collect();
        let hashes = [&b""[..], b"hawser", &long].map(XxHash3_64::oneshot);
        assert_eq!(hashes, [0x2d06_8005_38d3_94c2, 0xa2ec_1320_499c_a3f9, 0xd6a5_f9bb_55ea_74e9]);
    }

    #[test]
    fn bytes_are_not_traded_between_neighbours_and_zeros_count() {
        let parts = |parts: &[&[u8]]| {
            let mut checksum = Checksum::new([MULTIPLIER_B, MULTIPLIER_A]);
            parts.iter().for_each(|part| checksum.absorb(part));
            checksum.finish()
        };
        assert_ne!(parts(&[b"head", b"er"]), parts(&[b"hea", b"der"]));
        let zeros = [0; 1_500];
        let of_zeros: BTreeSet<_> = (0..=zeros.len()).map(|length| of(&zeros[..length])).collect();
        assert_eq!(of_zeros.len(), zeros.len() + 1);
    }

    #[test]
    fn a_change_anywhere_in_a_packet_is_found() {
        // Padding is zeros, and other packets are as regular.
        let contents: [fn(usize) -> u8; 4] = [|_| 0, |_| 0xff, |at| at as u8, |at| (at / 64) as u8];
        for (content, length) in contents.iter().flat_map(|content| [12, 60, 200, 1452].map(|n| (content, n)))
        {
            let mut packet: Vec<u8> = (0..length).map(content).collect();
            let mut seen = BTreeSet::from([of(&packet)]);
            for at in 0..packet.len() {
                for change in [1, 0x80, 0xff] {
                    packet[at] ^= change;
                    assert!(seen.insert(of(&packet)), "byte {at} of {length} changed by {change}");
                    packet[at] ^= change;
                }
            }
        }
    }

    #[test]
    fn two_changes_do_not_hide_each_other() {
        // The highest bit of a word is where sums and products lose carries.
        let mut packet = [0; 1452];
        let mut seen = BTreeSet::from([of(&packet)]);
        for first in (7..packet.len()).step_by(8) {
            for second in (first + 8..packet.len()).step_by(8) {
                packet[first] ^= 0x80;
                packet[second] ^= 0x80;
                assert!(seen.insert(of(&packet)), "bytes {first} and {second}");
                packet[first] ^= 0x80;
                packet[second] ^= 0x80;
            }
        }
    }
}
