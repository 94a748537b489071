//! IP and UDP headers around a payload, for captures of packets that never had any.

use std::net::SocketAddr;

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const TIME_TO_LIVE: u8 = 64;

/// Puts a UDP datagram with its IP header into `packet`, replacing what is there. `ecn` is the ECN field, 0 to 3
/// (RFC 3168 section 5). Addresses of different families give an IPv6 packet with a mapped address.
pub fn udp_packet(packet: &mut Vec<u8>, from: SocketAddr, to: SocketAddr, ecn: u8, payload: &[u8]) {
    packet.clear();
    let length = u16::try_from(UDP_HEADER + payload.len()).unwrap_or(u16::MAX);
    let pseudo_sum = match (from, to) {
        (SocketAddr::V4(from), SocketAddr::V4(to)) => {
            let (source, destination) = (from.ip().octets(), to.ip().octets());
            let total = length.saturating_add(20).to_be_bytes();
            packet.extend([0x45, ecn & 3, total[0], total[1], 0, 0, 0x40, 0, TIME_TO_LIVE, UDP, 0, 0]);
            packet.extend(source);
            packet.extend(destination);
            let checksum = !folded(sum_of(packet));
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            sum_of(&source) + sum_of(&destination)
        }
        _ => {
            let octets = |address: SocketAddr| match address {
                SocketAddr::V4(address) => address.ip().to_ipv6_mapped().octets(),
                SocketAddr::V6(address) => address.ip().octets(),
            };
            let (source, destination) = (octets(from), octets(to));
            packet.extend([0x60, (ecn & 3) << 4, 0, 0]);
            packet.extend(length.to_be_bytes());
            packet.extend([UDP, TIME_TO_LIVE]);
            packet.extend(source);
            packet.extend(destination);
            sum_of(&source) + sum_of(&destination)
        }
    };
    let start = packet.len();
    for field in [from.port(), to.port(), length, 0] {
        packet.extend(field.to_be_bytes());
    }
    packet.extend(payload);
    let sum = pseudo_sum + u32::from(UDP) + u32::from(length) + sum_of(&packet[start..]);
    // RFC 768: zero means "no checksum", and a checksum of zero is sent as its complement.
    let checksum = match !folded(sum) {
        0 => 0xffff,
        checksum => checksum,
    };
    packet[start + 6..start + 8].copy_from_slice(&checksum.to_be_bytes());
}

/// Sum of the 16-bit words, the last of them filled up with zero. Packets are too short for an overflow.
fn sum_of(bytes: &[u8]) -> u32 {
    let (words, tail) = bytes.as_chunks::<2>();
    let tail = tail.first().map_or(0, |byte| u32::from(*byte) << 8);
    words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum::<u32>() + tail
}

/// RFC 1071: carries are added at the other end.
fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A receiver's check: all words of what a checksum covers add up to all ones.
    fn is_valid(parts: &[&[u8]]) -> bool {
        folded(parts.iter().map(|part| sum_of(part)).sum()) == 0xffff
    }

    #[test]
    fn checksums_are_what_receivers_expect() {
        let mut packet = Vec::new();
        for payload in [&b"odd"[..], b"even", b""] {
            udp_packet(
                &mut packet,
                "10.0.0.1:1000".parse().unwrap(),
                "10.0.0.2:53".parse().unwrap(),
                3,
                payload,
            );
            assert_eq!((packet.len(), packet[1]), (28 + payload.len(), 3));
            assert!(is_valid(&[&packet[..20]]));
            let length = (8 + payload.len() as u16).to_be_bytes();
            assert!(is_valid(&[&packet[12..20], &[0, UDP], &length, &packet[20..]]));
            let v6 = ["[2001:db8::1]:1000", "[2001:db8::2]:53"].map(|text| text.parse().unwrap());
            udp_packet(&mut packet, v6[0], v6[1], 1, payload);
            assert_eq!((packet.len(), packet[0] >> 4), (48 + payload.len(), 6));
            assert!(is_valid(&[&packet[8..40], &[0, UDP], &length, &packet[40..]]));
        }
    }
}
