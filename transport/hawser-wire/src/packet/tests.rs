//! Headers: the standards' own packets, round trips, and hostile input.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::cid::{ConnectionId, StatelessResetToken};
use crate::codepoints::version;
use crate::version::Version;
use crate::writer::{BufferTooShort, Writer};

fn unhex(text: &str) -> Vec<u8> {
    hex::decode(text.replace(char::is_whitespace, "")).unwrap()
}

fn cid(text: &str) -> ConnectionId {
    ConnectionId::new(&unhex(text)).unwrap()
}

fn protected(header: PartialHeader<'_>) -> ProtectedHeader {
    match header {
        PartialHeader::Protected(header) => header,
        other => panic!("expected a protected packet, got {other:?}"),
    }
}

fn xor(bytes: &mut [u8], mask: &[u8]) {
    bytes.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
}

/// RFC 9001 appendices A.2 and A.3: headers as written, then as read behind their protection.
//= rfc9000-17.2-8
#[test]
fn initial_packets_of_the_standard() {
    struct Case {
        header: LongHeader<'static>,
        packet_number: u64,
        number_len: usize,
        payload_len: usize,
        plain: &'static str,
        mask: &'static str,
    }
    let initial = LongPacketType::Initial { token: &[] };
    for case in [
        Case {
            header: LongHeader {
                version: Version::V1,
                packet_type: initial,
                destination_cid: cid("8394c8f03e515708"),
                source_cid: ConnectionId::EMPTY,
            },
            packet_number: 2,
            number_len: 4,
            payload_len: 1162,
            plain: "c300000001088394c8f03e5157080000449e00000002",
            mask: "437b9aec36",
        },
        Case {
            header: LongHeader {
                version: Version::V1,
                packet_type: initial,
                destination_cid: ConnectionId::EMPTY,
                source_cid: cid("f067a5502a4262b5"),
            },
            packet_number: 1,
            number_len: 2,
            payload_len: 99,
            plain: "c1000000010008f067a5502a4262b50040750001",
            mask: "2ec0d8356a",
        },
    ] {
        let mut buffer = [0; 1300];
        let mut w = Writer::new(&mut buffer);
        let number = TruncatedPacketNumber::with_len(case.packet_number, case.number_len);
        let encoded = case.header.encode(&mut w, number).unwrap();
        let header_len = w.position();
        assert_eq!(header_len, case.header.encoded_len(number));
        w.write_zeros(case.payload_len).unwrap();
        encoded.finish(&mut w, 16).unwrap();
        w.write_zeros(16).unwrap();
        assert_eq!(w.written()[..header_len], unhex(case.plain));

        // Header protection as in RFC 9001 section 5.4.1, with the mask that the standard gives.
        let packet = w.written_mut();
        let mask = unhex(case.mask);
        let numbers = encoded.packet_number_offset..encoded.payload_offset;
        packet[0] ^= mask[0] & 0x0f;
        xor(&mut packet[numbers.clone()], &mask[1..]);
        let header = protected(PartialHeader::decode(packet, 0).unwrap());
        assert_eq!(header.packet_type, PacketType::Initial);
        assert_eq!(
            (header.destination_cid, header.source_cid),
            (case.header.destination_cid, case.header.source_cid)
        );
        assert_eq!((header.packet_number_offset, header.packet_len), (numbers.start, packet.len()));
        assert_eq!(header.sample(), Some(numbers.start + 4..numbers.start + 20));
        packet[0] ^= mask[0] & 0x0f;
        xor(&mut packet[numbers], &mask[1..]);
        let plain = PlainHeader::decode(packet, &header).unwrap();
        assert_eq!((plain.packet_number, plain.payload_offset), (number, header_len));
        assert!(plain.reserved_bits_zero);
    }
}

