//! noq, with its defaults; several paths when asked for.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bench_harness::options::{ClientOptions, CommonOptions, ServerOptions};
use bench_harness::report::{PathSample, unix_ms};
use bench_harness::stack::{self, Handshake};
use bench_harness::{Error, tls};
use bytes::Bytes;
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{FourTuple, PathError, PathId, PathStatus, TransportConfig};

/// Paths that both ends allow.
const MAX_PATHS: u32 = 8;
/// Between attempts to open a path while the peer's connection ids are still on their way.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);
/// Silence on a path after which the client abandons it; noq makes it three probe timeouts where that is longer.
const PATH_IDLE_TIMEOUT: Duration = Duration::from_millis(250);
/// What keeps a path that the server has nothing to send on from looking silent to the client.
const PATH_KEEP_ALIVE: Duration = Duration::from_millis(50);
/// Receive window of a stream when there are several paths. The default, 1.25 MB, is less than the emulated links
/// with their queues hold (up to 2.7 MB). No more than this: noq holds at most 1024 out-of-order pieces, so beyond
/// 1024 times two packets of 1200 bytes a fast path next to a slow one can end the connection.
const STREAM_WINDOW: u32 = 2_400_000;

struct Noq;

fn main() -> ExitCode {
    bench_harness::run::<Noq>()
}

impl stack::Stack for Noq {
    const NAME: &'static str = "noq";
    type Listener = Listener;
    type Connector = Connector;

    fn listen(options: &ServerOptions) -> Result<Listener, Error> {
        let crypto = QuicServerConfig::try_from(tls::server_config(&options.common)?)?;
        let mut config = noq::ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport(&options.common)));
        Ok(Listener(noq::Endpoint::server(config, options.listen)?))
    }

    fn connector(options: &ClientOptions) -> Result<Connector, Error> {
        let crypto = QuicClientConfig::try_from(tls::client_config(&options.common)?)?;
        let mut config = noq::ClientConfig::new(Arc::new(crypto));
        let mut transport = transport(&options.common);
        if options.common.multipath {
            // Without it noq never abandons a silent path, and the whole transfer waits for it. At the client
            // only: it acknowledges on one path what it receives on all, so during a download the other paths
            // are silent at the server, which would abandon every one of them.
            transport.default_path_max_idle_timeout(Some(PATH_IDLE_TIMEOUT));
        }
        config.transport_config(Arc::new(transport));
        // One socket for all links: noq sets the source address of each datagram, and the emulation's policy
        // routing sends it over the link with that address.
        let endpoint = noq::Endpoint::client(unspecified(options.server))?;
        endpoint.set_default_client_config(config);
        // The first link is the default route and carries the handshake.
        let more_links = options.links.iter().skip(1).map(|link| link.address).collect();
        Ok(Connector { endpoint, server: options.server, more_links })
    }
}

/// What both ends set.
fn transport(options: &CommonOptions) -> TransportConfig {
    let mut transport = TransportConfig::default();
    if options.multipath {
        transport.max_concurrent_multipath_paths(MAX_PATHS);
        transport.default_path_keep_alive_interval(Some(PATH_KEEP_ALIVE));
        transport.stream_receive_window(STREAM_WINDOW.into());
    }
    transport
}

fn unspecified(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() }
}

struct Listener(noq::Endpoint);

impl stack::Listener for Listener {
    type Connection = Connection;

    fn local_address(&self) -> Result<SocketAddr, Error> {
        Ok(self.0.local_addr()?)
    }

    async fn accept(&mut self) -> Option<Handshake<Connection>> {
        let incoming = self.0.accept().await?;
        let endpoint = self.0.clone();
        Some(Box::pin(async move { Ok(Connection { connection: incoming.await?, endpoint }) }))
    }
}

struct Connector {
    endpoint: noq::Endpoint,
    server: SocketAddr,
    more_links: Vec<IpAddr>,
}

impl stack::Connector for Connector {
    type Connection = Connection;

    async fn connect(&self) -> Result<Connection, Error> {
        let connection = self.endpoint.connect(self.server, tls::SERVER_NAME)?.await?;
        for &local in &self.more_links {
            let (connection, tuple) = (connection.clone(), FourTuple::new(self.server, Some(local)));
            tokio::spawn(async move {
                if let Err(error) = open_path(&connection, tuple).await {
                    eprintln!("bench-noq: path from {local}: {error}");
                }
            });
        }
        Ok(Connection { connection, endpoint: self.endpoint.clone() })
    }
}

async fn open_path(connection: &noq::Connection, tuple: FourTuple) -> Result<(), PathError> {
    loop {
        match connection.open_path(tuple, PathStatus::Available).await {
            Err(PathError::RemoteCidsExhausted) => tokio::time::sleep(RETRY_INTERVAL).await,
            result => return result.map(|_| ()),
        }
    }
}

struct Connection {
    connection: noq::Connection,
    endpoint: noq::Endpoint,
}

impl stack::Connection for Connection {
    type SendStream = SendStream;
    type ReceiveStream = ReceiveStream;

    async fn open(&mut self) -> Result<(SendStream, ReceiveStream), Error> {
        let (send, receive) = self.connection.open_bi().await?;
        Ok((SendStream(send), ReceiveStream(receive)))
    }

    async fn accept(&mut self) -> Option<(SendStream, ReceiveStream)> {
        let (send, receive) = self.connection.accept_bi().await.ok()?;
        Some((SendStream(send), ReceiveStream(receive)))
    }

    async fn close(self) {
        self.connection.close(0u32.into(), b"done");
        self.endpoint.wait_idle().await;
    }

    fn path_sampler(&self) -> Option<Box<dyn FnMut() -> Vec<PathSample> + Send>> {
        let connection = self.connection.clone();
        Some(Box::new(move || (0..MAX_PATHS).filter_map(|path| sample(&connection, path)).collect()))
    }
}

fn sample(connection: &noq::Connection, path: u32) -> Option<PathSample> {
    let stats = connection.path(PathId::from(path))?.stats();
    // noq tells no round-trip variance, so no probe timeout either.
    Some(PathSample {
        unix_ms: unix_ms(),
        path: path.into(),
        rtt_ms: stats.rtt.as_secs_f64() * 1e3,
        pto_ms: None,
        sent_bytes: stats.udp_tx.bytes,
    })
}

struct SendStream(noq::SendStream);

impl stack::SendStream for SendStream {
    async fn send(&mut self, chunk: Bytes) -> Result<(), Error> {
        Ok(self.0.write_chunk(chunk).await?)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.0.finish()?)
    }
}

struct ReceiveStream(noq::RecvStream);

impl stack::ReceiveStream for ReceiveStream {
    async fn receive(&mut self, chunks: &mut [Bytes]) -> Result<Option<usize>, Error> {
        Ok(self.0.read_many_chunks(chunks).await?)
    }
}
