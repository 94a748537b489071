//! Reading headers before header protection is removed.

use std::ops::Range;

use super::{FIXED_BIT, LONG_FORM, MAX_PACKET_NUMBER_LEN, PacketType, RETRY_INTEGRITY_TAG_LEN, SAMPLE_LEN};
use crate::cid::ConnectionId;
use crate::codepoints::version;
use crate::reader::{Reader, UnexpectedEnd};
use crate::version::Version;

/// Why a datagram, or what is left of it, holds no packet. The answer is always to drop it (RFC 9000 section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// Nothing left.
    #[error("no bytes left in the datagram")]
    Empty,
    /// A field or the packet itself reaches past the datagram.
    #[error("packet reaches past the end of the datagram")]
    Truncated,
    /// RFC 9000 section 17.2: at most 20 bytes in versions 1 and 2.
    #[error("connection ID of {0} bytes, expected at most 20")]
    ConnectionIdTooLong(usize),
    /// The connection ID of a short header has no known length.
    #[error("destination connection ID of no known length")]
    UnknownConnectionId,
    /// RFC 9000 section 17.2.5.2.
    #[error("Retry without a token")]
    EmptyRetryToken,
    /// RFC 9000 section 17.2.1: a list of 32-bit versions, at least one.
    #[error("Version Negotiation with a list of {0} bytes, expected a multiple of 4 above 0")]
    VersionList(usize),
}

impl From<UnexpectedEnd> for PacketError {
    fn from(_: UnexpectedEnd) -> Self {
        Self::Truncated
    }
}

/// The first packet of a datagram, as far as it can be read before header protection is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartialHeader<'a> {
    /// Initial, 0-RTT, Handshake or 1-RTT.
    Protected(ProtectedHeader),
    /// Retry. Takes the rest of the datagram.
    Retry(Retry<'a>),
    /// Version Negotiation. Takes the rest of the datagram.
    VersionNegotiation(VersionNegotiation<'a>),
    /// A long header of another version, of which only the invariants are known. Takes the rest of the datagram.
    UnknownVersion(InvariantHeader<'a>),
}

/// A packet with protected payload. Holds no borrow: offsets count from the first byte of the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedHeader {
    /// Initial, 0-RTT, Handshake or 1-RTT.
    pub packet_type: PacketType,
    /// The version; `None` in 1-RTT packets, which do not say.
    pub version: Option<Version>,
    /// Whether the fixed bit is set. If not, the packet has to be dropped unless grease_quic_bit was sent (RFC 9287).
    pub fixed_bit: bool,
    /// The connection ID it is sent to.
    pub destination_cid: ConnectionId,
    /// The connection ID to answer to; empty in 1-RTT packets, which do not say.
    pub source_cid: ConnectionId,
    /// Where the token of an Initial packet is; empty otherwise. See [`ProtectedHeader::token`].
    pub token: Range<usize>,
    /// Where the packet number starts.
    pub packet_number_offset: usize,
    /// Bytes of the whole packet; the next packet of the datagram starts there.
    pub packet_len: usize,
}

impl ProtectedHeader {
    /// The token of an Initial packet.
    pub fn token<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        packet.get(self.token.clone()).unwrap_or_default()
    }

    /// Where the sample for header protection is; `None` if the packet is too short, and then it has to be dropped
    /// (RFC 9001 section 5.4.2).
    //= rfc9000-10.3-6: packets that are too small for QUIC are dropped
    //= rfc9001-5.4.2-1: packets without a whole sample are dropped
    #[inline]
    pub fn sample(&self) -> Option<Range<usize>> {
        let start = self.packet_number_offset + MAX_PACKET_NUMBER_LEN;
        (start + SAMPLE_LEN <= self.packet_len).then_some(start..start + SAMPLE_LEN)
    }
}