/// RFC 9001 appendix A.4.
//= rfc9000-17.2.5-1
#[test]
fn retry_packet_of_the_standard() {
    let packet = unhex("ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba");
    let Ok(PartialHeader::Retry(retry)) = PartialHeader::decode(&packet, 8) else { panic!() };
    assert_eq!((retry.destination_cid, retry.source_cid), (ConnectionId::EMPTY, cid("f067a5502a4262b5")));
    assert_eq!(retry.token, b"token");
    assert_eq!(retry.integrity_tag[..], unhex("04a265ba2eff4d829058fb3f0f2496ba"));

    let mut buffer = [0; 64];
    let mut w = Writer::new(&mut buffer);
    write_retry(&mut w, retry.version, &retry.destination_cid, &retry.source_cid, retry.token, 0x0f).unwrap();
    assert_eq!(w.written(), retry.without_tag);
    w.rewind(0);
    write_retry_pseudo_packet(&mut w, &cid("8394c8f03e515708"), retry.without_tag).unwrap();
    assert_eq!(w.written(), unhex("088394c8f03e515708 ff000000010008f067a5502a4262b5746f6b656e"));
}

/// RFC 9369 appendices A.2 to A.4: the headers of version 2, and all its types.
#[test]
fn headers_of_version_2() {
    let initial = LongPacketType::Initial { token: &[] };
    let header = |packet_type, destination_cid, source_cid| LongHeader {
        version: Version::V2,
        packet_type,
        destination_cid,
        source_cid,
    };
    let client = header(initial, cid("8394c8f03e515708"), ConnectionId::EMPTY);
    let server = header(initial, ConnectionId::EMPTY, cid("f067a5502a4262b5"));
    for (header, number, payload_len, plain) in [
        (client, TruncatedPacketNumber::with_len(2, 4), 1162, "d36b3343cf088394c8f03e5157080000449e00000002"),
        (server, TruncatedPacketNumber::with_len(1, 2), 99, "d16b3343cf0008f067a5502a4262b50040750001"),
    ] {
        let mut buffer = [0; 1300];
        let mut w = Writer::new(&mut buffer);
        let encoded = header.encode(&mut w, number).unwrap();
        w.write_zeros(payload_len).unwrap();
        encoded.finish(&mut w, 16).unwrap();
        assert_eq!(w.written()[..encoded.payload_offset], unhex(plain));
    }

    let packet = unhex("cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6");
    let Ok(PartialHeader::Retry(retry)) = PartialHeader::decode(&packet, 8) else { panic!() };
    assert_eq!((retry.version, retry.token), (Version::V2, &b"token"[..]));
    let mut buffer = [0; 64];
    let mut w = Writer::new(&mut buffer);
    write_retry(&mut w, Version::V2, &retry.destination_cid, &retry.source_cid, retry.token, 0x0f).unwrap();
    assert_eq!(w.written(), retry.without_tag);

    // RFC 9369 section 3.2.
    for (bits, packet_type) in
        [(0b01, PacketType::Initial), (0b10, PacketType::ZeroRtt), (0b11, PacketType::Handshake)]
    {
        let packet = unhex(&format!("{:02x} 6b3343cf 00 00 00 00 00 00", 0xc0 | bits << 4));
        let PartialHeader::Protected(header) = PartialHeader::decode(&packet, 8).unwrap() else { panic!() };
        assert_eq!((header.version, header.packet_type), (Some(Version::V2), packet_type));
    }
}

/// RFC 9001 appendix A.5.
//= rfc9000-17.3.1-2, rfc9001-5.4.2-1
#[test]
fn short_header_of_the_standard() {
    let mut buffer = [0; 32];
    let mut w = Writer::new(&mut buffer);
    let header = ShortHeader { destination_cid: ConnectionId::EMPTY, spin: false, key_phase: false };
    let number = TruncatedPacketNumber::with_len(654_360_564, 3);
    let encoded = header.encode(&mut w, number).unwrap();
    assert_eq!(w.written(), unhex("4200bff4"));
    assert_eq!(encoded.padding_for_sample(1, 16), 0);
    assert_eq!(encoded.padding_for_sample(0, 16), 1);

    let packet = unhex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
    let header = protected(PartialHeader::decode(&packet, 0).unwrap());
    assert_eq!(packet[header.sample().unwrap()], unhex("5e5cd55c41f69080575d7999c25a5bfb"));
    assert_eq!(protected(PartialHeader::decode(&packet[..20], 0).unwrap()).sample(), None);
}

