//! Connection IDs and stateless reset tokens.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A connection ID of QUIC version 1: 0 to 20 bytes, held inline.
///
/// Ordered by content, shorter first where one is a prefix of the other.
#[derive(Clone, Copy)]
pub struct ConnectionId {
    length: u8,
    bytes: [u8; Self::MAX_LEN],
}

impl ConnectionId {
    /// The longest connection ID of version 1, in bytes (RFC 9000 section 17.2).
    pub const MAX_LEN: usize = 20;

    /// The connection ID without bytes.
    pub const EMPTY: Self = Self { length: 0, bytes: [0; Self::MAX_LEN] };

    /// Copies `bytes`; `None` if there are more than 20.
    //= rfc9000-17.2-2: destination connection ids have 20 bytes at most
    //= rfc9000-17.2-5: source connection ids have 20 bytes at most
    #[inline]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut id = Self::EMPTY;
        id.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        id.length = bytes.len() as u8;
        Some(id)
    }

    /// Its bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// Its length in bytes, 0 to 20.
    #[inline]
    pub const fn len(&self) -> usize {
        self.length as usize
    }

    /// Whether it has no bytes.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl Default for ConnectionId {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl AsRef<[u8]> for ConnectionId {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// Maps are searched for the bytes of a packet as they are: equality, order and hash are those of the bytes.
impl Borrow<[u8]> for ConnectionId {
    #[inline]
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for ConnectionId {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Bytes past the length are always zero, so whole arrays may be compared.
        self.length == other.length && self.bytes == other.bytes
    }
}

impl Eq for ConnectionId {}

impl PartialOrd for ConnectionId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ConnectionId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for ConnectionId {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionId({self})")
    }
}

/// The secret that ends a connection when it closes a datagram (RFC 9000 section 10.3).
///
/// Compared in constant time, and never printed.
#[derive(Clone, Copy)]
pub struct StatelessResetToken(pub [u8; Self::LEN]);

impl StatelessResetToken {
    /// Its length in bytes.
    pub const LEN: usize = 16;

    /// The last 16 bytes of a datagram, where a stateless reset has its token. `None` if it is too short to be one.
    ///
    /// RFC 9000 section 10.3: a stateless reset has at least 21 bytes.
    pub fn at_end_of(datagram: &[u8]) -> Option<Self> {
        if datagram.len() < crate::packet::MIN_STATELESS_RESET_LEN {
            return None;
        }
        datagram.last_chunk().map(|token| Self(*token))
    }
}

impl PartialEq for StatelessResetToken {
    //= rfc9000-10.3.1-3: the comparison of reset tokens takes the same time for all tokens
    fn eq(&self, other: &Self) -> bool {
        // RFC 9000 section 10.3.1: the time must not tell how many bytes agree.
        let difference =
            self.0.iter().zip(&other.0).fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b)));
        difference == 0
    }
}

impl Eq for StatelessResetToken {}

impl Hash for StatelessResetToken {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for StatelessResetToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StatelessResetToken(..)")
    }
}

#[cfg(test)]
mod tests;
