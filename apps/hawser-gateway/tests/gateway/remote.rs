//! Ports of the gateway that lead to hosts of a user.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_gateway::client::OpenError;
use hawser_gateway::grants::Grants;
use hawser_gateway::local::forward::{Forward, RemoteForward, Transport};
use hawser_gateway::local::{TCP_IDLE, UDP_IDLE};
use hawser_masque::status::ProxyError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::ip::{client, transport};
use crate::support::Setup;

/// A gateway where alice may listen on all ports of 127.0.0.1 from 1,024 on.
async fn setup() -> Setup {
    let setup = Setup::start(transport()).await;
    let ports = ["1024-65535", "1024-65535/udp"].map(|rule| rule.parse().unwrap());
    setup.grant("alice", |grants| grants.listen = ports.to_vec()).await;
    setup
}

fn forward(target: SocketAddr, transport: Transport) -> Forward {
    Forward { listen: "127.0.0.1:0".parse().unwrap(), target: target.into(), transport }
}

/// Has the gateway lead a port of its own to this target, and returns that port.
async fn start(setup: &Setup, target: SocketAddr, transport: Transport) -> SocketAddr {
    let idle = if transport == Transport::Tcp { TCP_IDLE } else { UDP_IDLE };
    let alice = client(setup, &setup.key).await;
    let say = Arc::new(|text: &str| eprintln!("{text}"));
    let mut remote = RemoteForward::start(alice, forward(target, transport), idle, say).await.unwrap();
    let port = remote.forward().listen;
    tokio::spawn(async move { remote.run().await });
    port
}

#[tokio::test]
async fn tcp_of_a_gateways_port_reaches_the_clients_host() {
    let setup = setup().await;
    let host = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = start(&setup, host.local_addr().unwrap(), Transport::Tcp).await;
    for number in 0..20_u8 {
        let mut near = TcpStream::connect(port).await.unwrap();
        let (mut far, _) = host.accept().await.unwrap();
        near.write_all(&[number; 100_000]).await.unwrap();
        near.shutdown().await.unwrap();
        let mut came = Vec::new();
        far.read_to_end(&mut came).await.unwrap();
        assert_eq!(came, [number; 100_000]);
        far.write_all(b"answer").await.unwrap();
        drop(far);
        came.clear();
        near.read_to_end(&mut came).await.unwrap();
        assert_eq!(came, b"answer");
    }
}

#[tokio::test]
async fn who_connects_where_no_host_listens_sees_a_reset() {
    let setup = setup().await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let port = start(&setup, free, Transport::Tcp).await;
    let mut near = TcpStream::connect(port).await.unwrap();
    let error = near.read(&mut [0; 10]).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn udp_of_several_hosts_is_told_apart() {
    let setup = setup().await;
    let host = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = start(&setup, host.local_addr().unwrap(), Transport::Udp).await;
    tokio::spawn(async move {
        let mut buffer = [0; 9_000];
        loop {
            let (read, from) = host.recv_from(&mut buffer).await.unwrap();
            host.send_to(&buffer[..read], from).await.unwrap();
        }
    });
    let mut buffer = [0; 9_000];
    for number in 1..=10_usize {
        let near = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        near.connect(port).await.unwrap();
        for length in [number, 1_000 + number, 8_000 + number] {
            near.send(&vec![7; length]).await.unwrap();
            let read = tokio::time::timeout(Duration::from_secs(5), near.recv(&mut buffer)).await;
            let read =
                read.unwrap_or_else(|_| panic!("nothing came back of {length} bytes of host {number}"));
            assert_eq!(read.unwrap(), length);
        }
    }
}

#[tokio::test]
async fn nobody_listens_without_permission() {
    let setup = setup().await;
    let (alice, bob) = (client(&setup, &setup.key).await, client(&setup, &setup.other_key).await);
    for (client, address) in
        [(&bob, "127.0.0.1:8000"), (&bob, "127.0.0.1:0"), (&alice, "127.0.0.1:80"), (&alice, "0.0.0.0:8000")]
    {
        match client.listen(Transport::Tcp, address.parse().unwrap()).await {
            Err(OpenError::Refused(status)) => {
                assert_eq!(status.error, ProxyError::HttpRequestDenied);
                assert!(status.details.contains("--listen"), "{}", status.details);
            }
            Err(error) => panic!("{error}"),
            Ok(port) => panic!("listens on {}", port.address),
        }
    }
}

#[tokio::test]
async fn a_port_is_closed_when_its_client_goes_or_may_no_longer_have_it() {
    let setup = setup().await;
    let alice = client(&setup, &setup.key).await;
    let port = alice.listen(Transport::Tcp, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let first = port.address;
    assert!(TcpStream::connect(first).await.is_ok());
    drop(port);
    until_closed(first).await;
    let mut port = alice.listen(Transport::Tcp, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    setup.grant("alice", |grants| *grants = Grants::default()).await;
    let next = tokio::time::timeout(Duration::from_secs(10), port.next()).await.unwrap();
    assert!(next.unwrap().is_none());
    until_closed(port.address).await;
}

async fn until_closed(address: SocketAddr) {
    for _ in 0..500 {
        if TcpStream::connect(address).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{address} is open");
}

#[tokio::test]
async fn a_connection_is_fetched_by_its_user_alone() {
    let setup = setup().await;
    setup.grant("bob", |grants| grants.listen = vec!["1024-65535".parse().unwrap()]).await;
    let (alice, bob) = (client(&setup, &setup.key).await, client(&setup, &setup.other_key).await);
    let mut port = alice.listen(Transport::Tcp, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let _near = TcpStream::connect(port.address).await.unwrap();
    let arrival = port.next().await.unwrap().unwrap();
    let stolen = arrival.for_client(&bob).tcp().await;
    assert!(matches!(stolen, Err(OpenError::Refused(_))));
    assert!(arrival.tcp().await.is_ok());
}