/// RFC 9000 appendices A.2 and A.3.
//= rfc9000-17.1-2
#[test]
fn packet_numbers_of_the_standard() {
    let number = |full, acked| TruncatedPacketNumber::new(full, Some(acked));
    assert_eq!(number(0xac_5c02, 0xab_e8b3).byte_len(), 2);
    assert_eq!(number(0xac_e8fe, 0xab_e8b3).byte_len(), 3);
    let truncated = TruncatedPacketNumber::from_bytes(&[0x9b, 0x32]).unwrap();
    assert_eq!(truncated.expand(Some(0xa82f_30ea)), 0xa82f_9b32);
}

//= rfc9000-17.2.1-1, rfc9000-17.2.1-2, rfc9000-17.2.1-3
#[test]
fn versions_are_negotiated_with_any_connection_ids() {
    let (destination, source) = (vec![1; 255], vec![2; 30]);
    let versions = [version::V1, version::reserved(0x1234_5678)];
    assert_eq!(versions[1], 0x1a3a_5a7a);
    let mut buffer = [0; 400];
    let mut w = Writer::new(&mut buffer);
    write_version_negotiation(&mut w, &destination, &source, &versions, 0x3f).unwrap();
    let Ok(PartialHeader::VersionNegotiation(packet)) = PartialHeader::decode(w.written(), 8) else {
        panic!()
    };
    // Each endpoint's connection ID goes back to it as the destination.
    assert_eq!((packet.destination_cid, packet.source_cid), (&source[..], &destination[..]));
    assert!(packet.versions().eq(versions));
    let list = w.position() - 8;
    for length in [list, list + 2] {
        let error = PartialHeader::decode(&w.written()[..length], 8).unwrap_err();
        assert_eq!(error, PacketError::VersionList(length - list));
    }
    w.rewind(0);
    assert!(write_version_negotiation(&mut w, &[0; 256], &[], &versions, 0).is_err());
    assert_eq!(w.position(), 0);
}

//= rfc9000-5.2.1-1
#[test]
fn other_versions_show_their_invariants_only() {
    let packet = unhex("80 0a1a2a3a 02 0102 01 03 ffff");
    let Ok(PartialHeader::UnknownVersion(header)) = PartialHeader::decode(&packet, 8) else { panic!() };
    assert_eq!(header, InvariantHeader { version: 0x0a1a_2a3a, destination_cid: &[1, 2], source_cid: &[3] });
}

//= rfc9000-17.2-3, rfc9000-17.2-6, rfc9000-17.2.5.2-4
#[test]
fn malformed_packets_are_told_apart() {
    for (packet, error) in [
        ("", PacketError::Empty),
        ("c0000000", PacketError::Truncated),
        ("4001020304", PacketError::Truncated),
        (&format!("c000000001 15 {}", "00".repeat(40)), PacketError::ConnectionIdTooLong(21)),
        ("c000000001 00 00 05 01", PacketError::Truncated),
        ("e000000001 00 00 15 0102", PacketError::Truncated),
        (&format!("f000000001 00 00 {}", "00".repeat(15)), PacketError::Truncated),
        (&format!("f000000001 00 00 {}", "00".repeat(16)), PacketError::EmptyRetryToken),
    ] {
        let packet = unhex(packet);
        assert_eq!(PartialHeader::decode(&packet, 8), Err(error), "{packet:02x?}");
    }
    assert_eq!(PartialHeader::decode_with(&[0x40, 1], |_| None), Err(PacketError::UnknownConnectionId));
}

