//! A cursor that encodes in place, into a buffer the caller owns. Every write is length checked; none allocates.

use crate::varint;

/// The buffer is too short for what was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("output buffer too short")]
pub struct BufferTooShort;

/// A variable-length integer whose room is taken and whose value comes later, see [`Writer::patch_varint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a placeholder that is never patched is sent as zero"]
pub struct VarintPlaceholder {
    position: usize,
    size: VarintSize,
}

/// The four lengths a variable-length integer can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarintSize {
    /// Up to 63.
    One,
    /// Up to 16,383.
    Two,
    /// Up to 2^30 - 1.
    Four,
    /// Up to 2^62 - 1.
    Eight,
}

impl VarintSize {
    /// The shortest that carries `value`.
    pub const fn of(value: u64) -> Self {
        match varint::len(value) {
            1 => Self::One,
            2 => Self::Two,
            4 => Self::Four,
            _ => Self::Eight,
        }
    }

    /// Its length in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The largest value it carries.
    pub const fn max(self) -> u64 {
        match self {
            Self::One => (1 << 6) - 1,
            Self::Two => (1 << 14) - 1,
            Self::Four => (1 << 30) - 1,
            Self::Eight => varint::MAX,
        }
    }
}

/// A cursor over a fixed buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    buffer: &'a mut [u8],
    position: usize,
}

