//! Frames to test with. Their data is leaked, which makes them `'static`; a test run has little of it.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::*;
use crate::cid::{ConnectionId, StatelessResetToken};
use crate::varint;
use crate::writer::Writer;

/// Integers of all encoded lengths, the limits among them.
pub(super) fn integer() -> impl Strategy<Value = u64> {
    prop_oneof![0..64_u64, 0..1_u64 << 14, 0..1_u64 << 30, 0..=varint::MAX, Just(varint::MAX)]
}

fn path_id() -> impl Strategy<Value = u32> {
    prop_oneof![0..4_u32, any::<u32>(), Just(u32::MAX)]
}

fn bytes(sizes: std::ops::Range<usize>) -> impl Strategy<Value = &'static [u8]> {
    vec(any::<u8>(), sizes).prop_map(|bytes| &*bytes.leak())
}

/// Ranges from the largest packet number down.
pub(super) fn ranges() -> impl Strategy<Value = Vec<RangeInclusive<u64>>> {
    (integer(), vec((0..200_u64, 0..100_u64), 1..40)).prop_map(|(largest, steps)| {
        let mut ranges = Vec::new();
        let mut next = Some(largest);
        for (length, gap) in steps {
            let Some(end) = next else { break };
            let start = end.saturating_sub(length);
            ranges.push(start..=end);
            next = start.checked_sub(gap + 2);
        }
        ranges
    })
}

/// Packet numbers at or below `largest` with receive times, latest first, many of them next to each other.
pub(super) fn arrivals(largest: u64) -> impl Strategy<Value = Vec<(u64, u64)>> {
    let step = (prop_oneof![3 => Just(1_u64), 1 => 2..20_u64], 0..5000_u64);
    (vec(step, 0..150), 0..1_u64 << 40).prop_map(move |(steps, latest)| {
        let (mut number, mut time) = (Some(largest), latest);
        let mut arrivals = Vec::new();
        for (down, earlier) in steps {
            let Some(current) = number else { break };
            arrivals.push((current, time));
            number = current.checked_sub(down);
            time = time.saturating_sub(earlier);
        }
        arrivals
    })
}

fn ack_header() -> impl Strategy<Value = AckHeader> {
    let ecn = (integer(), integer(), integer()).prop_map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
    (option::of(path_id()), integer(), option::of(ecn)).prop_map(|(path_id, delay, ecn)| AckHeader {
        path_id,
        delay,
        ecn,
    })
}

/// An acknowledgement, made by the functions that make them in earnest.
fn ack() -> impl Strategy<Value = Frame<'static>> {
    (ack_header(), ranges(), option::of(0..=20_u8)).prop_flat_map(|(header, ranges, exponent)| {
        let largest = *ranges[0].end();
        arrivals(largest).prop_map(move |arrivals| {
            let buffer = vec![0; 4096].leak();
            let mut w = Writer::new(buffer);
            match exponent {
                None => write_ack(&mut w, &header, ranges.clone(), 64),
                Some(exponent) => {
                    let limits = TimestampLimits { exponent, max_count: 100 };
                    write_ack_with_timestamps(&mut w, &header, ranges.clone(), 64, limits, arrivals)
                }
            }
            .unwrap();
            FrameIter::new(w.into_written()).next().unwrap().unwrap()
        })
    })
}

fn streams() -> impl Strategy<Value = Frame<'static>> {
    let direction = prop_oneof![Just(StreamDirection::Bidirectional), Just(StreamDirection::Unidirectional)];
    prop_oneof![
        (integer(), integer(), any::<bool>(), bytes(0..100)).prop_map(|(stream_id, offset, fin, data)| {
            let offset = offset.min(varint::MAX - data.len() as u64);
            Frame::Stream(Stream { stream_id, offset, fin, data })
        }),
        (integer(), integer(), integer()).prop_map(|(stream_id, error_code, final_size)| Frame::ResetStream(
            ResetStream { stream_id, error_code, final_size }
        )),
        (integer(), integer(), integer(), integer()).prop_map(|(stream_id, error_code, a, b)| {
            Frame::ResetStreamAt(ResetStreamAt {
                stream_id,
                error_code,
                final_size: a.max(b),
                reliable_size: a.min(b),
            })
        }),
        (integer(), integer())
            .prop_map(|(stream_id, error_code)| Frame::StopSending(StopSending { stream_id, error_code })),
        integer().prop_map(Frame::MaxData),
        integer().prop_map(Frame::DataBlocked),
        (integer(), integer()).prop_map(|(stream_id, maximum)| Frame::MaxStreamData { stream_id, maximum }),
        (integer(), integer()).prop_map(|(stream_id, limit)| Frame::StreamDataBlocked { stream_id, limit }),
        (direction.clone(), 0..=MAX_STREAM_COUNT)
            .prop_map(|(direction, maximum)| Frame::MaxStreams { direction, maximum }),
        (direction, 0..=MAX_STREAM_COUNT)
            .prop_map(|(direction, limit)| Frame::StreamsBlocked { direction, limit }),
    ]
}