//= rfc9000-17.2-1, rfc9000-17.4-4
#[test]
fn bits_behind_header_protection() {
    let at = |first: u8| {
        let packet = [first, 9, 9, 9, 9, 9];
        let header = protected(PartialHeader::decode(&packet, 1).unwrap());
        (header.fixed_bit, PlainHeader::decode(&packet, &header).unwrap())
    };
    let (fixed, plain) = at(0x40 | 0x20);
    assert!(fixed && plain.spin && !plain.key_phase && plain.reserved_bits_zero);
    let (fixed, plain) = at(0x04);
    assert!(!fixed && !plain.spin && plain.key_phase);
    for reserved in [0x08, 0x10] {
        assert!(!at(0x40 | reserved).1.reserved_bits_zero);
    }
    let header = protected(PartialHeader::decode(&[0x43, 9, 9, 9], 1).unwrap());
    assert_eq!(PlainHeader::decode(&[0x43, 9, 9, 9], &header), None, "four bytes of number are not there");
}

//= rfc9000-10.3-7
#[test]
fn stateless_resets_look_like_short_headers() {
    let token = StatelessResetToken([7; 16]);
    let mut buffer = [0; 40];
    let mut w = Writer::new(&mut buffer);
    assert_eq!(write_stateless_reset(&mut w, &[0xff; 4], &token), Err(BufferTooShort));
    write_stateless_reset(&mut w, &[0xff; 5], &token).unwrap();
    assert_eq!((w.position(), w.written()[0]), (MIN_STATELESS_RESET_LEN, 0x7f));
    assert_eq!(StatelessResetToken::at_end_of(w.written()), Some(token));
}

fn any_cid() -> impl Strategy<Value = ConnectionId> {
    vec(any::<u8>(), 0..=20).prop_map(|bytes| ConnectionId::new(&bytes).unwrap())
}

/// Long and short packets to be put into one datagram; a short one has to be last.
type AnyPacket = (Version, u8, ConnectionId, ConnectionId, Vec<u8>, u64, usize);

fn any_packet() -> impl Strategy<Value = AnyPacket> {
    (
        prop::sample::select(&Version::ALL[..]),
        0..3_u8,
        any_cid(),
        any_cid(),
        vec(any::<u8>(), 0..80),
        0..=crate::varint::MAX,
        0_usize..200,
    )
}

/// Any, with the end of the packet numbers more often than chance has it.
fn largest_received() -> impl Strategy<Value = Option<u64>> {
    let last = crate::varint::MAX;
    proptest::option::of(prop_oneof![0..=last, last - 1000..=last, Just(last)])
}

