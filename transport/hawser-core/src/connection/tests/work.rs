//! What packets full of one kind of frame cost, in units of work: the smallest form of each.

use std::time::Duration;

use bytes::BytesMut;
use hawser_policy::{FeatureId, FeatureSet, PathId, Side};
use hawser_wire::codepoints::frame as types;
use hawser_wire::frame::{
    AckFrequency, AckHeader, ConnectionClose, Crypto, Datagram as DatagramFrame, EcnCounts, FrameIter,
    MessageDelivery, NewConnectionId, ObservedAddress, PathStatus, PolicyMessage, Recovered, ResetStream,
    ResetStreamAt, RetireConnectionId, StopSending, Stream, StreamDirection, StreamSkip, TimestampLimits,
    write_ack, write_ack_with_timestamps,
};
use hawser_wire::{ConnectionId, Frame, StatelessResetToken, Writer};

use super::pair::{Pair, Settings, at_server, client_address, from};
use crate::connection::work::{MOST, PER_BYTE, PER_PACKET};
use crate::{Code, Connection, ConnectionError, Datagram, Event};

const PAYLOAD: usize = 1_150;
const PACKETS: usize = 100;

/// Whose policy messages are taken.
const FEATURE: FeatureId = FeatureId(5);

/// Encodes the `index`-th frame of an attack.
type Attack = fn(u64, &mut Writer<'_>);

fn frame(w: &mut Writer<'_>, frame: Frame<'_>) {
    frame.encode(w).expect("room");
}

fn stream(w: &mut Writer<'_>, stream_id: u64, offset: u64, data: &[u8]) {
    frame(w, Frame::Stream(Stream { stream_id, offset, fin: false, data }));
}

const UNI: StreamDirection = StreamDirection::Unidirectional;

const ATTACKS: &[(&str, Attack)] = &[
    ("PADDING", |_, w| frame(w, Frame::Padding(1))),
    ("PING", |_, w| frame(w, Frame::Ping)),
    ("ACK", |_, w| {
        let header = AckHeader { path_id: None, delay: 0, ecn: None };
        write_ack(w, &header, std::iter::once(0..=0), 1).expect("room");
    }),
    ("ACK of several ranges", |_, w| {
        let header = AckHeader { path_id: None, delay: 0, ecn: None };
        write_ack(w, &header, (0..2).rev().map(|at| 2 * at..=2 * at), 64).expect("room");
    }),
    ("ACK with ECN", |index, w| {
        let ecn = Some(EcnCounts { ect0: index, ect1: 0, ce: 0 });
        let header = AckHeader { path_id: None, delay: 0, ecn };
        write_ack(w, &header, std::iter::once(0..=0), 1).expect("room");
    }),
    ("PATH_ACK", |_, w| {
        let header = AckHeader { path_id: Some(1), delay: 0, ecn: None };
        write_ack(w, &header, std::iter::once(0..=0), 1).expect("room");
    }),
    ("RESET_STREAM_AT", |_, w| {
        let frame_of = ResetStreamAt { stream_id: 2, error_code: 0, final_size: 0, reliable_size: 0 };
        frame(w, Frame::ResetStreamAt(frame_of));
    }),
    ("PATH_STATUS_AVAILABLE and PATH_STATUS_BACKUP", |index, w| {
        let status = if index % 2 == 0 { PathStatus::Available } else { PathStatus::Backup };
        frame(w, Frame::PathStatus { path_id: 1, sequence_number: index, status });
    }),
    ("PATH_CIDS_BLOCKED", |_, w| {
        frame(w, Frame::PathCidsBlocked { path_id: 1, next_sequence_number: 0 });
    }),
    ("RESET_STREAM", |_, w| {
        frame(w, Frame::ResetStream(ResetStream { stream_id: 2, error_code: 0, final_size: 0 }))
    }),
    ("STOP_SENDING", |_, w| frame(w, Frame::StopSending(StopSending { stream_id: 0, error_code: 0 }))),
    ("CRYPTO", |index, w| frame(w, Frame::Crypto(Crypto { offset: 2 * (index % 50) + 1, data: b"x" }))),
    ("STREAM without data", |_, w| stream(w, 2, 0, b"")),
    ("STREAM in order", |index, w| stream(w, 2, index, b"x")),
    ("STREAM with holes", |index, w| stream(w, 2, 2 * (index % 15_000) + 1, b"x")),
    ("STREAM backwards", |index, w| stream(w, 2, 40_000 - 2 * (index % 15_000), b"x")),
    ("STREAM on many streams", |index, w| stream(w, 2 + 4 * (index % 100), index / 100 + 1, b"x")),
    ("MAX_DATA", |index, w| frame(w, Frame::MaxData((1 << 30) + index))),
    ("MAX_STREAM_DATA", |index, w| {
        frame(w, Frame::MaxStreamData { stream_id: 0, maximum: (1 << 30) + index })
    }),
    ("MAX_STREAMS", |index, w| frame(w, Frame::MaxStreams { direction: UNI, maximum: 200 + index })),
    ("DATA_BLOCKED", |_, w| frame(w, Frame::DataBlocked(5))),
    ("STREAM_DATA_BLOCKED", |_, w| frame(w, Frame::StreamDataBlocked { stream_id: 2, limit: 5 })),
    ("STREAMS_BLOCKED", |_, w| frame(w, Frame::StreamsBlocked { direction: UNI, limit: 5 })),
    ("RETIRE_CONNECTION_ID of one that is gone", |_, w| {
        frame(w, Frame::RetireConnectionId(RetireConnectionId { path_id: Some(1), sequence_number: 0 }));
    }),
    ("PATH_CHALLENGE", |index, w| frame(w, Frame::PathChallenge(index.to_be_bytes()))),
    ("PATH_RESPONSE", |index, w| frame(w, Frame::PathResponse(index.to_be_bytes()))),
    ("DATAGRAM", |_, w| frame(w, Frame::Datagram(DatagramFrame { data: b"" }))),
    ("ACK_FREQUENCY", |index, w| {
        frame(
            w,
            Frame::AckFrequency(AckFrequency {
                sequence_number: index,
                ack_eliciting_threshold: 1,
                requested_max_ack_delay: 20_000,
                reordering_threshold: 1,
            }),
        );
    }),
    ("IMMEDIATE_ACK", |_, w| frame(w, Frame::ImmediateAck)),
    ("PATH_ABANDON", |index, w| {
        frame(w, Frame::PathAbandon { path_id: 1 + (index % 7) as u32, error_code: 0 })
    }),
    ("MAX_PATH_ID", |index, w| frame(w, Frame::MaxPathId(8 + index as u32))),
    ("PATHS_BLOCKED", |_, w| frame(w, Frame::PathsBlocked(3))),
    ("POLICY_MESSAGE", |index, w| {
        let delivery = MessageDelivery::Latest;
        let (feature, sequence_number) = (FEATURE.0, index);
        frame(
            w,
            Frame::PolicyMessage(PolicyMessage {
                feature,
                delivery,
                path_id: None,
                sequence_number,
                payload: b"x",
            }),
        );
    }),
    ("STREAM_SKIP", |index, w| {
        frame(w, Frame::StreamSkip(StreamSkip { stream_id: 2, offset: 2 * index + 1, length: 1 }));
    }),
    ("STREAM_SKIP from both ends to the middle", |index, w| {
        let offset = if index % 2 == 0 { index } else { 1_000_000 - index };
        frame(w, Frame::StreamSkip(StreamSkip { stream_id: 2, offset: offset + 1, length: 1 }));
    }),
];

/// What ends the connection: at once, or as soon as a limit is reached. The victim, and what it must not cost until then.
const CLOSING: &[(&str, Side, Attack)] = &[
    ("NEW_CONNECTION_ID that retires all before it", Side::Server, |index, w| {
        let sequence_number = 8 + index;
        frame(w, new_connection_id(None, sequence_number, sequence_number));
    }),
    ("PATH_NEW_CONNECTION_ID of which too many are active", Side::Server, |index, w| {
        frame(w, new_connection_id(Some(1), 20 + index, 0));
    }),
    ("RETIRE_CONNECTION_ID of one that was not issued", Side::Server, |index, w| {
        let retire = RetireConnectionId { path_id: None, sequence_number: 1_000 + index };
        frame(w, Frame::RetireConnectionId(retire));
    }),
    ("PATH_CIDS_BLOCKED of what was not issued", Side::Server, |index, w| {
        frame(w, Frame::PathCidsBlocked { path_id: 1, next_sequence_number: 1_000 + index });
    }),
    ("PATH_ACK_RECEIVE_TIMESTAMPS", Side::Server, |_, w| timestamps(w, Some(1))),
    ("CONNECTION_CLOSE", Side::Server, |_, w| {
        let close = ConnectionClose::Transport { error_code: 0, frame_type: 0, reason: b"" };
        frame(w, Frame::ConnectionClose(close));
    }),
    ("CONNECTION_CLOSE of the application", Side::Server, |_, w| {
        frame(w, Frame::ConnectionClose(ConnectionClose::Application { error_code: 0, reason: b"" }));
    }),
    ("NEW_TOKEN of a client", Side::Server, |_, w| frame(w, Frame::NewToken(b"x"))),
    ("HANDSHAKE_DONE of a client", Side::Server, |_, w| frame(w, Frame::HandshakeDone)),
    ("OBSERVED_ADDRESS", Side::Server, |index, w| {
        let address = client_address(0);
        frame(w, Frame::ObservedAddress(ObservedAddress { sequence_number: index, address }));
    }),
    ("PROTECTED", Side::Server, |_, w| frame(w, Frame::Protected)),
    ("RECOVERED", Side::Server, |index, w| {
        frame(w, Frame::Recovered(Recovered { block: index, first: 0, bitmap: 1 }));
    }),
    // Type, block, code, first, index, ranges and a symbol, as bytes: which are not even looked at.
    ("REPAIR", Side::Server, |_, w| {
        w.write_varint(types::REPAIR).expect("room");
        w.write_bytes(&[0, 0, 0, 0, 1, 0, 0, 1, 1, 7]).expect("room");
    }),
];

/// What a server may send and a client may not.
const OF_SERVERS: &[(&str, Attack)] = &[
    ("NEW_TOKEN", |_, w| frame(w, Frame::NewToken(b"x"))),
    ("HANDSHAKE_DONE", |_, w| frame(w, Frame::HandshakeDone)),
];

fn new_connection_id(path_id: Option<u32>, sequence_number: u64, retire_prior_to: u64) -> Frame<'static> {
    let mut id = [9; 8];
    id.copy_from_slice(&sequence_number.to_be_bytes());
    Frame::NewConnectionId(NewConnectionId {
        path_id,
        sequence_number,
        retire_prior_to,
        connection_id: ConnectionId::new(&id).expect("eight bytes"),
        reset_token: StatelessResetToken([7; 16]),
    })
}

