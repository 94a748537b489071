//! IP packets as a tunnel sees them: who sends what to whom, and whether the packet is sound.

mod answer;
mod checksum;
mod congestion;
mod mss;
mod rewrite;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hawser_wire::Reader;

pub use answer::{Unreachable, reset, unreachable};
pub use checksum::{complete_checksum, is_transport_sound};
pub use congestion::marked;
pub use mss::clamp_mss;
pub use rewrite::{Endpoints, rewrite};

/// Protocol numbers (RFC 9293, RFC 768, RFC 792, RFC 4443).
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;
/// ICMP of IPv4.
pub const ICMP: u8 = 1;
/// ICMP of IPv6.
pub const ICMPV6: u8 = 58;

/// Most bytes of a packet.
pub const MAX_PACKET: usize = 65_535;
/// Extension headers of one packet that are followed.
const MAX_EXTENSIONS: usize = 8;
/// Bytes of a header without options.
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// What the headers of a packet say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Who sends it.
    pub source: IpAddr,
    /// To whom.
    pub destination: IpAddr,
    /// What it carries: a protocol number, behind extension headers.
    pub protocol: u8,
    /// Where that begins, in bytes.
    pub payload: usize,
    /// Whether it is a fragment, so that it may have no header of its protocol.
    pub is_fragment: bool,
    /// Whether routers may not cut it (IPv6: never).
    pub is_whole: bool,
    /// Routers that may still pass it on.
    pub hops: u8,
    /// Differentiated services and congestion bits.
    pub traffic_class: u8,
}

/// Why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// Neither IPv4 nor IPv6, or nothing.
    #[error("neither IPv4 nor IPv6")]
    Version,
    /// Its length is not the one that its header says, or headers do not fit in.
    #[error("a length that its header does not say")]
    Length,
    /// Options of IPv4: nobody needs them, and source routes would lead past the rules.
    #[error("IPv4 options")]
    Options,
    /// Too many extension headers, or one that is deprecated (RFC 5095).
    #[error("extension headers that are not followed")]
    Extensions,
}

/// Reads the headers of a packet.
///
/// # Errors
/// [`PacketError`].
pub fn read(bytes: &[u8]) -> Result<Packet, PacketError> {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => read_v4(bytes),
        Some(6) => read_v6(bytes),
        _ => Err(PacketError::Version),
    }
}

fn read_v4(bytes: &[u8]) -> Result<Packet, PacketError> {
    let header: &[u8; IPV4_HEADER] = bytes.first_chunk().ok_or(PacketError::Length)?;
    let [first, traffic_class, high, low, _, _, flags, offset, hops, protocol, ..] = *header;
    if usize::from(u16::from_be_bytes([high, low])) != bytes.len() {
        return Err(PacketError::Length);
    }
    match first & 0xf {
        5 => {}
        0..5 => return Err(PacketError::Length),
        _ => return Err(PacketError::Options),
    }
    let fragment = u16::from_be_bytes([flags, offset]);
    let address = |at: usize| header.get(at..at + 4).and_then(|octets| octets.first_chunk::<4>());
    let (source, destination) = address(12).zip(address(16)).ok_or(PacketError::Length)?;
    Ok(Packet {
        source: Ipv4Addr::from(*source).into(),
        destination: Ipv4Addr::from(*destination).into(),
        protocol,
        payload: IPV4_HEADER,
        is_fragment: fragment & 0x3fff != 0,
        is_whole: fragment & 0x4000 != 0,
        hops,
        traffic_class,
    })
}

fn read_v6(bytes: &[u8]) -> Result<Packet, PacketError> {
    let header: &[u8; IPV6_HEADER] = bytes.first_chunk().ok_or(PacketError::Length)?;
    let [first, second, _, _, high, low, next, hops, ..] = *header;
    if usize::from(u16::from_be_bytes([high, low])) + IPV6_HEADER != bytes.len() {
        return Err(PacketError::Length);
    }
    let address = |at: usize| header.get(at..at + 16).and_then(|octets| octets.first_chunk::<16>());
    let (source, destination) = address(8).zip(address(24)).ok_or(PacketError::Length)?;
    let (protocol, payload, is_fragment) = follow(bytes, next)?;
    Ok(Packet {
        source: Ipv6Addr::from(*source).into(),
        destination: Ipv6Addr::from(*destination).into(),
        protocol,
        payload,
        is_fragment,
        is_whole: true,
        hops,
        traffic_class: first << 4 | second >> 4,
    })
}

/// Follows extension headers (RFC 8200 section 4): what they lead to, where it begins, and whether it is a fragment.
fn follow(bytes: &[u8], mut next: u8) -> Result<(u8, usize, bool), PacketError> {
    let mut reader = Reader::new(bytes);
    reader.read_bytes(IPV6_HEADER).map_err(|_| PacketError::Length)?;
    for _ in 0..=MAX_EXTENSIONS {
        let is_fragment = next == 44;
        // Hop-by-hop options, routing, fragment, authentication, destination options.
        if !matches!(next, 0 | 43 | 44 | 51 | 60) {
            return Ok((next, reader.position(), false));
        }
        let after = reader.read_u8().map_err(|_| PacketError::Length)?;
        let words = usize::from(reader.read_u8().map_err(|_| PacketError::Length)?);
        let length = match next {
            44 => 8,
            51 => (words + 2) * 4,
            _ => (words + 1) * 8,
        };
        let rest = reader.read_bytes(length.saturating_sub(2)).map_err(|_| PacketError::Length)?;
        if next == 43 && rest.first() == Some(&0) {
            return Err(PacketError::Extensions);
        }
        if is_fragment {
            // What follows the first fragment's header is not in the others.
            return Ok((after, reader.position(), true));
        }
        next = after;
    }
    Err(PacketError::Extensions)
}

/// The ports of TCP or UDP: source, destination.
pub fn ports(bytes: &[u8], packet: &Packet) -> Option<(u16, u16)> {
    if packet.is_fragment || !matches!(packet.protocol, TCP | UDP) {
        return None;
    }
    let [a, b, c, d] = *bytes.get(packet.payload..)?.first_chunk::<4>()?;
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

/// What the header of a TCP segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgment: u32,
    /// SYN: it opens a connection.
    pub is_syn: bool,
    /// ACK: the acknowledgement number counts.
    pub is_ack: bool,
    /// FIN: its sender has no more to send.
    pub is_fin: bool,
    /// RST: it ends the connection.
    pub is_reset: bool,
    /// Bytes of data.
    pub length: usize,
}

/// Reads the header of a TCP segment; `None` if there is no whole one.
pub fn segment(bytes: &[u8], packet: &Packet) -> Option<Segment> {
    if packet.is_fragment || packet.protocol != TCP {
        return None;
    }
    let tcp = bytes.get(packet.payload..)?;
    let header: &[u8; 20] = tcp.first_chunk()?;
    let [s1, s2, d1, d2, q1, q2, q3, q4, a1, a2, a3, a4, offset, flags, ..] = *header;
    let offset = usize::from(offset >> 4) * 4;
    if offset < header.len() {
        return None;
    }
    Some(Segment {
        source: u16::from_be_bytes([s1, s2]),
        destination: u16::from_be_bytes([d1, d2]),
        sequence: u32::from_be_bytes([q1, q2, q3, q4]),
        acknowledgment: u32::from_be_bytes([a1, a2, a3, a4]),
        is_fin: flags & 1 != 0,
        is_syn: flags & 2 != 0,
        is_reset: flags & 4 != 0,
        is_ack: flags & 16 != 0,
        length: tcp.len().checked_sub(offset)?,
    })
}

#[cfg(test)]
mod tests;