proptest! {
    /// Several packets in one datagram come apart as they were put together.
    //= rfc9000-12.2-1
    #[test]
    fn coalesced_packets(
        packets in vec(any_packet(), 0..4),
        (short_cid, spin, key_phase, short_number) in (any_cid(), any::<bool>(), any::<bool>(), 0..=crate::varint::MAX),
    ) {
        let mut buffer = [0; 2000];
        let mut w = Writer::new(&mut buffer);
        for (version, kind, destination_cid, source_cid, token, number, payload) in &packets {
            let packet_type = match kind {
                0 => LongPacketType::Initial { token },
                1 => LongPacketType::ZeroRtt,
                _ => LongPacketType::Handshake,
            };
            let header = LongHeader { version: *version, packet_type, destination_cid: *destination_cid, source_cid: *source_cid };
            let encoded = header.encode(&mut w, TruncatedPacketNumber::new(*number, None)).unwrap();
            w.write_zeros(*payload).unwrap();
            encoded.finish(&mut w, 0).unwrap();
        }
        let short = ShortHeader { destination_cid: short_cid, spin, key_phase };
        let short_number = TruncatedPacketNumber::new(short_number, None);
        short.encode(&mut w, short_number).unwrap().finish(&mut w, 0).unwrap();

        let mut rest = w.written();
        for (version, kind, destination_cid, source_cid, token, number, payload) in &packets {
            prop_assert_eq!(peek_destination_cid(rest, 0), Ok(destination_cid.as_bytes()));
            let header = protected(PartialHeader::decode(rest, short_cid.len()).unwrap());
            let types = [PacketType::Initial, PacketType::ZeroRtt, PacketType::Handshake];
            prop_assert_eq!((header.version, header.packet_type), (Some(*version), types[usize::from(*kind)]));
            prop_assert_eq!((&header.destination_cid, &header.source_cid), (destination_cid, source_cid));
            prop_assert_eq!(header.token(rest), if *kind == 0 { &token[..] } else { &[] });
            let (packet, following) = rest.split_at(header.packet_len);
            let plain = PlainHeader::decode(packet, &header).unwrap();
            prop_assert_eq!(plain.packet_number, TruncatedPacketNumber::new(*number, None));
            prop_assert_eq!(packet.len() - plain.payload_offset, *payload);
            prop_assert!(header.fixed_bit && plain.reserved_bits_zero && !plain.spin && !plain.key_phase);
            rest = following;
        }
        prop_assert_eq!(peek_destination_cid(rest, short_cid.len()), Ok(short_cid.as_bytes()));
        let header = protected(PartialHeader::decode(rest, short_cid.len()).unwrap());
        prop_assert_eq!((header.packet_type, header.destination_cid), (PacketType::OneRtt, short_cid));
        prop_assert_eq!(header.packet_len, rest.len());
        let plain = PlainHeader::decode(rest, &header).unwrap();
        prop_assert_eq!((plain.packet_number, plain.spin, plain.key_phase), (short_number, spin, key_phase));
    }

    /// What is sent can be recovered by a peer that has anything from the largest acknowledged on.
    //= rfc9000-17.1-1, rfc9000-17.1-2
    #[test]
    fn packet_numbers_survive(acked in proptest::option::of(0_u64..1 << 61), ahead in 1_u64..1 << 31, seen in 0_u64..1 << 31) {
        let first_unacked = acked.map_or(0, |acked| acked + 1);
        let number = first_unacked + ahead - 1;
        let truncated = TruncatedPacketNumber::new(number, acked);
        // The peer may have got any packet before this one.
        let received = (first_unacked + seen % ahead).checked_sub(1);
        prop_assert_eq!(truncated.expand(received), number);
        let mut buffer = [0; 4];
        let mut w = Writer::new(&mut buffer);
        truncated.encode(&mut w).unwrap();
        prop_assert_eq!(TruncatedPacketNumber::from_bytes(w.written()), Some(truncated));
    }

    #[test]
    fn expansion_stays_in_range(largest in largest_received(), bytes in vec(any::<u8>(), 1..=4)) {
        let truncated = TruncatedPacketNumber::from_bytes(&bytes).unwrap();
        let number = truncated.expand(largest);
        prop_assert!(number <= crate::varint::MAX);
        prop_assert_eq!(TruncatedPacketNumber::with_len(number, bytes.len()), truncated);
    }

    #[test]
    fn headers_that_do_not_fit_leave_no_trace(destination_cid in any_cid(), source_cid in any_cid(), token in vec(any::<u8>(), 0..80), room in 0_usize..60) {
        let number = TruncatedPacketNumber::new(1 << 20, None);
        let long = LongHeader { version: Version::V2, packet_type: LongPacketType::Initial { token: &token }, destination_cid, source_cid };
        let short = ShortHeader { destination_cid, spin: true, key_phase: true };
        let mut buffer = vec![0; room];
        let mut w = Writer::new(&mut buffer);
        prop_assert_eq!(long.encode(&mut w, number).is_ok(), long.encoded_len(number) <= room);
        prop_assert!(w.position() == 0 || w.position() == long.encoded_len(number));
        w.rewind(0);
        prop_assert_eq!(short.encode(&mut w, number).is_ok(), short.encoded_len(number) <= room);
        w.rewind(0);
        prop_assert!(write_retry(&mut w, Version::V2, &destination_cid, &source_cid, &token, 0).is_ok() || w.position() == 0);
    }

    /// No panic, offsets inside the datagram, and an end to it.
    #[test]
    fn arbitrary_datagrams(
        mut datagram in vec(prop_oneof![2 => 0..24_u8, 1 => any::<u8>()], 0..200),
        first: u8,
        version in prop_oneof![3 => Just(Some(version::V1)), 3 => Just(Some(version::V2)), 1 => Just(Some(0)), 1 => Just(None)],
        cid_len in 0_usize..25,
    ) {
        // Most long headers get a version that is understood.
        if let (Some(version), true) = (version, datagram.len() >= 5) {
            datagram[0] = first;
            datagram[1..5].copy_from_slice(&version.to_be_bytes());
        }
        let mut rest = &datagram[..];
        let mut packets = 0;
        while let Ok(header) = PartialHeader::decode(rest, cid_len) {
            let length = header.packet_len(rest);
            prop_assert!(length > 0 && length <= rest.len());
            if let PartialHeader::Protected(header) = &header {
                prop_assert!(header.packet_number_offset <= length);
                prop_assert_eq!(header.token(rest).len(), header.token.len());
                prop_assert!(header.sample().is_none_or(|sample| sample.end <= length));
                if let Some(plain) = PlainHeader::decode(&rest[..length], header) {
                    prop_assert!(plain.payload_offset <= length);
                }
            }
            prop_assert!(peek_destination_cid(rest, cid_len).is_ok());
            rest = &rest[length..];
            packets += 1;
        }
        prop_assert!(packets <= datagram.len());
    }
}

