//! A program with sockets, a list of interfaces and certificates of its own: what Android's `Network`, a sandbox or a service manager
//! hands in. Both ends are in this process, on loopback; the client has two links and shows a certificate.
//!
//! ```text
//! cargo run -p hawser --example own_parts
//! ```

use std::error::Error;
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use hawser::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use hawser::rustls::server::WebPkiClientVerifier;
use hawser::rustls::{self, RootCertStore};
use hawser::{ClientConfig, Endpoint, Interface, ServerConfig, SocketFactory, SocketRequest};
use tokio::sync::watch;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const PROTOCOL: &str = "own-parts";

#[tokio::main]
async fn main() -> Result<()> {
    let (server_config, client_config) = mutual()?;

    // A socket that the program bound, or was handed by a service manager.
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let server = Endpoint::builder().server(server_config).listen_on(socket).bind()?;
    let address = server.listening()[0];
    let accepted = tokio::spawn(async move {
        let connection = server.accept().await.ok_or("the endpoint is closed")?.await?;
        let shown = connection.peer_identity().ok_or("no certificate was shown")?;
        let chain = shown.downcast::<Vec<CertificateDer<'static>>>().map_err(|_| "not a certificate")?;
        let (mut send, mut receive) = connection.accept_bi().await?;
        let line = receive.read_to_end(1000).await?;
        send.write_all(&line).await?;
        send.finish()?;
        connection.closed().await;
        Result::Ok(chain.len())
    });

    // Interfaces as the program knows them, and a factory that makes a socket for each.
    let list = Arc::new(vec![interface(1, "first", "127.0.0.2")?, interface(2, "second", "127.0.0.3")?]);
    // What has the sender publishes a new list when links come and go.
    let (_publish, list) = watch::channel(list);
    let client =
        Endpoint::builder().client(client_config).interfaces(list).sockets(Arc::new(OwnSockets)).bind()?;
    let connection = client.connect(address, "localhost").await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(b"over two sockets").await?;
    send.finish()?;
    let answer = receive.read_to_end(1000).await?;
    // The second path is validated after the handshake.
    for _ in 0..100 {
        if connection.paths().len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!("{}, {} paths", String::from_utf8(answer)?, connection.paths().len());
    connection.close(0, b"done");
    client.wait_idle().await;
    println!("the client showed {} certificate", accepted.await??);
    Ok(())
}

/// Binds where it is asked to. A program for Android would bind the socket to a `Network` here, others mark or count it.
#[derive(Debug)]
struct OwnSockets;

impl SocketFactory for OwnSockets {
    fn bind(&self, request: &SocketRequest<'_>) -> io::Result<UdpSocket> {
        UdpSocket::bind(request.address)
    }
}

fn interface(index: u32, name: &str, address: &str) -> Result<Interface> {
    Ok(Interface::new(index, name, vec![address.parse()?]))
}

/// Configurations of rustls: each end knows the certificate of the other, and no other.
fn mutual() -> Result<(ServerConfig, ClientConfig)> {
    let (server_certificate, server_key, server_roots) = certificate("localhost")?;
    let (client_certificate, client_key, client_roots) = certificate("client")?;
    let provider = hawser::default_provider();
    let verifier = WebPkiClientVerifier::builder_with_provider(client_roots, provider.clone()).build()?;
    let server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![server_certificate], server_key)?;
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(server_roots)
        .with_client_auth_cert(vec![client_certificate], client_key)?;
    let server = ServerConfig::from_rustls(server).alpn([PROTOCOL]).build()?;
    Ok((server, ClientConfig::from_rustls(client).alpn([PROTOCOL]).build()?))
}

/// A certificate that signs itself, its key, and roots with nothing but it.
fn certificate(name: &str) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>, Arc<RootCertStore>)> {
    let made = rcgen::generate_simple_self_signed([name.to_owned()])?;
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone())?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    Ok((made.cert.der().clone(), key, Arc::new(roots)))
}