/// A Retry packet (RFC 9000 section 17.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry<'a> {
    /// The version.
    pub version: Version,
    /// The client's connection ID.
    pub destination_cid: ConnectionId,
    /// The server's new connection ID.
    pub source_cid: ConnectionId,
    /// To be repeated in Initial packets; never empty.
    pub token: &'a [u8],
    /// Proves that the sender saw the client's Initial packet (RFC 9001 section 5.8).
    pub integrity_tag: [u8; RETRY_INTEGRITY_TAG_LEN],
    /// The packet up to the tag: what the tag covers, behind the original connection ID. See
    /// [`write_retry_pseudo_packet`](super::write_retry_pseudo_packet).
    pub without_tag: &'a [u8],
}

/// A Version Negotiation packet (RFC 8999 section 6). Connection IDs may have up to 255 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionNegotiation<'a> {
    /// Repeats the client's source connection ID.
    pub destination_cid: &'a [u8],
    /// Repeats the client's destination connection ID.
    pub source_cid: &'a [u8],
    versions: &'a [u8],
}

impl<'a> VersionNegotiation<'a> {
    /// The versions that the server supports, at least one.
    pub fn versions(&self) -> impl Iterator<Item = u32> + Clone + 'a {
        self.versions.as_chunks().0.iter().map(|bytes| u32::from_be_bytes(*bytes))
    }
}

/// What all versions of QUIC share in their long header (RFC 8999 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvariantHeader<'a> {
    /// The version.
    pub version: u32,
    /// The connection ID it is sent to, up to 255 bytes.
    pub destination_cid: &'a [u8],
    /// The connection ID to answer to, up to 255 bytes.
    pub source_cid: &'a [u8],
}

impl<'a> PartialHeader<'a> {
    /// Reads the first packet of `datagram`; `local_cid_len` is the length of all our connection IDs.
    ///
    /// # Errors
    /// [`PacketError`]; the rest of the datagram has to be dropped.
    #[inline]
    pub fn decode(datagram: &'a [u8], local_cid_len: usize) -> Result<Self, PacketError> {
        Self::decode_with(datagram, |_| Some(local_cid_len))
    }

    /// As [`PartialHeader::decode`], for connection IDs of several lengths: `local_cid_len` is given what follows the
    /// first byte of a short header, and says how long the connection ID at its start is.
    ///
    /// # Errors
    /// [`PacketError`]; the rest of the datagram has to be dropped.
    #[inline]
    pub fn decode_with(
        datagram: &'a [u8],
        local_cid_len: impl FnOnce(&[u8]) -> Option<usize>,
    ) -> Result<Self, PacketError> {
        let mut r = Reader::new(datagram);
        let first = r.read_u8().map_err(|_| PacketError::Empty)?;
        if first & LONG_FORM != 0 {
            return Self::decode_long(first, datagram, r);
        }
        let length = local_cid_len(r.peek_rest()).ok_or(PacketError::UnknownConnectionId)?;
        let destination_cid = known_version_cid(r.read_bytes(length)?)?;
        Ok(Self::Protected(ProtectedHeader {
            packet_type: PacketType::OneRtt,
            version: None,
            fixed_bit: first & FIXED_BIT != 0,
            destination_cid,
            source_cid: ConnectionId::EMPTY,
            token: 0..0,
            packet_number_offset: r.position(),
            packet_len: datagram.len(),
        }))
    }

    /// Bytes of the whole packet; the next packet of the `datagram` starts there.
    #[inline]
    pub fn packet_len(&self, datagram: &[u8]) -> usize {
        match self {
            Self::Protected(header) => header.packet_len,
            // These have no length field: nothing can follow them.
            Self::Retry(_) | Self::VersionNegotiation(_) | Self::UnknownVersion(_) => datagram.len(),
        }
    }