fn timestamps(w: &mut Writer<'_>, path_id: Option<u32>) {
    let header = AckHeader { path_id, delay: 0, ecn: None };
    let limits = TimestampLimits { exponent: 0, max_count: 1 };
    write_ack_with_timestamps(w, &header, std::iter::once(0..=0), 1, limits, [(0, 5)]).expect("room");
}

/// Frames with a name each; a new one does not compile until it is listed here, and then needs an attack.
macro_rules! kinds {
    ($($name:literal => $pattern:pat,)+) => {
        const KINDS: &[&str] = &[$($name),+];

        fn kind_of(frame: &Frame<'_>) -> &'static str {
            match frame { $($pattern => $name,)+ }
        }
    };
}

kinds! {
    "PADDING" => Frame::Padding(_),
    "PING" => Frame::Ping,
    "ACK" => Frame::Ack(_),
    "RESET_STREAM" => Frame::ResetStream(_),
    "RESET_STREAM_AT" => Frame::ResetStreamAt(_),
    "STOP_SENDING" => Frame::StopSending(_),
    "CRYPTO" => Frame::Crypto(_),
    "NEW_TOKEN" => Frame::NewToken(_),
    "STREAM" => Frame::Stream(_),
    "MAX_DATA" => Frame::MaxData(_),
    "MAX_STREAM_DATA" => Frame::MaxStreamData { .. },
    "MAX_STREAMS" => Frame::MaxStreams { .. },
    "DATA_BLOCKED" => Frame::DataBlocked(_),
    "STREAM_DATA_BLOCKED" => Frame::StreamDataBlocked { .. },
    "STREAMS_BLOCKED" => Frame::StreamsBlocked { .. },
    "NEW_CONNECTION_ID" => Frame::NewConnectionId(_),
    "RETIRE_CONNECTION_ID" => Frame::RetireConnectionId(_),
    "PATH_CHALLENGE" => Frame::PathChallenge(_),
    "PATH_RESPONSE" => Frame::PathResponse(_),
    "CONNECTION_CLOSE" => Frame::ConnectionClose(_),
    "HANDSHAKE_DONE" => Frame::HandshakeDone,
    "DATAGRAM" => Frame::Datagram(_),
    "ACK_FREQUENCY" => Frame::AckFrequency(_),
    "IMMEDIATE_ACK" => Frame::ImmediateAck,
    "PATH_ABANDON" => Frame::PathAbandon { .. },
    "PATH_STATUS" => Frame::PathStatus { .. },
    "MAX_PATH_ID" => Frame::MaxPathId(_),
    "PATHS_BLOCKED" => Frame::PathsBlocked(_),
    "PATH_CIDS_BLOCKED" => Frame::PathCidsBlocked { .. },
    "OBSERVED_ADDRESS" => Frame::ObservedAddress(_),
    "POLICY_MESSAGE" => Frame::PolicyMessage(_),
    "STREAM_SKIP" => Frame::StreamSkip(_),
    "PROTECTED" => Frame::Protected,
    "REPAIR" => Frame::Repair(_),
    "RECOVERED" => Frame::Recovered(_),
}

/// Every kind of frame, and every registered name of one, is in one of the tables.
#[test]
fn every_kind_of_frame_has_an_attack() {
    let attacks = ATTACKS.iter().chain(OF_SERVERS).map(|(name, attack)| (*name, *attack));
    let attacks = attacks.chain(CLOSING.iter().map(|(name, _, attack)| (*name, *attack)));
    let (mut kinds, mut names) = (vec!["REPAIR"], Vec::new());
    for (name, attack) in attacks {
        for index in 0..2 {
            let mut payload = vec![0; 200];
            let mut w = Writer::new(&mut payload);
            attack(index, &mut w);
            let length = w.position();
            match FrameIter::new(&payload[..length]).next() {
                Some(Ok(frame)) => {
                    kinds.push(kind_of(&frame));
                    names.push(types::name(frame.frame_type()));
                }
                other => assert_eq!(name, "REPAIR", "{other:?}"),
            }
        }
    }
    let missing: Vec<_> = KINDS.iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "no attack with {missing:?}");
    // Those with a path id are handled by the same code, and the forms of ACK with times are tried with one.
    let alike = ["PATH_RETIRE_CONNECTION_ID", "ACK_RECEIVE_TIMESTAMPS"];
    let all = (0..0x1_0000).map(types::name).filter(|name| *name != "unknown frame");
    let missing: Vec<_> = all.filter(|name| !names.contains(name) && !alike.contains(name)).collect();
    assert!(missing.is_empty(), "no attack with {missing:?}");
}