fn connection() -> impl Strategy<Value = Frame<'static>> {
    prop_oneof![
        (1..50_usize).prop_map(Frame::Padding),
        Just(Frame::Ping),
        Just(Frame::HandshakeDone),
        Just(Frame::ImmediateAck),
        (integer(), bytes(0..100)).prop_map(|(offset, data)| {
            let offset = offset.min(varint::MAX - data.len() as u64);
            Frame::Crypto(Crypto { offset, data })
        }),
        bytes(1..100).prop_map(Frame::NewToken),
        bytes(0..100).prop_map(|data| Frame::Datagram(Datagram { data })),
        (integer(), integer(), bytes(0..40)).prop_map(|(error_code, frame_type, reason)| {
            Frame::ConnectionClose(ConnectionClose::Transport { error_code, frame_type, reason })
        }),
        (integer(), bytes(0..40)).prop_map(|(error_code, reason)| {
            Frame::ConnectionClose(ConnectionClose::Application { error_code, reason })
        }),
        (integer(), integer(), 0..(1_u64 << 14) * 1000, integer()).prop_map(|(a, b, c, d)| {
            Frame::AckFrequency(AckFrequency {
                sequence_number: a,
                ack_eliciting_threshold: b,
                requested_max_ack_delay: c,
                reordering_threshold: d,
            })
        }),
    ]
}

fn paths() -> impl Strategy<Value = Frame<'static>> {
    let status = prop_oneof![Just(PathStatus::Available), Just(PathStatus::Backup)];
    prop_oneof![
        any::<[u8; 8]>().prop_map(Frame::PathChallenge),
        any::<[u8; 8]>().prop_map(Frame::PathResponse),
        (option::of(path_id()), integer(), integer(), vec(any::<u8>(), 1..=20), any::<[u8; 16]>()).prop_map(
            |(path_id, a, b, cid, token)| Frame::NewConnectionId(NewConnectionId {
                path_id,
                sequence_number: a.max(b),
                retire_prior_to: a.min(b),
                connection_id: ConnectionId::new(&cid).unwrap(),
                reset_token: StatelessResetToken(token),
            })
        ),
        (option::of(path_id()), integer()).prop_map(|(path_id, sequence_number)| {
            Frame::RetireConnectionId(RetireConnectionId { path_id, sequence_number })
        }),
        (path_id(), integer()).prop_map(|(path_id, error_code)| Frame::PathAbandon { path_id, error_code }),
        (path_id(), integer(), status).prop_map(|(path_id, sequence_number, status)| Frame::PathStatus {
            path_id,
            sequence_number,
            status
        }),
        path_id().prop_map(Frame::MaxPathId),
        path_id().prop_map(Frame::PathsBlocked),
        (path_id(), integer()).prop_map(|(path_id, next_sequence_number)| Frame::PathCidsBlocked {
            path_id,
            next_sequence_number
        }),
        (integer(), any::<[u8; 4]>(), any::<[u8; 16]>(), any::<bool>(), any::<u16>()).prop_map(
            |(sequence_number, v4, v6, six, port)| {
                let address = if six { SocketAddr::from((v6, port)) } else { SocketAddr::from((v4, port)) };
                Frame::ObservedAddress(ObservedAddress { sequence_number, address })
            }
        ),
    ]
}

fn private() -> impl Strategy<Value = Frame<'static>> {
    let delivery = prop_oneof![
        Just(MessageDelivery::Latest),
        Just(MessageDelivery::Reliable),
        Just(MessageDelivery::WithAcks)
    ];
    prop_oneof![
        (integer(), delivery, option::of(path_id()), integer(), bytes(0..100)).prop_map(
            |(feature, delivery, path_id, sequence_number, payload)| {
                Frame::PolicyMessage(PolicyMessage { feature, delivery, path_id, sequence_number, payload })
            }
        ),
        (integer(), integer(), integer()).prop_map(|(stream_id, offset, length)| {
            let offset = offset.min(varint::MAX - 1);
            let length = length.clamp(1, varint::MAX - offset);
            Frame::StreamSkip(StreamSkip { stream_id, offset, length })
        }),
        Just(Frame::Protected),
        repair(),
        (integer(), integer(), 1..=u64::MAX).prop_map(|(block, first, bitmap)| Frame::Recovered(Recovered {
            block,
            first,
            bitmap
        })),
    ]
}

