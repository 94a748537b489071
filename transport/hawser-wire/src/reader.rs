//! A cursor over received bytes. It never panics and never allocates; what it hands out borrows its input.

use crate::cid::ConnectionId;

/// The input ended before the value did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("input ends inside a field")]
pub struct UnexpectedEnd;

/// A cursor over a byte slice.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    total: usize,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, total: bytes.len() }
    }

    /// Bytes consumed so far.
    #[inline]
    pub const fn position(&self) -> usize {
        self.total - self.rest.len()
    }

    /// Bytes left.
    #[inline]
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Whether nothing is left.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// What is left, without consuming it.
    #[inline]
    pub const fn peek_rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Consumes and returns what is left.
    #[inline]
    pub fn read_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Consumes `count` bytes.
    ///
    /// # Errors
    /// [`UnexpectedEnd`] if fewer are left; as in all methods, nothing is consumed then.
    #[inline]
    pub fn read_bytes(&mut self, count: usize) -> Result<&'a [u8], UnexpectedEnd> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(UnexpectedEnd)?;
        self.rest = tail;
        Ok(head)
    }

    /// Consumes `N` bytes as an array.
    ///
    /// # Errors
    /// [`UnexpectedEnd`] if fewer are left.
    #[inline]
    pub fn read_array<const N: usize>(&mut self) -> Result<[u8; N], UnexpectedEnd> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(UnexpectedEnd)?;
        self.rest = tail;
        Ok(*head)
    }

    /// Consumes one byte.
    ///
    /// # Errors
    /// [`UnexpectedEnd`] if none is left.
    #[inline]
    pub fn read_u8(&mut self) -> Result<u8, UnexpectedEnd> {
        let (head, tail) = self.rest.split_first().ok_or(UnexpectedEnd)?;
        self.rest = tail;
        Ok(*head)
    }

    /// Consumes two bytes in network order.
    ///
    /// # Errors
    /// [`UnexpectedEnd`] if fewer are left.
    #[inline]
    pub fn read_u16(&mut self) -> Result<u16, UnexpectedEnd> {
        self.read_array().map(u16::from_be_bytes)
    }

    /// Consumes four bytes in network order.
    ///
    /// # Errors
    /// [`UnexpectedEnd`] if fewer are left.
    #[inline]
    pub fn read_u32(&mut self) -> Result<u32, UnexpectedEnd> {
        self.read_array().map(u32::from_be_bytes)
    }

    /// Consumes a variable-length integer (RFC 9000 section 16) of any permitted length.
    ///
    /// # Errors
    /// [`UnexpectedEnd`] if it is cut short.
    #[inline]
    pub fn read_varint(&mut self) -> Result<u64, UnexpectedEnd> {
        let first = *self.rest.first().ok_or(UnexpectedEnd)?;
        match first >> 6 {
            0 => {
                self.read_u8()?;
                Ok(u64::from(first))
            }
            1 => Ok(u64::from(self.read_u16()? & 0x3fff)),
            2 => Ok(u64::from(self.read_u32()? & 0x3fff_ffff)),
            _ => Ok(u64::from_be_bytes(self.read_array()?) & crate::varint::MAX),
        }
    }

    /// Consumes a variable-length integer and as many bytes as it says.
    ///
    /// # Errors
    /// [`UnexpectedEnd`] if either is cut short.
    #[inline]
    pub fn read_varint_prefixed(&mut self) -> Result<&'a [u8], UnexpectedEnd> {
        let mut ahead = *self;
        // A length beyond the address space is certainly beyond the input.
        let length = usize::try_from(ahead.read_varint()?).map_err(|_| UnexpectedEnd)?;
        let bytes = ahead.read_bytes(length)?;
        *self = ahead;
        Ok(bytes)
    }

    /// Consumes one byte and as many bytes as it says: the invariant form of a connection ID, 0 to 255 bytes
    /// (RFC 8999 section 5.1). [`ConnectionId::new`] checks the bound of version 1.
    ///
    /// # Errors
    /// [`UnexpectedEnd`] if either is cut short.
    #[inline]
    pub fn read_u8_prefixed(&mut self) -> Result<&'a [u8], UnexpectedEnd> {
        let mut ahead = *self;
        let length = ahead.read_u8()?;
        let bytes = ahead.read_bytes(usize::from(length))?;
        *self = ahead;
        Ok(bytes)
    }

    /// As [`Reader::read_u8_prefixed`], held to the 20 bytes of version 1: `Ok(None)` if longer.
    ///
    /// # Errors
    /// [`UnexpectedEnd`] if it is cut short.
    #[inline]
    pub fn read_connection_id(&mut self) -> Result<Option<ConnectionId>, UnexpectedEnd> {
        self.read_u8_prefixed().map(ConnectionId::new)
    }
}