impl<'a> Writer<'a> {
    /// A cursor at the start of `buffer`.
    #[inline]
    pub const fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, position: 0 }
    }

    /// Bytes written so far.
    #[inline]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// Room left, in bytes.
    #[inline]
    pub const fn remaining(&self) -> usize {
        self.buffer.len() - self.position
    }

    /// What was written.
    #[inline]
    pub fn written(&self) -> &[u8] {
        self.buffer.get(..self.position).unwrap_or_default()
    }

    /// What was written, to be changed in place (sealing).
    #[inline]
    pub fn written_mut(&mut self) -> &mut [u8] {
        self.buffer.get_mut(..self.position).unwrap_or_default()
    }

    /// Gives the written part of the buffer back, for its full lifetime.
    #[inline]
    pub fn into_written(self) -> &'a mut [u8] {
        let position = self.position;
        self.buffer.get_mut(..position).unwrap_or_default()
    }

    /// Goes back to `position`, dropping what was written after it. A position ahead of the cursor is ignored.
    #[inline]
    pub fn rewind(&mut self, position: usize) {
        self.position = self.position.min(position);
    }

    /// Takes the next `count` bytes, to be filled by the caller; their content is whatever the buffer held.
    ///
    /// # Errors
    /// [`BufferTooShort`] if less room is left; as in all methods, nothing is written then.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&mut [u8], BufferTooShort> {
        let start = self.position;
        let end = start.checked_add(count).ok_or(BufferTooShort)?;
        let taken = self.buffer.get_mut(start..end).ok_or(BufferTooShort)?;
        self.position = end;
        Ok(taken)
    }

    #[inline]
    fn write_array<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), BufferTooShort> {
        let start = self.position;
        let room = self.buffer.get_mut(start..).and_then(|rest| rest.first_chunk_mut::<N>());
        *room.ok_or(BufferTooShort)? = bytes;
        self.position = start + N;
        Ok(())
    }

    /// Writes `bytes`.
    ///
    /// # Errors
    /// [`BufferTooShort`] if less room is left.
    #[inline]
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), BufferTooShort> {
        self.take(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// Writes `count` zero bytes, which as frames are PADDING.
    ///
    /// # Errors
    /// [`BufferTooShort`] if less room is left.
    #[inline]
    pub fn write_zeros(&mut self, count: usize) -> Result<(), BufferTooShort> {
        self.take(count)?.fill(0);
        Ok(())
    }

    /// Writes one byte.
    ///
    /// # Errors
    /// [`BufferTooShort`] if no room is left.
    #[inline]
    pub fn write_u8(&mut self, value: u8) -> Result<(), BufferTooShort> {
        self.write_array([value])
    }

    /// Writes two bytes in network order.
    ///
    /// # Errors
    /// [`BufferTooShort`] if less room is left.
    #[inline]
    pub fn write_u16(&mut self, value: u16) -> Result<(), BufferTooShort> {
        self.write_array(value.to_be_bytes())
    }

    /// Writes four bytes in network order.
    ///
    /// # Errors
    /// [`BufferTooShort`] if less room is left.
    #[inline]
    pub fn write_u32(&mut self, value: u32) -> Result<(), BufferTooShort> {
        self.write_array(value.to_be_bytes())
    }

    /// Writes the shortest encoding of a variable-length integer (RFC 9000 section 16).
    ///
    /// A value above [`varint::MAX`] is a mistake of the caller: asserted in debug builds, else sent as the maximum.
    ///
    /// # Errors
    /// [`BufferTooShort`] if less room is left.
    #[inline]
    pub fn write_varint(&mut self, value: u64) -> Result<(), BufferTooShort> {
        debug_assert!(value <= varint::MAX, "{value} does not fit a varint");
        // As with a given size, but every field of a packet passes here: one decision for length and bytes.
        match value {
            0..0x40 => self.write_u8(value as u8),
            0x40..0x4000 => self.write_u16(0x4000 | value as u16),
            0x4000..0x4000_0000 => self.write_u32(0x8000_0000 | value as u32),
            _ => self.write_array((0xc000_0000_0000_0000 | value.min(varint::MAX)).to_be_bytes()),
        }
    }

    /// Writes a variable-length integer with a given length. A value too large for it is treated as in
    /// [`Writer::write_varint`].
    ///
    /// # Errors
    /// [`BufferTooShort`] if less room is left.
    #[inline]
    pub fn write_varint_sized(&mut self, value: u64, size: VarintSize) -> Result<(), BufferTooShort> {
        debug_assert!(value <= size.max(), "{value} does not fit a {}-byte varint", size.bytes());
        let value = value.min(size.max());
        match size {
            VarintSize::One => self.write_u8(value as u8),
            VarintSize::Two => self.write_u16(0x4000 | value as u16),
            VarintSize::Four => self.write_u32(0x8000_0000 | value as u32),
            VarintSize::Eight => self.write_array((0xc000_0000_0000_0000 | value).to_be_bytes()),
        }
    }

    /// Takes room for a variable-length integer whose value is not known yet.
    ///
    /// # Errors
    /// [`BufferTooShort`] if less room is left.
    #[inline]
    pub fn reserve_varint(&mut self, size: VarintSize) -> Result<VarintPlaceholder, BufferTooShort> {
        let position = self.position;
        self.write_varint_sized(0, size)?;
        Ok(VarintPlaceholder { position, size })
    }

    /// Fills a placeholder of this writer.
    ///
    /// # Errors
    /// [`BufferTooShort`] if the value does not fit the reserved length, or the placeholder was rewound away.
    #[inline]
    pub fn patch_varint(&mut self, placeholder: VarintPlaceholder, value: u64) -> Result<(), BufferTooShort> {
        let end = placeholder.position + placeholder.size.bytes();
        if value > placeholder.size.max() || end > self.position {
            return Err(BufferTooShort);
        }
        let here = self.position;
        self.position = placeholder.position;
        let patched = self.write_varint_sized(value, placeholder.size);
        self.position = here;
        patched
    }
}

/// Where encoders put their output: a [`Writer`], or a [`LengthCounter`] that only measures. One description of a
/// format then serves both `encode` and `encoded_len`, which so can never disagree.
pub(crate) trait Sink {
    fn byte(&mut self, value: u8) -> Result<(), BufferTooShort>;
    fn varint(&mut self, value: u64) -> Result<(), BufferTooShort>;
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), BufferTooShort>;
    fn zeros(&mut self, count: usize) -> Result<(), BufferTooShort>;
}

impl Sink for Writer<'_> {
    #[inline]
    fn byte(&mut self, value: u8) -> Result<(), BufferTooShort> {
        self.write_u8(value)
    }

    #[inline]
    fn varint(&mut self, value: u64) -> Result<(), BufferTooShort> {
        self.write_varint(value)
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), BufferTooShort> {
        self.write_bytes(bytes)
    }

    #[inline]
    fn zeros(&mut self, count: usize) -> Result<(), BufferTooShort> {
        self.write_zeros(count)
    }
}

/// Counts what would be written.
#[derive(Debug, Default)]
pub(crate) struct LengthCounter(pub(crate) usize);

impl Sink for LengthCounter {
    #[inline]
    fn byte(&mut self, _: u8) -> Result<(), BufferTooShort> {
        self.0 += 1;
        Ok(())
    }

    #[inline]
    fn varint(&mut self, value: u64) -> Result<(), BufferTooShort> {
        self.0 += varint::len(value);
        Ok(())
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), BufferTooShort> {
        self.0 += bytes.len();
        Ok(())
    }

    #[inline]
    fn zeros(&mut self, count: usize) -> Result<(), BufferTooShort> {
        self.0 += count;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
