//! A fast keyed checksum of 128 bits. Not cryptographic.

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

/// A running checksum: two lanes, each a chain of steps that are one-to-one in the word they take. A change within
/// one word of eight bytes is therefore always found; any other is missed with a probability of about 2^-128.
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
        let (words, tail) = bytes.as_chunks::<8>();
        for word in words {
            self.absorb_word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last.iter_mut().zip(tail).for_each(|(out, byte)| *out = *byte);
        self.absorb_word(u64::from_le_bytes(last));
        self.absorb_word(bytes.len() as u64);
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
