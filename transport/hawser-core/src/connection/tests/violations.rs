//! Each violation closes the connection with its code, and the violator hears it in as many words.

use std::time::Duration;

use hawser_policy::{FeatureId, FeatureSet, PathId, Side, Time};
use hawser_wire::frame::{
    AckFrequency, ConnectionClose, Crypto, MessageDelivery, NewConnectionId, ObservedAddress, PolicyMessage,
    ResetStream, RetireConnectionId, Stream, StreamDirection,
};
use hawser_wire::{ConnectionId, Frame, StatelessResetToken, codepoints};

use super::forge::{Oddities, acknowledgement, encode};
use super::pair::{Pair, Settings, at_server, client_address, from, transport};
use crate::crypto::Level;
use crate::{Code, ConnectionError, Event, TransportConfig};

pub(super) const SOON: Duration = Duration::from_millis(100);

/// Limits small enough to be passed with one packet.
fn strict() -> Settings {
    let limits = TransportConfig {
        max_bidirectional_streams: 4,
        initial_stream_window: 10_000,
        initial_connection_window: 15_000,
        datagram_receive_buffer: Some(50),
        max_concurrent_paths: 4,
        ..transport()
    };
    Settings { client: limits.clone(), server: limits, ..Settings::default() }
}

fn without_multipath() -> Settings {
    let mut settings = strict();
    settings.client.max_path_id = None;
    settings.client.datagram_receive_buffer = None;
    settings
}

/// `by` sends this payload on `path`; how the other end closes.
#[track_caller]
fn answer(settings: Settings, by: Side, payload: &[u8]) -> (Code, Option<u64>) {
    let mut pair = Pair::connected(settings);
    pair.inject(by, PathId::ZERO, payload);
    pair.run(SOON);
    let verdict = verdict(&mut pair, by);
    assert_ne!(verdict.0, Code::INTERNAL_ERROR);
    verdict
}

/// What the victim says, which must be what the violator hears.
#[track_caller]
pub(super) fn verdict(pair: &mut Pair, violator: Side) -> (Code, Option<u64>) {
    let victim = if violator.is_client() { Side::Server } else { Side::Client };
    let said = match pair.end(victim).closed() {
        Some(ConnectionError::Transport(error)) => error.clone(),
        other => panic!("{other:?}"),
    };
    assert!(!said.reason.is_empty(), "a reason for people");
    match pair.end(violator).closed() {
        Some(ConnectionError::PeerTransport(heard)) => assert_eq!(*heard, said),
        other => panic!("the violator heard {other:?}"),
    }
    assert!(matches!(pair.end(violator).events.last(), Some(Event::Closed(_))), "the last event");
    (said.code, said.frame)
}

fn stream(stream_id: u64, offset: u64, data: &[u8]) -> Frame<'_> {
    Frame::Stream(Stream { stream_id, offset, fin: false, data })
}

fn new_cid(path_id: Option<u32>, number: u64) -> Frame<'static> {
    let mut id = [0xee; 8];
    id[0] = number as u8;
    Frame::NewConnectionId(NewConnectionId {
        path_id,
        sequence_number: number,
        retire_prior_to: 0,
        connection_id: ConnectionId::new(&id).unwrap(),
        reset_token: StatelessResetToken([number as u8; 16]),
    })
}

fn message(feature: u64, path_id: Option<u32>) -> PolicyMessage<'static> {
    let delivery = MessageDelivery::Latest;
    PolicyMessage { feature, delivery, path_id, sequence_number: 0, payload: b"x" }
}

