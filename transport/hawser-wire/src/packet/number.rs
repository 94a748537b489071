//! Packet numbers, of which only the low bytes are sent (RFC 9000 section 17.1 and appendix A).

use super::MAX_PACKET_NUMBER_LEN;
use crate::varint;
use crate::writer::{BufferTooShort, Writer};

/// A packet number, 0 to 2^62 - 1.
pub type PacketNumber = u64;

/// The low bytes of a packet number, as they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TruncatedPacketNumber {
    value: u32,
    length: u8,
}

impl TruncatedPacketNumber {
    /// The fewest bytes from which a peer that has `largest_acked` or anything later recovers `number`.
    ///
    /// RFC 9000 section 17.1: enough for more than twice the packets in flight. If that takes more than four bytes,
    /// four are used; a sender with 2^31 packets in flight has other worries.
    //= rfc9000-17.1-1: packet numbers are written in full until one of the space is acknowledged
    //= rfc9000-17.1-2: packet numbers hold twice the distance to the largest acknowledged one
    //= rfc9000-17.1-3: packet numbers are long enough for packets that arrive late, too
    #[inline]
    pub const fn new(number: PacketNumber, largest_acked: Option<PacketNumber>) -> Self {
        let unacked = match largest_acked {
            Some(acked) => number.saturating_sub(acked),
            None => number.saturating_add(1),
        };
        let length = match unacked {
            0..0x80 => 1,
            0x80..0x8000 => 2,
            0x8000..0x80_0000 => 3,
            _ => 4,
        };
        Self::with_len(number, length)
    }

    /// The low `length` bytes of `number`; `length` is brought into 1 to 4.
    #[inline]
    pub const fn with_len(number: PacketNumber, length: usize) -> Self {
        let length = match length {
            0 | 1 => 1,
            2 => 2,
            3 => 3,
            _ => MAX_PACKET_NUMBER_LEN as u8,
        };
        Self { value: number as u32 & (u32::MAX >> (32 - 8 * length as u32)), length }
    }

    /// From the bytes of the field; `None` unless there are 1 to 4.
    #[inline]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if !(1..=MAX_PACKET_NUMBER_LEN).contains(&bytes.len()) {
            return None;
        }
        let value = bytes.iter().fold(0, |value, byte| (value << 8) | u32::from(*byte));
        Some(Self { value, length: bytes.len() as u8 })
    }

    /// Bytes of the field, 1 to 4.
    #[inline]
    pub const fn byte_len(self) -> usize {
        self.length as usize
    }

    /// The low bytes as a number.
    #[inline]
    pub const fn value(self) -> u32 {
        self.value
    }

    /// The packet number closest to the one after `largest_received` (RFC 9000 appendix A.3). `None` means that no
    /// packet of this space was received yet.
    #[inline]
    pub const fn expand(self, largest_received: Option<PacketNumber>) -> PacketNumber {
        let expected = match largest_received {
            // Behind the last packet number there is no next one.
            Some(largest) if largest < varint::MAX => largest + 1,
            Some(_) => varint::MAX,
            None => 0,
        };
        let window = 1_u64 << (8 * self.length as u32);
        let half = window / 2;
        let candidate = (expected & !(window - 1)) | self.value as u64;
        // Compared by addition: subtraction would wrap near 0.
        if candidate + half <= expected && candidate < varint::MAX + 1 - window {
            candidate + window
        } else if candidate > expected + half && candidate >= window {
            candidate - window
        } else {
            candidate
        }
    }

    /// Writes the field.
    ///
    /// # Errors
    /// [`BufferTooShort`] if it does not fit.
    #[inline]
    pub fn encode(self, w: &mut Writer<'_>) -> Result<(), BufferTooShort> {
        let bytes = self.value.to_be_bytes();
        w.write_bytes(bytes.get(bytes.len() - self.byte_len()..).unwrap_or_default())
    }
}
