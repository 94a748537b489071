//! The input, read as a script: small numbers are likely, large ones possible.

use hawser_policy::Side;
use hawser_wire::Reader;

/// What is left of the input. Everything is `None` once it is used up, and then the script is over.
pub struct Script<'a>(Reader<'a>);

impl<'a> Script<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Script(Reader::new(data))
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.0.read_u8().ok()
    }

    /// One of the numbers below `bound`.
    pub fn below(&mut self, bound: usize) -> Option<usize> {
        self.byte().map(|byte| usize::from(byte) % bound)
    }

    pub fn choose<T: Copy>(&mut self, choices: &[T]) -> Option<T> {
        self.below(choices.len()).and_then(|at| choices.get(at).copied())
    }

    pub fn flag(&mut self) -> Option<bool> {
        self.byte().map(|byte| byte & 1 == 1)
    }

    pub fn side(&mut self) -> Option<Side> {
        self.flag().map(|server| if server { Side::Server } else { Side::Client })
    }

    /// Any variable-length integer: itself, a power of two, one less, or 16 bits that follow.
    pub fn number(&mut self) -> Option<u64> {
        let byte = self.byte()?;
        match byte {
            0..=127 => Some(u64::from(byte)),
            128..=191 => Some((1 << (byte & 0x3f)).min(hawser_wire::varint::MAX)),
            192..=223 => Some((1 << (2 * (byte & 0x1f))) - 1),
            _ => self.0.read_u16().ok().map(u64::from),
        }
    }

    /// So many bytes, or what is left.
    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        self.0.read_bytes(length.min(self.0.remaining())).ok()
    }
}
