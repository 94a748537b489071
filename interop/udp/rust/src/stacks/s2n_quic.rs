//! s2n-quic, with its defaults. Its public interface has no 0-RTT, no key updates on demand and no change of sockets,
//! and it speaks no QUIC v2.

use std::net::SocketAddr;
use std::sync::Arc;

use s2n_quic::client::Connect;
use s2n_quic::provider::endpoint_limits::{ConnectionAttempt, Outcome};
use s2n_quic::provider::tls::rustls as s2n_rustls;
use s2n_quic::stream::{ReceiveStream, SendStream};

use super::{Handshake, Refuse, Streams};
use crate::options::{Get, Serve};
use crate::{Error, tls};

pub(crate) struct Server(s2n_quic::Server);

/// Sends Retry to every client without a token, if that is wanted.
struct Limiter {
    retry: bool,
}

impl s2n_quic::provider::endpoint_limits::Limiter for Limiter {
    fn on_connection_attempt(&mut self, _: &ConnectionAttempt<'_>) -> Outcome {
        // It is not asked about clients that have one.
        if self.retry { Outcome::retry() } else { Outcome::allow() }
    }
}

impl Server {
    pub(crate) fn new(options: &Serve) -> Result<Self, Error> {
        let lacking = [
            ("--early", options.early),
            ("--preferred-address", options.preferred_address.is_some()),
            ("--multipath", options.multipath),
        ];
        options.lacks("s2n-quic", &lacking)?;
        let crypto = s2n_rustls::Server::from(Arc::new(tls::server_config(options)?));
        let builder = s2n_quic::Server::builder().with_tls(crypto)?.with_io(options.listen)?;
        Ok(Server(builder.with_endpoint_limits(Limiter { retry: options.retry })?.start()?))
    }
}

impl super::Server for Server {
    type Connection = Connection;

    fn local_address(&self) -> Result<SocketAddr, Error> {
        Ok(self.0.local_addr()?)
    }

    async fn accept(&mut self) -> Option<Handshake<Connection>> {
        let connection = self.0.accept().await?;
        Some(Box::pin(async move { Ok(Connection { connection, client: None }) }))
    }
}

pub(crate) struct Client(s2n_quic::Client);

impl Client {
    pub(crate) fn new(options: &Get) -> Result<Self, Error> {
        let lacking = [
            ("--path", !options.path.is_empty()),
            ("--update-keys", options.update_keys),
            ("--migrate", options.migrate),
        ];
        options.lacks("s2n-quic", &lacking)?;
        let crypto = s2n_rustls::Client::from(Arc::new(tls::client_config(options)?));
        let builder = s2n_quic::Client::builder().with_tls(crypto)?;
        Ok(Client(builder.with_io(SocketAddr::from((options.local, 0)))?.start()?))
    }
}

impl super::Client for Client {
    type Connection = Connection;

    async fn connect(&self, server: SocketAddr, name: &str) -> Result<Connection, Error> {
        let connection = self.0.connect(Connect::new(server).with_server_name(name)).await?;
        Ok(Connection { connection, client: Some(self.0.clone()) })
    }
}

pub(crate) struct Connection {
    connection: s2n_quic::Connection,
    client: Option<s2n_quic::Client>,
}

impl super::Connection for Connection {
    type Send = SendStream;
    type Receive = ReceiveStream;

    async fn open(&self) -> Result<Streams<Self>, Error> {
        let (receive, send) = self.connection.handle().open_bidirectional_stream().await?.split();
        Ok((send, receive))
    }

    async fn accept(&mut self) -> Option<Streams<Self>> {
        let (receive, send) = self.connection.accept_bidirectional_stream().await.ok()??.split();
        Some((send, receive))
    }

    fn on_mebibyte(&self, _: u64) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) {
        self.connection.close(0u8.into());
        if let Some(mut client) = self.client.clone() {
            // An error here says only that the connection has ended.
            let _ = client.wait_idle().await;
        }
    }
}

impl Refuse for SendStream {
    fn refuse(&mut self) {
        // It fails when the peer has stopped the stream: then there is nothing to say.
        let _ = self.reset(1u8.into());
    }
}
