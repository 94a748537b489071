//! Writing headers. The bytes are unprotected: sealing and header protection follow in place.

use super::{
    FIXED_BIT, LONG_FORM, MAX_PACKET_NUMBER_LEN, PacketType, RETRY_INTEGRITY_TAG_LEN, TruncatedPacketNumber,
};
use crate::cid::ConnectionId;
use crate::codepoints;
use crate::varint;
use crate::version::Version;
use crate::writer::{BufferTooShort, VarintPlaceholder, VarintSize, Writer};

/// A header that was written, and what is needed to finish and protect its packet. Offsets count from the start of
/// the writer's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the Length field of a long header is filled by `finish`"]
pub struct EncodedHeader {
    /// Where the packet starts.
    pub start: usize,
    /// Where its packet number starts.
    pub packet_number_offset: usize,
    /// Where its payload starts.
    pub payload_offset: usize,
    length: Option<VarintPlaceholder>,
}

impl EncodedHeader {
    /// Fills the Length field, once the payload is written: all from the packet number to the writer's position, and
    /// a tag of `tag_len` bytes to come. Does nothing for a short header.
    ///
    /// # Errors
    /// [`BufferTooShort`] if the packet is longer than the 16,383 bytes that the field was given room for.
    #[inline]
    pub fn finish(&self, w: &mut Writer<'_>, tag_len: usize) -> Result<(), BufferTooShort> {
        let Some(placeholder) = self.length else { return Ok(()) };
        let length = w.position().checked_sub(self.packet_number_offset).ok_or(BufferTooShort)? + tag_len;
        w.patch_varint(placeholder, length as u64)
    }

    /// Bytes of PADDING that the payload needs at least, so that header protection finds its sample behind the packet
    /// number (RFC 9001 section 5.4.2); `payload_len` is without the tag of `tag_len` bytes.
    #[inline]
    pub const fn padding_for_sample(&self, payload_len: usize, tag_len: usize) -> usize {
        let number_len = self.payload_offset - self.packet_number_offset;
        (MAX_PACKET_NUMBER_LEN + super::SAMPLE_LEN).saturating_sub(number_len + payload_len + tag_len)
    }
}

/// The long header of an Initial, 0-RTT or Handshake packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongHeader<'a> {
    /// The version.
    pub version: Version,
    /// Which of the three.
    pub packet_type: LongPacketType<'a>,
    /// The connection ID it is sent to.
    pub destination_cid: ConnectionId,
    /// The connection ID to answer to.
    pub source_cid: ConnectionId,
}

/// The packets with long header and protected payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongPacketType<'a> {
    /// With the token from a Retry packet or a NEW_TOKEN frame; empty without one, and from servers.
    Initial {
        /// The token.
        token: &'a [u8],
    },
    /// 0-RTT.
    ZeroRtt,
    /// Handshake.
    Handshake,
}

impl LongPacketType<'_> {
    /// The packet type.
    pub const fn packet_type(self) -> PacketType {
        match self {
            Self::Initial { .. } => PacketType::Initial,
            Self::ZeroRtt => PacketType::ZeroRtt,
            Self::Handshake => PacketType::Handshake,
        }
    }

    const fn bits(self, version: Version) -> u8 {
        version.type_bits(match self {
            Self::Initial { .. } => 0,
            Self::ZeroRtt => 1,
            Self::Handshake => 2,
        })
    }
}

impl LongHeader<'_> {
    /// Writes the header. Its Length field takes two bytes and is filled by [`EncodedHeader::finish`].
    ///
    /// # Errors
    /// [`BufferTooShort`] if it does not fit; the writer is then as before.
    //= rfc9000-17.2-8: reserved bits of long headers are 0
    pub fn encode(
        &self,
        w: &mut Writer<'_>,
        packet_number: TruncatedPacketNumber,
    ) -> Result<EncodedHeader, BufferTooShort> {
        if w.remaining() < self.encoded_len(packet_number) {
            return Err(BufferTooShort);
        }
        let start = w.position();
        let number_bits = packet_number.byte_len() as u8 - 1;
        write_invariant(
            w,
            LONG_FORM | FIXED_BIT | self.packet_type.bits(self.version) | number_bits,
            self.version.number(),
            self.destination_cid.as_bytes(),
            self.source_cid.as_bytes(),
        )?;
        if let LongPacketType::Initial { token } = self.packet_type {
            w.write_varint(token.len() as u64)?;
            w.write_bytes(token)?;
        }
        let length = Some(w.reserve_varint(VarintSize::Two)?);
        let packet_number_offset = w.position();
        packet_number.encode(w)?;
        Ok(EncodedHeader { start, packet_number_offset, payload_offset: w.position(), length })
    }

    /// Bytes that [`LongHeader::encode`] writes.
    pub const fn encoded_len(&self, packet_number: TruncatedPacketNumber) -> usize {
        let token = match self.packet_type {
            LongPacketType::Initial { token } => varint::len(token.len() as u64) + token.len(),
            LongPacketType::ZeroRtt | LongPacketType::Handshake => 0,
        };
        1 + 4
            + 1
            + self.destination_cid.len()
            + 1
            + self.source_cid.len()
            + token
            + 2
            + packet_number.byte_len()
    }
}