/// Source symbols that follow each other or not.
pub(super) fn sources() -> impl Strategy<Value = Vec<SourceRange>> {
    let step = (0..4_u8, 0..1_u64 << 40, prop_oneof![Just(80_u64), 1..100_u64]);
    (vec(step, 1..=MAX_SOURCE_SYMBOLS), 0..1_u64 << 40).prop_map(|(steps, start)| {
        let mut next = SourceRange { stream_id: 4, offset: start, length: 80, fin: false };
        let mut sources = Vec::new();
        for (kind, jump, length) in steps {
            let same = !next.fin && kind < 3;
            next = SourceRange {
                stream_id: if same { next.stream_id } else { next.stream_id + 4 },
                offset: if same { next.end() } else { jump },
                length,
                fin: !same && jump % 3 == 0,
            };
            sources.push(next);
        }
        sources
    })
}

fn repair() -> impl Strategy<Value = Frame<'static>> {
    let code =
        prop_oneof![Just(RepairCode::Xor), Just(RepairCode::ReedSolomon), Just(RepairCode::RandomLinear)];
    (integer(), code, integer(), any::<u32>(), sources(), bytes(100..200)).prop_map(
        |(block, code, first, index, sources, symbol)| {
            let mut list = SourceRangeList::default();
            sources.iter().for_each(|range| assert!(list.push(*range)));
            let sources = Box::leak(Box::new(list.encode())).as_ranges();
            Frame::Repair(Repair { block, code, first, index, sources, symbol })
        },
    )
}

/// Any frame at all.
pub(super) fn any_frame() -> impl Strategy<Value = Frame<'static>> {
    prop_oneof![3 => ack(), 3 => streams(), 3 => connection(), 3 => paths(), 1 => private()]
}

/// Two symbols of three bytes from offset 5 of stream 4 on, the second of which ends it.
fn two_sources() -> SourceRanges<'static> {
    let mut list = SourceRangeList::default();
    for (offset, fin) in [(5, false), (8, true)] {
        assert!(list.push(SourceRange { stream_id: 4, offset, length: 3, fin }));
    }
    Box::leak(Box::new(list.encode())).as_ranges()
}

