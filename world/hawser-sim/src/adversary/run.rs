//! Runs the named attacks and says what they took.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_core::crypto::ServerFactory;
use hawser_core::{
    ClientConfig, Code, Connection, ConnectionError, ConnectionHandle, Endpoint, EndpointConfig, Event,
    FourTuple, ServerConfig, TransportConfig,
};
use hawser_policy::{FeatureId, Registry, Side, Time};

use super::attacks::{PeerAttack, STREAMS, WINDOW};
use super::network::{Intruder, NetworkAttack};
use super::packets::Observer;
use super::peer::Peer;
use super::tap::Tap;
use super::victim::{Meter, Toll, Victim};
use crate::amplification::{Amplification, ClientEdge, ServerEdge};
use crate::testing::{SERVER, client_address, link, transport};
use crate::{Application, Download, Host, Network, Node, Serve};

/// When attacks begin: the handshake is over, and paths are open.
const BEGINS: Time = Time::from_secs(2);
/// How long nothing comes after an attack: longer than any timeout.
const SILENCE: Duration = Duration::from_secs(120);
/// Bytes of the download that networks attack.
const DOWNLOAD: u64 = 4_000_000;

/// What a peer that attacked took of its victim.
#[derive(Clone, Debug)]
pub struct PeerOutcome {
    /// Until the last packet of the attack had been dealt with.
    pub toll: Toll,
    /// Memory held beyond that of before the attack, when the connection was long over, in bytes.
    pub left: u64,
    /// How the victim closed the connection, if it was not for silence.
    pub closed: Option<Code>,
}

/// How victims are configured: small buffers, so that an attack has to fill something else. Streams that nobody reads may hold
/// 256 KiB, data to be sent 1 MiB, datagrams 64 KiB, source symbols 64 KiB.
fn victim_transport(registry: &Registry) -> TransportConfig {
    let mut config = transport(registry, "default", "cubic");
    config.max_bidirectional_streams = STREAMS;
    config.initial_stream_window = WINDOW + 2;
    config.max_stream_window = 128 << 10;
    config.initial_connection_window = 128 << 10;
    config.max_connection_window = 256 << 10;
    config.max_send_buffer = 1 << 20;
    config.datagram_receive_buffer = Some(64 << 10);
    config.datagram_send_buffer = 64 << 10;
    config.repair_buffer = Some(64 << 10);
    config.features = (0..8).map(FeatureId).collect();
    config.receive_timestamps = Some(16);
    config
}

/// Looks at nothing, and answers requests if it is a server that does.
struct Quiet {
    serve: Option<Serve>,
    closed: Option<ConnectionError>,
}

impl Quiet {
    fn new(response: u64) -> Self {
        Quiet { serve: (response > 0).then(|| Serve::new(response)), closed: None }
    }
}

impl Application for Quiet {
    fn on_event(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event) {
        match (event, &mut self.serve) {
            (Event::Closed(error), _) => self.closed = Some(error.clone()),
            (Event::Stream(_), Some(serve)) => serve.on_event(now, handle, connection, event),
            _ => {}
        }
    }
}

fn client<A: Application>(crypto: Tap, transport: &Arc<TransportConfig>, application: A) -> Host<A> {
    let endpoint = Endpoint::new(Arc::new(EndpointConfig::new([7; 32])), None, [1; 32]);
    let mut host = Host::new(endpoint, application);
    let config = ClientConfig::new(Arc::new(crypto), transport.clone());
    let connected = host.connect(Time::ZERO, config, client_address(0), SERVER, "server.test");
    assert!(connected.is_ok(), "a valid address");
    host
}

fn server<A: Application>(crypto: Tap, transport: &Arc<TransportConfig>, application: A) -> Host<A> {
    let crypto = Arc::new(crypto) as Arc<dyn ServerFactory>;
    let config = ServerConfig::new(crypto, transport.clone(), [9; 32]);
    let endpoint = Endpoint::new(Arc::new(EndpointConfig::new([8; 32])), Some(Arc::new(config)), [2; 32]);
    Host::new(endpoint, application)
}

fn add_link<C: Node, S: Node>(network: &mut Network<C, S>) {
    network.add_link(client_address(0).ip(), &link(100, 5), &link(100, 5));
}

impl PeerAttack {
    /// Runs it.
    ///
    /// # Panics
    /// If no connection can be made at all.
    pub fn run(&self, registry: &Registry, meter: impl Meter) -> PeerOutcome {
        let transport = Arc::new(victim_transport(registry));
        // What is made once for all runs is no part of what this one takes.
        let _ = crate::pattern_bytes(0, 1);
        let taps = [Tap::new(None), Tap::new(None)];
        let [client_tap, server_tap] = taps.clone();
        let [client_key, server_key] = taps;
        let client = client(client_tap, &transport, Quiet::new(0));
        let server = server(server_tap, &transport, Quiet::new(self.response));
        let observer = Observer::new(client_key, server_key);
        let to_server = FourTuple { local: client_address(0), remote: SERVER };
        match self.by {
            Side::Client => {
                let peer = Peer::new(client, self.by, observer, to_server, BEGINS, self.conduct);
                let mut network = Network::new(peer, Victim::new(server, meter), 1);
                self.finish(&mut network, |network| &mut network.server)
            }
            Side::Server => {
                let to_client = FourTuple { local: SERVER, remote: client_address(0) };
                let peer = Peer::new(server, self.by, observer, to_client, BEGINS, self.conduct);
                let mut network = Network::new(Victim::new(client, meter), peer, 1);
                self.finish(&mut network, |network| &mut network.client)
            }
        }
    }