    //= rfc9000-17.2-4: longer destination connection ids of other versions are read
    //= rfc9000-17.2-7: longer source connection ids of other versions are read
    //= rfc9000-17.2.1-1: the low bits of Version Negotiation mean nothing
    fn decode_long(first: u8, datagram: &'a [u8], mut r: Reader<'a>) -> Result<Self, PacketError> {
        let version = r.read_u32()?;
        let destination_cid = r.read_u8_prefixed()?;
        let source_cid = r.read_u8_prefixed()?;
        match version {
            version::NEGOTIATION => {
                let versions = r.read_rest();
                if versions.is_empty() || !versions.len().is_multiple_of(4) {
                    return Err(PacketError::VersionList(versions.len()));
                }
                Ok(Self::VersionNegotiation(VersionNegotiation { destination_cid, source_cid, versions }))
            }
            _ => match Version::from_number(version) {
                Some(version) => {
                    let (destination_cid, source_cid) =
                        (known_version_cid(destination_cid)?, known_version_cid(source_cid)?);
                    Self::decode_known_version(version, first, datagram, r, destination_cid, source_cid)
                }
                None => Ok(Self::UnknownVersion(InvariantHeader { version, destination_cid, source_cid })),
            },
        }
    }

    fn decode_known_version(
        version: Version,
        first: u8,
        datagram: &'a [u8],
        mut r: Reader<'a>,
        destination_cid: ConnectionId,
        source_cid: ConnectionId,
    ) -> Result<Self, PacketError> {
        let packet_type = version.long_packet_type(first);
        if packet_type == PacketType::Retry {
            return decode_retry(version, datagram, r, destination_cid, source_cid).map(Self::Retry);
        }
        let token = match packet_type {
            PacketType::Initial => {
                let length = r.read_varint_prefixed()?.len();
                r.position() - length..r.position()
            }
            _ => 0..0,
        };
        // The Length field counts the packet number, the payload and the tag.
        let rest = r.read_varint_prefixed()?.len();
        Ok(Self::Protected(ProtectedHeader {
            packet_type,
            version: Some(version),
            fixed_bit: first & FIXED_BIT != 0,
            destination_cid,
            source_cid,
            token,
            packet_number_offset: r.position() - rest,
            packet_len: r.position(),
        }))
    }
}

//= rfc9000-17.2.5-1: the low bits of a Retry mean nothing
//= rfc9000-17.2.5.2-4: a Retry with an empty token is dropped
fn decode_retry<'a>(
    version: Version,
    datagram: &'a [u8],
    mut r: Reader<'a>,
    destination_cid: ConnectionId,
    source_cid: ConnectionId,
) -> Result<Retry<'a>, PacketError> {
    let (token, integrity_tag) = r.read_rest().split_last_chunk().ok_or(PacketError::Truncated)?;
    if token.is_empty() {
        return Err(PacketError::EmptyRetryToken);
    }
    let without_tag = datagram.get(..datagram.len() - RETRY_INTEGRITY_TAG_LEN).unwrap_or_default();
    Ok(Retry { version, destination_cid, source_cid, token, integrity_tag: *integrity_tag, without_tag })
}

//= rfc9000-17.2-3: longer destination connection ids of version 1 are dropped
//= rfc9000-17.2-6: longer source connection ids of version 1 are dropped
fn known_version_cid(bytes: &[u8]) -> Result<ConnectionId, PacketError> {
    ConnectionId::new(bytes).ok_or(PacketError::ConnectionIdTooLong(bytes.len()))
}

/// The destination connection ID of a datagram and nothing else: all that routing needs (RFC 8999 section 5).
///
/// # Errors
/// [`PacketError`] if the datagram is too short to have one; it has to be dropped.
#[inline]
pub fn peek_destination_cid(datagram: &[u8], local_cid_len: usize) -> Result<&[u8], PacketError> {
    let mut r = Reader::new(datagram);
    let first = r.read_u8().map_err(|_| PacketError::Empty)?;
    if first & LONG_FORM == 0 {
        return Ok(r.read_bytes(local_cid_len)?);
    }
    r.read_u32()?;
    Ok(r.read_u8_prefixed()?)
}
