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

/// A server that never stops sending.
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
