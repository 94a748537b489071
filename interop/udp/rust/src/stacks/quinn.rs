//! quinn, with its defaults. It speaks no QUIC v2.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};

use super::{Change, Handshake, Refuse, Streams};
use crate::options::{Get, Serve};
use crate::{Error, tls};

pub(crate) struct Server {
    endpoint: quinn::Endpoint,
    retry: bool,
    early: bool,
}

impl Server {
    pub(crate) fn new(options: &Serve) -> Result<Self, Error> {
        options.lacks("quinn", &[("--multipath", options.multipath)])?;
        let crypto = QuicServerConfig::try_from(tls::server_config(options)?)?;
        let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
        match options.preferred_address {
            Some(SocketAddr::V4(address)) => config.preferred_address_v4(Some(address)),
            Some(SocketAddr::V6(address)) => config.preferred_address_v6(Some(address)),
            None => &mut config,
        };
        let endpoint = quinn::Endpoint::server(config, options.listen)?;
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
    endpoint: quinn::Endpoint,
    change: Change,
}

impl Client {
    pub(crate) fn new(options: &Get) -> Result<Self, Error> {
        options.lacks("quinn", &[("--path", !options.path.is_empty())])?;
        let crypto =
            QuicClientConfig::with_initial(tls::client_config(options)?.into(), tls::initial_suite()?)?;
        let mut endpoint = quinn::Endpoint::client((options.local, 0).into())?;
        endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(crypto)));
        Ok(Client { endpoint, change: Change::from(options) })
    }
}

impl super::Client for Client {
    type Connection = Connection;

    async fn connect(&self, server: SocketAddr, name: &str) -> Result<Connection, Error> {
        let connection = match self.endpoint.connect(server, name)?.into_0rtt() {
            Ok((connection, _)) => connection,
            Err(connecting) => connecting.await?,
        };
        Ok(Connection { connection, endpoint: self.endpoint.clone(), change: Some(self.change) })
    }
}

pub(crate) struct Connection {
    connection: quinn::Connection,
    endpoint: quinn::Endpoint,
    change: Option<Change>,
}

impl super::Connection for Connection {
    type Send = quinn::SendStream;
    type Receive = quinn::RecvStream;

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

impl Refuse for quinn::SendStream {
    fn refuse(&mut self) {
        // It fails when the peer has stopped the stream: then there is nothing to say.
        let _ = self.reset(1u32.into());
    }
}
