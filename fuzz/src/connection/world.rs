//! Two ends, the network between them, and time.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use hawser_core::{
    ClientConfig, Code, Connection, ConnectionError, ConnectionHandle, Datagram, Ecn, Endpoint,
    EndpointConfig, FourTuple, Routed, ServerConfig, StatelessDatagram, TransportConfig, Version,
    VersionPreference, Versions,
};
use hawser_policy::{Side, Time};
use hawser_sim::adversary::{CID_LENGTH, Observer, Space, Tap};

use super::application::Application;
use super::network::{Network, UnderWay, from, is_victim, server_address};
use super::strangers::{Forger, Strangers};
use super::tokens;

/// Turns of the loop at one instant that mean that somebody spins.
const MAX_TURNS_AT_ONCE: usize = 2_000;
/// Datagrams that one end may send at one instant.
const MAX_DATAGRAMS_AT_ONCE: usize = 5_000;
/// Turns of the loop in all, whatever happens.
const MAX_TURNS: usize = 2_000_000;
/// Units of work that a datagram may cost, about a millisecond: what may be saved up, and what one packet overdraws.
const MAX_WORK_OF_A_DATAGRAM: u64 = 9 << 20;
/// Bytes that both ends and their network may take: windows and buffers are small, so that nothing else can be large.
const MAX_MEMORY: isize = 4 << 20;

/// Bytes that may be buffered when all is delivered: streams that were not ended take some.
const MAX_BUFFERED: u64 = 64 << 10;
/// Bytes that may be in flight on a path then: a keep-alive, say.
const MAX_IN_FLIGHT: u64 = 4_000;

/// Frames that are to go with, or instead of, those of a packet that is about to leave.
pub struct Rewrite {
    pub space: Option<Space>,
    pub replace: bool,
    pub frames: Vec<u8>,
}

/// One end.
pub struct End {
    pub endpoint: Endpoint,
    handle: Option<ConnectionHandle>,
    pub connection: Option<Connection>,
    pub application: Application,
    stateless: Vec<StatelessDatagram>,
    /// Connections that nobody can answer.
    strangers: Strangers,
    pub rewrites: VecDeque<Rewrite>,
    /// Whether what arrives from it may differ from what it meant to send.
    pub forged: bool,
    /// Whether the attacker has taken its place: it neither sends nor receives.
    pub replaced: bool,
}

impl End {
    fn new(side: Side, endpoint: Endpoint) -> Self {
        End {
            endpoint,
            handle: None,
            connection: None,
            application: Application::new(side),
            stateless: Vec::new(),
            strangers: Strangers::default(),
            rewrites: VecDeque::new(),
            forged: false,
            replaced: false,
        }
    }

    fn service(&mut self, peer: &mut End) {
        let (Some(handle), Some(connection)) = (self.handle, &mut self.connection) else { return };
        self.application
            .service(connection, (!peer.forged && !peer.replaced).then_some(&mut peer.application));
        while let Some(event) = connection.poll_endpoint_event() {
            self.endpoint.handle_event(handle, event);
        }
        if connection.is_drained() {
            assert!(self.application.closed.is_some(), "a connection is over, and nobody was told");
            let others = self.strangers.len();
            assert_eq!(self.endpoint.connections(), others, "the endpoint does not forget a connection");
            self.connection = None;
        }
    }
}

/// How a connection is to be set up.
pub struct Setup {
    pub transports: [TransportConfig; 2],
    pub taps: [Tap; 2],
    /// Whose transport parameters are not what it meant to send.
    pub forged: [bool; 2],
    pub retry: bool,
    /// The address token that the client comes with.
    pub token: Option<Vec<u8>>,
    pub versions: VersionSetup,
}

/// Which versions the ends speak.
pub struct VersionSetup {
    pub client: Versions,
    /// With which the client begins.
    pub first: Version,
    pub server: Versions,
    pub preference: VersionPreference,
}

impl Default for VersionSetup {
    fn default() -> Self {
        VersionSetup {
            client: Versions::default(),
            first: Version::V1,
            server: Versions::default(),
            preference: VersionPreference::Client,
        }
    }
}

