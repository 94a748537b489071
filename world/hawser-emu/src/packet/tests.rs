use super::*;

/// An IPv4 header without options and 100 bytes of UDP in a larger buffer.
fn ipv4(ecn: u8, source_port: u16) -> IpPacket {
    let mut bytes = vec![0; 200];
    bytes[..12].copy_from_slice(&[0x45, 0xb8 | ecn, 0, 120, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0]);
    bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    bytes[20..22].copy_from_slice(&source_port.to_be_bytes());
    let checksum = !sum(&bytes[..20]);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    IpPacket(bytes.into())
}

/// The one's complement sum of a header; all ones when its checksum is right.
fn sum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[test]
fn a_mark_keeps_the_header_checksum_right() {
    for ecn in [1, 2, 3] {
        let mut packet = ipv4(ecn, 443);
        assert!(packet.is_ecn_capable() && sum(&packet.0[..20]) == 0xffff);
        packet.mark_congestion_experienced();
        assert_eq!((packet.ecn(), packet.0[1] >> 2, sum(&packet.0[..20])), (3, 0xb8 >> 2, 0xffff));
    }
    assert!(!ipv4(0, 443).is_ecn_capable());
}

#[test]
fn a_mark_of_ipv6_touches_only_its_field() {
    let mut bytes = vec![0; 100];
    bytes[..8].copy_from_slice(&[0x6a, 0x1f, 0xab, 0xcd, 0, 60, 17, 64]);
    let mut packet = IpPacket(bytes.into());
    assert_eq!(packet.ecn(), 1);
    packet.mark_congestion_experienced();
    assert_eq!(packet.0[..4], [0x6a, 0x3f, 0xab, 0xcd]);
}

#[test]
fn a_flipped_bit_lies_behind_the_header_and_inside_the_packet() {
    for position in 0..5000 {
        let (whole, mut packet) = (ipv4(0, 443), ipv4(0, 443));
        packet.corrupt(position);
        let changed: Vec<_> = (0..200).filter(|&at| whole.0[at] != packet.0[at]).collect();
        assert!(matches!(changed[..], [at] if (20..120).contains(&at)), "{changed:?}");
    }
}

#[test]
fn flows_differ_by_their_ports() {
    assert_eq!(ipv4(0, 443).flow(), ipv4(2, 443).flow());
    assert_ne!(ipv4(0, 443).flow(), ipv4(0, 444).flow());
}

#[test]
fn garbage_does_no_harm() {
    for length in 0..64 {
        for first in [0x00, 0x45, 0x4f, 0x60] {
            let mut bytes = vec![0xff; length];
            bytes.iter_mut().take(1).for_each(|byte| *byte = first);
            let mut packet = IpPacket(bytes.into());
            packet.mark_congestion_experienced();
            packet.corrupt(17);
            packet.flow();
        }
    }
}
