//! A server that is reached over IPv4 and over IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hawser_net::policy::PathState;
use hawser_net::{Connection, Endpoint, Identity, PathInfo, Pin, ServerConfig};

use crate::common::*;

const IPV4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const IPV6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// What a resolver gives for a name with both: as it prefers IPv6 or IPv4.
fn resolved(port: u16, first: IpAddr) -> [SocketAddr; 2] {
    let second = if first == IPV4 { IPV6 } else { IPV4 };
    [first, second].map(|address| SocketAddr::new(address, port))
}

async fn connect(client: &Endpoint, pin: Pin, addresses: &[SocketAddr]) -> Connection {
    client.connect_with(&client_config(pin), addresses, "localhost").await.unwrap()
}

fn active(connection: &Connection) -> Vec<PathInfo> {
    connection.paths().into_iter().filter(|path| path.state == PathState::Active).collect()
}

/// Each link has an address of one family. Which one the handshake goes over does not matter.
#[tokio::test]
async fn each_path_goes_to_the_address_of_its_family() {
    let (server, pin) = server();
    serve(&server, echo);
    let port = server.listening()[0].port();
    for first in [IPV6, IPV4] {
        let client = client(pin, links(&["127.0.0.1", "::1"]));
        let connection = connect(&client, pin, &resolved(port, first)).await;
        assert_eq!(connection.remote_address(), SocketAddr::new(first, port));
        eventually("a path of each family", || active(&connection).len() == 2).await;
        let mut ends: Vec<_> =
            active(&connection).iter().map(|path| (path.tuple.local.ip(), path.tuple.remote)).collect();
        ends.sort();
        let expected = [IPV4, IPV6].map(|address| (address, SocketAddr::new(address, port)));
        assert_eq!(ends, expected);
        both_carry(&connection).await;
    }
}

/// Where nothing is scarce one path may carry a whole transfer now and then.
async fn both_carry(connection: &Connection) {
    let data = pattern(4 << 20);
    let carried = || active(connection).into_iter().filter_map(|path| connection.path_stats(path.id));
    for _ in 0..16 {
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        let (_, received) = tokio::join!(
            async {
                send.write_all(&data).await.unwrap();
                send.finish().unwrap();
            },
            receive.read_to_end(data.len()),
        );
        assert!(received.unwrap() == data, "what came back differs");
        if carried().all(|stats| stats.bytes_sent > 100_000) {
            return;
        }
    }
    panic!("{:?}", carried().collect::<Vec<_>>());
}

/// Only what was resolved is used: a link without an address of that family has no path.
#[tokio::test]
async fn one_address_is_one_family() {
    let (server, pin) = server();
    serve(&server, echo);
    let client = client(pin, links(&["127.0.0.1", "127.0.0.2", "::1"]));
    let connection = connect(&client, pin, &[address_of(&server)]).await;
    eventually("the paths over IPv4", || active(&connection).len() == 2).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(connection.paths().iter().all(|path| path.tuple.remote == address_of(&server)));
}

/// A server of its own, at this address.
fn server_at(address: SocketAddr) -> std::io::Result<(Endpoint, Pin)> {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let config = ServerConfig::builder(identity).alpn([ALPN]).build().unwrap();
    Endpoint::server(config, address).map(|server| (server, pin)).map_err(std::io::Error::other)
}

/// The name may be that of two servers. A path to the one that the handshake was not with never works, and what that one
/// answers, stateless resets, ends nothing.
#[tokio::test]
async fn another_server_at_the_other_address_gets_no_path() {
    let ((server, pin), (other, _)) = (0..100)
        .find_map(|_| {
            let first = server_at(SocketAddr::new(IPV4, 0)).unwrap();
            let second = server_at(SocketAddr::new(IPV6, first.0.listening()[0].port())).ok()?;
            Some((first, second))
        })
        .expect("a port that is free over both");
    serve(&server, echo);
    let port = server.listening()[0].port();
    let client = client(pin, links(&["127.0.0.1", "::1"]));
    let connection = connect(&client, pin, &resolved(port, IPV4)).await;
    let is_tried = || connection.paths().iter().any(|path| path.tuple.remote.is_ipv6());
    eventually("an attempt over IPv6", is_tried).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"still here").await.unwrap();
    send.finish().unwrap();
    assert_eq!(receive.read_to_end(100).await.unwrap(), b"still here");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(connection.close_reason().is_none());
    assert!(active(&connection).iter().all(|path| path.tuple.remote.is_ipv4()));
    drop(other);
}
