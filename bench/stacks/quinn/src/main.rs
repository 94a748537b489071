//! quinn, with its defaults.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use bench_harness::options::{ClientOptions, ServerOptions};
use bench_harness::stack::{self, Handshake};
use bench_harness::{Error, tls};
use bytes::Bytes;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};

struct Quinn;

fn main() -> ExitCode {
    bench_harness::run::<Quinn>()
}

impl stack::Stack for Quinn {
    const NAME: &'static str = "quinn";
    type Listener = Listener;
    type Connector = Connector;

    fn listen(options: &ServerOptions) -> Result<Listener, Error> {
        let crypto = QuicServerConfig::try_from(tls::server_config(&options.common)?)?;
        let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
        Ok(Listener(quinn::Endpoint::server(config, options.listen)?))
    }

    fn connector(options: &ClientOptions) -> Result<Connector, Error> {
        if options.common.multipath || options.links.len() > 1 {
            return Err("quinn has no multipath".into());
        }
        let crypto = QuicClientConfig::try_from(tls::client_config(&options.common)?)?;
        let mut endpoint = quinn::Endpoint::client(unspecified(options.server))?;
        endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(crypto)));
        Ok(Connector { endpoint, server: options.server })
    }
}

fn unspecified(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() }
}

struct Listener(quinn::Endpoint);

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
    endpoint: quinn::Endpoint,
    server: SocketAddr,
}

impl stack::Connector for Connector {
    type Connection = Connection;

    async fn connect(&self) -> Result<Connection, Error> {
        let connection = self.endpoint.connect(self.server, tls::SERVER_NAME)?.await?;
        Ok(Connection { connection, endpoint: self.endpoint.clone() })
    }
}

struct Connection {
    connection: quinn::Connection,
    endpoint: quinn::Endpoint,
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
}

struct SendStream(quinn::SendStream);

impl stack::SendStream for SendStream {
    async fn send(&mut self, chunk: Bytes) -> Result<(), Error> {
        Ok(self.0.write_chunk(chunk).await?)
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.0.finish()?)
    }
}

struct ReceiveStream(quinn::RecvStream);

impl stack::ReceiveStream for ReceiveStream {
    async fn receive(&mut self, chunks: &mut [Bytes]) -> Result<Option<usize>, Error> {
        Ok(self.0.read_chunks(chunks).await?)
    }
}
