//! Downloads that nobody reads, with the windows of tunnels and with those of other applications.

use std::time::Duration;

use hawser_gateway::client::GatewayClient;
use hawser_gateway::local::TCP_IDLE;
use hawser_gateway::profile;
use hawser_net::TransportConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::Setup;

const UNREAD: usize = 64;
const READ: usize = 4 << 20;
/// Of a download on loopback, which takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(20);

<<<<<<< HEAD:apps/hawser-gateway/tests/unread.rs
/// A client of a gateway with this transport at both ends, and what must live as long as it.
async fn start(transport: TransportConfig) -> (GatewayClient, Endpoint, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let users = UserFile::new(folder.path().join("users.toml"));
    let key = users.add("alice").unwrap();
    let gateway = GatewayConfig {
        users,
        egress: EgressRules::new(vec!["127.0.0.1/32".parse().unwrap()]),
        tunnels_per_user: 1_000,
        connect_timeout: Duration::from_secs(5),
        tcp_idle: TCP_IDLE,
        udp_idle: UDP_IDLE,
    };
    let gateway = Gateway::start(gateway, Arc::new(|_: &str| {})).unwrap();
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let trust = Trust::Pins(vec![identity.pin().unwrap()]);
    let config = ServerConfig::builder(identity).alpn([hawser_h3::ALPN]).transport(transport.clone());
    let server = Endpoint::server(config.build().unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.listening()[0];
    let accepting = server.clone();
    tokio::spawn(async move {
        while let Some(incoming) = accepting.accept().await {
            let gateway = gateway.clone();
            tokio::spawn(async move { gateway.serve(incoming.await.unwrap()).await });
        }
    });
    let config =
        hawser_net::ClientConfig::builder().trust(trust).alpn([hawser_h3::ALPN]).transport(transport);
    let endpoint = Endpoint::client(config.build().unwrap(), Links::All).unwrap();
    let connection = endpoint.connect(address, "localhost").await.unwrap();
    let first = Dialed { connection, keep: Box::new(endpoint) };
    let dialer: Dialer = Box::new(|| Box::pin(async { Err("once is enough".into()) }));
    let config = ClientConfig {
        authority: "localhost:1".to_owned(),
        key,
        patience: Duration::from_secs(5),
        open_timeout: Duration::from_secs(30),
    };
    let (client, hello) = GatewayClient::start(config, first, dialer, Arc::new(|_: &str| {})).await.unwrap();
    assert_eq!(hello.user, "alice");
    (client, server, folder)
}

/// A server that never stops sending.
=======
/// A server that sends without end.
>>>>>>> tunnel:apps/hawser-gateway/tests/gateway/unread.rs
async fn source() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let block = vec![7; 1 << 16];
                while stream.write_all(&block).await.is_ok() {}
            });
        }
    });
    address
}

/// The end of a program whose other end is a tunnel to this address.
async fn tunnel(client: &GatewayClient, target: std::net::SocketAddr) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let program = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let local = listener.accept().await.unwrap().0;
    let tunnel = client.tcp(&target.into()).await.unwrap();
    tokio::spawn(tunnel.relay(local, TCP_IDLE));
    program
}

/// Whether a download comes through in time next to those that nobody reads.
async fn comes_through(transport: TransportConfig, patience: Duration) -> bool {
    let setup = Setup::start(transport).await;
    let (client, _) = setup.client(setup.key.clone()).await.unwrap();
    let source = source().await;
    let mut unread = Vec::new();
    for _ in 0..UNREAD {
        let opened = tokio::time::timeout(patience, tunnel(&client, source)).await;
        let Ok(program) = opened else { return false };
        unread.push(program);
    }
    // Until nothing comes any more.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let download = async {
        let mut program = tunnel(&client, source).await;
        program.read_exact(&mut vec![0; READ]).await.unwrap();
    };
    tokio::time::timeout(patience, download).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_windows_of_tunnels_they_stop_no_other() {
    let mut transport = hawser_net::default_transport();
    profile::apply(&mut transport, 1_000);
    assert!(comes_through(transport, PATIENCE).await);
}

/// Else the other test would show nothing.
#[tokio::test(flavor = "multi_thread")]
async fn with_the_windows_of_other_applications_they_stop_all() {
    let mut transport = hawser_net::default_transport();
    transport.max_bidirectional_streams = 1_000;
    assert!(!comes_through(transport, PATIENCE / 4).await);
}