    fn finish<C: Node, S: Node, M: Meter>(
        &self,
        network: &mut Network<C, S>,
        victim: impl Fn(&mut Network<C, S>) -> &mut Victim<Host<Quiet>, M>,
    ) -> PeerOutcome {
        add_link(network);
        network.run_to(BEGINS - Duration::from_millis(1));
        assert!(victim(network).node.first_connection().is_some(), "{}: no connection", self.name);
        victim(network).begin();
        let lasts = self.conduct.every * u32::try_from(self.conduct.packets).unwrap_or(u32::MAX);
        network.run_to(BEGINS + lasts + Duration::from_millis(500));
        let toll = victim(network).toll();
        network.run_to(network.now() + SILENCE);
        let left = victim(network).toll().held;
        let closed = match &victim(network).node.application.closed {
            Some(ConnectionError::Transport(error)) => Some(error.code),
            _ => None,
        };
        PeerOutcome { toll, left, closed }
    }
}

/// What an attack of the network did to a server and a download from it.
#[derive(Clone, Debug)]
pub struct NetworkOutcome {
    /// Of the server, all along.
    pub toll: Toll,
    /// Memory held beyond that of the beginning, when all was long over, in bytes.
    pub left: u64,
    /// How long the download took; `None`: it did not end within a minute.
    pub took: Option<Duration>,
    /// An address that was sent more than three times what came from it before somebody there had answered: bytes received,
    /// and sent.
    pub excess: Option<(u64, u64)>,
}

impl NetworkAttack {
    /// An undisturbed download, to compare with.
    pub const NONE: NetworkAttack = NetworkAttack {
        name: "none",
        about: "nobody does anything",
        adds: |_, _| Vec::new(),
        alters: |_| crate::Verdict::Pass,
        rebinds: None,
        slows: 1.0,
    };

    /// Runs it.
    ///
    /// # Panics
    /// If no connection can be begun at all.
    pub fn run(&self, registry: &Registry, meter: impl Meter) -> NetworkOutcome {
        let transport = Arc::new(transport(registry, "default", "cubic"));
        let ledger = Amplification::default();
        let client = client(Tap::new(None), &transport, Download::default());
        let server = Victim::new(server(Tap::new(None), &transport, Serve::new(DOWNLOAD)), meter);
        let mut edge = ServerEdge::new(server, &ledger);
        edge.attack = Some(Intruder::attack(self.adds));
        let mut network = Network::new(ClientEdge::new(client, &ledger), edge, 1);
        add_link(&mut network);
        network.server.node.begin();
        let (alters, mut number) = (self.alters, 0);
        network.set_filter(move |_, _, _| {
            number += 1;
            alters(number)
        });
        let mut rebound = Time::ZERO;
        let deadline = Time::from_secs(60);
        while network.now() < deadline && network.client.node.application.finished_at.is_none() {
            let until = self.rebinds.map_or(deadline, |every| network.now() + every).min(deadline);
            network.run_until(until, |network| network.client.node.application.finished_at.is_some());
            if self.rebinds.is_some() {
                rebound += Duration::from_millis(1);
                let inside = client_address(0);
                let port = 50_000 + (rebound.as_nanos() / 1_000_000) as u16;
                network.translate(inside, SocketAddr::new(inside.ip(), port));
            }
        }
        let took = network.client.node.application.finished_at.map(|at| at.since(Time::ZERO));
        let toll = network.server.node.toll();
        network.server.attack = None;
        network.run_to(network.now() + SILENCE);
        let left = network.server.node.toll().held;
        let excess = ledger.excess().map(|(_, exchange)| (exchange.received, exchange.sent));
        NetworkOutcome { toll, left, took, excess }
    }
}

/// The heading of the lines of [`Row`].
pub const HEADING: &str = "attack                     packets    bytes in   bytes out  most held     left  held/in  \
     out/in  alloc/in   us/packet  end";

/// A line of a table.
#[derive(Debug)]
pub struct Row<'a> {
    /// The name of the attack.
    pub name: &'a str,
    /// What it took.
    pub toll: Toll,
    /// What was left in the end.
    pub left: u64,
    /// How it ended.
    pub end: String,
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Toll { packets_in, bytes_in, bytes_out, most_held, allocated, nanos, .. } = self.toll;
        let per_byte = |bytes: u64| bytes as f64 / bytes_in.max(1) as f64;
        write!(
            f,
            "{:<24} {packets_in:>9} {bytes_in:>11} {bytes_out:>11} {most_held:>10} {:>8} {:>8.2} {:>7.2} \
             {:>9.1} {:>11.2}  {}",
            self.name,
            self.left,
            per_byte(most_held),
            per_byte(bytes_out),
            per_byte(allocated),
            nanos as f64 / 1_000.0 / packets_in.max(1) as f64,
            self.end,
        )
    }
}