fn pair() -> Pair {
    let mut settings = Settings::default();
    for end in [&mut settings.client, &mut settings.server] {
        end.features = FeatureSet::NONE.with(FEATURE);
    }
    let mut pair = Pair::connected(settings);
    pair.open(1);
    pair.run(Duration::from_millis(100));
    pair
}

/// Hands the victim a packet of its peer that is full of such frames, from the `index`-th on. Returns its size.
fn send(pair: &mut Pair, victim: Side, attack: Attack, index: &mut u64) -> u64 {
    let mut payload = vec![0; PAYLOAD + 200];
    let mut w = Writer::new(&mut payload);
    loop {
        let end = w.position();
        attack(*index, &mut w);
        if w.position() > PAYLOAD {
            w.rewind(end);
            break;
        }
        *index += 1;
    }
    let length = w.position();
    let (attacker, tuple) = match victim {
        Side::Server => (pair.client(), at_server(client_address(0))),
        Side::Client => (pair.server(), from(client_address(0))),
    };
    let packet = attacker.forge(PathId::ZERO, &payload[..length]);
    let (now, payload) = (pair.now, BytesMut::from(&packet[..]));
    let datagram = Datagram { tuple, ecn: None, received_at: now, payload };
    end(pair, victim).handle_datagram(now, datagram);
    packet.len() as u64
}

