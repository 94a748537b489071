//! The Internet checksum (RFC 1071), and its changes (RFC 1624).

use std::net::IpAddr;

use super::Packet;

/// A sum of 16-bit words, not yet folded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds words; one byte too many is the high one of a word.
    pub(super) fn add(mut self, bytes: &[u8]) -> Self {
        let mut words = bytes.chunks_exact(2);
        for word in words.by_ref() {
            self.0 += u64::from(u16::from_be_bytes([word[0], word[1]]));
        }
        if let [last] = words.remainder() {
            self.0 += u64::from(*last) << 8;
        }
        self
    }

    /// Adds the complement of words: takes them out.
    pub(super) fn remove(mut self, bytes: &[u8]) -> Self {
        for word in bytes.chunks_exact(2) {
            self.0 += u64::from(!u16::from_be_bytes([word[0], word[1]]));
        }
        self
    }

    pub(super) fn add_word(mut self, word: u16) -> Self {
        self.0 += u64::from(word);
        self
    }

    pub(super) fn add_address(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.add(&address.octets()),
            IpAddr::V6(address) => self.add(&address.octets()),
        }
    }

    pub(super) fn remove_address(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.remove(&address.octets()),
            IpAddr::V6(address) => self.remove(&address.octets()),
        }
    }

    /// The pseudo-header of a transport protocol (RFC 9293 section 3.1, RFC 8200 section 8.1).
    pub(super) fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, length: usize) -> Self {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let sum = Sum::default().add_address(source).add_address(destination);
        sum.add(&length.to_be_bytes()).add_word(u16::from(protocol))
    }

    pub(super) fn fold(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        u16::try_from(sum).unwrap_or_default()
    }
}

/// Whether the checksum over pseudo-header and payload is right. UDP over IPv4 may have none.
pub fn is_transport_sound(bytes: &[u8], packet: &Packet) -> bool {
    let Some(payload) = bytes.get(packet.payload..) else { return false };
    let Packet { source, destination, protocol, .. } = *packet;
    Sum::pseudo_header(source, destination, protocol, payload.len()).add(payload).fold() == 0xffff
}

/// Completes a checksum of which only the pseudo-header's part is there: it covers the packet from `start` on, and stands `offset`
/// bytes behind that. Places that do not exist leave the packet as it is.
pub fn complete_checksum(bytes: &mut [u8], start: usize, offset: usize) {
    let at = start.saturating_add(offset);
    let Some(covered) = bytes.get(start..).filter(|covered| covered.len() >= offset.saturating_add(2)) else {
        return;
    };
    // What stands there is part of the sum.
    let sum = !Sum::default().add(covered).fold();
    // RFC 768: zero stands for no checksum.
    let sum = if sum == 0 { 0xffff } else { sum };
    if let Some(place) = bytes.get_mut(at..at + 2) {
        place.copy_from_slice(&sum.to_be_bytes());
    }
}
