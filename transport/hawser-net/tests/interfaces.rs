//! Links that come and go, in network namespaces. Needs root, or says that it was skipped.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hawser_net::policy::{PathEvent, PathState};
use hawser_net::{ClientConfig, ConnectError, Connection, Endpoint, Links, Pin, Trust};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::gettid;
use tokio::sync::oneshot;

use crate::common::*;

/// A server in a namespace of its own at 10.9.0.1, behind two links of this host: `a0` with 10.1.0.2 and `a1` with 10.2.0.2.
/// No route leads to the server: only sockets that are bound to a device reach it.
struct Town {
    pin: Pin,
    port: u16,
    stop: Option<oneshot::Sender<()>>,
    server: Option<JoinHandle<()>>,
}

/// Moves this thread to a namespace where it may do as it likes. `false`: not permitted.
pub(crate) fn enter_namespace() -> bool {
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        eprintln!("skipped: network namespaces need root ({error})");
        return false;
    }
    ip("link set lo up");
    true
}

pub(crate) fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Town {
    fn build() -> Option<Town> {
        if !enter_namespace() {
            return None;
        }
        let (thread_sender, thread) = mpsc::channel();
        let (links_ready, wait_for_links) = mpsc::channel::<()>();
        let (started_sender, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let server = std::thread::spawn(move || {
            assert!(enter_namespace());
            thread_sender.send(gettid()).unwrap();
            wait_for_links.recv().unwrap();
            ip("addr add 10.9.0.1/32 dev lo");
            for number in [0, 1] {
                ip(&format!("addr add 10.{}.0.1/24 dev b{number}", number + 1));
                ip(&format!("link set b{number} up"));
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (endpoint, pin) = server();
                serve(&endpoint, echo);
                started_sender.send((pin, endpoint.listening()[0].port())).unwrap();
                let _ = stopped.await;
            });
        });
        let thread = thread.recv().unwrap();
        for number in [0, 1] {
            ip(&format!("link add a{number} type veth peer name b{number} netns {thread}"));
            add_address(number);
            ip(&format!("link set a{number} up"));
        }
        links_ready.send(()).unwrap();
        let (pin, port) = started.recv().unwrap();
        // The kernel takes up to a second to call a new link running.
        while !["a0", "a1"].iter().all(|link| ip(&format!("-o link show {link}")).contains("state UP")) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(Town { pin, port, stop: Some(stop), server: Some(server) })
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new("10.9.0.1".parse().unwrap(), self.port)
    }

    async fn connect(&self, links: Links) -> Connection {
        let client = Endpoint::client(client_config(self.pin), links).unwrap();
        client.connect(self.address(), "localhost").await.unwrap()
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

fn add_address(link: u8) {
    ip(&format!("addr add 10.{}.0.2/24 dev a{link}", link + 1));
}

fn active(connection: &Connection) -> usize {
    connection.paths().iter().filter(|path| path.state == PathState::Active).count()
}

async fn exchange(connection: &Connection, length: usize) {
    exchange_data(connection, &pattern(length)).await;
}

async fn exchange_data(connection: &Connection, data: &[u8]) {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let (_, received) = tokio::join!(
        async {
            send.write_all(data).await.unwrap();
            send.finish().unwrap();
        },
        receive.read_to_end(data.len())
    );
    assert!(received.unwrap() == data, "what came back differs");
}

#[tokio::test]
async fn all_interfaces_are_used_and_one_may_be_unplugged_mid_transfer() {
    let Some(town) = Town::build() else { return };
    let connection = town.connect(Links::All).await;
    eventually("a path on each link", || active(&connection) == 2).await;
    let mut events = connection.path_events();
    let data = pattern(64 << 20);
    let started = Instant::now();
    let unplug = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        ip("link del a0");
    };
    tokio::join!(unplug, exchange_data(&connection, &data));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let mut seen = Vec::new();
    while let Ok(Some(event)) = events.try_recv() {
        seen.push(event);
    }
    assert!(seen.iter().any(|event| matches!(event, PathEvent::LinkDown(_))), "{seen:?}");
    eventually("only the other path is left", || connection.paths().len() == 1).await;
}

#[tokio::test]
async fn a_link_that_appears_gets_a_path() {
    let Some(town) = Town::build() else { return };
    ip("addr del 10.2.0.2/24 dev a1");
    let connection = town.connect(Links::All).await;
    connection.confirmed().await.unwrap();
    exchange(&connection, 100_000).await;
    assert_eq!(connection.paths().len(), 1);
    add_address(1);
    eventually("a second path", || active(&connection) == 2).await;
    exchange(&connection, 10 << 20).await;
}

#[tokio::test]
async fn a_link_that_is_up_but_dead_does_not_delay_the_handshake() {
    let Some(town) = Town::build() else { return };
    // Nothing gets through a0: its far end hears nothing, and no ICMP comes back.
    ip("link set a0 arp off");
    let config = ClientConfig::builder()
        .trust(Trust::Insecure)
        .alpn([ALPN])
        .handshake_timeout(Duration::from_millis(500))
        .build()
        .unwrap();
    let alone = Endpoint::client(config, links(&["a0"])).unwrap();
    let error = alone.connect(town.address(), "localhost").await.unwrap_err();
    assert!(matches!(error, ConnectError::TimedOut { .. }), "{error}");
    let started = Instant::now();
    let connection = town.connect(links(&["a0", "a1"])).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    exchange(&connection, 1 << 20).await;
}

#[tokio::test]
async fn the_only_link_gets_a_new_address_and_the_connection_goes_on() {
    let Some(town) = Town::build() else { return };
    let connection = town.connect(links(&["a0"])).await;
    exchange(&connection, 100_000).await;
    ip("addr del 10.1.0.2/24 dev a0");
    tokio::time::sleep(Duration::from_millis(200)).await;
    ip("addr add 10.1.0.77/24 dev a0");
    tokio::time::timeout(Duration::from_secs(10), exchange(&connection, 1 << 20)).await.expect("it goes on");
    let locals: Vec<_> = connection.paths().iter().map(|path| path.tuple.local.ip().to_string()).collect();
    assert!(locals.contains(&"10.1.0.77".to_owned()), "{locals:?}");
}

#[tokio::test]
async fn without_multipath_the_connection_moves_to_another_link() {
    let Some(town) = Town::build() else { return };
    let mut transport = hawser_net::default_transport();
    transport.max_path_id = None;
    let config = client_config_with(town.pin, transport);
    let client = Endpoint::client(config, links(&["a0", "a1"])).unwrap();
    let connection = client.connect(town.address(), "localhost").await.unwrap();
    connection.confirmed().await.unwrap();
    exchange(&connection, 100_000).await;
    ip("link set a0 down");
    tokio::time::timeout(Duration::from_secs(10), exchange(&connection, 1 << 20)).await.expect("it moved");
    assert_eq!(connection.paths()[0].tuple.local.ip().to_string(), "10.2.0.2");
}

/// News of what this process changes has the numbers of its requests, which others have as well: none of it is taken for an answer to
/// somebody else's question.
#[test]
fn what_this_process_changes_hides_no_change() {
    const ROUNDS: u8 = 40;
    if !enter_namespace() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut interfaces = hawser_net::watch_interfaces().await.unwrap();
        let (connection, handle, _) = rtnetlink::new_connection().unwrap();
        tokio::spawn(connection);
        for round in 0..ROUNDS {
            let mut last = std::net::Ipv4Addr::UNSPECIFIED;
            // Of loopback, which is the first interface. More of them than questions are asked for each piece of news.
            for number in 1..=6 {
                last = std::net::Ipv4Addr::new(10, 5, round, number);
                handle.address().add(1, last.into(), 32).execute().await.unwrap();
            }
            let has_last = |interfaces: &hawser_net::Interfaces| {
                interfaces.iter().any(|interface| interface.addresses.contains(&last.into()))
            };
            let seen = tokio::time::timeout(Duration::from_secs(2), interfaces.wait_for(has_last)).await;
            assert!(seen.is_ok(), "round {round}: an address is not seen");
        }
    });
}
