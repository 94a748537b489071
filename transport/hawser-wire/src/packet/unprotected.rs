//! Reading the rest of a header, once its protection is removed in place.

use super::{LONG_FORM, MAX_PACKET_NUMBER_LEN, ProtectedHeader, TruncatedPacketNumber};

const SPIN: u8 = 0x20;
const KEY_PHASE: u8 = 0x04;
const RESERVED_LONG: u8 = 0x0c;
const RESERVED_SHORT: u8 = 0x18;
const NUMBER_LEN: u8 = 0x03;

/// The fields that header protection hides (RFC 9000 sections 17.2 and 17.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainHeader {
    /// The low bytes of the packet number.
    pub packet_number: TruncatedPacketNumber,
    /// Where the payload starts, in bytes from the first byte of the packet. All before it is the associated data.
    pub payload_offset: usize,
    /// Whether the reserved bits are zero. If not, and the packet proves authentic, it is a PROTOCOL_VIOLATION.
    pub reserved_bits_zero: bool,
    /// The latency spin bit; false in long headers.
    pub spin: bool,
    /// The key phase bit; false in long headers.
    pub key_phase: bool,
}

impl PlainHeader {
    /// Reads the header of `packet`, whose header protection is already removed; `None` if the packet is shorter than
    /// `header` says.
    //= rfc9000-17.4-4: a disabled spin bit is ignored when received
    #[inline]
    pub fn decode(packet: &[u8], header: &ProtectedHeader) -> Option<Self> {
        let first = *packet.first()?;
        let length = Self::packet_number_len(first);
        let payload_offset = header.packet_number_offset + length;
        let bytes = packet.get(header.packet_number_offset..payload_offset)?;
        let short = first & LONG_FORM == 0;
        let reserved = if short { RESERVED_SHORT } else { RESERVED_LONG };
        Some(Self {
            packet_number: TruncatedPacketNumber::from_bytes(bytes)?,
            payload_offset,
            reserved_bits_zero: first & reserved == 0,
            spin: short && first & SPIN != 0,
            key_phase: short && first & KEY_PHASE != 0,
        })
    }

    /// Bytes of the packet number, 1 to 4, as an unprotected first byte tells them.
    #[inline]
    pub const fn packet_number_len(first: u8) -> usize {
        let length = 1 + (first & NUMBER_LEN) as usize;
        debug_assert!(length <= MAX_PACKET_NUMBER_LEN);
        length
    }
}
