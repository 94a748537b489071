//! quinn: QUIC v1 and nothing more.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hawser_core::Ecn;
use hawser_policy::Time;
use hawser_sim::testing::{SERVER, client_address};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    Event, ReadError, ReadableError, ServerConfig, StreamEvent, StreamId, Transmit, VarInt, WriteError,
};

use crate::tls::{Identity, SERVER_NAME};
use crate::{Arrival, ByteStream, Exchange, Foreign, Outgoing, Piece, Stack};

/// Datagrams per call: batches as a driver with GSO would take them.
pub(crate) const BATCH: usize = 8;

/// A quinn endpoint with one connection.
pub struct Quinn {
    endpoint: Endpoint,
    /// The connection, once there is one.
    pub connection: Option<Connection>,
    handle: Option<ConnectionHandle>,
    stream: Option<StreamId>,
}

/// A quinn client that connects from its first address.
pub fn client(identity: &Identity, length: u64, seed: u64, origin: Instant) -> Foreign<Quinn> {
    returning_client(client_config(identity.client()), length, seed, origin)
}

/// For quinn clients that share their tickets.
pub fn client_config(config: rustls::ClientConfig) -> ClientConfig {
    let crypto = QuicClientConfig::try_from(config).expect("a TLS configuration for QUIC");
    ClientConfig::new(Arc::new(crypto))
}

/// A quinn client with this configuration. It begins with 0-RTT if it can.
pub fn returning_client(config: ClientConfig, length: u64, seed: u64, origin: Instant) -> Foreign<Quinn> {
    let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, true, seed_bytes(seed, 3));
    let (handle, mut connection) =
        endpoint.connect(origin, config, SERVER, SERVER_NAME).expect("a valid address and name");
    let mut exchange = Exchange::new(length);
    let stream = connection.has_0rtt().then(|| connection.streams().open(Dir::Bi)).flatten();
    if let Some(id) = stream {
        exchange.drive(Time::ZERO, &mut QuinnStream { connection: &mut connection, id });
    }
    let stack = Quinn { endpoint, connection: Some(connection), handle: Some(handle), stream };
    Foreign::new(stack, exchange, origin, (0..4).map(client_address).collect())
}

/// A quinn server.
pub fn server(identity: &Identity, length: u64, seed: u64, origin: Instant) -> Foreign<Quinn> {
    remembering_server(server_config(identity.server()), length, seed, origin)
}

/// For quinn servers that know the same tickets.
pub fn server_config(config: rustls::ServerConfig) -> ServerConfig {
    let crypto = QuicServerConfig::try_from(config).expect("a TLS configuration for QUIC");
    ServerConfig::with_crypto(Arc::new(crypto))
}

/// A quinn server with this configuration.
pub fn remembering_server(config: ServerConfig, length: u64, seed: u64, origin: Instant) -> Foreign<Quinn> {
    let endpoint =
        Endpoint::new(Arc::new(EndpointConfig::default()), Some(Arc::new(config)), true, seed_bytes(seed, 4));
    let stack = Quinn { endpoint, connection: None, handle: None, stream: None };
    Foreign::new(stack, Exchange::new(length), origin, vec![SERVER])
}

fn seed_bytes(seed: u64, part: u8) -> Option<[u8; 32]> {
    let mut bytes = [part; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    Some(bytes)
}

impl Stack for Quinn {
    fn receive(&mut self, now: Instant, arrival: Arrival, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let Arrival { local, remote, ecn, payload } = arrival;
        match self.endpoint.handle(now, remote, Some(local), ecn.map(to_codepoint), payload, buffer)? {
            DatagramEvent::ConnectionEvent(_, event) => {
                if let Some(connection) = &mut self.connection {
                    connection.handle_event(event);
                }
                None
            }
            DatagramEvent::NewConnection(incoming) => {
                match self.endpoint.accept(incoming, now, buffer, None) {
                    Ok((handle, connection)) => {
                        self.handle = Some(handle);
                        self.connection = Some(connection);
                        None
                    }
                    Err(error) => error.response.map(outgoing),
                }
            }
            DatagramEvent::Response(transmit) => Some(outgoing(transmit)),
        }
    }

    fn transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        self.connection.as_mut()?.poll_transmit(now, BATCH, buffer).map(outgoing)
    }

    fn timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut()?.poll_timeout()
    }

    fn expire(&mut self, now: Instant) {
        if let Some(connection) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn service(&mut self, _: Instant, time: Time, exchange: &mut Exchange) {
        let (Some(connection), Some(handle)) = (&mut self.connection, self.handle) else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if connection.side().is_client() => {
                    self.stream = self.stream.or_else(|| connection.streams().open(Dir::Bi));
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    self.stream = self.stream.or_else(|| connection.streams().accept(Dir::Bi));
                }
                Event::ConnectionLost { reason } => {
                    exchange.closed = Some(reason.to_string());
                    return;
                }
                _ => {}
            }
            if let Some(id) = self.stream.filter(|_| !connection.is_closed()) {
                exchange.drive(time, &mut QuinnStream { connection, id });
            }
        }
    }
}

pub(crate) fn outgoing(transmit: Transmit) -> Outgoing {
    Outgoing {
        remote: transmit.destination,
        local: transmit.src_ip,
        ecn: transmit.ecn.map(from_codepoint),
        size: transmit.size,
        segment_size: transmit.segment_size,
    }
}

pub(crate) fn to_codepoint(ecn: Ecn) -> EcnCodepoint {
    match ecn {
        Ecn::Ect0 => EcnCodepoint::Ect0,
        Ecn::Ect1 => EcnCodepoint::Ect1,
        Ecn::Ce => EcnCodepoint::Ce,
    }
}

fn from_codepoint(ecn: EcnCodepoint) -> Ecn {
    match ecn {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    }
}

pub(crate) struct QuinnStream<'a> {
    pub(crate) connection: &'a mut Connection,
    pub(crate) id: StreamId,
}

impl ByteStream for QuinnStream<'_> {
    fn write(&mut self, data: &[u8]) -> Result<usize, String> {
        match self.connection.send_stream(self.id).write(data) {
            Err(WriteError::Blocked) => Ok(0),
            other => other.map_err(|error| error.to_string()),
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        self.connection.send_stream(self.id).finish().map_err(|error| error.to_string())
    }

    fn read(&mut self) -> Result<Piece, String> {
        let mut stream = self.connection.recv_stream(self.id);
        let mut chunks = stream.read(true).map_err(|error: ReadableError| error.to_string())?;
        let piece = match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => Ok(Piece::Data(chunk.bytes)),
            Ok(None) => Ok(Piece::End),
            Err(ReadError::Blocked) => Ok(Piece::Blocked),
            Err(error) => Err(error.to_string()),
        };
        // The caller polls for datagrams after every event anyway.
        let _ = chunks.finalize();
        piece
    }
}

impl Foreign<Quinn> {
    /// Ends the connection.
    pub fn close(&mut self, now: Time, code: u32) {
        let now = self.instant(now);
        if let Some(connection) = &mut self.stack.connection {
            connection.close(now, VarInt::from_u32(code), Bytes::from_static(b"done"));
        }
    }
}
