//! Two servers behind a load balancer that routes by connection id (draft-ietf-quic-load-balancers).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_core::crypto::null::NullServer;
use hawser_core::quic_lb::{QuicLbCodec, QuicLbServer};
use hawser_core::{Endpoint, EndpointConfig, FourTuple, ServerConfig, TransportConfig};
use hawser_policy::{PathStatus, Time};
use hawser_sim::testing::{SERVER, client, client_address, client_config, link};
use hawser_sim::{Download, Host, Network, Node, Packet, Serve};

use crate::common::config;

/// Bytes of a download.
const LENGTH: u64 = 3_000_000;

/// The balancer and the servers, which have one address: what they send does not come by the balancer.
struct Pool {
    codec: QuicLbCodec,
    servers: [Host<Serve>; 2],
    /// Where packets went that could not be routed, by the client's address.
    by_address: HashMap<SocketAddr, usize>,
    packets: [u64; 2],
    /// Packets that would have gone to the other server by the client's address.
    saved: u64,
}

fn server_id(server: usize) -> [u8; 2] {
    [0x51, server as u8]
}

/// The destination connection id of any version's packet (RFC 8999); in a short header, the rest of the packet.
fn destination(payload: &[u8]) -> Option<&[u8]> {
    if payload.first()? & 0x80 == 0 {
        return payload.get(1..);
    }
    let length = usize::from(*payload.get(5)?);
    payload.get(6..6 + length)
}

impl Pool {
    fn new(codec: QuicLbCodec, transport: &Arc<TransportConfig>) -> Self {
        let server = |index: usize| {
            let endpoint = EndpointConfig {
                quic_lb: Some(QuicLbServer::new(codec.clone(), &server_id(index)).unwrap()),
                ..EndpointConfig::new([8; 32])
            };
            let config = ServerConfig::new(Arc::new(NullServer::default()), transport.clone(), [9; 32]);
            let endpoint = Endpoint::new(Arc::new(endpoint), Some(Arc::new(config)), [index as u8; 32]);
            Host::new(endpoint, Serve::new(LENGTH))
        };
        Pool { servers: [server(0), server(1)], codec, by_address: HashMap::new(), packets: [0; 2], saved: 0 }
    }

    /// By the client's address: the fallback of section 4.3. Every link of the client has its own server.
    fn by_address(client: SocketAddr) -> usize {
        match client {
            SocketAddr::V4(client) => usize::from(client.ip().octets()[2] % 2),
            SocketAddr::V6(_) => 0,
        }
    }

    /// Section 4.2.
    fn route(&mut self, packet: &Packet) -> usize {
        let client = packet.tuple.local;
        let plaintext = destination(&packet.payload).and_then(|id| self.codec.decode(id));
        let routed = plaintext.and_then(|plaintext| (0..2).find(|&s| plaintext.server_id() == server_id(s)));
        match routed {
            Some(server) => {
                self.saved += u64::from(server != Pool::by_address(client));
                server
            }
            None => *self.by_address.entry(client).or_insert_with(|| Pool::by_address(client)),
        }
    }
}

impl Node for Pool {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        let server = self.route(&packet);
        self.packets[server] += 1;
        self.servers[server].handle_packet(now, packet);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.servers.iter_mut().find_map(|server| server.poll_transmit(now))
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.servers.iter_mut().filter_map(Node::poll_timeout).min()
    }

    fn handle_timeout(&mut self, now: Time) {
        for server in &mut self.servers {
            if server.poll_timeout().is_some_and(|at| at <= now) {
                server.handle_timeout(now);
            }
        }
    }
}

/// A client connects over its `first` link of three, opens paths over the others, and one NAT after the other forgets it.
fn every_packet_reaches_the_server_of_the_connection(codec: &QuicLbCodec, first: u8) {
    let transport = Arc::new(config("minrtt", "cubic"));
    let mut host = client(Download::default(), 5);
    let address = client_address(first);
    host.connect(Time::ZERO, client_config(transport.clone()), address, SERVER, "server.test").unwrap();
    let mut network = Network::new(host, Pool::new(codec.clone(), &transport), 5);
    for n in 0..3 {
        network.add_link(client_address(n).ip(), &link(8, 10 + 5 * u64::from(n)), &link(8, 10));
    }
    for n in (0..3).filter(|n| *n != first) {
        let tuple = FourTuple { local: client_address(n), remote: SERVER };
        let opened = network.run_until(network.now() + Duration::from_secs(2), |network| {
            let now = network.now();
            let connection = network.client.first_connection().unwrap();
            connection.open_path(now, tuple, PathStatus::Available, None).is_ok()
        });
        assert!(opened, "no path over link {n}");
    }
    for n in 0..3 {
        network.run_to(network.now() + Duration::from_millis(200));
        let mut outside = client_address(n);
        outside.set_port(61_000);
        network.translate(client_address(n), outside);
    }
    let deadline = network.now() + Duration::from_secs(10);
    let done = network.run_until(deadline, |network| network.client.application.finished_at.is_some());
    let (owner, download) = (usize::from(first % 2), &network.client.application);
    assert!(done && download.corrupt_at.is_none(), "{} bytes; {:?}", download.received, download.closed);
    assert_eq!(download.received, LENGTH);
    let pool = &mut network.server;
    assert_eq!(pool.packets[1 - owner], 0, "packets at the wrong server");
    assert_eq!(pool.servers[owner].connections(), 1);
    assert!(pool.saved > 30, "{} of {:?} packets from other addresses", pool.saved, pool.packets);
    let paths = pool.servers[owner].first_connection().unwrap().paths();
    let rebound = paths.iter().filter(|path| path.tuple.remote.port() == 61_000).count();
    assert_eq!((paths.len(), rebound), (3, 3), "{paths:?}");
}

#[test]
fn paths_and_rebound_clients_reach_the_server_of_their_connection() {
    let key = Some([0x3c; 16]);
    // Without a key; one block; four passes, of an even and an odd length.
    for (nonce, key) in [(6, None), (14, key), (6, key), (9, key)] {
        let codec = QuicLbCodec::new(4, 2, nonce, key).unwrap();
        for first in [0, 1] {
            every_packet_reaches_the_server_of_the_connection(&codec, first);
        }
    }
}
