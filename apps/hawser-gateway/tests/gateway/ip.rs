//! IP packets through a gateway on loopback, with a queue in place of the network behind it.

use std::net::IpAddr;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use hawser_gateway::client::{GatewayClient, IpTunnel, OpenError};
use hawser_gateway::pools::Pools;
use hawser_gateway::server::{Device, IpCounters, IpNetwork};
use hawser_masque::flows::{Class, Verdict};
use hawser_masque::packet::{self, ICMP, UDP};

use crate::support::Setup;

/// Packets that came out behind the gateway.
struct Queue(mpsc::Sender<Vec<u8>>);

impl Device for Queue {
    fn send(&self, packet: &[u8]) {
        let _ = self.0.send(packet.to_vec());
    }
}

pub(crate) struct Behind {
    pub(crate) network: IpNetwork,
    packets: mpsc::Receiver<Vec<u8>>,
    _folder: tempfile::TempDir,
}

impl Behind {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pools = ["10.118.0.0/24", "fd00::/64"].map(|prefix| prefix.parse().unwrap()).to_vec();
        let pools = Pools::open(pools, &folder.path().join("addresses.toml")).unwrap();
        let (sender, packets) = mpsc::channel();
        Behind { network: IpNetwork::new(Box::new(Queue(sender)), pools), packets, _folder: folder }
    }

    pub(crate) async fn packet(&self) -> Vec<u8> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Ok(packet) = self.packets.try_recv() {
                return packet;
            }
            assert!(Instant::now() < deadline, "no packet: {:?}", self.network.counters());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(crate) async fn until(&self, what: impl Fn(IpCounters) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !what(self.network.counters()) {
            assert!(Instant::now() < deadline, "{:?}", self.network.counters());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

pub(crate) const REAL_TIME: Verdict = Verdict { class: Class::RealTime, flow: 0, number: 0 };
const BULK: Verdict = Verdict { class: Class::Bulk, flow: 0, number: 0 };

/// A UDP packet without checksums, which nobody on the way looks at.
pub(crate) fn udp(source: IpAddr, destination: &str, length: usize) -> Vec<u8> {
    let (IpAddr::V4(source), Ok(IpAddr::V4(destination))) = (source, destination.parse()) else {
        panic!("IPv4 only");
    };
    let total = u16::try_from(28 + length).unwrap().to_be_bytes();
    let mut packet = vec![0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, UDP, 0, 0];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend([0x10, 0, 0, 53, 0, 0, 0, 0]);
    packet.resize(28 + length, 7);
    packet
}

pub(crate) fn transport() -> hawser_net::TransportConfig {
    let mut transport = hawser_net::default_transport();
    hawser_gateway::profile::apply(&mut transport, 100);
    transport
}

pub(crate) async fn client(setup: &Setup, key: &hawser_gateway::users::Key) -> GatewayClient {
    setup.client(key.clone()).await.unwrap().0
}

pub(crate) async fn receive(tunnel: &mut IpTunnel) -> Vec<u8> {
    let received = tokio::time::timeout(Duration::from_secs(10), tunnel.receiver.receive()).await;
    received.expect("in time").unwrap().expect("a packet").to_vec()
}

#[tokio::test]
async fn packets_travel_both_ways_small_and_large() {
    let behind = Behind::new();
    let setup = Setup::start_with(transport(), Some(behind.network.clone())).await;
    let (client, hello) = setup.client(setup.key.clone()).await.unwrap();
    assert!(hello.protocols.iter().any(|protocol| protocol == "ip"), "{hello:?}");
    let mut tunnel = client.ip(&[]).await.unwrap();
    assert_eq!(tunnel.addresses, ["10.118.0.2", "fd00::2"].map(|text| text.parse::<IpAddr>().unwrap()));
    let own = tunnel.addresses[0];
    // The larger one fits no packet: it takes the stream.
    for (number, length) in [(0, 100), (1, 20_000)] {
        let packet = udp(own, "127.0.0.1", length);
        tunnel.sender.send(&packet, &Verdict { number, ..REAL_TIME });
        assert_eq!(behind.packet().await, packet);
        let answer = {
            let mut answer = udp("127.0.0.1".parse().unwrap(), "10.118.0.2", length);
            answer[9] = ICMP;
            answer
        };
        behind.network.deliver(&answer);
        assert_eq!(receive(&mut tunnel).await, answer);
    }
    behind.network.deliver(&udp("127.0.0.1".parse().unwrap(), "10.118.0.99", 1));
    behind.network.deliver(b"nothing");
    let counters = behind.network.counters();
    assert_eq!((counters.up, counters.down, counters.unknown, counters.malformed), (2, 2, 1, 1));
    let seen = client.traffic().seen();
    let bytes = seen.iter().fold((0, 0), |sum, it| (sum.0 + it.bytes_sent, sum.1 + it.bytes_received));
    assert_eq!(bytes, (20_156, 20_156), "{seen:?}");
}

/// A SYN that asks for segments of 1,460 bytes; its sum is not looked at here.
fn syn(source: IpAddr, destination: &str) -> Vec<u8> {
    let mut packet = udp(source, destination, 16);
    packet[9] = packet::TCP;
    packet[20..44]
        .copy_from_slice(&[0x10, 0, 0, 53, 0, 0, 0, 1, 0, 0, 0, 0, 0x60, 2, 1, 0, 0, 0, 0, 0, 2, 4, 5, 180]);
    packet
}

#[tokio::test]
async fn connections_through_the_tunnel_send_segments_that_fit() {
    let behind = Behind::new();
    let setup = Setup::start_with(transport(), Some(behind.network.clone())).await;
    let mut tunnel = client(&setup, &setup.key).await.ip(&[]).await.unwrap();
    let segments = |packet: &[u8]| u16::from_be_bytes([packet[42], packet[43]]);
    tunnel.sender.send(&syn(tunnel.addresses[0], "127.0.0.1"), &REAL_TIME);
    let asked = segments(&behind.packet().await);
    assert!((1_200..=1_360).contains(&asked), "{asked}");
    behind.network.deliver(&syn("127.0.0.1".parse().unwrap(), "10.118.0.2"));
    let answered = segments(&receive(&mut tunnel).await);
    assert!((1_200..=1_360).contains(&answered), "{answered}");
}

#[tokio::test]
async fn marks_of_congestion_and_service_arrive_as_they_were_sent() {
    let behind = Behind::new();
    let setup = Setup::start_with(transport(), Some(behind.network.clone())).await;
    let mut tunnel = client(&setup, &setup.key).await.ip(&[]).await.unwrap();
    // EF and ECT(1), AF41 and CE.
    for (number, mark) in [(0, 46 << 2 | 1), (1, 34 << 2 | 3)] {
        let mut packet = udp(tunnel.addresses[0], "127.0.0.1", 100);
        packet[1] = mark;
        tunnel.sender.send(&packet, &Verdict { number, ..REAL_TIME });
        assert_eq!(behind.packet().await, packet);
        let mut answer = udp("127.0.0.1".parse().unwrap(), "10.118.0.2", 100);
        answer[1] = mark;
        behind.network.deliver(&answer);
        assert_eq!(receive(&mut tunnel).await, answer);
    }
}

#[tokio::test]
async fn a_packet_that_comes_twice_is_handed_on_once() {
    let behind = Behind::new();
    let setup = Setup::start_with(transport(), Some(behind.network.clone())).await;
    let tunnel = client(&setup, &setup.key).await.ip(&[]).await.unwrap();
    let own = tunnel.addresses[0];
    for number in [0, 0, 1, 1, 2] {
        let packet = udp(own, "127.0.0.1", 100 + number);
        let verdict = Verdict { number: u32::try_from(number).unwrap(), ..REAL_TIME };
        tunnel.sender.send(&packet, &verdict);
    }
    for number in 0..3 {
        assert_eq!(behind.packet().await, udp(own, "127.0.0.1", 100 + number));
    }
    assert_eq!(behind.network.counters().up, 3);
}

#[tokio::test]
async fn what_is_not_allowed_is_dropped_counted_and_answered() {
    let behind = Behind::new();
    let setup = Setup::start_with(transport(), Some(behind.network.clone())).await;
    let (alice, bob) = (client(&setup, &setup.key).await, client(&setup, &setup.other_key).await);
    let (mut alice, bob) = (alice.ip(&[]).await.unwrap(), bob.ip(&[]).await.unwrap());
    let own = alice.addresses[0];
    assert_ne!(own, bob.addresses[0]);
    // From an address that is another client's.
    alice.sender.send(&udp(bob.addresses[0], "127.0.0.1", 10), &BULK);
    behind.until(|counters| counters.spoofed == 1).await;
    let mut cut = udp(own, "127.0.0.1", 10);
    cut.pop();
    alice.sender.send(&cut, &BULK);
    behind.until(|counters| counters.malformed == 1).await;
    // To another client, and to an address that the rules deny.
    for destination in [bob.addresses[0].to_string(), "10.0.0.1".to_owned()] {
        alice.sender.send(&udp(own, &destination, 10), &BULK);
        let answer = receive(&mut alice).await;
        let read = packet::read(&answer).unwrap();
        assert_eq!((read.protocol, read.source.to_string()), (ICMP, destination));
        assert_eq!(answer[20..22], [3, 13], "administratively prohibited");
    }
    behind.until(|counters| counters.denied == 2).await;
    assert_eq!(behind.network.counters().up, 0);
}

#[tokio::test]
async fn a_client_that_comes_back_takes_its_addresses_with_it() {
    let behind = Behind::new();
    let setup = Setup::start_with(transport(), Some(behind.network.clone())).await;
    let mut first = client(&setup, &setup.key).await.ip(&[]).await.unwrap();
    let addresses = first.addresses.clone();
    // Without asking, a second machine of the same user has others.
    let second = client(&setup, &setup.key).await.ip(&[]).await.unwrap();
    assert_ne!(second.addresses, addresses);
    let back = client(&setup, &setup.key).await.ip(&addresses).await.unwrap();
    assert_eq!(back.addresses, addresses);
    assert_eq!(first.receiver.receive().await, Ok(None), "the old tunnel ends");
    // Somebody else cannot have them.
    let other = client(&setup, &setup.other_key).await.ip(&addresses).await.unwrap();
    assert_ne!(other.addresses, addresses);
}

#[tokio::test]
async fn a_gateway_without_a_network_says_so() {
    let setup = Setup::start(transport()).await;
    let error = client(&setup, &setup.key).await.ip(&[]).await.err().unwrap();
    let OpenError::Refused(status) = error else { panic!("{error}") };
    assert!(status.details.contains("hawser gateway --nat"), "{}", status.details);
}
