//! Other addresses and ports in a TCP segment.

use std::net::{IpAddr, SocketAddr};

use super::checksum::Sum;
use super::{Packet, TCP, ports};

/// Both ends of a TCP connection, of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoints {
    /// Who sends.
    pub source: SocketAddr,
    /// To whom.
    pub destination: SocketAddr,
}

/// Gives a TCP segment other ends, and changes its checksums by the difference. `is_partial`: its checksum is that of the
/// pseudo-header so far, and its sender completes it. Returns whether it was one of the same family.
pub fn rewrite(bytes: &mut [u8], packet: &Packet, ends: &Endpoints, is_partial: bool) -> bool {
    let (source, destination) = (ends.source.ip(), ends.destination.ip());
    let is_same = |before: IpAddr, after: IpAddr| before.is_ipv4() == after.is_ipv4();
    if packet.protocol != TCP || !is_same(packet.source, source) || !is_same(packet.destination, destination)
    {
        return false;
    }
    let Some((old_source, old_destination)) = ports(bytes, packet) else { return false };
    let Some(checksum) = bytes.get(packet.payload + 16..).and_then(|rest| rest.first_chunk::<2>()) else {
        return false;
    };
    let before = u16::from_be_bytes(*checksum);
    let change = Sum::default()
        .remove_address(packet.source)
        .remove_address(packet.destination)
        .add_address(source)
        .add_address(destination);
    let after = if is_partial {
        change.add_word(before).fold()
    } else {
        let ports = change
            .remove(&old_source.to_be_bytes())
            .remove(&old_destination.to_be_bytes())
            .add_word(ends.source.port())
            .add_word(ends.destination.port());
        !ports.add_word(!before).fold()
    };
    put(bytes, packet.payload, &ends.source.port().to_be_bytes());
    put(bytes, packet.payload + 2, &ends.destination.port().to_be_bytes());
    put(bytes, packet.payload + 16, &after.to_be_bytes());
    put_addresses(bytes, source, destination);
    true
}

/// Writes both addresses into the header, and the checksum of IPv4's.
fn put_addresses(bytes: &mut [u8], source: IpAddr, destination: IpAddr) {
    let mut octets = |at: usize, address: IpAddr| match address {
        IpAddr::V4(address) => put(bytes, at, &address.octets()),
        IpAddr::V6(address) => put(bytes, at, &address.octets()),
    };
    if source.is_ipv4() {
        octets(12, source);
        octets(16, destination);
        put(bytes, 10, &[0, 0]);
        let sum = bytes.get(..20).map_or(0, |header| !Sum::default().add(header).fold());
        put(bytes, 10, &sum.to_be_bytes());
    } else {
        octets(8, source);
        octets(24, destination);
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}
