use std::net::SocketAddr;

use proptest::prelude::*;

use super::checksum::Sum;
use super::*;

/// A TCP segment of `source` and `destination` with right checksums.
fn tcp(source: SocketAddr, destination: SocketAddr, flags: u8, data: &[u8]) -> Vec<u8> {
    let mut segment = Vec::new();
    segment.extend(source.port().to_be_bytes());
    segment.extend(destination.port().to_be_bytes());
    segment.extend([0, 0, 1, 0, 0, 0, 2, 0, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(data);
    let sum = Sum::pseudo_header(source.ip(), destination.ip(), TCP, segment.len()).add(&segment);
    segment[16..18].copy_from_slice(&(!sum.fold()).to_be_bytes());
    let mut packet = match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let length = u16::try_from(20 + segment.len()).unwrap().to_be_bytes();
            let mut header = vec![0x45, 0, length[0], length[1], 1, 2, 0x40, 0, 64, TCP, 0, 0];
            header.extend(source.octets());
            header.extend(destination.octets());
            let sum = !Sum::default().add(&header).fold();
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            header
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let length = u16::try_from(segment.len()).unwrap().to_be_bytes();
            let mut header = vec![0x60, 0, 0, 0, length[0], length[1], TCP, 64];
            header.extend(source.octets());
            header.extend(destination.octets());
            header
        }
        _ => panic!("two families"),
    };
    packet.extend(segment);
    packet
}

fn is_sound(bytes: &[u8]) -> bool {
    let packet = read(bytes).unwrap();
    let header = packet.source.is_ipv6() || Sum::default().add(&bytes[..20]).fold() == 0xffff;
    header && is_transport_sound(bytes, &packet)
}

/// Two ends of one family.
fn ends() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = (any::<(Ipv4Addr, u16)>(), any::<(Ipv4Addr, u16)>())
        .prop_map(|(one, other)| (SocketAddr::from(one), SocketAddr::from(other)));
    let v6 = (any::<(Ipv6Addr, u16)>(), any::<(Ipv6Addr, u16)>())
        .prop_map(|(one, other)| (SocketAddr::from(one), SocketAddr::from(other)));
    prop_oneof![v4, v6]
}

proptest! {
    #[test]
    fn a_segment_with_other_ends_is_sound((source, destination) in ends(), (one, other) in ends(), data: Vec<u8>) {
        let before = tcp(source, destination, 0x10, &data);
        prop_assert!(is_sound(&before));
        let mut after = before.clone();
        let packet = read(&after).unwrap();
        let is_done = rewrite(&mut after, &packet, &Endpoints { source: one, destination: other }, false);
        prop_assert_eq!(is_done, source.is_ipv4() == one.is_ipv4());
        if is_done {
            prop_assert_eq!(&after, &tcp_like(&before, one, other));
            prop_assert!(is_sound(&after));
        } else {
            prop_assert_eq!(after, before);
        }
    }

    #[test]
    fn a_partial_checksum_stays_that_of_the_pseudo_header((source, destination) in ends(), (one, other) in ends(), data: Vec<u8>) {
        prop_assume!(source.is_ipv4() == one.is_ipv4());
        let mut bytes = tcp(source, destination, 0x10, &data);
        let packet = read(&bytes).unwrap();
        let length = bytes.len() - packet.payload;
        let at = packet.payload + 16;
        let partial = |source: SocketAddr, destination: SocketAddr| {
            Sum::pseudo_header(source.ip(), destination.ip(), TCP, length).fold()
        };
        bytes[at..at + 2].copy_from_slice(&partial(source, destination).to_be_bytes());
        let is_done = rewrite(&mut bytes, &packet, &Endpoints { source: one, destination: other }, true);
        prop_assert!(is_done);
        let found = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        // Two forms of zero (RFC 1624 section 3).
        prop_assert_eq!(found % 0xffff, partial(one, other) % 0xffff);
    }

    #[test]
    fn any_bytes_are_read_and_answered_without_harm(mut bytes: Vec<u8>, first in prop_oneof![Just(0x45_u8), Just(0x60), any::<u8>()], fits: bool) {
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        if fits && bytes.len() >= 40 {
            let length = u16::try_from(bytes.len()).unwrap();
            let (at, length) = if first == 0x45 { (2, length) } else { (4, length - 40) };
            bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
        }
        let Ok(packet) = read(&bytes) else { return Ok(()) };
        prop_assert!(packet.payload <= bytes.len());
        let _ = ports(&bytes, &packet);
        if let Some(segment) = segment(&bytes, &packet) && let Some(answer) = reset(&packet, &segment) {
            prop_assert!(is_sound(&answer));
        }
        for why in [Unreachable::Network, Unreachable::Host, Unreachable::Prohibited, Unreachable::TooBig(1280)] {
            if let Some(answer) = unreachable(&bytes, &packet, why) {
                let read = read(&answer).unwrap();
                prop_assert_eq!((read.source, read.destination), (packet.destination, packet.source));
                prop_assert_eq!(unreachable(&answer, &read, why), None, "an error about an error");
            }
        }
    }
}

