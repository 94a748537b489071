//! A server with several workers: one address, a socket and a thread each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hawser_net::policy::PathState;
use hawser_net::quic_lb::{QuicLbCodec, QuicLbServer};
use hawser_net::{
    ClientConfig, ConfigError, Connection, ConnectionError, Endpoint, Identity, Pin, ServerConfig,
    ServerConfigBuilder, Trust, Version,
};
use tokio::net::UdpSocket;

use crate::common::*;

const WORKERS: usize = 4;

fn identity() -> (Identity, Pin) {
    init_tracing();
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    (identity, pin)
}

fn config(identity: Identity) -> ServerConfigBuilder {
    ServerConfig::builder(identity).alpn([ALPN]).workers(WORKERS)
}

/// Workers of a server behind a balancer.
fn balanced_team(key: Option<[u8; 16]>) -> (Endpoint, Pin) {
    let (identity, pin) = identity();
    let config = config(identity).build().unwrap();
    let codec = QuicLbCodec::new(0, 3, 4, key).unwrap();
    let builder = Endpoint::builder().server(config).quic_lb(QuicLbServer::new(codec, &[1, 2, 3]).unwrap());
    (builder.listen("[::]:0".parse().unwrap()).bind().unwrap(), pin)
}

fn team_with(change: impl FnOnce(ServerConfigBuilder) -> ServerConfigBuilder) -> (Endpoint, Pin) {
    let (identity, pin) = identity();
    let config = change(config(identity)).build().unwrap();
    (Endpoint::server(config, "[::]:0".parse().unwrap()).unwrap(), pin)
}

fn active(connection: &Connection) -> usize {
    connection.paths().iter().filter(|path| path.state == PathState::Active).count()
}

/// A connection with a path from each of three addresses, over sockets of its own.
async fn connect(pin: Pin, server: SocketAddr) -> (Endpoint, Connection) {
    let config = ClientConfig::builder()
        .trust(Trust::Pins(vec![pin]))
        .alpn([ALPN])
        // No second link joins the race, however busy the machine is: each client is one connection.
        .attempt_delay(Duration::from_secs(60))
        .build()
        .unwrap();
    let client = Endpoint::client(config, links(&["127.0.0.1", "127.0.0.2", "127.0.0.3"])).unwrap();
    let connection = client.connect(server, "localhost").await.unwrap();
    eventually("three paths", || active(&connection) == 3).await;
    (client, connection)
}

async fn echoed(connection: &Connection, data: Bytes) -> Vec<u8> {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let length = data.len();
    let sending = async {
        send.write_chunk(data).await.unwrap();
        send.finish().unwrap();
    };
    let (received, ()) = tokio::join!(receive.read_to_end(length), sending);
    received.unwrap()
}

/// The runtime has one thread: what runs in parallel are the workers' own.
#[tokio::test]
async fn forty_connections_of_three_paths_are_divided_and_end_together() {
    let (server, pin) = team_with(|config| config);
    serve(&server, echo);
    let address = address_of(&server);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40_usize {
        tasks.spawn(async move {
            let (client, connection) = connect(pin, address).await;
            let data = Bytes::from(pattern(200_000 + number));
            assert!(echoed(&connection, data.clone()).await == data, "what came back differs");
            (client, connection)
        });
    }
    let clients = tasks.join_all().await;
    for (_, connection) in &clients {
        for path in connection.paths() {
            let stats = connection.path_stats(path.id).unwrap();
            assert!(stats.bytes_sent > 0 && stats.bytes_received > 0, "{path:?}: {stats:?}");
        }
    }

    let stats = server.worker_stats();
    assert_eq!(stats.len(), WORKERS);
    assert_eq!(stats.iter().map(|worker| worker.connections).sum::<usize>(), 40, "{stats:?}");
    assert!(stats.iter().all(|worker| worker.accepted == worker.connections as u64), "{stats:?}");
    assert_eq!(server.open_connections(), 40);
    // All at one worker: once in 4^39 runs. All 80 other paths at their owner's socket: once in 4^80.
    assert!(stats.iter().filter(|worker| worker.connections > 0).count() > 1, "{stats:?}");
    assert!(stats.iter().any(|worker| worker.handed_over > 0), "{stats:?}");

    server.close(7, b"stop");
    for (_, connection) in &clients {
        let reason = connection.closed().await;
        assert!(matches!(reason, ConnectionError::PeerApplication { code: 7, .. }), "{reason}");
    }
    assert!(server.accept().await.is_none(), "closed");
    server.wait_idle().await;
    eventually("the closing periods are over", || server.open_connections() == 0).await;
    assert!(server.worker_stats().iter().all(|worker| worker.connections == 0));
}

