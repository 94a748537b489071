//! A fast keyed checksum of 128 bits. Not cryptographic.

const MULTIPLIER_A: u64 = 0x9e37_79b9_7f4a_7c15;
/// Unlike any seed of the lanes.
const OFFSET: u64 = 0xd6e8_feb8_6659_fd93;
/// Bytes of a step through long input.
const BLOCK: usize = 64;
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

/// A running checksum of two lanes. In short input a change within one word is always found, since each step is
/// one-to-one in the word it takes; any other change is missed with a probability of about 2^-64.
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
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        if !blocks.is_empty() {
            self.absorb_blocks(blocks);
        }
        let (words, tail) = rest.as_chunks::<8>();
        for word in words {
            self.absorb_word(u64::from_le_bytes(*word));
        }
        self.absorb_word(last_word(bytes, tail));
        self.absorb_word(bytes.len() as u64);
    }

    /// Takes long input in four chains at once, two words for each multiplication: a simulator spends more time here than
    /// anywhere else.
    #[inline]
    fn absorb_blocks(&mut self, blocks: &[[u8; BLOCK]]) {
        let [a, b] = self.lanes;
        let mut chains = [a, b, a.rotate_left(32), b.rotate_left(32)];
        for block in blocks {
            for (chain, pair) in chains.iter_mut().zip(block.as_chunks::<16>().0) {
                let (pair, _) = pair.as_chunks::<8>();
                let [first, second] = [pair[0], pair[1]].map(u64::from_le_bytes);
                // A factor of zero would hide the other word. The constants keep zeros, of which padding is made, from
                // being one; what is left is chance, once in 2^64.
                let product = u128::from(first ^ MULTIPLIER_B) * u128::from(second ^ *chain ^ OFFSET);
                *chain = product as u64 ^ (product >> 64) as u64;
            }
        }
        chains.into_iter().for_each(|chain| self.absorb_word(chain));
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

/// The up to seven bytes at the end of `bytes` that fill no word, and zeros.
#[inline]
fn last_word(bytes: &[u8], tail: &[u8]) -> u64 {
    match bytes.last_chunk::<8>() {
        Some(end) => u64::from_le_bytes(*end).checked_shr(64 - 8 * tail.len() as u32).unwrap_or(0),
        None => tail.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
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
    fn the_end_is_padded_with_zeros() {
        let bytes: Vec<u8> = (1..100).collect();
        for length in 0..bytes.len() {
            let (_, tail) = bytes[..length].as_chunks::<8>();
            let mut padded = [0; 8];
            padded[..tail.len()].copy_from_slice(tail);
            assert_eq!(last_word(&bytes[..length], tail), u64::from_le_bytes(padded), "{length} bytes");
        }
    }

    #[test]
    fn a_change_anywhere_in_a_long_packet_is_found() {
        // Padding is zeros, and other packets are as regular.
        let contents: [fn(usize) -> u8; 4] = [|_| 0, |_| 0xff, |at| at as u8, |at| (at / 64) as u8];
        for content in contents {
            let mut packet: Vec<u8> = (0..1452).map(content).collect();
            let mut seen = BTreeSet::from([of(&packet)]);
            for at in 0..packet.len() {
                for change in [1, 0x80, 0xff] {
                    packet[at] ^= change;
                    assert!(seen.insert(of(&packet)), "byte {at} changed by {change}");
                    packet[at] ^= change;
                }
            }
        }
    }
}
