//! DHCP over Ethernet while there is no address to have a UDP socket at: the IPv4 and UDP headers (RFC 791, RFC 768).

use std::net::Ipv4Addr;

const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const SERVER_PORT: u16 = 67;
const CLIENT_PORT: u16 = 68;
const UDP_PROTOCOL: u8 = 17;

/// A DHCP message of a client as a broadcast frame. `source`: its address, 0.0.0.0 before it has one.
pub fn frame(mac: [u8; 6], source: Ipv4Addr, message: &[u8]) -> Vec<u8> {
    let length = |part: usize| u16::try_from(part + message.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut bytes = Vec::with_capacity(ETHERNET + IP + UDP + message.len());
    bytes.extend([0xff; 6]);
    bytes.extend(mac);
    bytes.extend(ETHERTYPE_IPV4);
    let mut header = [0; IP];
    // Version 4, five words; low delay as other clients have it; not to be fragmented; 64 hops.
    header[0] = 0x45;
    header[1] = 0x10;
    header[2..4].copy_from_slice(&length(IP + UDP));
    header[6] = 0x40;
    header[8] = 64;
    header[9] = UDP_PROTOCOL;
    header[12..16].copy_from_slice(&source.octets());
    header[16..20].copy_from_slice(&[255; 4]);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(header);
    bytes.extend(CLIENT_PORT.to_be_bytes());
    bytes.extend(SERVER_PORT.to_be_bytes());
    bytes.extend(length(UDP));
    // No checksum: optional in IPv4, and the frame has its own.
    bytes.extend([0, 0]);
    bytes.extend(message);
    bytes
}

/// The DHCP message in a frame for a client; `None` if it carries anything else.
pub fn payload(frame: &[u8]) -> Option<&[u8]> {
    if frame.get(12..ETHERNET)? != ETHERTYPE_IPV4 {
        return None;
    }
    let packet = frame.get(ETHERNET..)?;
    let head: &[u8; IP] = packet.first_chunk()?;
    let words = usize::from(head[0] & 0x0f);
    // Not a fragment: neither more to come nor an offset.
    let is_whole = u16::from_be_bytes([head[6], head[7]]) & 0x3fff == 0;
    if head[0] >> 4 != 4 || words < 5 || head[9] != UDP_PROTOCOL || !is_whole {
        return None;
    }
    let total = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let segment = packet.get(..total)?.get(4 * words..)?;
    let (udp, _) = segment.split_first_chunk::<UDP>()?;
    let ports = [u16::from_be_bytes([udp[0], udp[1]]), u16::from_be_bytes([udp[2], udp[3]])];
    let length = usize::from(u16::from_be_bytes([udp[4], udp[5]]));
    if ports != [SERVER_PORT, CLIENT_PORT] {
        return None;
    }
    segment.get(UDP..length)
}

/// RFC 1071.
fn checksum(header: &[u8; IP]) -> u16 {
    let words = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_header_has_the_checksum_that_the_kernel_computes() {
        let frame = frame([2, 0, 0, 0, 0, 1], Ipv4Addr::UNSPECIFIED, &[7; 300]);
        let header: [u8; IP] = frame[ETHERNET..ETHERNET + IP].try_into().unwrap();
        assert_eq!(checksum(&header), 0, "with its checksum a header sums to zero");
        // tcpdump -e of a DISCOVER of 300 bytes: total length 328, UDP length 308.
        assert_eq!(header[2..4], [0x01, 0x48]);
        assert_eq!(frame[ETHERNET + IP..][..8], [0, 68, 0, 67, 0x01, 0x34, 0, 0]);
    }

    /// A frame of a server.
    fn reply(message: &[u8]) -> Vec<u8> {
        let mut bytes = frame([2, 0, 0, 0, 0, 9], Ipv4Addr::new(10, 0, 0, 1), message);
        bytes[ETHERNET + IP..][..4].copy_from_slice(&[0, 67, 0, 68]);
        bytes
    }

    #[test]
    fn only_whole_datagrams_from_a_server_have_a_payload() {
        let whole = reply(b"message");
        assert_eq!(payload(&whole), Some(&b"message"[..]));
        let mut padded = whole.clone();
        padded.extend([0; 18]);
        assert_eq!(payload(&padded), Some(&b"message"[..]), "Ethernet pads short frames");
        for (offset, value) in
            [(13, 6), (ETHERNET, 0x65), (ETHERNET + 6, 0x20), (ETHERNET + 9, 6), (ETHERNET + IP + 3, 67)]
        {
            let mut wrong = whole.clone();
            wrong[offset] = value;
            assert_eq!(payload(&wrong), None, "byte {offset}");
        }
    }

    proptest! {
        #[test]
        fn no_frame_panics(bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0usize..60, value: u8) {
            let _ = payload(&bytes);
            let mut near = reply(b"near");
            if let Some(byte) = near.get_mut(at) {
                *byte = value;
            }
            let _ = payload(&near);
        }
    }
}
