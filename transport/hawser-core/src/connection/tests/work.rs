//! What packets full of one kind of frame cost, in units of work: the smallest form of each.

use std::time::Duration;

use bytes::BytesMut;
use hawser_policy::{FeatureId, FeatureSet, PathId};
use hawser_wire::frame::{
    AckFrequency, AckHeader, Crypto, Datagram as DatagramFrame, MessageDelivery, PolicyMessage, ResetStream,
    RetireConnectionId, StopSending, Stream, StreamDirection, StreamSkip, write_ack,
};
use hawser_wire::{Frame, Writer};

use super::pair::{Pair, Settings, at_server, client_address};
use crate::connection::work::{MOST, PER_BYTE, PER_PACKET};
use crate::{Code, ConnectionError, Datagram, Event};

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

/// Hands the server a packet of the client that is full of such frames, from the `index`-th on. Returns its size.
fn send(pair: &mut Pair, attack: Attack, index: &mut u64) -> u64 {
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
    let packet = pair.client().forge(PathId::ZERO, &payload[..length]);
    let (now, payload) = (pair.now, BytesMut::from(&packet[..]));
    let datagram = Datagram { tuple: at_server(client_address(0)), ecn: None, received_at: now, payload };
    pair.server().handle_datagram(now, datagram);
    packet.len() as u64
}

fn closed(pair: &mut Pair) -> Option<ConnectionError> {
    std::iter::from_fn(|| pair.server().poll_event()).find_map(|event| match event {
        Event::Closed(reason) => Some(reason),
        _ => None,
    })
}

/// What a server spent on packets of a client that are full of such frames, the bytes of them, and how many it put off.
fn attack(name: &str, attack: Attack) -> (u64, u64, u64) {
    let mut pair = pair();
    let before = pair.server().work_spent();
    let mut index = 0;
    let bytes = (0..PACKETS).map(|_| send(&mut pair, attack, &mut index)).sum();
    assert_eq!(closed(&mut pair), None, "{name}");
    (pair.server().work_spent() - before, bytes, pair.server().stats().datagrams_put_off)
}

/// However small the frames: a byte costs no more than it pays in, but for what is saved up; and what would is put off.
#[test]
fn no_kind_of_frame_costs_more_than_its_bytes_pay_in() {
    for (name, frames) in ATTACKS {
        let (spent, bytes, put_off) = attack(name, *frames);
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

/// A connection that overdraws again as soon as time has paid its debt does not mean well.
#[test]
fn who_goes_on_overdrawing_is_closed() {
    let (mut pair, mut index) = (pair(), 0);
    let (_, attack) = ATTACKS.last().expect("the most expensive one");
    let mut reason = None;
    for _ in 0..1_000 {
        send(&mut pair, *attack, &mut index);
        pair.now += Duration::from_millis(50);
        reason = closed(&mut pair);
        if reason.is_some() {
            break;
        }
    }
    let is_internal =
        matches!(&reason, Some(ConnectionError::Transport(error)) if error.code == Code::INTERNAL_ERROR);
    assert!(is_internal, "{reason:?}");
}