/// Real time at the beginning, without which tokens of other connections are worth nothing: 50 years, in seconds.
const ORIGIN: Duration = Duration::from_secs(50 * 365 * 24 * 3_600);
/// All servers here seal their tokens with it.
const TOKEN_KEY: [u8; 32] = [3; 32];

/// The configuration of an endpoint.
pub fn endpoint_config(reset_key: [u8; 32]) -> Arc<EndpointConfig> {
    Arc::new(EndpointConfig {
        connection_id_length: CID_LENGTH,
        unix_time_at_origin: ORIGIN,
        ..EndpointConfig::new(reset_key)
    })
}

/// All of it.
pub struct World {
    pub now: Time,
    ends: [End; 2],
    pub network: Network,
    pub observer: Observer,
    buffer: Vec<u8>,
    memory_before: isize,
    turns: usize,
    pub datagrams: usize,
    /// Where forged addresses begin connections.
    forger: Forger,
}

impl World {
    /// A client that is about to connect.
    pub fn new(setup: Setup) -> Self {
        let memory_before = crate::memory::live();
        let [client_transport, server_transport] = setup.transports.map(Arc::new);
        let forger = Forger::new(client_transport.clone(), setup.token.clone());
        let mut network = Network::new();
        if setup.token.as_deref().is_some_and(tokens::is_given) {
            network.was_validated_before();
        }
        let [client_tap, server_tap] = setup.taps;
        let strangers = Strangers::new(server_transport.clone());
        let mut server_config = ServerConfig::new(Arc::new(server_tap.clone()), server_transport, TOKEN_KEY);
        (server_config.versions, server_config.version_preference) =
            (setup.versions.server, setup.versions.preference);
        if setup.retry {
            server_config.retry_above_handshakes = 0;
        }
        let client = Endpoint::new(endpoint_config([1; 32]), None, [2; 32]);
        let server = Endpoint::new(endpoint_config([4; 32]), Some(Arc::new(server_config)), [5; 32]);
        let mut client = End::new(Side::Client, client);
        let mut server = End::new(Side::Server, server);
        [client.forged, server.forged] = setup.forged;
        server.strangers = strangers;
        let client_config = ClientConfig {
            token: setup.token,
            token_version: setup.versions.first,
            versions: setup.versions.client,
            first_version: setup.versions.first,
            ..ClientConfig::new(Arc::new(client_tap.clone()), client_transport)
        };
        let (handle, connection) = client
            .endpoint
            .connect(Time::ZERO, client_config, from(0), "fuzz")
            .expect("nothing stands in the way");
        (client.handle, client.connection) = (Some(handle), Some(connection));
        World {
            now: Time::ZERO,
            ends: [client, server],
            network,
            observer: Observer::new(client_tap, server_tap),
            buffer: Vec::new(),
            memory_before,
            turns: 0,
            datagrams: 0,
            forger,
        }
    }

    pub fn end(&mut self, side: Side) -> &mut End {
        let [client, server] = &mut self.ends;
        if side.is_client() { client } else { server }
    }

    fn both(&mut self, side: Side) -> (&mut End, &mut End) {
        let [client, server] = &mut self.ends;
        if side.is_client() { (client, server) } else { (server, client) }
    }

    pub fn is_forged(&self) -> bool {
        self.ends.iter().any(|end| end.forged || end.replaced)
    }

    /// Lets an application do something, if its connection exists.
    pub fn act(&mut self, side: Side, act: impl FnOnce(&mut Application, &mut Connection, Time)) {
        let now = self.now;
        let end = self.end(side);
        if let Some(connection) = end.connection.as_mut().filter(|connection| !connection.is_closed()) {
            act(&mut end.application, connection, now);
        }
    }

    /// Begins a connection from an address where nobody is.
    pub fn forge_connection(&mut self, from: SocketAddr) {
        let tuple = FourTuple { local: from, remote: server_address() };
        let initial = self.forger.initial(self.now, tuple);
        initial.into_iter().for_each(|initial| self.network.spoof(self.now, from, initial));
    }

