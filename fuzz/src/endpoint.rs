//! A server endpoint with its connections, fed with datagrams by strangers.
//!
//! The input is a script of datagrams: a control byte, a length (16 bits) and so many bytes each. The control byte
//! chooses the sender, how much time passes, and what the bytes are: a datagram as it is or padded, or the frames of an
//! Initial packet that is then sealed as a client would, so that a fuzzer without keys gets behind them: one of version 1
//! where the length is even, else of version 2.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hawser_cc::NewReno;
use hawser_core::crypto::null::{NullClient, NullServer};
use hawser_core::crypto::{ClientFactory, ServerId};
use hawser_core::{
    Connection, ConnectionHandle, Datagram, Endpoint, EndpointConfig, FourTuple, Incoming, Routed,
    ServerConfig, TransportConfig,
};
use hawser_policy::{ControllerInit, SchedulerInit, Side, Time};
use hawser_sched::MinRtt;
use hawser_wire::frame::Crypto;
use hawser_wire::packet::{LongHeader, LongPacketType};
use hawser_wire::transport_parameters::VersionInformation;
use hawser_wire::{ConnectionId, Frame, Reader, TransportParameters, TruncatedPacketNumber, Version, Writer};

/// The server that clients ask for.
const SERVER: ServerId<'_> = ServerId { name: "fuzz", port: 443 };

const MAX_CONNECTIONS: usize = 6;
const MAX_STEPS: usize = 64;

/// Milliseconds that pass before a datagram, by the high bits of its control byte.
const PAUSES: [u64; 8] = [0, 0, 1, 10, 100, 1_000, 5_000, 40_000];

/// The script in `data`, and then silence until all connections must be gone.
pub fn endpoint(data: &[u8]) {
    let mut world = World::new();
    let mut script = Reader::new(data);
    for number in 0..MAX_STEPS as u64 {
        let (Ok(control), Ok(length)) = (script.read_u8(), script.read_u16()) else { break };
        let Ok(bytes) = script.read_bytes(usize::from(length).min(script.remaining())) else { break };
        world.pass(PAUSES[usize::from(control >> 5)]);
        let version = Version::ALL[usize::from(length % 2)];
        let payload = match control & 0b11 {
            0 => bytes.to_vec(),
            1 => padded(bytes),
            2 => initial(version, destination(control), number, bytes),
            _ => initial(version, destination(control), number, &[&hello(version), bytes].concat()),
        };
        let remote = if control & 0b100 == 0 { "192.0.2.1:4000" } else { "[2001:db8::1]:4000" };
        world.receive(remote, &payload);
    }
    for _ in 0..100 {
        world.pass(10_000);
    }
    assert_eq!(world.endpoint.connections(), 0, "a connection outlives its idle timeout");
}

struct World {
    now: Time,
    endpoint: Endpoint,
    connections: BTreeMap<ConnectionHandle, Connection>,
    /// Bytes received from and sent to each address.
    traffic: BTreeMap<FourTuple, (usize, usize)>,
    buffer: Vec<u8>,
}

impl World {
    fn new() -> Self {
        let transport = TransportConfig::new(
            Arc::new(|_: &SchedulerInit| Box::new(MinRtt) as Box<_>),
            Arc::new(|init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>),
        );
        let mut server = ServerConfig::new(Arc::new(NullServer::default()), Arc::new(transport), [1; 32]);
        server.retry_above_handshakes = MAX_CONNECTIONS - 2;
        server.max_connections = MAX_CONNECTIONS;
        World {
            now: Time::ZERO,
            endpoint: Endpoint::new(Arc::new(EndpointConfig::new([2; 32])), Some(Arc::new(server)), [3; 32]),
            connections: BTreeMap::new(),
            traffic: BTreeMap::new(),
            buffer: Vec::new(),
        }
    }

    fn receive(&mut self, remote: &str, payload: &[u8]) {
        let tuple = FourTuple {
            local: "198.51.100.1:443".parse().expect("an address"),
            remote: remote.parse().expect("an address"),
        };
        self.traffic.entry(tuple).or_default().0 += payload.len();
        let datagram = Datagram { tuple, ecn: None, received_at: self.now, payload: payload.into() };
        let mut answers = Vec::new();
        let routed = self.endpoint.handle_datagram(self.now, datagram, &mut answers);
        assert!(answers.len() + usize::from(routed.is_some()) <= 1, "one datagram has one outcome");
        for answer in &answers {
            assert!(answer.bytes.len() < payload.len(), "an answer is shorter than the question");
            self.traffic.entry(tuple).or_default().1 += answer.bytes.len();
        }
        match routed {
            Some(Routed::Connection(handle, datagram)) => {
                let connection =
                    self.connections.get_mut(&handle).expect("routed to a connection that exists");
                connection.handle_datagram(self.now, datagram);
                self.drive(handle);
            }
            Some(Routed::Incoming(incoming)) => self.decide(incoming, payload),
            None => {}
        }
        assert!(self.endpoint.connections() <= MAX_CONNECTIONS);
        self.check_amplification();
    }