/// The same segment, made with these ends.
fn tcp_like(bytes: &[u8], source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let packet = read(bytes).unwrap();
    tcp(source, destination, 0x10, &bytes[packet.payload + 20..])
}

fn socket(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn headers_are_read() {
    let bytes = tcp(socket("10.0.0.1:4000"), socket("192.0.2.1:443"), 0x02, b"");
    let packet = read(&bytes).unwrap();
    assert_eq!((packet.source, packet.destination), (socket("10.0.0.1:1").ip(), socket("192.0.2.1:1").ip()));
    assert_eq!((packet.protocol, packet.hops, packet.is_whole), (TCP, 64, true));
    assert_eq!(ports(&bytes, &packet), Some((4000, 443)));
    let segment = segment(&bytes, &packet).unwrap();
    assert!(segment.is_syn && !segment.is_ack && segment.length == 0);
    let answer = reset(&packet, &segment).unwrap();
    let reset = super::segment(&answer, &read(&answer).unwrap()).unwrap();
    assert!(reset.is_reset && reset.is_ack && reset.acknowledgment == 0x101 && is_sound(&answer));
}

#[test]
fn unsound_packets_are_named() {
    let good = tcp(socket("10.0.0.1:4000"), socket("192.0.2.1:443"), 0x02, b"data");
    assert_eq!(read(&[]), Err(PacketError::Version));
    assert_eq!(read(&[0x55; 40]), Err(PacketError::Version));
    assert_eq!(read(&good[..good.len() - 1]), Err(PacketError::Length));
    assert_eq!(read(&[&good[..], &[0]].concat()), Err(PacketError::Length));
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        read(&bytes)
    };
    assert_eq!(with(0, 0x46), Err(PacketError::Options));
    assert_eq!(with(0, 0x44), Err(PacketError::Length));
    let fragment = with(6, 0x20).unwrap();
    assert!(fragment.is_fragment);
    assert_eq!(ports(&good, &fragment), None);
}

#[test]
fn extension_headers_are_followed_but_not_without_end() {
    let good = tcp(socket("[2001:db8::1]:4000"), socket("[2001:db8::2]:443"), 0x02, b"");
    let extended = |headers: &[&[u8]], last: u8| {
        let mut bytes = good[..40].to_vec();
        let mut next = &mut bytes[6..7];
        let mut body: Vec<Vec<u8>> = headers.iter().map(|header| header.to_vec()).collect();
        for header in &mut body {
            next[0] = header[0];
            next = &mut header[0..1];
        }
        next[0] = last;
        let body: Vec<u8> = body.concat();
        bytes.extend(body);
        bytes.extend(&good[40..]);
        let length = u16::try_from(bytes.len() - 40).unwrap();
        bytes[4..6].copy_from_slice(&length.to_be_bytes());
        read(&bytes).map(|packet| (packet.protocol, packet.payload, packet.is_fragment))
    };
    let options = &[60_u8, 0, 1, 4, 0, 0, 0, 0][..];
    assert_eq!(extended(&[options], TCP), Ok((TCP, 48, false)));
    assert_eq!(extended(&[options; 8], TCP), Ok((TCP, 104, false)));
    assert_eq!(extended(&[options; 9], TCP), Err(PacketError::Extensions));
    assert_eq!(extended(&[&[44, 0, 0, 1, 0, 0, 0, 7]], TCP), Ok((TCP, 48, true)));
    assert_eq!(extended(&[&[43, 0, 0, 1, 0, 0, 0, 0]], TCP), Err(PacketError::Extensions));
    assert_eq!(extended(&[&[60, 200, 0, 1, 0, 0, 0, 0]], TCP), Err(PacketError::Length));
}