fn end(pair: &mut Pair, side: Side) -> &mut Connection {
    match side {
        Side::Server => pair.server(),
        Side::Client => pair.client(),
    }
}

fn closed(pair: &mut Pair, side: Side) -> Option<ConnectionError> {
    std::iter::from_fn(|| end(pair, side).poll_event()).find_map(|event| match event {
        Event::Closed(reason) => Some(reason),
        _ => None,
    })
}

/// What the victim spent on packets of its peer that are full of such frames, the bytes of them, how many it put off, and how it
/// ended.
fn attack(victim: Side, attack: Attack) -> (u64, u64, u64, Option<ConnectionError>) {
    let mut pair = pair();
    let before = end(&mut pair, victim).work_spent();
    let (mut index, mut bytes, mut reason) = (0, 0, None);
    for _ in 0..PACKETS {
        bytes += send(&mut pair, victim, attack, &mut index);
        reason = closed(&mut pair, victim);
        if reason.is_some() {
            break;
        }
    }
    let victim = end(&mut pair, victim);
    (victim.work_spent() - before, bytes, victim.stats().datagrams_put_off, reason)
}

/// However small the frames: a byte costs no more than it pays in, but for what is saved up; and what would is put off.
#[test]
fn no_kind_of_frame_costs_more_than_its_bytes_pay_in() {
    let of_clients = ATTACKS.iter().map(|(name, frames)| (name, Side::Server, frames));
    for (name, victim, frames) in of_clients.chain(OF_SERVERS.iter().map(|(name, f)| (name, Side::Client, f)))
    {
        let (spent, bytes, put_off, reason) = attack(victim, *frames);
        assert_eq!(reason, None, "{name}");
        let per_byte = spent as f64 / bytes as f64;
        println!("{name:45} {per_byte:6.1} units per byte, {put_off} of {PACKETS} put off");
        let allowed = MOST + bytes * PER_BYTE + PACKETS as u64 * PER_PACKET;
        assert!(spent <= allowed, "{name}: {spent} units for {bytes} bytes");
        // In the middle of a long list there is no room without moving half of it.
        let is_cheap = !name.contains("middle");
        assert!(
            !is_cheap || (put_off == 0 && per_byte < PER_BYTE as f64),
            "{name}: {per_byte:.1} units per byte"
        );
    }
}