/// RFC 9000 appendix A.3, for every byte and every largest number near the ends and around the windows: what is expanded has these low
/// bytes, and none that has them is closer to the number that is expected. Of two that are as close either may be meant.
#[test]
fn every_number_of_a_byte_is_expanded_to_the_closest() {
    const MAX: u64 = crate::varint::MAX;
    let largest = (0..2_000).chain((1 << 32) - 600..(1 << 32) + 600).chain(MAX - 1_000..=MAX).map(Some);
    for largest in largest.chain([None]) {
        let expected = largest.map_or(0, |largest: u64| (largest + 1).min(MAX));
        for low in 0..=u8::MAX {
            let found = TruncatedPacketNumber::from_bytes(&[low]).unwrap().expand(largest);
            assert!(found <= MAX && found as u8 == low, "{largest:?} {low}: {found}");
            for other in [found.checked_sub(256), found.checked_add(256).filter(|other| *other <= MAX)] {
                let is_closer =
                    other.is_some_and(|other| other.abs_diff(expected) < found.abs_diff(expected));
                assert!(!is_closer, "{largest:?} {low}: {found}, and {other:?} is closer");
            }
        }
    }
}

/// What a sender may have outstanding is expanded to itself: every distance up to 2^17 and around the limits of each length.
#[test]
fn every_number_that_is_sent_is_understood() {
    for largest in [0, 1, 127, 128, 255, 256, 65_535, 1 << 20, (1 << 32) - 1, 1 << 61] {
        let limits = [1 << 7, 1 << 15, 1 << 23].into_iter().flat_map(|limit| limit - 2..limit + 2);
        for distance in (1..1 << 17).chain(limits).chain([(1 << 31) - 1]) {
            let number = largest + distance;
            let sent = TruncatedPacketNumber::new(number, Some(largest));
            // The receiver may have seen anything from what was acknowledged to the number before.
            for received in [largest, largest + distance / 2, number - 1] {
                assert_eq!(sent.expand(Some(received)), number, "{largest} {distance} {received}");
            }
        }
    }
}
