//! The endpoint as strangers see it. Packets are made by hand, with the null session's keys.

mod accepting;
mod hostile;
mod proof;
mod resets;

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use hawser_cc::NewReno;
use hawser_policy::{ControllerInit, SchedulerInit, Side, Time};
use hawser_sched::MinRtt;
use hawser_wire::frame::{ConnectionClose, FrameIter};
use hawser_wire::packet::{LongHeader, LongPacketType, PacketType};
use hawser_wire::{ConnectionId, Frame, PartialHeader, PlainHeader, TruncatedPacketNumber, Version, Writer};

use super::{Datagram, Endpoint, Incoming, Routed, StatelessDatagram};
use crate::crypto::ClientFactory;
use crate::crypto::null::{NullClient, NullServer};
use crate::crypto::tests::server_id;
use crate::{Code, EndpointConfig, FourTuple, ServerConfig, TransportConfig};

pub(super) fn transport() -> TransportConfig {
    TransportConfig::new(
        Arc::new(|_: &SchedulerInit| Box::new(MinRtt) as Box<_>),
        Arc::new(|init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>),
    )
}

const NOW: Time = Time::from_secs(1);

fn cid(byte: u8) -> ConnectionId {
    ConnectionId::new(&[byte; 8]).unwrap()
}

fn tuple(client: &str) -> FourTuple {
    FourTuple { local: "198.51.100.1:443".parse().unwrap(), remote: client.parse().unwrap() }
}

fn client() -> FourTuple {
    tuple("192.0.2.1:4000")
}

pub(super) fn server_with(change: impl FnOnce(&mut ServerConfig)) -> Endpoint {
    let mut config = ServerConfig::new(Arc::new(NullServer::default()), Arc::new(transport()), [3; 32]);
    change(&mut config);
    Endpoint::new(Arc::new(EndpointConfig::new([4; 32])), Some(Arc::new(config)), [5; 32])
}

fn server() -> Endpoint {
    server_with(|_| {})
}

/// A client's first Initial packet with a ClientHello, in a datagram of `length` bytes.
fn initial(destination: ConnectionId, source: ConnectionId, token: &[u8], length: usize) -> Vec<u8> {
    let crypto = NullClient::default();
    let keys = crypto.initial_keys(Version::V1, &destination, Side::Client);
    let mut hello = Vec::new();
    let _ =
        crypto.start(Version::V1, server_id("server.test"), Vec::new()).unwrap().write_handshake(&mut hello);

    let mut bytes = vec![0; length];
    let mut writer = Writer::new(&mut bytes);
    let header = LongHeader {
        version: Version::V1,
        packet_type: LongPacketType::Initial { token },
        destination_cid: destination,
        source_cid: source,
    };
    let encoded = header.encode(&mut writer, TruncatedPacketNumber::new(0, None)).unwrap();
    Frame::Crypto(hawser_wire::frame::Crypto { offset: 0, data: &hello }).encode(&mut writer).unwrap();
    writer.write_zeros(length.saturating_sub(16 + writer.position())).unwrap();
    encoded.finish(&mut writer, 16).unwrap();
    keys.packet.local.seal(0, 0, &mut bytes, encoded.payload_offset);
    bytes
}

fn first_initial() -> Vec<u8> {
    initial(cid(1), cid(2), &[], 1200)
}

fn datagram(tuple: FourTuple, payload: &[u8]) -> Datagram {
    Datagram { tuple, ecn: None, received_at: NOW, payload: BytesMut::from(payload) }
}

/// What the endpoint makes of one datagram.
#[derive(Debug)]
enum Outcome {
    Nothing,
    Routed(Routed),
    Answer(StatelessDatagram),
}

impl Outcome {
    #[track_caller]
    fn incoming(self) -> Incoming {
        match self {
            Outcome::Routed(Routed::Incoming(incoming)) => incoming,
            other => panic!("not an incoming connection: {other:?}"),
        }
    }

    #[track_caller]
    fn answer(self) -> Vec<u8> {
        match self {
            Outcome::Answer(answer) => answer.bytes,
            other => panic!("not an answer: {other:?}"),
        }
    }

    fn is_nothing(&self) -> bool {
        matches!(self, Outcome::Nothing)
    }
}

fn feed_at(endpoint: &mut Endpoint, now: Time, tuple: FourTuple, payload: &[u8]) -> Outcome {
    let mut answers = Vec::new();
    let routed = endpoint.handle_datagram(now, datagram(tuple, payload), &mut answers);
    assert!(answers.len() + usize::from(routed.is_some()) <= 1, "one datagram has one outcome");
    match (routed, answers.pop()) {
        (Some(routed), _) => Outcome::Routed(routed),
        (None, Some(answer)) => {
            assert_eq!(answer.transmit.tuple, tuple, "answers go back where the question came from");
            assert_eq!(answer.transmit.size, answer.bytes.len());
            Outcome::Answer(answer)
        }
        (None, None) => Outcome::Nothing,
    }
}

fn feed(endpoint: &mut Endpoint, tuple: FourTuple, payload: &[u8]) -> Outcome {
    feed_at(endpoint, NOW, tuple, payload)
}

/// The code of the CONNECTION_CLOSE in an Initial packet, as the client reads it that sent to `destination` from `source`.
fn close_code(packet: &[u8], destination: ConnectionId, source: ConnectionId) -> Code {
    let keys = NullClient::default().initial_keys(Version::V1, &destination, Side::Client);
    let Ok(PartialHeader::Protected(header)) = PartialHeader::decode(packet, source.len()) else {
        panic!("not an Initial packet")
    };
    assert_eq!((header.packet_type, header.destination_cid), (PacketType::Initial, source));
    let mut packet = packet.to_vec();
    let plain = PlainHeader::decode(&packet, &header).unwrap();
    let (head, payload) = packet.split_at_mut(plain.payload_offset);
    let length = keys.packet.remote.open(0, 0, head, payload).expect("opens with the client's keys");
    let mut code = None;
    for frame in FrameIter::new(&payload[..length]) {
        match frame.unwrap() {
            Frame::ConnectionClose(ConnectionClose::Transport { error_code, .. }) => {
                code = Some(Code(error_code))
            }
            Frame::Padding(_) => {}
            other => panic!("{other:?}"),
        }
    }
    code.expect("a CONNECTION_CLOSE frame")
}

fn remote(text: &str) -> SocketAddr {
    text.parse().unwrap()
}
