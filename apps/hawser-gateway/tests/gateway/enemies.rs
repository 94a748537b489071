//! Clients and hosts that mean harm, or are broken.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hawser_gateway::client::{OpenError, TcpTunnel};
use hawser_masque::flows::Verdict;
use hawser_masque::status::ProxyError;
use hawser_masque::target::Target;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::ip::{Behind, REAL_TIME, client, transport, udp};
use crate::support::Setup;

fn refused<T>(result: Result<T, OpenError>) -> ProxyError {
    match result {
        Err(OpenError::Refused(status)) => status.error,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("a tunnel"),
    }
}

async fn held(setup: &Setup, count: usize) -> (Vec<TcpTunnel>, TcpListener, Target) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target::from(listener.local_addr().unwrap());
    let alice = client(setup, &setup.key).await;
    let mut tunnels = Vec::new();
    for _ in 0..count {
        tunnels.push(alice.tcp(&target).await.unwrap());
    }
    assert_eq!(refused(alice.tcp(&target).await), ProxyError::ConnectionLimitReached);
    (tunnels, listener, target)
}

#[tokio::test]
async fn a_user_with_all_tunnels_in_use_takes_none_from_others() {
    let setup = Setup::start_limited(transport(), None, 20).await;
    let (tunnels, _listener, target) = held(&setup, 20).await;
    let bob = client(&setup, &setup.other_key).await;
    assert!(bob.tcp(&target).await.is_ok(), "another user");
    drop(tunnels);
    let alice = client(&setup, &setup.key).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Err(error) = alice.tcp(&target).await {
        assert!(Instant::now() < deadline, "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_scan_of_ports_is_answered_port_by_port_and_ends_at_the_limit() {
    let setup = Setup::start_limited(transport(), None, 20).await;
    let alice = client(&setup, &setup.key).await;
    // Those that refuse are told, and hold nothing.
    for _ in 0..60 {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        assert_eq!(refused(alice.tcp(&Target::from(free)).await), ProxyError::ConnectionRefused);
    }
    // Of other addresses nothing is learned.
    for address in ["127.0.0.2:22", "10.0.0.1:22", "169.254.169.254:80", "[::1]:22", "[fd00::1]:22"] {
        let target = Target::from(address.parse::<SocketAddr>().unwrap());
        assert_eq!(refused(alice.tcp(&target).await), ProxyError::DestinationIpProhibited, "{address}");
    }
}

/// A listener whose queue is full: the kernel drops what else would connect.
async fn silent() -> (SocketAddr, Vec<TcpStream>, TcpListener) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
    {
        queued.push(stream);
        assert!(queued.len() < 100, "the queue has no end");
    }
    (address, queued, listener)
}

#[tokio::test]
async fn hosts_that_never_answer_hold_up_no_other_connection() {
    let setup = Setup::start_limited(transport(), None, 50).await;
    let (dead, _queued, _listener) = silent().await;
    let alice = client(&setup, &setup.key).await;
    let waiting: Vec<_> = (0..40)
        .map(|_| {
            let alice = alice.clone();
            tokio::spawn(async move { refused(alice.tcp(&Target::from(dead)).await) })
        })
        .collect();
    let alive = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let begun = Instant::now();
    assert!(alice.tcp(&Target::from(alive.local_addr().unwrap())).await.is_ok());
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    for one in waiting {
        assert_eq!(one.await.unwrap(), ProxyError::ConnectionTimeout);
    }
}

#[tokio::test]
async fn strange_packets_are_dropped_counted_and_do_no_harm() {
    let behind = Behind::new();
    let setup = Setup::start_with(transport(), Some(behind.network.clone())).await;
    let tunnel = client(&setup, &setup.key).await.ip(&[]).await.unwrap();
    let own = tunnel.addresses[0];
    let sound = udp(own, "127.0.0.1", 100);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = sound.clone();
        change(&mut packet);
        packet
    };
    let strange = [
        Vec::new(),
        vec![0x45],
        with(&|packet| packet[0] = 0x55),
        with(&|packet| packet[0] = 0x44),
        // Options: a source route would lead past the rules.
        with(&|packet| packet[0] = 0x46),
        with(&|packet| packet[3] = 255),
        with(&|packet| packet.truncate(30)),
        with(&|packet| packet.push(0)),
        // IPv6 with headers that lead to headers.
        [&[0x60, 0, 0, 0, 0, 160, 0, 64][..], &[0; 32], &[0; 160]].concat(),
        [&[0x60, 0, 0, 0, 0, 8, 43, 64][..], &[0; 32], &[17, 0, 0, 0, 0, 0, 0, 0]].concat(),
    ];
    let mut number = 0;
    let mut send = |packet: &[u8]| {
        tunnel.sender.send(packet, &Verdict { number, ..REAL_TIME });
        number += 1;
    };
    strange.iter().for_each(|packet| send(packet));
    behind.until(|counters| counters.malformed == strange.len() as u64).await;
    // Fragments pass as they are; the ends of their packet put them together.
    let fragment = with(&|packet| packet[6] = 0x20);
    send(&fragment);
    assert_eq!(behind.packet().await, fragment);
    // A packet to the client itself would go round and round.
    send(&udp(own, &own.to_string(), 10));
    behind.until(|counters| counters.denied == 1).await;
    send(&sound);
    assert_eq!(behind.packet().await, sound);
}
