//! noq, with its defaults; several paths when asked for. It speaks no QUIC v2, and as a server it drops what comes to
//! another of its addresses than that of the handshake, a preferred one included.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{FourTuple, PathError, PathStatus, TransportConfig};

use super::{Change, Handshake, Refuse, Streams, unspecified};
use crate::options::{Get, OtherPath, Serve};
use crate::{Error, tls};

/// Paths that both ends allow.
const MAX_PATHS: u32 = 8;
/// Between attempts to open a path while the peer's connection ids are still on their way.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);
/// Silence on a path after which a client abandons it; noq makes it three probe timeouts where that is longer.
const PATH_IDLE_TIMEOUT: Duration = Duration::from_millis(250);
/// What makes the server answer on a path that it has nothing to send on, so that it does not look silent to the client.
const PATH_KEEP_ALIVE: Duration = Duration::from_millis(50);

/// What both ends set for several paths.
fn multipath() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.max_concurrent_multipath_paths(MAX_PATHS);
    transport
}

pub(crate) struct Server {
    endpoint: noq::Endpoint,
    retry: bool,
    early: bool,
}

impl Server {
    pub(crate) fn new(options: &Serve) -> Result<Self, Error> {
        options.lacks("noq", &[("--preferred-address", options.preferred_address.is_some())])?;
        let crypto = QuicServerConfig::try_from(tls::server_config(options)?)?;
        let mut config = noq::ServerConfig::with_crypto(Arc::new(crypto));
        if options.multipath {
            config.transport_config(Arc::new(multipath()));
        }
        let endpoint = noq::Endpoint::server(config, options.listen)?;
        Ok(Server { endpoint, retry: options.retry, early: options.early })
    }
}

impl super::Server for Server {
    type Connection = Connection;

    fn local_address(&self) -> Result<SocketAddr, Error> {
        Ok(self.endpoint.local_addr()?)
    }

    async fn accept(&mut self) -> Option<Handshake<Connection>> {
        loop {
            let incoming = self.endpoint.accept().await?;
            if self.retry && !incoming.remote_address_validated() {
                if let Err(error) = incoming.retry() {
                    eprintln!("retry: {error}");
                }
                continue;
            }
            let (endpoint, early) = (self.endpoint.clone(), self.early);
            return Some(Box::pin(async move {
                let connecting = incoming.accept()?;
                let connection = match early {
                    // A server's connection is one that can be used at once.
                    true => connecting.into_0rtt().map_err(|_| "no keys")?.0,
                    false => connecting.await?,
                };
                Ok(Connection { connection, endpoint, change: None })
            }));
        }
    }
}

pub(crate) struct Client {
    endpoint: noq::Endpoint,
    change: Change,
    paths: Vec<OtherPath>,
}

impl Client {
    pub(crate) fn new(options: &Get) -> Result<Self, Error> {
        let crypto =
            QuicClientConfig::with_initial(tls::client_config(options)?.into(), tls::initial_suite()?)?;
        let mut config = noq::ClientConfig::new(Arc::new(crypto));
        let mut bind = (options.local, 0).into();
        if !options.path.is_empty() {
            let mut transport = multipath();
            // Without it noq never abandons a silent path, and the whole transfer waits for it. At the client only: it
            // acknowledges on one path what it receives on all, so during a download the other paths are silent at the
            // server, which would abandon every one of them.
            transport.default_path_max_idle_timeout(Some(PATH_IDLE_TIMEOUT));
            transport.default_path_keep_alive_interval(Some(PATH_KEEP_ALIVE));
            config.transport_config(Arc::new(transport));
            // One socket for all links: noq sets the source address of each datagram.
            bind = unspecified(options.local);
        }
        let endpoint = noq::Endpoint::client(bind)?;
        endpoint.set_default_client_config(config);
        Ok(Client { endpoint, change: Change::from(options), paths: options.path.clone() })
    }
}

impl super::Client for Client {
    type Connection = Connection;

    async fn connect(&self, server: SocketAddr, name: &str) -> Result<Connection, Error> {
        let connection = match self.endpoint.connect(server, name)?.into_0rtt() {
            Ok((connection, _)) => connection,
            Err(connecting) => connecting.await?,
        };
        for path in self.paths.clone() {
            let tuple = FourTuple::new(path.server.unwrap_or(server), Some(path.local));
            let connection = connection.clone();
            tokio::spawn(async move {
                if let Err(error) = open_path(&connection, tuple).await {
                    eprintln!("path from {}: {error}", path.local);
                }
            });
        }
        Ok(Connection { connection, endpoint: self.endpoint.clone(), change: Some(self.change) })
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

pub(crate) struct Connection {
    connection: noq::Connection,
    endpoint: noq::Endpoint,
    change: Option<Change>,
}

impl super::Connection for Connection {
    type Send = noq::SendStream;
    type Receive = noq::RecvStream;

    async fn open(&self) -> Result<Streams<Self>, Error> {
        Ok(self.connection.open_bi().await?)
    }

    async fn accept(&mut self) -> Option<Streams<Self>> {
        self.connection.accept_bi().await.ok()
    }

    fn on_mebibyte(&self, count: u64) -> Result<(), Error> {
        let Some(change) = self.change else { return Ok(()) };
        if change.update_keys {
            self.connection.force_key_update();
        }
        if change.migrate && count == 1 {
            self.endpoint.rebind(UdpSocket::bind((change.local, 0))?)?;
        }
        Ok(())
    }

    async fn close(&self) {
        self.connection.close(0u32.into(), b"done");
        self.endpoint.wait_idle().await;
    }
}

impl Refuse for noq::SendStream {
    fn refuse(&mut self) {
        // It fails when the peer has stopped the stream: then there is nothing to say.
        let _ = self.reset(1u32.into());
    }
}