/// The header of a 1-RTT packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortHeader {
    /// The connection ID it is sent to.
    pub destination_cid: ConnectionId,
    /// The latency spin bit.
    pub spin: bool,
    /// The key phase bit.
    pub key_phase: bool,
}

impl ShortHeader {
    /// Writes the header.
    ///
    /// # Errors
    /// [`BufferTooShort`] if it does not fit; the writer is then as before.
    //= rfc9000-17.3.1-2: reserved bits of short headers are 0
    #[inline]
    pub fn encode(
        &self,
        w: &mut Writer<'_>,
        packet_number: TruncatedPacketNumber,
    ) -> Result<EncodedHeader, BufferTooShort> {
        if w.remaining() < self.encoded_len(packet_number) {
            return Err(BufferTooShort);
        }
        let start = w.position();
        let spin = if self.spin { 0x20 } else { 0 };
        let key_phase = if self.key_phase { 0x04 } else { 0 };
        w.write_u8(FIXED_BIT | spin | key_phase | (packet_number.byte_len() as u8 - 1))?;
        w.write_bytes(self.destination_cid.as_bytes())?;
        let packet_number_offset = w.position();
        packet_number.encode(w)?;
        Ok(EncodedHeader { start, packet_number_offset, payload_offset: w.position(), length: None })
    }

    /// Bytes that [`ShortHeader::encode`] writes.
    #[inline]
    pub const fn encoded_len(&self, packet_number: TruncatedPacketNumber) -> usize {
        1 + self.destination_cid.len() + packet_number.byte_len()
    }
}

/// What all long headers start with (RFC 8999 section 5.1). Connection IDs above 255 bytes do not fit their length.
fn write_invariant(
    w: &mut Writer<'_>,
    first: u8,
    version: u32,
    destination_cid: &[u8],
    source_cid: &[u8],
) -> Result<(), BufferTooShort> {
    w.write_u8(first)?;
    w.write_u32(version)?;
    for cid in [destination_cid, source_cid] {
        w.write_u8(u8::try_from(cid.len()).map_err(|_| BufferTooShort)?)?;
        w.write_bytes(cid)?;
    }
    Ok(())
}

/// Writes a Retry packet up to its integrity tag (RFC 9000 section 17.2.5), which is to be computed over
/// [`write_retry_pseudo_packet`] and appended. `unused` gives the four bits without meaning.
///
/// # Errors
/// [`BufferTooShort`] if the packet and its tag do not fit; the writer is then as before.
pub fn write_retry(
    w: &mut Writer<'_>,
    version: Version,
    destination_cid: &ConnectionId,
    source_cid: &ConnectionId,
    token: &[u8],
    unused: u8,
) -> Result<(), BufferTooShort> {
    let length = 1 + 4 + 1 + destination_cid.len() + 1 + source_cid.len() + token.len();
    if w.remaining() < length + RETRY_INTEGRITY_TAG_LEN {
        return Err(BufferTooShort);
    }
    let first = LONG_FORM | FIXED_BIT | version.type_bits(3) | (unused & 0x0f);
    write_invariant(w, first, version.number(), destination_cid.as_bytes(), source_cid.as_bytes())?;
    w.write_bytes(token)
}

/// Writes what the integrity tag of a Retry packet covers: the destination connection ID of the client's first
/// Initial packet, then the packet without its tag (RFC 9001 section 5.8).
///
/// # Errors
/// [`BufferTooShort`] if it does not fit; the writer is then as before.
pub fn write_retry_pseudo_packet(
    w: &mut Writer<'_>,
    original_destination_cid: &ConnectionId,
    retry_without_tag: &[u8],
) -> Result<(), BufferTooShort> {
    if w.remaining() < 1 + original_destination_cid.len() + retry_without_tag.len() {
        return Err(BufferTooShort);
    }
    w.write_u8(original_destination_cid.len() as u8)?;
    w.write_bytes(original_destination_cid.as_bytes())?;
    w.write_bytes(retry_without_tag)
}

/// Writes a Version Negotiation packet in answer to a long header with these connection IDs of up to 255 bytes, which
/// are sent back exchanged (RFC 8999 section 6). `unused` gives the seven bits without meaning; the fixed bit is set
/// over them, so that other protocols on the port keep apart (RFC 9000 section 17.2.1).
///
/// # Errors
/// [`BufferTooShort`] if it does not fit; the writer is then as before.
//= rfc9000-17.2.1-2: Version Negotiation has the fixed bit set
//= rfc9000-17.2.1-3: Version Negotiation has version 0
//= rfc9000-17.2.1-4: the destination of Version Negotiation is the source of the packet answered
//= rfc9000-17.2.1-5: the source of Version Negotiation is the destination of the packet answered
pub fn write_version_negotiation(
    w: &mut Writer<'_>,
    received_destination_cid: &[u8],
    received_source_cid: &[u8],
    versions: &[u32],
    unused: u8,
) -> Result<(), BufferTooShort> {
    let start = w.position();
    let first = LONG_FORM | FIXED_BIT | unused;
    let write = |w: &mut Writer<'_>| {
        write_invariant(
            w,
            first,
            codepoints::version::NEGOTIATION,
            received_source_cid,
            received_destination_cid,
        )?;
        versions.iter().try_for_each(|version| w.write_u32(*version))
    };
    write(w).inspect_err(|_| w.rewind(start))
}