/// One frame of each type and its bytes. STREAM and DATAGRAM are in the form that encoding gives them.
pub(super) fn known_frames() -> Vec<(&'static str, Frame<'static>)> {
    let cid = |text: &str| ConnectionId::new(&hex::decode(text).unwrap()).unwrap();
    let token = StatelessResetToken([0xab; 16]);
    let (uni, bidi) = (StreamDirection::Unidirectional, StreamDirection::Bidirectional);
    let (stream_id, error_code) = (4, 0x101);
    vec![
        ("000000", Frame::Padding(3)),
        ("01", Frame::Ping),
        ("04044101430c", Frame::ResetStream(ResetStream { stream_id, error_code, final_size: 780 })),
        ("05044101", Frame::StopSending(StopSending { stream_id, error_code })),
        ("060c026869", Frame::Crypto(Crypto { offset: 12, data: b"hi" })),
        ("0703746f6b", Frame::NewToken(b"tok")),
        ("0a04026869", Frame::Stream(Stream { stream_id, offset: 0, fin: false, data: b"hi" })),
        ("0b0400", Frame::Stream(Stream { stream_id, offset: 0, fin: true, data: b"" })),
        ("0e0444000168", Frame::Stream(Stream { stream_id, offset: 1024, fin: false, data: b"h" })),
        ("0f04800100000168", Frame::Stream(Stream { stream_id, offset: 65_536, fin: true, data: b"h" })),
        ("1080100000", Frame::MaxData(1 << 20)),
        ("11044400", Frame::MaxStreamData { stream_id, maximum: 1024 }),
        ("124064", Frame::MaxStreams { direction: bidi, maximum: 100 }),
        ("13d000000000000000", Frame::MaxStreams { direction: uni, maximum: 1 << 60 }),
        ("1405", Frame::DataBlocked(5)),
        ("150405", Frame::StreamDataBlocked { stream_id, limit: 5 }),
        ("1603", Frame::StreamsBlocked { direction: bidi, limit: 3 }),
        ("1703", Frame::StreamsBlocked { direction: uni, limit: 3 }),
        (
            "1807020401020304abababababababababababababababab",
            Frame::NewConnectionId(NewConnectionId {
                path_id: None,
                sequence_number: 7,
                retire_prior_to: 2,
                connection_id: cid("01020304"),
                reset_token: token,
            }),
        ),
        ("1909", Frame::RetireConnectionId(RetireConnectionId { path_id: None, sequence_number: 9 })),
        ("1a0102030405060708", Frame::PathChallenge([1, 2, 3, 4, 5, 6, 7, 8])),
        ("1b0102030405060708", Frame::PathResponse([1, 2, 3, 4, 5, 6, 7, 8])),
        (
            "1c0a08026f6b",
            Frame::ConnectionClose(ConnectionClose::Transport {
                error_code: 10,
                frame_type: 8,
                reason: b"ok",
            }),
        ),
        ("1d410100", Frame::ConnectionClose(ConnectionClose::Application { error_code, reason: b"" })),
        ("1e", Frame::HandshakeDone),
        ("1f", Frame::ImmediateAck),
        (
            "24044101430c09",
            Frame::ResetStreamAt(ResetStreamAt { stream_id, error_code, final_size: 780, reliable_size: 9 }),
        ),
        ("31026869", Frame::Datagram(Datagram { data: b"hi" })),
        (
            "40af010a800061a801",
            Frame::AckFrequency(AckFrequency {
                sequence_number: 1,
                ack_eliciting_threshold: 10,
                requested_max_ack_delay: 25_000,
                reordering_threshold: 1,
            }),
        ),
        ("7e75033e", Frame::PathAbandon { path_id: 3, error_code: 0x3e }),
        ("7e760301", Frame::PathStatus { path_id: 3, sequence_number: 1, status: PathStatus::Backup }),
        ("7e770302", Frame::PathStatus { path_id: 3, sequence_number: 2, status: PathStatus::Available }),
        (
            "7e780301000401020304abababababababababababababababab",
            Frame::NewConnectionId(NewConnectionId {
                path_id: Some(3),
                sequence_number: 1,
                retire_prior_to: 0,
                connection_id: cid("01020304"),
                reset_token: token,
            }),
        ),
        ("7e790301", Frame::RetireConnectionId(RetireConnectionId { path_id: Some(3), sequence_number: 1 })),
        ("7e7ac0000000ffffffff", Frame::MaxPathId(u32::MAX)),
        ("7e7b05", Frame::PathsBlocked(5)),
        ("7e7c0302", Frame::PathCidsBlocked { path_id: 3, next_sequence_number: 2 }),
        (
            "809f81a605c0000201115c",
            Frame::ObservedAddress(ObservedAddress {
                sequence_number: 5,
                address: SocketAddr::from(([192, 0, 2, 1], 4444)),
            }),
        ),
        (
            "809f81a70520010db8000000000000000000000001115c",
            Frame::ObservedAddress(ObservedAddress {
                sequence_number: 5,
                address: "[2001:db8::1]:4444".parse().unwrap(),
            }),
        ),
        ("a8a75e40", Frame::Protected),
        (
            "a8a75e4109010a02010a03040503616263",
            Frame::Repair(Repair {
                block: 9,
                code: RepairCode::ReedSolomon,
                first: 10,
                index: 2,
                sources: two_sources(),
                symbol: b"abc",
            }),
        ),
        (
            "a8a75e42090a8000000000000001",
            Frame::Recovered(Recovered { block: 9, first: 10, bitmap: 1 << 63 | 1 }),
        ),
        ("a8a75e3004440080010000", Frame::StreamSkip(StreamSkip { stream_id, offset: 1024, length: 65_536 })),
        (
            "a8a75e100700050168",
            Frame::PolicyMessage(PolicyMessage {
                feature: 7,
                delivery: MessageDelivery::Latest,
                path_id: None,
                sequence_number: 5,
                payload: b"h",
            }),
        ),
        (
            "a8a75e104100050302026869",
            Frame::PolicyMessage(PolicyMessage {
                feature: 256,
                delivery: MessageDelivery::Reliable,
                path_id: Some(3),
                sequence_number: 2,
                payload: b"hi",
            }),
        ),
        (
            "a8a75e100806030100",
            Frame::PolicyMessage(PolicyMessage {
                feature: 8,
                delivery: MessageDelivery::WithAcks,
                path_id: Some(3),
                sequence_number: 1,
                payload: b"",
            }),
        ),
    ]
}