//= multipath-4-3, multipath-4.6-3, multipath-4.7-1, multipath-4.7-2, rfc9000-4.1-2, rfc9000-4.6-3,
//= rfc9000-5.1.1-5, rfc9000-5.2-1, rfc9000-7.5-2, rfc9000-10.3-1, rfc9000-11-1, rfc9000-11-2, rfc9000-11.1-1,
//= rfc9000-12.4-4, rfc9000-12.4-5, rfc9000-19.16-1, rfc9221-3-4
#[test]
fn frames_that_nobody_may_send() {
    use codepoints::frame;
    let violation = Code::PROTOCOL_VIOLATION;
    let crypto = Crypto { offset: 1 << 20, data: &[1] };
    let frequency = AckFrequency {
        sequence_number: 0,
        ack_eliciting_threshold: 1,
        requested_max_ack_delay: 999,
        reordering_threshold: 1,
    };
    let observed = ObservedAddress { sequence_number: 0, address: client_address(0) };
    let cases: Vec<(&str, Vec<u8>, Code, u64)> = vec![
        ("type in more bytes than needed", vec![0x40, 0x3a], violation, 0x3a),
        ("unknown type", vec![0x3a, 0, 0, 0], Code::FRAME_ENCODING_ERROR, 0x3a),
        ("cut off", vec![0x06, 0x41], Code::FRAME_ENCODING_ERROR, frame::CRYPTO),
        (
            "too many streams",
            vec![0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            Code::FRAME_ENCODING_ERROR,
            frame::MAX_STREAMS_BIDI,
        ),
        ("crypto far ahead", encode(&[Frame::Crypto(crypto)]), Code::CRYPTO_BUFFER_EXCEEDED, frame::CRYPTO),
        ("stream window", encode(&[stream(1, 9_999, &[0; 2])]), Code::FLOW_CONTROL_ERROR, frame::STREAM),
        (
            "connection window",
            encode(&[stream(1, 9_000, &[0; 999]), stream(5, 9_000, &[0; 999])]),
            Code::FLOW_CONTROL_ERROR,
            frame::STREAM,
        ),
        ("stream limit", encode(&[stream(4 * 4 + 1, 0, &[0; 1])]), Code::STREAM_LIMIT_ERROR, frame::STREAM),
        ("stream of ours", encode(&[stream(0, 0, &[0; 1])]), Code::STREAM_STATE_ERROR, frame::STREAM),
        (
            "final size",
            encode(&[
                stream(1, 0, &[0; 9]),
                Frame::ResetStream(ResetStream { stream_id: 1, error_code: 0, final_size: 8 }),
            ]),
            Code::FINAL_SIZE_ERROR,
            frame::RESET_STREAM,
        ),
        (
            "credit for a stream of theirs",
            encode(&[Frame::MaxStreamData { stream_id: 3, maximum: 9 }]),
            Code::STREAM_STATE_ERROR,
            frame::MAX_STREAM_DATA,
        ),
        (
            "datagram too long",
            encode(&[Frame::Datagram(hawser_wire::frame::Datagram { data: &[0; 51] })]),
            violation,
            frame::DATAGRAM,
        ),
        (
            "id never issued",
            encode(&[Frame::RetireConnectionId(RetireConnectionId {
                path_id: Some(0),
                sequence_number: 99,
            })]),
            violation,
            frame::PATH_RETIRE_CONNECTION_ID,
        ),
        (
            "too many ids",
            encode(&[new_cid(Some(0), 4), new_cid(Some(0), 5)]),
            Code::CONNECTION_ID_LIMIT_ERROR,
            frame::PATH_NEW_CONNECTION_ID,
        ),
        (
            "one id, two numbers",
            encode(&[new_cid(Some(1), 2), new_cid(Some(1), 258)]),
            violation,
            frame::PATH_NEW_CONNECTION_ID,
        ),
        ("packet not sent", acknowledgement(None, 0..=1_000), violation, frame::ACK),
        ("packet of a path not used", acknowledgement(Some(2), 0..=0), violation, frame::PATH_ACK),
        ("path above the limit acknowledged", acknowledgement(Some(4), 0..=0), violation, frame::PATH_ACK),
        (
            "path above the limit given up",
            encode(&[Frame::PathAbandon { path_id: 4, error_code: 0 }]),
            violation,
            frame::PATH_ABANDON,
        ),
        (
            "path above the limit gets an id",
            encode(&[new_cid(Some(4), 0)]),
            violation,
            frame::PATH_NEW_CONNECTION_ID,
        ),
        ("path above the limit blocked", encode(&[Frame::PathsBlocked(4)]), violation, frame::PATHS_BLOCKED),
        ("limit of paths lowered", encode(&[Frame::MaxPathId(1)]), violation, frame::MAX_PATH_ID),
        (
            "ids that were not issued",
            encode(&[Frame::PathCidsBlocked { path_id: 1, next_sequence_number: 9 }]),
            violation,
            frame::PATH_CIDS_BLOCKED,
        ),
        (
            "acknowledgements sooner than possible",
            encode(&[Frame::AckFrequency(frequency)]),
            violation,
            frame::ACK_FREQUENCY,
        ),
        (
            "observed address",
            encode(&[Frame::ObservedAddress(observed)]),
            violation,
            frame::OBSERVED_ADDRESS_IPV4,
        ),
        (
            "message of a feature that was not listed",
            encode(&[Frame::PolicyMessage(message(1, None))]),
            violation,
            frame::POLICY_MESSAGE,
        ),
    ];
    for (name, payload, code, frame) in cases {
        let (said, caused_by) = answer(strict(), Side::Server, &payload);
        assert_eq!(said, code, "{name}");
        // STREAM and DATAGRAM frames have flags in their type.
        let caused_by = caused_by.unwrap_or(0);
        let family = match caused_by {
            0x08..=0x0f => frame::STREAM,
            0x31 => frame::DATAGRAM,
            other => other,
        };
        assert_eq!(family, frame, "{name}");
    }
}

/// What of messages is a fault, and what is ignored.
#[test]
fn messages_between_policies() {
    let listed = || {
        let listed = TransportConfig { features: FeatureSet::NONE.with(FeatureId(9)), ..strict().client };
        Settings { client: listed.clone(), server: listed, ..Settings::default() }
    };
    let long = [0; hawser_policy::MAX_MESSAGE_PAYLOAD + 1];
    let ahead =
        PolicyMessage { sequence_number: 32, delivery: MessageDelivery::Reliable, ..message(9, None) };
    for (name, message, code) in [
        ("not listed", message(8, None), Code::PROTOCOL_VIOLATION),
        ("path above the limit", message(9, Some(4)), Code::PROTOCOL_VIOLATION),
        ("too far ahead", ahead, Code::PROTOCOL_VIOLATION),
        ("too long", PolicyMessage { payload: &long, ..message(9, None) }, Code::FRAME_ENCODING_ERROR),
    ] {
        let said = answer(listed(), Side::Server, &encode(&[Frame::PolicyMessage(message)]));
        assert_eq!(said, (code, Some(codepoints::frame::POLICY_MESSAGE)), "{name}");
    }
    let mut pair = Pair::connected(listed());
    let second = pair.open(1);
    let now = pair.now;
    pair.client().abandon_path(now, second, Code::NO_ERROR).unwrap();
    pair.run(Duration::from_secs(5));
    for about in [message(9, Some(second.0)), message(9, Some(0)), message(9, Some(2))] {
        pair.inject(Side::Client, PathId::ZERO, &encode(&[Frame::PolicyMessage(about)]));
    }
    pair.run(SOON);
    assert_eq!(pair.server.closed(), None);
    let about = |event: &Event| if let Event::Policy(message) = event { message.path } else { None };
    let heard: Vec<_> = pair.server.events.iter().filter_map(about).collect();
    assert_eq!(heard, [PathId::ZERO, PathId(2)], "not about a path that is gone; one may open yet");
}

//= rfc9000-19.7-4, rfc9000-19.20-2
#[test]
fn frames_that_a_client_may_not_send() {
    for payload in [encode(&[Frame::HandshakeDone]), encode(&[Frame::NewToken(&[1, 2, 3])])] {
        assert_eq!(answer(strict(), Side::Client, &payload).0, Code::PROTOCOL_VIOLATION);
    }
}

//= multipath-2-1, rfc9000-19.21-1, rfc9221-3-3
#[test]
fn frames_that_were_not_negotiated() {
    let frames = [
        acknowledgement(Some(0), 0..=0),
        encode(&[Frame::PathAbandon { path_id: 0, error_code: 0 }]),
        encode(&[Frame::MaxPathId(9)]),
        encode(&[new_cid(Some(0), 2)]),
        encode(&[Frame::RetireConnectionId(RetireConnectionId { path_id: Some(0), sequence_number: 0 })]),
        encode(&[Frame::PathsBlocked(0)]),
        encode(&[Frame::PathCidsBlocked { path_id: 0, next_sequence_number: 0 }]),
        encode(&[Frame::Datagram(hawser_wire::frame::Datagram { data: &[0; 9] })]),
    ];
    for payload in frames {
        assert_eq!(
            answer(without_multipath(), Side::Server, &payload).0,
            Code::PROTOCOL_VIOLATION,
            "{payload:?}"
        );
    }
}

//= multipath-4-2, rfc9000-12.4-3, rfc9000-17.2.4-1
#[test]
fn frames_that_belong_elsewhere() {
    let mut pair = Pair::new(strict());
    // The server has sent its first flight, and the client is about to get it.
    pair.run(Duration::from_millis(15));
    let packet = pair.server().forge_long(Level::Initial, None, &encode(&[stream(1, 0, &[0; 1])]), 1_200);
    pair.receive(Side::Client, from(client_address(0)), &packet);
    let said = match pair.client.closed() {
        Some(ConnectionError::Transport(error)) => error.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(said.code, Code::PROTOCOL_VIOLATION);
    // RFC 9000 section 17.2.4.
    let challenge = encode(&[Frame::PathChallenge([1; 8])]);
    let said = answer_to_handshake_packet(&challenge, &Oddities::default());
    assert_eq!(said, (Code::PROTOCOL_VIOLATION, Some(codepoints::frame::PATH_CHALLENGE)));
}

/// The client, which has the server's flight, sends this in a Handshake packet; how the server closes.
#[track_caller]
fn answer_to_handshake_packet(payload: &[u8], oddities: &Oddities) -> (Code, Option<u64>) {
    let mut pair = Pair::new(strict());
    // Its own Finished is lost.
    pair.lose = |sent| sent.by.is_client() && sent.at > Time::ZERO;
    pair.run(Duration::from_millis(25));
    let packet = pair.client().forge_long_with(Level::Handshake, None, payload, 100, oddities);
    pair.receive(Side::Server, at_server(client_address(0)), &packet);
    pair.run(SOON);
    verdict(&mut pair, Side::Client)
}

/// RFC 9000 sections 17.2 and 17.3.1.
//= rfc9000-17.2-9, rfc9000-17.3.1-3
#[test]
fn reserved_header_bits_close_the_connection() {
    let ping = encode(&[Frame::Ping]);
    for bits in [0x08, 0x10] {
        let mut pair = Pair::connected(strict());
        let packet = pair.client().forge_with_bits(PathId::ZERO, &ping, bits);
        pair.send(Side::Client, from(client_address(0)), packet);
        pair.run(SOON);
        assert_eq!(verdict(&mut pair, Side::Client).0, Code::PROTOCOL_VIOLATION, "short header, {bits:#x}");
    }
    for bits in [0x04, 0x08] {
        let mut pair = Pair::new(strict());
        pair.run(Duration::from_millis(15));
        let oddities = Oddities { bits, ..Oddities::default() };
        let packet = pair.server().forge_long_with(Level::Initial, None, &ping, 1_200, &oddities);
        pair.receive(Side::Client, from(client_address(0)), &packet);
        let Some(ConnectionError::Transport(said)) = pair.client.closed() else { panic!("{bits:#x}") };
        assert_eq!(said.code, Code::PROTOCOL_VIOLATION, "Initial, {bits:#x}");
        let (code, _) = answer_to_handshake_packet(&ping, &oddities);
        assert_eq!(code, Code::PROTOCOL_VIOLATION, "Handshake, {bits:#x}");
    }
}

/// RFC 9000 section 21.4.
//= multipath-2.3-2, rfc9000-13.1-2
#[test]
fn whoever_acknowledges_what_was_never_sent_is_found_out() {
    let mut pair = Pair::connected(Settings::default());
    pair.write(Side::Server, 150_000);
    pair.run(Duration::from_millis(400));
    let end = pair.server().paths.get(PathId::ZERO).unwrap().space.end();
    assert!(end > 100, "enough packets for a gap among them: {end}");
    pair.inject(Side::Client, PathId::ZERO, &acknowledgement(None, 0..=end - 1));
    pair.run(SOON);
    assert_eq!(verdict(&mut pair, Side::Client).0, Code::PROTOCOL_VIOLATION);
}

/// RFC 9001 section 4.1.3.
//= rfc9001-4.1.3-3
#[test]
fn handshake_data_left_over_at_a_change_of_keys() {
    let mut pair = Pair::new(Settings::default());
    let ahead = encode(&[Frame::Crypto(Crypto { offset: 5_000, data: &[1; 9] })]);
    let packet = pair.client().forge_long(Level::Initial, None, &ahead, 1_200);
    pair.send(Side::Client, from(client_address(0)), packet);
    pair.run(SOON);
    assert_eq!(verdict(&mut pair, Side::Client).0, Code::PROTOCOL_VIOLATION);
}

/// draft-ietf-quic-multipath-21 section 3.4: a path id can be given up before it was used.
//= multipath-3.4-7
#[test]
fn a_path_that_was_never_opened_can_be_given_up() {
    let mut pair = Pair::connected(strict());
    pair.inject(Side::Server, PathId::ZERO, &encode(&[Frame::PathAbandon { path_id: 1, error_code: 0 }]));
    pair.run(Duration::from_secs(2));
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
    let tuple = from(client_address(1));
    let now = pair.now;
    let opened = pair.client().open_path(now, tuple, hawser_policy::PathStatus::Available, None);
    assert_eq!(opened, Ok(PathId(2)), "an id that was given up is never used");
}

#[test]
fn a_close_of_the_application_is_no_error_of_the_transport() {
    let mut pair = Pair::connected(strict());
    let close = ConnectionClose::Application { error_code: 77, reason: b"enough" };
    pair.inject(Side::Client, PathId::ZERO, &encode(&[Frame::ConnectionClose(close)]));
    pair.run(SOON);
    let expected = ConnectionError::PeerApplication { code: 77, reason: b"enough".as_slice().into() };
    assert_eq!(pair.server.closed(), Some(&expected));
}

#[test]
fn stream_directions_are_checked() {
    let blocked = Frame::StreamsBlocked { direction: StreamDirection::Bidirectional, limit: 1 << 60 };
    let mut pair = Pair::connected(strict());
    pair.inject(Side::Client, PathId::ZERO, &encode(&[blocked, Frame::DataBlocked(5)]));
    pair.run(SOON);
    assert_eq!(pair.server.closed(), None, "what is merely told is no violation");
}