/// Nor what is forbidden, until it is found out.
#[test]
fn frames_that_end_the_connection_cost_no_more_until_they_do() {
    for (name, victim, frames) in CLOSING {
        let (spent, bytes, _, reason) = attack(*victim, *frames);
        println!(
            "{name:55} {spent:8} units for {bytes} bytes, {}",
            reason.as_ref().map_or(String::new(), |reason| reason.to_string())
        );
        assert!(reason.is_some(), "{name} goes on");
        assert!(spent <= bytes * PER_BYTE + PER_PACKET, "{name}: {spent} units for {bytes} bytes");
    }
}

/// A connection that overdraws again as soon as time has paid its debt does not mean well.
#[test]
fn who_goes_on_overdrawing_is_closed() {
    let (mut pair, mut index) = (pair(), 0);
    let (_, attack) = ATTACKS.last().expect("the most expensive one");
    let mut reason = None;
    for _ in 0..1_000 {
        send(&mut pair, Side::Server, *attack, &mut index);
        pair.now += Duration::from_millis(50);
        reason = closed(&mut pair, Side::Server);
        if reason.is_some() {
            break;
        }
    }
    let is_internal =
        matches!(&reason, Some(ConnectionError::Transport(error)) if error.code == Code::INTERNAL_ERROR);
    assert!(is_internal, "{reason:?}");
}
