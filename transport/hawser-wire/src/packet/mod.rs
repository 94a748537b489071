//! Packet headers.
//!
//! A received packet is read in two steps. [`PartialHeader::decode`] reads what header protection leaves in the open:
//! it tells the packets of a datagram apart, gives the connection IDs and says where the packet number starts. Once
//! the header protection is removed in place, [`PlainHeader::decode`] reads the rest.
//!
//! Nothing that has to outlive decryption borrows the datagram, so a packet can be opened in place.

mod decode;
mod encode;
mod number;
mod stateless_reset;
mod unprotected;

pub use decode::{
    InvariantHeader, PacketError, PartialHeader, ProtectedHeader, Retry, VersionNegotiation,
    peek_destination_cid,
};
pub use encode::{
    EncodedHeader, LongHeader, LongPacketType, ShortHeader, write_retry, write_retry_pseudo_packet,
    write_version_negotiation,
};
pub use number::{PacketNumber, TruncatedPacketNumber};
pub use stateless_reset::{MIN_STATELESS_RESET_LEN, write_stateless_reset};
pub use unprotected::PlainHeader;

/// Datagrams with Initial packets are at least this long, in bytes (RFC 9000 section 14.1).
pub const MIN_INITIAL_DATAGRAM_LEN: usize = 1200;

/// Bytes sampled for header protection (RFC 9001 section 5.4.2).
pub const SAMPLE_LEN: usize = 16;

/// The longest packet number field, in bytes. The sample is taken as if every packet number had it.
pub const MAX_PACKET_NUMBER_LEN: usize = 4;

/// Bytes of the integrity tag that ends a Retry packet (RFC 9001 section 5.8).
pub const RETRY_INTEGRITY_TAG_LEN: usize = 16;

pub(crate) const LONG_FORM: u8 = 0x80;
pub(crate) const FIXED_BIT: u8 = 0x40;

/// The packets of QUIC versions 1 and 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PacketType {
    /// RFC 9000 section 17.2.2.
    Initial,
    /// RFC 9000 section 17.2.3.
    ZeroRtt,
    /// RFC 9000 section 17.2.4.
    Handshake,
    /// RFC 9000 section 17.2.5. Carries no frames.
    Retry,
    /// RFC 9000 section 17.2.1. Carries no frames.
    VersionNegotiation,
    /// With the short header, RFC 9000 section 17.3.
    OneRtt,
}

#[cfg(test)]
mod tests;
