//! What is answered to a packet that goes nowhere: ICMP (RFC 792, RFC 4443), or a reset of TCP (RFC 9293 section 3.5.2).

use std::net::IpAddr;

use bytes::{BufMut, BytesMut};

use super::checksum::Sum;
use super::{ICMP, ICMPV6, Packet, Segment, TCP};

/// Most bytes of an ICMP message: of IPv4 what every host takes, of IPv6 what every link carries.
const MOST: (usize, usize) = (576, 1280);
/// Hop limit of answers.
const HOPS: u8 = 64;

/// Why a packet goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// There is no route.
    Network,
    /// The host does not answer.
    Host,
    /// A rule forbids it.
    Prohibited,
    /// It is too large for what lies ahead, which carries so many bytes.
    TooBig(u16),
}

impl Unreachable {
    /// Type, code and the 32 bits behind the checksum.
    fn message(self, is_v4: bool) -> (u8, u8, u32) {
        match (self, is_v4) {
            (Unreachable::Network, true) => (3, 0, 0),
            (Unreachable::Host, true) => (3, 1, 0),
            (Unreachable::Prohibited, true) => (3, 13, 0),
            (Unreachable::TooBig(mtu), true) => (3, 4, u32::from(mtu)),
            (Unreachable::Network, false) => (1, 0, 0),
            (Unreachable::Prohibited, false) => (1, 1, 0),
            (Unreachable::Host, false) => (1, 3, 0),
            (Unreachable::TooBig(mtu), false) => (2, 0, u32::from(mtu)),
        }
    }
}

/// The ICMP message that says so, as coming from the destination of the packet. `None` where none may be sent: about another
/// ICMP error, a fragment, or a packet to or from more than one host (RFC 1122 section 3.2.2, RFC 4443 section 2.4).
pub fn unreachable(bytes: &[u8], packet: &Packet, why: Unreachable) -> Option<Vec<u8>> {
    let is_many = |address: IpAddr| address.is_multicast() || address.is_unspecified();
    let is_broadcast = |address: IpAddr| matches!(address, IpAddr::V4(address) if address.is_broadcast());
    if packet.is_fragment || is_many(packet.source) || is_many(packet.destination) {
        return None;
    }
    if is_broadcast(packet.source) || is_broadcast(packet.destination) || is_icmp_error(bytes, packet) {
        return None;
    }
    let is_v4 = packet.source.is_ipv4();
    let (kind, code, rest) = why.message(is_v4);
    let most = if is_v4 { MOST.0 - 28 } else { MOST.1 - 48 };
    let quoted = bytes.get(..bytes.len().min(most))?;
    let mut message = BytesMut::with_capacity(8 + quoted.len());
    message.put_slice(&[kind, code, 0, 0]);
    message.put_u32(rest);
    message.put_slice(quoted);
    let protocol = if is_v4 { ICMP } else { ICMPV6 };
    let start = if is_v4 {
        Sum::default()
    } else {
        Sum::pseudo_header(packet.destination, packet.source, protocol, message.len())
    };
    let checksum = !start.add(&message).fold();
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    Some(wrap(packet.destination, packet.source, protocol, &message))
}

/// Whether it is an ICMP message that is no question and no answer to one.
fn is_icmp_error(bytes: &[u8], packet: &Packet) -> bool {
    let kind = bytes.get(packet.payload).copied();
    match packet.protocol {
        ICMP => !matches!(kind, Some(0 | 8 | 13 | 14)),
        ICMPV6 => kind.is_none_or(|kind| kind < 128),
        _ => false,
    }
}

/// The segment that ends the connection of this one; `None` if it ends it itself.
pub fn reset(packet: &Packet, segment: &Segment) -> Option<Vec<u8>> {
    if segment.is_reset {
        return None;
    }
    let length = u32::try_from(segment.length).ok()?;
    let length = length.wrapping_add(u32::from(segment.is_syn)).wrapping_add(u32::from(segment.is_fin));
    let (sequence, acknowledgment, flags) = if segment.is_ack {
        (segment.acknowledgment, 0, 0x04)
    } else {
        (0, segment.sequence.wrapping_add(length), 0x14)
    };
    let mut tcp = BytesMut::with_capacity(20);
    tcp.put_u16(segment.destination);
    tcp.put_u16(segment.source);
    tcp.put_u32(sequence);
    tcp.put_u32(acknowledgment);
    tcp.put_slice(&[5 << 4, flags, 0, 0, 0, 0, 0, 0]);
    let sum = Sum::pseudo_header(packet.destination, packet.source, TCP, tcp.len()).add(&tcp);
    tcp[16..18].copy_from_slice(&(!sum.fold()).to_be_bytes());
    Some(wrap(packet.destination, packet.source, TCP, &tcp))
}

/// A packet with this payload. Addresses of two families make one of IPv6 with an empty header: nobody asks for that.
fn wrap(source: IpAddr, destination: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = BytesMut::with_capacity(40 + payload.len());
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            packet.put_slice(&[0x45, 0]);
            packet.put_u16(u16::try_from(20 + payload.len()).unwrap_or(u16::MAX));
            packet.put_slice(&[0, 0, 0x40, 0, HOPS, protocol, 0, 0]);
            packet.put_slice(&source.octets());
            packet.put_slice(&destination.octets());
            let checksum = !Sum::default().add(&packet).fold();
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        (source, destination) => {
            let octets = |address: IpAddr| match address {
                IpAddr::V6(address) => address.octets(),
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            };
            packet.put_u32(0x6000_0000);
            packet.put_u16(u16::try_from(payload.len()).unwrap_or(u16::MAX));
            packet.put_slice(&[protocol, HOPS]);
            packet.put_slice(&octets(source));
            packet.put_slice(&octets(destination));
        }
    }
    packet.put_slice(payload);
    packet.to_vec()
}
