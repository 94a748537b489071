//! Strangers with forged addresses, over all connections of a server: it is nobody's amplifier (RFC 9000 section 8).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::BytesMut;
use hawser_core::crypto::null::{NullClient, NullHandshake, NullServer};
use hawser_core::{
    ClientConfig, Connection, ConnectionHandle, Endpoint, EndpointConfig, Event, FourTuple, ServerConfig,
    StreamEvent, TransportConfig,
};
use hawser_policy::{PathStatus, Time};
use hawser_sim::amplification::{Amplification, Attack, ClientEdge, ServerEdge};
use hawser_sim::testing::{SERVER, client, client_address, link};
use hawser_sim::{Application, Host, Network, Packet, Serve};

use crate::common::config;

/// Addresses where nobody is.
const VICTIMS: u8 = 4;
/// Connections of the honest client.
const CONNECTIONS: u8 = 3;

fn victim(n: u64) -> SocketAddr {
    SocketAddr::from(([203, 0, 113, (n % u64::from(VICTIMS)) as u8], 4_000 + (n % 50) as u16))
}

/// Several downloads, each over two paths.
#[derive(Default)]
struct Downloads {
    finished: usize,
    tokens: Vec<Vec<u8>>,
}

impl Application for Downloads {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        match event {
            Event::Connected => {
                let id = connection.open_stream(true).unwrap();
                connection.write(id, b"request").unwrap();
                connection.finish(id).unwrap();
            }
            Event::HandshakeConfirmed => {
                let tuple = FourTuple { local: client_address(CONNECTIONS), remote: SERVER };
                let _ = connection.open_path(now, tuple, PathStatus::Available, None);
            }
            Event::Stream(StreamEvent::Readable(id)) => {
                while let Ok(chunk) = connection.read_chunk(*id, 1 << 16) {
                    if chunk.is_none() {
                        self.finished += 1;
                        break;
                    }
                }
            }
            Event::NewToken(token) => self.tokens.push(token.clone()),
            _ => {}
        }
    }
}

type Net = Network<ClientEdge<Host<Downloads>>, ServerEdge<Host<Serve>>>;

/// A certificate chain long enough to be worth an attack.
fn handshake() -> NullHandshake {
    NullHandshake { server_flight: 9_000, ..NullHandshake::default() }
}

fn client_config(transport: &Arc<TransportConfig>, token: Option<Vec<u8>>) -> ClientConfig {
    ClientConfig { token, ..ClientConfig::new(Arc::new(NullClient(handshake())), transport.clone()) }
}

fn connect(network: &mut Net, transport: &Arc<TransportConfig>, token: Option<&Vec<u8>>) {
    let now = network.now();
    for n in 0..CONNECTIONS {
        let config = client_config(transport, token.cloned());
        network.client.node.connect(now, config, client_address(n), SERVER, "server.test").unwrap();
    }
}

fn network(transport: &Arc<TransportConfig>, ledger: &Amplification, retry: bool) -> Net {
    let mut server = ServerConfig::new(Arc::new(NullServer(handshake())), transport.clone(), [9; 32]);
    if retry {
        server.retry_above_handshakes = 2;
    }
    let endpoint = Endpoint::new(Arc::new(EndpointConfig::new([8; 32])), Some(Arc::new(server)), [2; 32]);
    let server = ServerEdge::new(Host::new(endpoint, Serve::new(1_000_000)), ledger);
    let mut network = Network::new(ClientEdge::new(client(Downloads::default(), 1), ledger), server, 1);
    for n in 0..=CONNECTIONS {
        network.add_link(client_address(n).ip(), &link(20, 10), &link(20, 10));
    }
    network
}

/// Somebody who begins connections, and copies what he sees, with the addresses of others.
struct Attacker {
    endpoint: Endpoint,
    transport: Arc<TransportConfig>,
    token: Option<Vec<u8>>,
    count: u64,
}

impl Attacker {
    fn attack(transport: &Arc<TransportConfig>, token: Option<&Vec<u8>>) -> Attack {
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::new([6; 32])), None, [6; 32]);
        let mut attacker =
            Attacker { endpoint, transport: transport.clone(), token: token.cloned(), count: 0 };
        Box::new(move |now, packet| attacker.act(now, packet))
    }

    fn act(&mut self, now: Time, seen: &Packet) -> Vec<Packet> {
        self.count += 1;
        let to_server = FourTuple { local: victim(self.count / 6), remote: SERVER };
        let forge = |payload: &[u8]| Packet::new(to_server, None, BytesMut::from(payload));
        // A copy that comes first makes a path seem to have moved; of a handshake it would be one that never ends.
        let is_short = seen.payload.first().is_some_and(|first| first & 0x80 == 0);
        let mut packets = Vec::new();
        match self.count % 6 {
            0 if is_short => packets.push(forge(&seen.payload)),
            1 => packets.extend(self.initial(now, to_server).map(|initial| forge(&initial))),
            // Answered with a stateless reset.
            2 => packets.push(forge(&[&[0x41][..], &self.count.to_be_bytes(), &[5; 60]].concat())),
            // Answered with Version Negotiation.
            3 => packets.push(forge(&[&[0xc1, 1, 2, 3, 4, 8][..], &[7; 8], &[8], &[9; 1_200]].concat())),
            _ => {}
        }
        packets
    }

    /// The first datagram of a connection of his own.
    fn initial(&mut self, now: Time, tuple: FourTuple) -> Option<Vec<u8>> {
        let config = client_config(&self.transport, self.token.clone());
        let (_, mut connection) = self.endpoint.connect(now, config, tuple, "server.test").ok()?;
        let mut buffer = Vec::new();
        let sent = connection.poll_transmit(now, &mut buffer)?;
        Some(buffer[..sent.segment_size.unwrap_or(sent.size)].to_vec())
    }
}

fn check(network: &mut Net, ledger: &Amplification, downloads: usize) {
    let deadline = network.now() + std::time::Duration::from_secs(60);
    network.run_until(deadline, |_| ledger.excess().is_some());
    assert_eq!(ledger.excess(), None);
    assert_eq!(network.client.node.application.finished, downloads, "honest clients are served all the same");
}

fn attacked(retry: bool) {
    let transport = Arc::new(config("default", "cubic"));
    let ledger = Amplification::default();
    let mut network = network(&transport, &ledger, retry);
    connect(&mut network, &transport, None);
    network.server.attack = Some(Attacker::attack(&transport, None));
    check(&mut network, &ledger, usize::from(CONNECTIONS));
    // Again with the tokens of the first time, which the attacker has, too.
    let token = network.client.node.application.tokens.first().cloned();
    assert!(token.is_some(), "a server gives out tokens");
    connect(&mut network, &transport, token.as_ref());
    network.server.attack = Some(Attacker::attack(&transport, token.as_ref()));
    check(&mut network, &ledger, 2 * usize::from(CONNECTIONS));

    let mut total = (0, 0);
    for n in 0..u64::from(VICTIMS) {
        let address: IpAddr = victim(n).ip();
        let exchange = ledger.with(address);
        println!("{address}: {} bytes received, {} sent", exchange.received, exchange.sent);
        assert!(exchange.received > 20_000, "an attack that is worth its name");
        total = (total.0 + exchange.received, total.1 + exchange.sent);
    }
    // Without Retry the limit is nearly reached: so it is what protects the victims.
    assert!(retry || total.1 * 2 > total.0, "{total:?}");
}

#[test]
fn forged_addresses_are_sent_three_times_what_came_from_them_at_most() {
    attacked(false);
}

#[test]
fn nor_are_they_of_a_server_that_sends_retry() {
    attacked(true);
}
