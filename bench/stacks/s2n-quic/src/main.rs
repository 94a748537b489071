//! s2n-quic, with its defaults. It brings its own AEAD (AWS-LC), whatever provider is asked for.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use bench_harness::options::{ClientOptions, ServerOptions};
use bench_harness::stack::{self, Handshake};
use bench_harness::{Error, tls};
use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::provider::tls::rustls as s2n_rustls;
use s2n_quic::stream;

struct S2nQuic;

fn main() -> ExitCode {
    bench_harness::run::<S2nQuic>()
}

impl stack::Stack for S2nQuic {
    const NAME: &'static str = "s2n-quic";
    type Listener = Listener;
    type Connector = Connector;

    fn listen(options: &ServerOptions) -> Result<Listener, Error> {
        let crypto = s2n_rustls::Server::from(Arc::new(tls::server_config(&options.common)?));
        Ok(Listener(s2n_quic::Server::builder().with_tls(crypto)?.with_io(options.listen)?.start()?))
    }

    fn connector(options: &ClientOptions) -> Result<Connector, Error> {
        if options.common.multipath || options.links.len() > 1 {
            return Err("s2n-quic has no multipath".into());
        }
        let crypto = s2n_rustls::Client::from(Arc::new(tls::client_config(&options.common)?));
        let client =
            s2n_quic::Client::builder().with_tls(crypto)?.with_io(unspecified(options.server))?.start()?;
        Ok(Connector { client, server: options.server })
    }
}

fn unspecified(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() }
}

struct Listener(s2n_quic::Server);

impl stack::Listener for Listener {
    type Connection = Connection;

    fn local_address(&self) -> Result<SocketAddr, Error> {
        Ok(self.0.local_addr()?)
    }

    async fn accept(&mut self) -> Option<Handshake<Connection>> {
        let connection = self.0.accept().await?;
        Some(Box::pin(async move { Ok(Connection { connection, client: None }) }))
    }
}

struct Connector {
    client: s2n_quic::Client,
    server: SocketAddr,
}

impl stack::Connector for Connector {
    type Connection = Connection;

    async fn connect(&self) -> Result<Connection, Error> {
        let connection =
            self.client.connect(Connect::new(self.server).with_server_name(tls::SERVER_NAME)).await?;
        Ok(Connection { connection, client: Some(self.client.clone()) })
    }
}

struct Connection {
    connection: s2n_quic::Connection,
    client: Option<s2n_quic::Client>,
}

impl stack::Connection for Connection {
    type SendStream = SendStream;
    type ReceiveStream = ReceiveStream;

    async fn open(&mut self) -> Result<(SendStream, ReceiveStream), Error> {
        let (receive, send) = self.connection.open_bidirectional_stream().await?.split();
        Ok((SendStream(send), ReceiveStream(receive)))
    }

    async fn accept(&mut self) -> Option<(SendStream, ReceiveStream)> {
        let (receive, send) = self.connection.accept_bidirectional_stream().await.ok()??.split();
        Some((SendStream(send), ReceiveStream(receive)))
    }

    async fn close(self) {
        self.connection.close(0u8.into());
        if let Some(mut client) = self.client {
            // An error here says only that the connection has ended.
            let _ = client.wait_idle().await;
        }
    }
}

struct SendStream(stream::SendStream);

impl stack::SendStream for SendStream {
    async fn send(&mut self, chunk: Bytes) -> Result<(), Error> {
        Ok(self.0.send(chunk).await?)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.0.finish()?)
    }
}

struct ReceiveStream(stream::ReceiveStream);

impl stack::ReceiveStream for ReceiveStream {
    async fn receive(&mut self, chunks: &mut [Bytes]) -> Result<Option<usize>, Error> {
        let (filled, open) = self.0.receive_vectored(chunks).await?;
        Ok((filled > 0 || open).then_some(filled))
    }
}
