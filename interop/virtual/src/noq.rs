//! noq: QUIC v1 with draft-ietf-quic-multipath-21.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hawser_core::Ecn;
use hawser_policy::Time;
use hawser_sim::testing::{SERVER, client_address};
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    Event, FourTuple, PathId, ReadError, ReadableError, ServerConfig, StreamEvent, StreamId, Transmit,
    TransportConfig, VarInt, WriteError,
};

use crate::steering::{CLIENT_V6, SERVER_V6};
use crate::tls::{Identity, SERVER_NAME};
use crate::{Arrival, ByteStream, Exchange, Foreign, Outgoing, Piece, Stack};

/// Datagrams per call: batches as a driver with GSO would take them.
pub(crate) const BATCH: NonZeroUsize = NonZeroUsize::new(8).unwrap();

/// A noq endpoint with one connection.
pub struct Noq {
    endpoint: Endpoint,
    /// The connection, once there is one.
    pub connection: Option<Connection>,
    handle: Option<ConnectionHandle>,
    stream: Option<StreamId>,
}

/// Paths at once, unless a test needs more.
pub const PATHS: u32 = 8;

/// Addresses of a client over IPv4.
const ADDRESSES: u8 = 16;

/// A noq client that connects from its first address.
pub fn client(identity: &Identity, length: u64, seed: u64, origin: Instant) -> Foreign<Noq> {
    client_with_paths(identity, length, seed, origin, PATHS)
}

/// The same for so many paths at once.
pub fn client_with_paths(
    identity: &Identity,
    length: u64,
    seed: u64,
    origin: Instant,
    paths: u32,
) -> Foreign<Noq> {
    returning_client(client_config(identity.client(), paths), length, seed, origin)
}

/// For noq clients that share their tickets, with so many paths at once.
pub fn client_config(config: rustls::ClientConfig, paths: u32) -> ClientConfig {
    let crypto = QuicClientConfig::try_from(config).expect("a TLS configuration for QUIC");
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport(paths)));
    config
}

/// A noq client with this configuration. It begins with 0-RTT if it can.
pub fn returning_client(config: ClientConfig, length: u64, seed: u64, origin: Instant) -> Foreign<Noq> {
    let mut endpoint = Endpoint::new(endpoint_config(seed, 3), None, true);
    let (handle, mut connection) =
        endpoint.connect(origin, config, SERVER, SERVER_NAME).expect("a valid address and name");
    let mut exchange = Exchange::new(length);
    let stream = connection.has_0rtt().then(|| connection.streams().open(Dir::Bi)).flatten();
    if let Some(id) = stream {
        exchange.drive(Time::ZERO, &mut NoqStream { connection: &mut connection, id });
    }
    let stack = Noq { endpoint, connection: Some(connection), handle: Some(handle), stream };
    let addresses = (0..ADDRESSES).map(client_address).chain([CLIENT_V6]).collect();
    Foreign::new(stack, exchange, origin, addresses)
}

/// A noq server.
pub fn server(identity: &Identity, length: u64, seed: u64, origin: Instant) -> Foreign<Noq> {
    server_with_paths(identity, length, seed, origin, PATHS)
}

/// The same for so many paths at once.
pub fn server_with_paths(
    identity: &Identity,
    length: u64,
    seed: u64,
    origin: Instant,
    paths: u32,
) -> Foreign<Noq> {
    remembering_server(server_config(identity.server(), paths), length, seed, origin)
}

/// For noq servers that know the same tickets, with so many paths at once.
pub fn server_config(config: rustls::ServerConfig, paths: u32) -> ServerConfig {
    let crypto = QuicServerConfig::try_from(config).expect("a TLS configuration for QUIC");
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport(paths)));
    config
}

/// A noq server with this configuration.
pub fn remembering_server(config: ServerConfig, length: u64, seed: u64, origin: Instant) -> Foreign<Noq> {
    let endpoint = Endpoint::new(endpoint_config(seed, 4), Some(Arc::new(config)), true);
    let stack = Noq { endpoint, connection: None, handle: None, stream: None };
    Foreign::new(stack, Exchange::new(length), origin, vec![SERVER, SERVER_V6])
}

fn transport(paths: u32) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.max_concurrent_multipath_paths(paths);
    transport
}

fn endpoint_config(seed: u64, part: u8) -> Arc<EndpointConfig> {
    let mut bytes = [part; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut config = EndpointConfig::default();
    config.rng_seed(Some(bytes));
    Arc::new(config)
}

impl Stack for Noq {
    fn receive(&mut self, now: Instant, arrival: Arrival, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let Arrival { local, remote, ecn, payload } = arrival;
        let path = FourTuple::new(remote, Some(local));
        match self.endpoint.handle(now, path, ecn.map(to_codepoint), payload, buffer)? {
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
        self.connection.as_ref()?.poll_timeout()
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
                Event::Path(event) => {
                    exchange.path_events.push((time, format!("{event:?}")));
                }
                _ => {}
            }
            if let Some(id) = self.stream.filter(|_| !connection.is_closed()) {
                exchange.drive(time, &mut NoqStream { connection, id });
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

pub(crate) struct NoqStream<'a> {
    pub(crate) connection: &'a mut Connection,
    pub(crate) id: StreamId,
}

impl ByteStream for NoqStream<'_> {
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

impl Foreign<Noq> {
    /// Ends the connection.
    pub fn close(&mut self, now: Time, code: u32) {
        let now = self.instant(now);
        if let Some(connection) = &mut self.stack.connection {
            connection.close(now, VarInt::from_u32(code), Bytes::from_static(b"done"));
        }
    }

    /// Whether both ends speak multipath.
    pub fn is_multipath(&self) -> bool {
        self.stack.connection.as_ref().is_some_and(Connection::is_multipath_negotiated)
    }

    /// What noq counted on a path that exists.
    pub fn path_stats(&mut self, id: u32) -> Option<noq_proto::PathStats> {
        self.stack.connection.as_mut()?.path_stats(PathId::from(id))
    }
}