#[tokio::test]
async fn a_path_from_another_address_reaches_the_owner_and_can_carry_all() {
    reaches_the_owner(team_with(|config| config)).await;
}

/// The worker's number is in the nonce.
#[tokio::test]
async fn so_it_does_behind_a_balancer() {
    reaches_the_owner(balanced_team(None)).await;
    reaches_the_owner(balanced_team(Some([7; 16]))).await;
}

async fn reaches_the_owner((server, pin): (Endpoint, Pin)) {
    serve(&server, echo);
    // Until one of the second paths came in at a worker that does not own it: three in four do.
    for _ in 0..50 {
        let client = client(pin, links(&["127.0.0.1", "127.0.0.2"]));
        let connection = client.connect(address_of(&server), "localhost").await.unwrap();
        eventually("a second path", || active(&connection) == 2).await;
        let first = connection.paths()[0].id;
        connection.abandon_path(first).unwrap();
        let before: u64 = server.worker_stats().iter().map(|worker| worker.handed_over).sum();
        let data = Bytes::from(pattern(1 << 20));
        assert!(echoed(&connection, data.clone()).await == data, "what came back differs");
        let after: u64 = server.worker_stats().iter().map(|worker| worker.handed_over).sum();
        if after > before + 100 {
            return;
        }
    }
    panic!("nothing was handed over: {:?}", server.worker_stats());
}

#[tokio::test]
async fn every_client_proves_its_address_whichever_worker_asks() {
    let (server, pin) = team_with(|config| config.retry_above_handshakes(0));
    let address = address_of(&server);
    let accepting = tokio::spawn(async move {
        for _ in 0..20 {
            let incoming = server.accept().await.unwrap();
            assert!(incoming.is_address_validated());
            incoming.await.unwrap();
        }
    });
    for _ in 0..20 {
        let client = client(pin, links(&["127.0.0.1"]));
        client.connect(address, "localhost").await.unwrap();
    }
    accepting.await.unwrap();
}

#[tokio::test]
async fn a_token_from_one_worker_counts_at_the_others() {
    // A Retry would prove the address as well, so none is sent.
    let (server, pin) = team_with(|config| config.retry_above_handshakes(usize::MAX));
    let address = address_of(&server);
    let accepting = tokio::spawn(async move {
        let mut connections = Vec::new();
        let mut validated = Vec::new();
        for _ in 0..40 {
            let incoming = server.accept().await.unwrap();
            validated.push(incoming.is_address_validated());
            connections.push(incoming.await.unwrap());
        }
        let stats = server.worker_stats();
        assert!(stats.iter().filter(|worker| worker.accepted > 0).count() > 1, "{stats:?}");
        validated
    });
    for _ in 0..20 {
        let first = client(pin, links(&["127.0.0.1"]));
        let connection = first.connect(address, "localhost").await.unwrap();
        let mut token = None;
        eventually("a token", || {
            token = connection.take_token();
            token.is_some()
        })
        .await;
        // Another client, another port, and with that another worker in three of four cases.
        let second = client(pin, links(&["127.0.0.1"]));
        let config = client_config(pin).with_token(token.unwrap(), Version::V1);
        second.connect_with(&config, &[address], "localhost").await.unwrap();
    }
    assert_eq!(accepting.await.unwrap(), [false, true].repeat(20));
}

