//! A server and a client on loopback.

use std::net::SocketAddr;
use std::time::Duration;

use hawser_net::policy::PathStatus;
use hawser_net::{
    ClientConfig, Connection, Endpoint, Identity, Links, PathSpec, Pin, ServerConfig, TransportConfig, Trust,
    default_transport,
};

pub(crate) const ALPN: &str = "test";

pub(crate) fn init_tracing() {
    let _ = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_test_writer()
        .try_init();
}

/// A server that runs in this process, and its pin.
pub(crate) fn server_with(transport: TransportConfig) -> (Endpoint, Pin) {
    init_tracing();
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let config = ServerConfig::builder(identity).alpn([ALPN]).transport(transport).build().unwrap();
    (Endpoint::server(config, "[::]:0".parse().unwrap()).unwrap(), pin)
}

pub(crate) fn server() -> (Endpoint, Pin) {
    server_with(default_transport())
}

/// Where the server is reached over loopback.
pub(crate) fn address_of(server: &Endpoint) -> SocketAddr {
    SocketAddr::new("127.0.0.1".parse().unwrap(), server.listening()[0].port())
}

pub(crate) fn client_config(pin: Pin) -> ClientConfig {
    client_config_with(pin, default_transport())
}

pub(crate) fn client_config_with(pin: Pin, transport: TransportConfig) -> ClientConfig {
    ClientConfig::builder()
        .trust(Trust::Pins(vec![pin]))
        .alpn([ALPN])
        .transport(transport)
        .handshake_timeout(Duration::from_secs(5))
        .build()
        .unwrap()
}

/// Links by address.
pub(crate) fn links(addresses: &[&str]) -> Links {
    Links::Only(addresses.iter().map(|a| PathSpec::available(a.parse().unwrap())).collect())
}

pub(crate) fn links_with_backup(regular: &str, backup: &str) -> Links {
    let spec = |text: &str, status| PathSpec::new(text.parse().unwrap(), status);
    Links::Only(vec![spec(regular, PathStatus::Available), spec(backup, PathStatus::Backup)])
}

pub(crate) fn client(pin: Pin, over: Links) -> Endpoint {
    Endpoint::client(client_config(pin), over).unwrap()
}

/// Answers every stream with what it carried, until the connection ends.
pub(crate) async fn echo(connection: Connection) {
    while let Ok((mut send, mut receive)) = connection.accept_bi().await {
        tokio::spawn(async move {
            while let Ok(Some(chunk)) = receive.read_chunk(usize::MAX).await {
                if send.write_chunk(chunk).await.is_err() {
                    return;
                }
            }
            let _ = send.finish();
            let _ = send.stopped().await;
        });
    }
}

/// Accepts connections and gives each to `serve`.
pub(crate) fn serve<F>(server: &Endpoint, serve: impl Fn(Connection) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    let server = server.clone();
    tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            if let Ok(connection) = incoming.await {
                tokio::spawn(serve(connection));
            }
        }
    });
}

/// Polls until `condition` holds; fails after ten seconds.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("did not happen: {what}");
}

/// Bytes whose value depends on their place, so that any mix-up shows.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}