    /// Lets time pass, with all arrivals and timers on the way.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut turns = 0;
        loop {
            self.transmit();
            let timeouts = self.ends.iter().filter(|end| !end.replaced).flat_map(|end| {
                let own = end.connection.as_ref().and_then(|connection| connection.poll_timeout());
                [own, end.strangers.poll_timeout()]
            });
            let arrival = self.network.next_arrival();
            let next = timeouts.chain([arrival]).flatten().min();
            let Some(next) = next.filter(|at| *at <= end) else {
                self.now = end;
                break;
            };
            turns = if next > self.now { 0 } else { turns + 1 };
            assert!(turns < MAX_TURNS_AT_ONCE, "nothing but turns at {:?}", self.now);
            self.turns += 1;
            assert!(self.turns < MAX_TURNS, "turns without end");
            self.now = self.now.max(next);
            while let Some(datagram) = self.network.arrived(self.now) {
                self.receive(datagram);
            }
            self.handle_timeouts();
        }
        self.network.check_amplification(self.is_forged());
        let memory = crate::memory::live() - self.memory_before;
        assert!(memory <= MAX_MEMORY, "{memory} bytes in use");
    }

    fn handle_timeouts(&mut self) {
        let now = self.now;
        for end in self.ends.iter_mut().filter(|end| !end.replaced) {
            if let Some(connection) = &mut end.connection
                && connection.poll_timeout().is_some_and(|at| at <= now)
            {
                connection.handle_timeout(now);
            }
            end.strangers.handle_timeouts(now);
        }
    }

    fn transmit(&mut self) {
        let now = self.now;
        for side in [Side::Client, Side::Server] {
            let (end, peer) = self.both(side);
            if end.replaced {
                continue;
            }
            end.service(peer);
            let mut leaving = self.take_leaving(side);
            let (end, peer) = self.both(side);
            end.service(peer);
            leaving.drain(..).for_each(|(tuple, ecn, payload)| self.send(side, tuple, ecn, payload));
            let end = self.end(side);
            let answers = end.strangers.service(now, &mut end.endpoint);
            for (tuple, payload) in answers {
                self.network.send(now, side, tuple, None, payload);
            }
        }
    }

    fn take_leaving(&mut self, side: Side) -> Vec<(FourTuple, Option<Ecn>, Vec<u8>)> {
        let now = self.now;
        let mut buffer = std::mem::take(&mut self.buffer);
        let end = self.end(side);
        let mut leaving: Vec<_> =
            end.stateless.drain(..).map(|answer| (answer.transmit.tuple, None, answer.bytes)).collect();
        while let Some(transmit) =
            end.connection.as_mut().and_then(|connection| connection.poll_transmit(now, &mut buffer))
        {
            let size = transmit.segment_size.unwrap_or(transmit.size);
            assert!(0 < size && size <= transmit.size && transmit.size <= buffer.len());
            let segments = buffer[..transmit.size].chunks(size);
            leaving.extend(segments.map(|segment| (transmit.tuple, transmit.ecn, segment.to_vec())));
            assert!(leaving.len() < MAX_DATAGRAMS_AT_ONCE, "an end that never stops sending");
        }
        self.buffer = buffer;
        leaving
    }

    fn send(&mut self, by: Side, tuple: FourTuple, ecn: Option<Ecn>, mut payload: Vec<u8>) {
        self.datagrams += 1;
        let visible = self.network.reaches(by, &tuple);
        self.observer.observe(by, &payload, visible);
        if visible {
            self.rewrite(by, &mut payload);
        }
        self.network.send(self.now, by, tuple, ecn, payload);
    }

    /// Puts the attacker's frames into a datagram.
    fn rewrite(&mut self, by: Side, datagram: &mut Vec<u8>) {
        let Some(rewrite) = self.end(by).rewrites.front() else { return };
        let wanted = rewrite.space;
        let packets = self.observer.packets(by, datagram);
        // Behind the last packet of a datagram nothing has to be moved.
        let Some(packet) =
            packets.last().filter(|packet| wanted.is_none_or(|space| space == packet.header.space))
        else {
            return;
        };
        let Some(rewrite) = self.end(by).rewrites.pop_front() else { return };
        let original = &datagram[packet.payload.clone()];
        let mut frames = if rewrite.replace { Vec::new() } else { original.to_vec() };
        frames.extend_from_slice(&rewrite.frames);
        // RFC 9000 section 14.1: it stays as long as it was.
        frames.resize(frames.len().max(original.len()), 0);
        if let Some(bytes) = self.observer.write(by, &packet.header, &frames) {
            datagram.truncate(packet.at.start);
            datagram.extend_from_slice(&bytes);
            self.end(by).forged = true;
        }
    }

    fn receive(&mut self, datagram: UnderWay) {
        let now = self.now;
        let (end, peer) = self.both(datagram.by.peer());
        if end.replaced {
            return;
        }
        let payload = BytesMut::from(&datagram.payload[..]);
        let datagram = Datagram { tuple: datagram.tuple, ecn: datagram.ecn, received_at: now, payload };
        match end.endpoint.handle_datagram(now, datagram, &mut end.stateless) {
            // When this connection is over, its handle may be that of another one.
            Some(Routed::Connection(handle, datagram))
                if end.handle != Some(handle) || end.connection.is_none() =>
            {
                end.strangers.handle_datagram(now, handle, datagram);
            }
            Some(Routed::Connection(_, datagram)) => {
                let connection = end.connection.as_mut().expect("routed to a connection that exists");
                let before = connection.work_spent();
                connection.handle_datagram(now, datagram);
                let work = connection.work_spent() - before;
                assert!(work <= MAX_WORK_OF_A_DATAGRAM, "{work} units of work for a datagram");
            }
            Some(Routed::Incoming(incoming)) if end.handle.is_some() => {
                if is_victim(incoming.remote_address()) {
                    end.strangers.accept(now, &mut end.endpoint, incoming);
                } else {
                    end.endpoint.ignore(incoming);
                }
            }
            Some(Routed::Incoming(incoming)) => {
                if let Ok((handle, connection)) = end.endpoint.accept(now, incoming, None) {
                    (end.handle, end.connection) = (Some(handle), Some(connection));
                }
            }
            None => {}
        }
        end.service(peer);
    }

    /// Asserts that without an attacker nobody found fault with the other.
    pub fn check_reasons(&self) {
        if self.is_forged() {
            return;
        }
        for end in &self.ends {
            if let Some(ConnectionError::Transport(error) | ConnectionError::PeerTransport(error)) =
                &end.application.closed
            {
                // The last is about a Retry token that was too long on its way.
                let excused = [Code::NO_VIABLE_PATH, Code::APPLICATION_ERROR, Code::INVALID_TOKEN];
                assert!(excused.contains(&error.code), "honest ends, and yet: {error}");
            }
        }
    }

    /// Asserts that all data arrived, and nothing is left of it, if both ends live and nobody forged anything.
    pub fn check_delivered(&mut self) {
        let alive = |end: &End| end.connection.is_some() && end.application.closed.is_none();
        if self.is_forged() || !self.ends.iter().all(alive) {
            return;
        }
        let [client, server] = &self.ends;
        client.application.assert_delivered(&server.application);
        server.application.assert_delivered(&client.application);
        for connection in self.ends.iter().filter_map(|end| end.connection.as_ref()) {
            let buffered = connection.buffered();
            assert!(buffered <= MAX_BUFFERED, "{buffered} bytes buffered, and all was delivered");
            for path in connection.paths() {
                let in_flight = connection.path_stats(path.id).map_or(0, |stats| stats.bytes_in_flight);
                assert!(
                    in_flight <= MAX_IN_FLIGHT,
                    "{}: {in_flight} bytes in flight, and all was delivered",
                    path.id
                );
            }
        }
    }
}