#[tokio::test]
async fn the_limit_on_connections_is_one_for_all_workers() {
    let (server, pin) = team_with(|config| config.max_connections(3));
    serve(&server, echo);
    let address = address_of(&server);
    let mut clients = Vec::new();
    for _ in 0..3 {
        let client = client(pin, links(&["127.0.0.1"]));
        let connection = client.connect(address, "localhost").await.unwrap();
        echoed(&connection, Bytes::from_static(b"there")).await;
        clients.push((client, connection));
    }
    // Wherever the next ones arrive.
    for _ in 0..10 {
        let client = client(pin, links(&["127.0.0.1"]));
        assert!(client.connect(address, "localhost").await.is_err());
    }
}

#[tokio::test]
async fn a_restarted_team_says_that_connections_are_gone() {
    let (identity, pin) = identity();
    let start = |port| {
        let config = config(identity.clone()).build().unwrap();
        let address = SocketAddr::new("127.0.0.1".parse().unwrap(), port);
        Endpoint::builder().server(config).listen(address).reset_key([3; 32]).bind()
    };
    let first = start(0).unwrap();
    let address = first.listening()[0];
    // A relay keeps the goodbye of the first server from the client.
    let (relay, front) = Relay::start(address).await;
    serve(&first, echo);
    let connection = client(pin, links(&["127.0.0.1"])).connect(front, "localhost").await.unwrap();
    connection.confirmed().await.unwrap();
    relay.mute(true);
    first.close(0, b"");
    first.wait_idle().await;
    drop(first);
    let mut second = None;
    eventually("the port is free again once the workers have ended", || {
        second = start(address.port()).ok();
        second.is_some()
    })
    .await;
    relay.mute(false);
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(&[1; 3_000]).await.unwrap();
    let reason = tokio::time::timeout(Duration::from_secs(10), connection.closed()).await.expect("a reset");
    assert_eq!(reason, ConnectionError::Reset);
}

#[tokio::test]
async fn the_workers_outlive_the_endpoint_as_long_as_connections_do() {
    let (server, pin) = team_with(|config| config);
    let address = address_of(&server);
    let (accepted, (client, connection)) =
        tokio::join!(async { server.accept().await.unwrap().await.unwrap() }, connect(pin, address));
    drop(server);
    let echoing = tokio::spawn(echo(accepted));
    let data = Bytes::from(pattern(300_000));
    assert!(echoed(&connection, data.clone()).await == data, "what came back differs");
    connection.close(0, b"done");
    echoing.await.unwrap();
    client.wait_idle().await;
    // The last one out closes the sockets.
    let address = SocketAddr::new("127.0.0.1".parse().unwrap(), address.port());
    eventually("the port is free", || std::net::UdpSocket::bind(address).is_ok()).await;
}

#[test]
fn a_number_of_workers_that_makes_no_sense_is_refused() {
    for (workers, possible) in [(0, false), (1, true), (ServerConfigBuilder::MAX_WORKERS, true), (65, false)]
    {
        let (identity, _) = identity();
        let result = ServerConfig::builder(identity).workers(workers).build();
        match result {
            Ok(_) => assert!(possible, "{workers}"),
            Err(ConfigError::Workers { asked, most: 64 }) => assert!(!possible && asked == workers),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Passes datagrams between one client and a server, unless it is muted.
struct Relay {
    is_muted: Arc<AtomicBool>,
}

impl Relay {
    async fn start(server: SocketAddr) -> (Relay, SocketAddr) {
        let front = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let back = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = front.local_addr().unwrap();
        let is_muted = Arc::new(AtomicBool::new(false));
        let muted = is_muted.clone();
        tokio::spawn(async move {
            let (mut from_client, mut from_server) = ([0; 65_536], [0; 65_536]);
            let mut client = None;
            loop {
                let passes = || !muted.load(Ordering::Relaxed);
                tokio::select! {
                    received = front.recv_from(&mut from_client) => {
                        let (length, from) = received.unwrap();
                        client = Some(from);
                        if passes() {
                            let _ = back.send_to(&from_client[..length], server).await;
                        }
                    }
                    received = back.recv(&mut from_server) => {
                        if let (Ok(length), Some(client), true) = (received, client, passes()) {
                            let _ = front.send_to(&from_server[..length], client).await;
                        }
                    }
                }
            }
        });
        (Relay { is_muted }, address)
    }

    fn mute(&self, muted: bool) {
        self.is_muted.store(muted, Ordering::Relaxed);
    }
}
