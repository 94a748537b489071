//! The encryption of server id and nonce (section 5.4 of the draft).
//!
//! *ring* and aws-lc-rs do AES for packets, but *ring* gives no single block of it to others (of header protection the first
//! five bytes), so the block cipher is the crate `aes`: the processor's instructions, or constant-time code without.

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Block};

/// A length that is one block of AES.
const BLOCK: usize = 16;
/// The longest half of a plaintext, 19 bytes being the longest one.
const MAX_HALF: usize = 10;

/// A permutation of strings of 4 to 19 bytes.
#[derive(Clone)]
pub(crate) struct CidCipher(Aes128);

impl CidCipher {
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        CidCipher(Aes128::new(&(*key).into()))
    }

    pub(crate) fn encrypt(&self, text: &mut [u8]) {
        match <&mut [u8; BLOCK]>::try_from(&mut *text) {
            Ok(block) => self.0.encrypt_block(block.into()),
            Err(_) => self.passes(text, [1, 2, 3, 4]),
        }
    }

    pub(crate) fn decrypt(&self, text: &mut [u8]) {
        match <&mut [u8; BLOCK]>::try_from(&mut *text) {
            Ok(block) => self.0.decrypt_block(block.into()),
            Err(_) => self.passes(text, [4, 3, 2, 1]),
        }
    }

    /// Four passes of a Feistel network: an odd one changes the right half by the left one, an even one the left half by the
    /// right one. The same passes in the other order undo it.
    fn passes(&self, text: &mut [u8], passes: [u8; 4]) {
        let mut halves = Halves::split(text);
        for pass in passes {
            let (from, to, keep) = match pass % 2 {
                1 => (halves.left, &mut halves.right, halves.keep_right),
                _ => (halves.right, &mut halves.left, halves.keep_left),
            };
            let mask = self.mask(&from, halves.length, pass);
            to.iter_mut().zip(mask).take(halves.half).for_each(|(byte, mask)| *byte ^= mask);
            keep.apply(to, halves.half);
        }
        halves.join(text);
    }

    /// AES of expand(length, pass, half): the half, zeros, the length, the pass.
    fn mask(&self, half: &[u8; MAX_HALF], length: u8, pass: u8) -> [u8; BLOCK] {
        let mut block = Block::default();
        let (input, rest) = block.split_at_mut(MAX_HALF);
        input.copy_from_slice(half);
        rest.copy_from_slice(&[0, 0, 0, 0, length, pass]);
        self.0.encrypt_block(&mut block);
        block.into()
    }
}

/// Which bits of the byte that both halves of an odd text share are of a half: the first four of the left one's last byte,
/// the last four of the right one's first.
#[derive(Clone, Copy)]
enum Keep {
    All,
    FirstOfLast,
    LastOfFirst,
}

impl Keep {
    fn apply(self, half: &mut [u8; MAX_HALF], length: usize) {
        match self {
            Keep::All => {}
            Keep::FirstOfLast => half.get_mut(length - 1).into_iter().for_each(|byte| *byte &= 0xf0),
            Keep::LastOfFirst => half.iter_mut().take(1).for_each(|byte| *byte &= 0x0f),
        }
    }
}

/// A text in two halves, which are zero beyond their length.
struct Halves {
    left: [u8; MAX_HALF],
    right: [u8; MAX_HALF],
    /// Bytes of each, the shared one counted twice.
    half: usize,
    length: u8,
    keep_left: Keep,
    keep_right: Keep,
}

impl Halves {
    fn split(text: &[u8]) -> Self {
        let length = text.len();
        let half = length.div_ceil(2);
        let (keep_left, keep_right) =
            if length % 2 == 1 { (Keep::FirstOfLast, Keep::LastOfFirst) } else { (Keep::All, Keep::All) };
        let (mut left, mut right) = ([0; MAX_HALF], [0; MAX_HALF]);
        left.iter_mut().zip(text.iter().take(half)).for_each(|(to, from)| *to = *from);
        right.iter_mut().zip(text.iter().skip(length / 2)).for_each(|(to, from)| *to = *from);
        keep_left.apply(&mut left, half);
        keep_right.apply(&mut right, half);
        Halves { left, right, half, length: length as u8, keep_left, keep_right }
    }

    fn join(&self, text: &mut [u8]) {
        let length = text.len();
        text.fill(0);
        text.iter_mut().zip(self.left.iter().take(self.half)).for_each(|(to, from)| *to |= from);
        text.iter_mut()
            .skip(length / 2)
            .zip(self.right.iter().take(self.half))
            .for_each(|(to, from)| *to |= from);
    }
}
