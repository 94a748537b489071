//! Downloads that nobody reads, with the windows of tunnels and with a smaller one of the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// A server that never stops sending, and what it has sent.
async fn source() -> (std::net::SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let sent = Arc::<AtomicU64>::default();
    let counter = sent.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let counter = counter.clone();
            tokio::spawn(async move {
                let block = vec![7; 1 << 16];
                while stream.write_all(&block).await.is_ok() {
                    counter.fetch_add(1 << 16, Ordering::Relaxed);
                }
            });
        }
    });
    (address, sent)
}

/// Waits until a source has sent nothing for a second: every buffer on the way is full.
async fn full(sent: &AtomicU64) {
    let mut before = u64::MAX;
    while before != sent.load(Ordering::Relaxed) {
        before = sent.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
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
    let (source, sent) = source().await;
    let mut unread = Vec::new();
    for _ in 0..UNREAD {
        let opened = tokio::time::timeout(patience, tunnel(&client, source)).await;
        let Ok(program) = opened else { return false };
        unread.push(program);
    }
    full(&sent).await;
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
async fn with_a_window_of_the_connection_below_those_of_its_streams_they_stop_all() {
    let mut transport = hawser_net::default_transport();
    transport.max_bidirectional_streams = 1_000;
    transport.max_connection_window = UNREAD as u64 * transport.initial_stream_window * 3 / 4;
    assert!(!comes_through(transport, PATIENCE / 4).await);
}
