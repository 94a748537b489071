//! Hawser, with its defaults; several links when asked for.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bench_harness::options::{ClientOptions, LocalLink, ServerOptions};
use bench_harness::report::{PathSample, unix_ms};
use bench_harness::stack::{self, Handshake};
use bench_harness::{Error, tls};
use bytes::Bytes;
use futures_util::FutureExt;
use hawser_net::{
    ClientConfig, Endpoint, Identity, LinkSelector, Links, PathInfo, PathSpec, RecvStream, ServerConfig,
    Trust,
};

/// Largest delay by which the client holds an acknowledgement: the default of the transport configuration.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// Timer granularity (RFC 9002 section 6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);

struct Hawser;

fn main() -> ExitCode {
    bench_harness::run::<Hawser>()
}

impl stack::Stack for Hawser {
    const NAME: &'static str = "hawser";
    type Listener = Listener;
    type Connector = Connector;

    fn listen(options: &ServerOptions) -> Result<Listener, Error> {
        let files = &options.common.identity;
        let identity =
            Identity::from_pem_files(&files.join(tls::CERTIFICATE_FILE), &files.join(tls::KEY_FILE))?;
        let config = ServerConfig::builder(identity)
            .alpn([tls::ALPN])
            .crypto_provider(Arc::new(tls::provider(options.common.provider)))
            .session_resumption(false)
            .build()?;
        Ok(Listener(Endpoint::server(config, options.listen)?))
    }

    fn connector(options: &ClientOptions) -> Result<Connector, Error> {
        let certificate = options.common.identity.join(tls::CERTIFICATE_FILE);
        let config = ClientConfig::builder()
            .alpn([tls::ALPN])
            .trust(Trust::authorities_from_file(&certificate)?)
            .crypto_provider(Arc::new(tls::provider(options.common.provider)))
            .session_resumption(false)
            .build()?;
        // Without links the peers have one socket and leave the rest to the routing table: so do we.
        let links = match &options.links[..] {
            [] => Links::Routed,
            links => Links::Only(links.iter().map(path_spec).collect()),
        };
        Ok(Connector { endpoint: Endpoint::client(config, links)?, server: options.server })
    }
}

fn path_spec(link: &LocalLink) -> PathSpec {
    PathSpec::available(LinkSelector::Interface(link.interface.clone()))
}

struct Listener(Endpoint);

impl stack::Listener for Listener {
    type Connection = Connection;

    fn local_address(&self) -> Result<SocketAddr, Error> {
        Ok(*self.0.listening().first().ok_or("not listening")?)
    }

    async fn accept(&mut self) -> Option<Handshake<Connection>> {
        let incoming = self.0.accept().await?;
        let endpoint = self.0.clone();
        Some(Box::pin(async move { Ok(Connection { connection: incoming.await?, endpoint }) }))
    }
}

struct Connector {
    endpoint: Endpoint,
    server: SocketAddr,
}

impl stack::Connector for Connector {
    type Connection = Connection;

    async fn connect(&self) -> Result<Connection, Error> {
        let connection = self.endpoint.connect(self.server, tls::SERVER_NAME).await?;
        Ok(Connection { connection, endpoint: self.endpoint.clone() })
    }
}

struct Connection {
    connection: hawser_net::Connection,
    endpoint: Endpoint,
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
        self.connection.close(0, b"done");
        self.endpoint.wait_idle().await;
    }

    fn path_sampler(&self) -> Option<Box<dyn FnMut() -> Vec<PathSample> + Send>> {
        let connection = self.connection.clone();
        Some(Box::new(move || {
            connection.paths().iter().filter_map(|path| sample(&connection, path)).collect()
        }))
    }
}

fn sample(connection: &hawser_net::Connection, path: &PathInfo) -> Option<PathSample> {
    let stats = connection.path_stats(path.id)?;
    let timeout = stats.smoothed_rtt + (4 * stats.rtt_variance).max(GRANULARITY) + MAX_ACK_DELAY;
    Some(PathSample {
        unix_ms: unix_ms(),
        path: path.id.0.into(),
        rtt_ms: stats.smoothed_rtt.as_secs_f64() * 1e3,
        pto_ms: Some(timeout.as_secs_f64() * 1e3),
        sent_bytes: stats.bytes_sent,
    })
}

struct SendStream(hawser_net::SendStream);

impl stack::SendStream for SendStream {
    async fn send(&mut self, chunk: Bytes) -> Result<(), Error> {
        Ok(self.0.write_chunk(chunk).await?)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.0.finish()?)
    }
}

struct ReceiveStream(RecvStream);

impl stack::ReceiveStream for ReceiveStream {
    async fn receive(&mut self, chunks: &mut [Bytes]) -> Result<Option<usize>, Error> {
        let Some(first) = self.0.read_chunk(usize::MAX).await? else { return Ok(None) };
        chunks[0] = first;
        let mut filled = 1;
        // What else is there; an end of the stream seen here is seen again in the next call.
        while filled < chunks.len() {
            let Some(Ok(Some(chunk))) = self.0.read_chunk(usize::MAX).now_or_never() else { break };
            chunks[filled] = chunk;
            filled += 1;
        }
        Ok(Some(filled))
    }
}
