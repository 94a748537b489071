//! Bits of a header, most significant first.

/// Zeros before the value of an Exp-Golomb code at most: none that a header needs has more.
const MAX_ZEROS: u32 = 31;

/// Reads bits; `None` at the end of the data.
#[derive(Clone, Debug)]
pub(super) struct Bits<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Bits { data, at: 0 }
    }

    /// The next bit.
    pub(super) fn bit(&mut self) -> Option<bool> {
        let byte = self.data.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit == 1)
    }

    /// So many bits as a number: 32 at most.
    pub(super) fn number(&mut self, count: u32) -> Option<u32> {
        let mut value: u32 = 0;
        for _ in 0..count {
            value = value << 1 | u32::from(self.bit()?);
        }
        Some(value)
    }

    /// Passes over so many bits.
    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count).filter(|at| *at <= self.data.len() * 8)?;
        Some(())
    }

    /// An unsigned Exp-Golomb code (H.264 section 9.1).
    pub(super) fn unsigned(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.bit()? {
            zeros += 1;
            if zeros > MAX_ZEROS {
                return None;
            }
        }
        Some((1_u32 << zeros) - 1 + self.number(zeros)?)
    }

    /// A signed one.
    pub(super) fn signed(&mut self) -> Option<i64> {
        let code = i64::from(self.unsigned()?);
        Some(if code % 2 == 1 { code / 2 + 1 } else { -code / 2 })
    }
}

/// A parameter set without the bytes that keep start codes out of it.
pub(super) fn without_emulation(data: &[u8]) -> Vec<u8> {
    let (mut found, mut zeros) = (Vec::with_capacity(data.len()), 0);
    for byte in data {
        if zeros >= 2 && *byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if *byte == 0 { zeros + 1 } else { 0 };
        found.push(*byte);
    }
    found
}