    fn decide(&mut self, incoming: Incoming, payload: &[u8]) {
        let sum: usize = payload.iter().map(|byte| usize::from(*byte)).sum();
        match sum % 11 {
            0 => drop(self.endpoint.refuse(incoming).expect("a refusal can be written")),
            1 => drop(self.endpoint.retry(self.now, incoming).expect("no client here has answered a Retry")),
            2 => self.endpoint.ignore(incoming),
            // The application forgot it.
            3 => drop(incoming),
            _ => {
                let (handle, connection) =
                    self.endpoint.accept(self.now, incoming, None).expect("nothing stands in the way");
                self.connections.insert(handle, connection);
                self.drive(handle);
            }
        }
    }

    /// Lets time pass, with all timers on the way.
    fn pass(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        for _ in 0..10_000 {
            let next =
                self.connections.iter().filter_map(|(handle, c)| Some((c.poll_timeout()?, *handle))).min();
            let Some((due, handle)) = next.filter(|(due, _)| *due <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(due);
            self.connections.get_mut(&handle).expect("just seen").handle_timeout(self.now);
            self.drive(handle);
        }
        panic!("timers do not come to an end");
    }

    /// Takes all that a connection has to say.
    fn drive(&mut self, handle: ConnectionHandle) {
        let connection = self.connections.get_mut(&handle).expect("driven connections exist");
        let mut datagrams = 0;
        while let Some(transmit) = connection.poll_transmit(self.now, &mut self.buffer) {
            assert!(transmit.size <= self.buffer.len() && transmit.size > 0);
            self.traffic.entry(transmit.tuple).or_default().1 += transmit.size;
            datagrams += 1;
            assert!(datagrams < 1_000, "a connection that never stops sending");
        }
        while connection.poll_event().is_some() {}
        while let Some(event) = connection.poll_endpoint_event() {
            self.endpoint.handle_event(handle, event);
        }
        if connection.is_drained() {
            self.connections.remove(&handle);
        }
    }

    /// RFC 9000 section 8.1: nobody here ever proves an address.
    fn check_amplification(&self) {
        for (tuple, (received, sent)) in &self.traffic {
            assert!(*sent <= 3 * received, "{tuple:?}: {sent} bytes sent for {received}");
        }
    }
}

fn destination(control: u8) -> ConnectionId {
    ConnectionId::new(&[1 + (control >> 3 & 0b11); 8]).unwrap_or_default()
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut payload = bytes.to_vec();
    payload.resize(payload.len().max(1200), 0);
    payload
}

/// A CRYPTO frame with a ClientHello.
fn hello(version: Version) -> Vec<u8> {
    let parameters = TransportParameters {
        initial_source_connection_id: ConnectionId::new(&[9; 8]),
        initial_max_data: 1 << 20,
        initial_max_path_id: Some(3),
        // The server is free to turn to the other one.
        version_information: Some(VersionInformation {
            chosen: version.number(),
            available: [Version::V2, Version::V1].map(Version::number).to_vec(),
        }),
        ..TransportParameters::default()
    };
    let mut session =
        NullClient::default().start(version, SERVER, parameters.to_vec(None)).expect("a valid name");
    let mut data = Vec::new();
    let _ = session.write_handshake(&mut data);
    let mut frame = vec![0; data.len() + 20];
    let mut writer = Writer::new(&mut frame);
    Frame::Crypto(Crypto { offset: 0, data: &data }).encode(&mut writer).expect("room for the header");
    let length = writer.position();
    frame.truncate(length);
    frame
}

/// An Initial packet of these frames, padded to 1200 bytes.
fn initial(version: Version, destination_cid: ConnectionId, number: u64, frames: &[u8]) -> Vec<u8> {
    let source_cid = ConnectionId::new(&[9; 8]).unwrap_or_default();
    let keys = NullClient::default().initial_keys(version, &destination_cid, Side::Client);
    let tag = keys.packet.local.tag_length();
    let frames = frames.get(..8_000).unwrap_or(frames);
    let mut packet = vec![0; (frames.len() + 100).max(1200)];
    let header = LongHeader {
        version,
        packet_type: LongPacketType::Initial { token: &[] },
        destination_cid,
        source_cid,
    };
    let mut writer = Writer::new(&mut packet);
    let encoded =
        header.encode(&mut writer, TruncatedPacketNumber::new(number, None)).expect("room for the header");
    writer.write_bytes(frames).expect("room for the frames");
    let padding = writer.remaining() - tag;
    writer.write_zeros(padding).expect("it was asked how much remains");
    encoded.finish(&mut writer, tag).expect("below 16,383 bytes");
    writer.take(tag).expect("left for it");
    keys.packet.local.seal(0, number, &mut packet, encoded.payload_offset);
    keys.header_local.protect(encoded.packet_number_offset, &mut packet);
    packet
}
