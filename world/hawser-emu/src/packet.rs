//! IP packets as the links see them.

use hawser_link::{Frame, flip_bit, mix};

use crate::data_plane::{Buffer, Parcel};

/// A buffer that begins with an IP packet and may be longer than it.
#[derive(Debug)]
pub(crate) struct IpPacket(pub(crate) Buffer);

/// The ECN field: the low bits of the byte after the version (IPv4) or of the traffic class (IPv6); RFC 3168.
const CONGESTION_EXPERIENCED: u8 = 0b11;
const IPV6_HEADER: usize = 40;

impl IpPacket {
    fn is_ipv4(&self) -> bool {
        self.0.first().is_some_and(|byte| byte >> 4 == 4)
    }

    /// Where the IP header ends, and the packet.
    fn extent(&self) -> (usize, usize) {
        let word =
            |at: usize| self.0.get(at..at + 2).map_or(0, |it| usize::from(it[0]) << 8 | usize::from(it[1]));
        let (header, end) = if self.is_ipv4() {
            (usize::from(self.0[0] & 0x0f) * 4, word(2))
        } else {
            (IPV6_HEADER, IPV6_HEADER + word(4))
        };
        let end = end.min(self.0.len());
        (header.min(end), end)
    }

    /// The protocol behind the IP header; IPv6 with extension headers counts as another one.
    fn protocol(&self) -> u8 {
        self.0.get(if self.is_ipv4() { 9 } else { 6 }).copied().unwrap_or(0)
    }

    /// TCP, UDP, SCTP and DCCP begin with the two ports.
    fn has_ports(&self) -> bool {
        matches!(self.protocol(), 6 | 17 | 33 | 132)
    }

    /// The ECN field.
    fn ecn(&self) -> u8 {
        match (self.is_ipv4(), &self.0[..]) {
            (true, [_, class, ..]) => class & CONGESTION_EXPERIENCED,
            (false, [_, class, ..]) => (class >> 4) & CONGESTION_EXPERIENCED,
            _ => 0,
        }
    }
}

impl From<IpPacket> for Buffer {
    fn from(packet: IpPacket) -> Self {
        packet.0
    }
}

impl Parcel for IpPacket {
    fn ports(&self) -> [u16; 2] {
        let (header, end) = self.extent();
        match self.has_ports().then(|| self.0.get(header..end)).flatten() {
            Some([a, b, c, d, ..]) => [u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])],
            _ => [0; 2],
        }
    }

    fn is_marked(&self) -> bool {
        self.ecn() == CONGESTION_EXPERIENCED
    }
}

impl Frame for IpPacket {
    fn is_ecn_capable(&self) -> bool {
        self.ecn() != 0
    }

    fn mark_congestion_experienced(&mut self) {
        if !self.is_ipv4() {
            if let Some(class) = self.0.get_mut(1) {
                *class |= CONGESTION_EXPERIENCED << 4;
            }
            return;
        }
        let Some([version, class, _, _, _, _, _, _, _, _, high, low]) = self.0.first_chunk_mut::<12>() else {
            return;
        };
        let before = u16::from_be_bytes([*version, *class]);
        *class |= CONGESTION_EXPERIENCED;
        let after = u16::from_be_bytes([*version, *class]);
        let checksum = updated_checksum(u16::from_be_bytes([*high, *low]), before, after);
        [*high, *low] = checksum.to_be_bytes();
    }

    /// Hash of the addresses, the protocol and the ports.
    fn flow(&self) -> u64 {
        let (header, end) = self.extent();
        let addresses = if self.is_ipv4() { 12..20 } else { 8..IPV6_HEADER };
        let protocol = self.protocol();
        let ports = if self.has_ports() { header..end.min(header + 4) } else { header..header };
        let parts = [addresses, ports].into_iter().filter_map(|range| self.0.get(range)).flatten();
        let word = parts.fold(mix(u64::from(protocol) + 1), |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        mix(word)
    }

    /// Flips a bit behind the IP header, where only the checksum of the transport can notice.
    fn corrupt(&mut self, position: u64) {
        let (header, end) = self.extent();
        flip_bit(&mut self.0[header..end], position);
    }

    fn duplicate(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The checksum after one word of the header has changed: RFC 1624, equation 3.
fn updated_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests;
