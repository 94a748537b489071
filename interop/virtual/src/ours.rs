use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use hawser_core::crypto::{RustlsClient, RustlsServer};
use hawser_core::{
    ClientConfig, Connection, ConnectionHandle, EarlyData, Endpoint, EndpointConfig, Event, QlogFactory,
    ReadError, ServerConfig, StreamEvent, TransportConfig, WriteError,
};
use hawser_policy::{Composition, Registry, StreamId, Time};
use hawser_sim::testing::{SERVER, client_address};
use hawser_sim::{Application, Host};

use crate::tls::{Identity, SERVER_NAME};
use crate::{ByteStream, Exchange, Piece};

/// The exchange on a Hawser connection.
#[derive(Debug)]
pub struct Ours {
    /// The transfer.
    pub exchange: Exchange,
    stream: Option<StreamId>,
}

/// A Hawser client that connects from its first address.
pub fn client(identity: &Identity, length: u64, seed: u64) -> Host<Ours> {
    client_with(identity, length, seed, transport(seed))
}

/// The same for so many paths at once.
pub fn client_with_paths(identity: &Identity, length: u64, seed: u64, paths: u32) -> Host<Ours> {
    client_with(identity, length, seed, with_paths(seed, paths))
}

fn client_with(identity: &Identity, length: u64, seed: u64, transport: TransportConfig) -> Host<Ours> {
    begin(client_crypto(identity.client()), length, seed, transport)
}

/// TLS sessions of Hawser clients that share their tickets.
pub fn client_crypto(config: rustls::ClientConfig) -> Arc<RustlsClient> {
    Arc::new(RustlsClient::new(Arc::new(config)).expect("a TLS configuration for QUIC"))
}

/// A Hawser client with these sessions. It begins with 0-RTT if it can.
pub fn returning_client(crypto: Arc<RustlsClient>, length: u64, seed: u64) -> Host<Ours> {
    begin(crypto, length, seed, transport(seed))
}

fn begin(crypto: Arc<RustlsClient>, length: u64, seed: u64, transport: TransportConfig) -> Host<Ours> {
    let endpoint = Endpoint::new(Arc::new(EndpointConfig::new([7; 32])), None, seed_bytes(seed, 1));
    let mut host = Host::new(endpoint, Ours { exchange: Exchange::new(length), stream: None });
    let config = ClientConfig::new(crypto, Arc::new(transport));
    host.connect(Time::ZERO, config, client_address(0), SERVER, SERVER_NAME)
        .expect("a valid address and name");
    let early = host.first_connection().filter(|connection| connection.early_data() == EarlyData::Offered);
    if let Some(stream) = early.and_then(|connection| connection.open_stream(true)) {
        host.application.stream = Some(stream);
    }
    host
}

/// A Hawser server.
pub fn server(identity: &Identity, length: u64, seed: u64) -> Host<Ours> {
    server_with(identity, length, seed, transport(seed))
}

/// The same for so many paths at once.
pub fn server_with_paths(identity: &Identity, length: u64, seed: u64, paths: u32) -> Host<Ours> {
    server_with(identity, length, seed, with_paths(seed, paths))
}

fn server_with(identity: &Identity, length: u64, seed: u64, transport: TransportConfig) -> Host<Ours> {
    wait(server_crypto(identity.server()), length, seed, transport)
}

/// TLS sessions of Hawser servers that know the same tickets.
pub fn server_crypto(config: rustls::ServerConfig) -> Arc<RustlsServer> {
    Arc::new(RustlsServer::new(Arc::new(config)).expect("a TLS configuration for QUIC"))
}

/// A Hawser server with these sessions.
pub fn remembering_server(crypto: Arc<RustlsServer>, length: u64, seed: u64) -> Host<Ours> {
    wait(crypto, length, seed, transport(seed))
}

fn wait(crypto: Arc<RustlsServer>, length: u64, seed: u64, transport: TransportConfig) -> Host<Ours> {
    let config = ServerConfig::new(crypto, Arc::new(transport), [9; 32]);
    let endpoint =
        Endpoint::new(Arc::new(EndpointConfig::new([8; 32])), Some(Arc::new(config)), seed_bytes(seed, 2));
    Host::new(endpoint, Ours { exchange: Exchange::new(length), stream: None })
}

/// Every policy that comes with Hawser, by name.
pub fn policies() -> Registry {
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    registry
}

fn transport(seed: u64) -> TransportConfig {
    // That of the other side, which the marks are made for.
    let congestion = Some("cubic".parse().expect("a name"));
    let composition = Composition::default().with(|composition| composition.congestion = congestion);
    let defaults = policies().set(&composition).expect("the defaults are registered");
    TransportConfig::with_policies(defaults).with(|transport| transport.qlog = qlog(seed))
}

fn with_paths(seed: u64, paths: u32) -> TransportConfig {
    let max_path_id = Some(paths.saturating_sub(1));
    transport(seed).with(|transport| {
        transport.max_path_id = max_path_id;
        transport.max_concurrent_paths = paths;
    })
}

/// With `HAWSER_QLOG=DIR` in the environment our end of every connection is traced there.
fn qlog(seed: u64) -> Option<QlogFactory> {
    let directory = PathBuf::from(std::env::var_os("HAWSER_QLOG")?);
    Some(Arc::new(move |_| {
        let file = File::create(directory.join(format!("{seed}.sqlog"))).ok()?;
        Some(Box::new(file) as Box<dyn Write + Send>)
    }))
}

fn seed_bytes(seed: u64, part: u8) -> [u8; 32] {
    let mut bytes = [part; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}

impl Application for Ours {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        match event {
            Event::Connected if connection.side().is_client() => {
                self.stream = self.stream.or_else(|| connection.open_stream(true));
            }
            Event::Stream(StreamEvent::Opened { bidirectional: true }) => {
                self.stream = self.stream.or_else(|| connection.accept_stream(true));
            }
            Event::Path(event) => self.exchange.path_events.push((now, format!("{event:?}"))),
            Event::Closed(error) => {
                self.exchange.closed = Some(error.to_string());
                return;
            }
            _ => {}
        }
        if let Some(id) = self.stream.filter(|_| !connection.is_closed()) {
            self.exchange.drive(now, &mut OurStream { connection, id });
        }
    }
}

struct OurStream<'a> {
    connection: &'a mut Connection,
    id: StreamId,
}

impl ByteStream for OurStream<'_> {
    fn write(&mut self, data: &[u8]) -> Result<usize, String> {
        match self.connection.write(self.id, data) {
            Err(WriteError::Blocked) => Ok(0),
            other => other.map_err(|error| error.to_string()),
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        self.connection.finish(self.id).map_err(|error| error.to_string())
    }

    fn read(&mut self) -> Result<Piece, String> {
        match self.connection.read_chunk(self.id, 64 * 1024) {
            Ok(Some(bytes)) => Ok(Piece::Data(bytes)),
            Ok(None) => Ok(Piece::End),
            Err(ReadError::Blocked) => Ok(Piece::Blocked),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// For tests that end a connection.
pub fn close(host: &mut Host<Ours>, now: Time, code: u64) {
    if let Some(connection) = host.first_connection() {
        connection.close(now, code, Bytes::from_static(b"done"));
    }
}
