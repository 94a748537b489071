//! A fast keyed checksum of 128 bits. Not cryptographic.

const MULTIPLIER_A: u64 = 0x9e37_79b9_7f4a_7c15;
const MULTIPLIER_B: u64 = 0xc2b2_ae3d_27d4_eb4f;
/// Words of a step through long input: as many as four vectors of 128 bits hold, which every processor of interest has.
const STRIPES: usize = 8;
/// Bytes of such a step.
const BLOCK: usize = 8 * STRIPES;

/// The key of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Secret([u64; 2]);

impl Secret {
    pub(super) fn new(label: &[u8], context: &[u8]) -> Self {
        Secret([MULTIPLIER_B, MULTIPLIER_A]).derive(label).derive(context)
    }

    /// A secret that depends on this one and `context`.
    pub(super) fn derive(self, context: &[u8]) -> Self {
        let mut checksum = self.checksum();
        checksum.absorb_word(context.len() as u64);
        checksum.absorb(context);
        Secret(checksum.words())
    }

    pub(super) fn to_bytes(self) -> [u8; 16] {
        join(self.0)
    }

    #[inline]
    pub(super) fn checksum(self) -> Checksum {
        let Secret([state, key]) = self;
        Checksum { state, key }
    }
}

/// A running checksum. It misses an accident with a probability of about 2^-64. Who knows the steps can write changes that
/// cancel out: this is for the damage that links do, not for attackers.
#[derive(Clone, Copy)]
pub(super) struct Checksum {
    state: u64,
    key: u64,
}

impl Checksum {
    #[inline]
    pub(super) fn absorb_word(&mut self, word: u64) {
        self.state = fold(self.state ^ word, MULTIPLIER_A);
    }

    /// Takes bytes, but not their number: let that be known before.
    #[inline]
    pub(super) fn absorb(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last_chunk::<BLOCK>() {
            self.absorb_long(bytes.as_chunks::<BLOCK>().0, last);
        } else if let Some(last) = bytes.last_chunk::<8>() {
            for word in bytes.as_chunks::<8>().0 {
                self.absorb_word(u64::from_le_bytes(*word));
            }
            // What fills no word; part of it may be taken twice.
            self.absorb_word(u64::from_le_bytes(*last));
        } else {
            self.absorb_word(bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    /// Takes blocks, and what fills none with as much before it as a block needs.
    #[inline]
    fn absorb_long(&mut self, blocks: &[[u8; BLOCK]], last: &[u8; BLOCK]) {
        let seed = |word: u64| std::array::from_fn(|at| word.rotate_left(at as u32 * 8));
        let mut sums = Sums { first: seed(self.state), second: seed(self.key) };
        sums.absorb(blocks, last);
        self.absorb_word(sums.folded());
    }

    /// The result: every bit depends on all input.
    #[inline]
    fn words(self) -> [u64; 2] {
        [fold(self.state ^ self.key, MULTIPLIER_A), fold(self.state ^ self.key.rotate_left(32), MULTIPLIER_B)]
    }

    #[inline]
    pub(super) fn finish(self) -> [u8; 16] {
        join(self.words())
    }
}

/// The sum of the words at each place in a block, and the sum of those sums after every block, which tells where a word
/// was: Fletcher's checksum. One changed word is always found, and so are two changed bits, unless both are the same one
/// of the four highest of a word, an even number of blocks apart.
struct Sums {
    first: [u64; STRIPES],
    second: [u64; STRIPES],
}

impl Sums {
    /// A simulator would spend more time here than anywhere else, so a step is what compilers make vector instructions of
    /// on any processor. Not inlined, so that the sums come from memory and go there: else they are kept in scalar
    /// registers.
    #[inline(never)]
    fn absorb(&mut self, blocks: &[[u8; BLOCK]], last: &[u8; BLOCK]) {
        let Sums { mut first, mut second } = *self;
        for block in blocks {
            (first, second) = step(first, second, block);
        }
        (self.first, self.second) = step(first, second, last);
    }

    #[inline]
    fn folded(&self) -> u64 {
        self.first.iter().zip(&self.second).fold(0, |all, (first, second)| all ^ fold(*first, *second))
    }
}

#[inline]
fn step(
    first: [u64; STRIPES],
    second: [u64; STRIPES],
    block: &[u8; BLOCK],
) -> ([u64; STRIPES], [u64; STRIPES]) {
    let words = block.as_chunks::<8>().0;
    let first: [u64; STRIPES] =
        std::array::from_fn(|at| first[at].wrapping_add(u64::from_le_bytes(words[at])));
    (first, std::array::from_fn(|at| second[at].wrapping_add(first[at])))
}

/// Both halves of the product.
#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
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
        Secret::new(b"test", bytes).to_bytes()
    }

    /// Bytes without a pattern.
    fn content(at: u32) -> u8 {
        ((at + 1).wrapping_mul(2_654_435_761) >> 24) as u8
    }

    #[test]
    fn a_change_anywhere_is_found() {
        // Padding is zeros, and other packets are as regular.
        let contents: [fn(usize) -> u8; 4] = [|_| 0, |_| 0xff, |at| at as u8, |at| (at / 64) as u8];
        for content in contents {
            for length in [1, 7, 8, 13, 63, 64, 1452] {
                let mut packet: Vec<u8> = (0..length).map(content).collect();
                let expected = of(&packet);
                for at in 0..packet.len() {
                    for change in [1, 0x80, 0xff] {
                        packet[at] ^= change;
                        assert_ne!(of(&packet), expected, "byte {at} of {length} changed by {change}");
                        packet[at] ^= change;
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_cannot_trade_places_or_go_missing() {
        let packet: Vec<u8> = (0..1452).map(content).collect();
        let mut seen = BTreeSet::from([of(&packet)]);
        for (from, to) in (0..22).flat_map(|from| (from + 1..22).map(move |to| (from, to))) {
            let mut swapped = packet.clone();
            let (left, right) = swapped.split_at_mut(to * BLOCK);
            left[from * BLOCK..][..BLOCK].swap_with_slice(&mut right[..BLOCK]);
            assert!(seen.insert(of(&swapped)), "blocks {from} and {to} traded");
        }
        // Of zeros there is only the number.
        for length in 0..packet.len() {
            assert!(seen.insert(of(&packet[..length])), "the first {length} bytes");
            assert!(length == 0 || seen.insert(of(&vec![0; length])), "{length} zeros");
        }
    }

    /// What sums are worst at: the same bit of the same stripe, further and further on.
    #[test]
    fn two_flipped_bits_are_found() {
        let packet: Vec<u8> = (0..1452).map(content).collect();
        let expected = of(&packet);
        for bit in (0..8 * BLOCK).filter(|bit| bit % 64 < 60) {
            for distance in (1..22).map(|blocks| blocks * BLOCK) {
                let mut changed = packet.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                changed[bit / 8 + distance] ^= 1 << (bit % 8);
                assert_ne!(of(&changed), expected, "bit {bit}, and {distance} bytes on");
            }
        }
    }
}
