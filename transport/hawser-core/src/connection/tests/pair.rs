//! A client and a server with nothing but delay between them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use hawser_cc::NewReno;
use hawser_paths::FastestReturn;
use hawser_policy::{
    Composed, ControllerFactory, ControllerInit, PathId, PathStatus, SchedulerFactory, SchedulerInit, Side,
    StreamId, Time,
};
use hawser_sched::MinRtt;

use crate::crypto::null::{NullClient, NullHandshake, NullServer};
use crate::crypto::{ClientFactory, ServerFactory};
use crate::quic_lb::QuicLbServer;
use crate::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, Datagram, Ecn, Endpoint, EndpointConfig,
    Event, FourTuple, PreferredAddresses, Routed, ServerConfig, StatelessDatagram, TransportConfig, Version,
    VersionPreference, Versions,
};

/// One way.
pub(super) const DELAY: Duration = Duration::from_millis(10);

/// Turns of the loop at one instant that mean that somebody spins.
const MAX_TURNS: usize = 2_000;

pub(super) fn transport() -> TransportConfig {
    transport_with(
        Arc::new(|_: &SchedulerInit| Box::new(MinRtt) as Box<_>),
        Arc::new(|init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>),
    )
}

/// With the acknowledgement policy of drivers and simulator.
pub(super) fn transport_with(
    scheduler: Arc<dyn SchedulerFactory>,
    congestion: Arc<dyn ControllerFactory>,
) -> TransportConfig {
    let acks = Arc::new(|| Box::new(FastestReturn::default()) as Box<_>);
    TransportConfig::with_policies(Arc::new(Composed::new(scheduler, congestion, acks)))
}

pub(super) fn server_address() -> SocketAddr {
    "198.51.100.1:443".parse().unwrap()
}

pub(super) fn client_address(n: u16) -> SocketAddr {
    SocketAddr::new("192.0.2.1".parse().unwrap(), 4_000 + n)
}

/// From an address of the client.
pub(super) fn from(client: SocketAddr) -> FourTuple {
    FourTuple { local: client, remote: server_address() }
}

/// What comes from an address of the client, as the server sees it.
pub(super) fn at_server(client: SocketAddr) -> FourTuple {
    FourTuple { local: server_address(), remote: client }
}

pub(super) struct End {
    pub(super) endpoint: Endpoint,
    handle: Option<ConnectionHandle>,
    pub(super) connection: Option<Connection>,
    pub(super) events: Vec<Event>,
    stateless: Vec<StatelessDatagram>,
    /// A stream being written, and how many bytes are left.
    writing: Option<(StreamId, usize)>,
}

impl End {
    fn new(endpoint: Endpoint) -> Self {
        End {
            endpoint,
            handle: None,
            connection: None,
            events: Vec::new(),
            stateless: Vec::new(),
            writing: None,
        }
    }

    /// The application's turn, and the endpoint's.
    fn service(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        // A call that writes nothing is a call all the same: it would wake a scheduler that waits.
        if let Some((id, left)) = self.writing.as_mut().filter(|(_, left)| *left > 0) {
            *left -= connection.write(*id, &vec![7; *left]).unwrap_or(0);
        }
        self.take_events();
    }

    fn take_events(&mut self) {
        let (Some(handle), Some(connection)) = (self.handle, &mut self.connection) else { return };
        self.events.extend(std::iter::from_fn(|| connection.poll_event()));
        while let Some(event) = connection.poll_endpoint_event() {
            self.endpoint.handle_event(handle, event);
        }
    }

    pub(super) fn closed(&self) -> Option<&ConnectionError> {
        self.events.iter().find_map(|event| match event {
            Event::Closed(reason) => Some(reason),
            _ => None,
        })
    }
}

/// A datagram that left.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) at: Time,
    pub(super) by: Side,
    /// As the sender sees it.
    pub(super) tuple: FourTuple,
    pub(super) ecn: Option<Ecn>,
    pub(super) payload: Vec<u8>,
}

pub(super) struct Settings {
    pub(super) client: TransportConfig,
    pub(super) server: TransportConfig,
    pub(super) handshake: NullHandshake,
    pub(super) always_retry: bool,
    pub(super) client_versions: Versions,
    /// With which the client begins.
    pub(super) first_version: Version,
    pub(super) server_versions: Versions,
    pub(super) preference: VersionPreference,
    pub(super) preferred: PreferredAddresses,
    /// The server's place behind a balancer.
    pub(super) quic_lb: Option<QuicLbServer>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            client: transport(),
            server: transport(),
            handshake: NullHandshake::default(),
            always_retry: false,
            client_versions: Versions::default(),
            first_version: Version::V1,
            server_versions: Versions::default(),
            preference: VersionPreference::Client,
            preferred: PreferredAddresses::default(),
            quic_lb: None,
        }
    }
}

pub(super) struct Pair {
    pub(super) now: Time,
    pub(super) client: End,
    pub(super) server: End,
    under_way: BTreeMap<(Time, usize), Sent>,
    /// All that left, whether it arrived or not.
    pub(super) sent: Vec<Sent>,
    pub(super) lose: fn(&Sent) -> bool,
    /// The datagram that is lost, counted from the first.
    pub(super) lose_nth: Option<usize>,
    /// Batches leave and vanish, as with some kernels and network cards.
    pub(super) loses_batches: bool,
    /// The mark with which it arrives.
    pub(super) remark: fn(&Sent) -> Option<Ecn>,
    /// Client addresses behind which nobody is.
    pub(super) dead: Vec<SocketAddr>,
    server_config: Arc<ServerConfig>,
    quic_lb: Option<QuicLbServer>,
}

impl Pair {
    /// A client that is about to connect.
    pub(super) fn new(settings: Settings) -> Self {
        let client = Arc::new(NullClient(settings.handshake.clone()));
        let server = Arc::new(NullServer(settings.handshake.clone()));
        Pair::with_crypto(settings, client, server)
    }

    /// The same with other sessions than null ones.
    pub(super) fn with_crypto(
        settings: Settings,
        client_crypto: Arc<dyn ClientFactory>,
        server_crypto: Arc<dyn ServerFactory>,
    ) -> Self {
        let mut config = ServerConfig::new(server_crypto, Arc::new(settings.server), [3; 32]);
        config.versions = settings.server_versions;
        config.version_preference = settings.preference;
        config.preferred_addresses = settings.preferred;
        if settings.always_retry {
            config.retry_above_handshakes = 0;
        }
        let server_config = Arc::new(config);
        let mut client = End::new(Endpoint::new(Arc::new(EndpointConfig::new([1; 32])), None, [2; 32]));
        let config = ClientConfig {
            versions: settings.client_versions,
            first_version: settings.first_version,
            ..ClientConfig::new(client_crypto, Arc::new(settings.client))
        };
        let (handle, connection) =
            client.endpoint.connect(Time::ZERO, config, from(client_address(0)), "server.test").unwrap();
        (client.handle, client.connection) = (Some(handle), Some(connection));
        Pair {
            now: Time::ZERO,
            client,
            server: End::new(server_endpoint(&server_config, settings.quic_lb.clone())),
            under_way: BTreeMap::new(),
            sent: Vec::new(),
            lose: |_| false,
            lose_nth: None,
            loses_batches: false,
            remark: |sent| sent.ecn,
            dead: Vec::new(),
            server_config,
            quic_lb: settings.quic_lb,
        }
    }

    /// Both ends have confirmed the handshake and exchanged what follows from it.
    pub(super) fn connected(settings: Settings) -> Self {
        let mut pair = Pair::new(settings);
        pair.run(Duration::from_millis(300));
        for end in [&pair.client, &pair.server] {
            assert!(end.events.contains(&Event::HandshakeConfirmed), "{:?}", end.events);
        }
        pair
    }

    /// The server loses its memory but for its keys.
    pub(super) fn restart_server(&mut self) {
        self.server = End::new(server_endpoint(&self.server_config, self.quic_lb.clone()));
    }

    pub(super) fn client(&mut self) -> &mut Connection {
        self.client.connection.as_mut().unwrap()
    }

    pub(super) fn server(&mut self) -> &mut Connection {
        self.server.connection.as_mut().unwrap()
    }

    pub(super) fn end(&mut self, side: Side) -> &mut End {
        if side.is_client() { &mut self.client } else { &mut self.server }
    }

    /// Opens a path from the client's `n`-th address, as soon as that is possible.
    pub(super) fn open(&mut self, n: u16) -> PathId {
        let (now, tuple) = (self.now, from(client_address(n)));
        let id = self.client().open_path(now, tuple, PathStatus::Available, None).unwrap();
        self.run(Duration::from_millis(200));
        id
    }

    /// One end sends `length` bytes on a new stream.
    pub(super) fn write(&mut self, by: Side, length: usize) -> StreamId {
        let end = self.end(by);
        let id = end.connection.as_mut().unwrap().open_stream(false).unwrap();
        end.writing = Some((id, length));
        id
    }

    /// Puts a datagram on its way as if `by` had sent it.
    pub(super) fn send(&mut self, by: Side, tuple: FourTuple, payload: Vec<u8>) {
        self.send_marked(by, tuple, None, payload);
    }

    fn send_marked(&mut self, by: Side, tuple: FourTuple, ecn: Option<Ecn>, payload: Vec<u8>) {
        let sent = Sent { at: self.now, by, tuple, ecn, payload };
        self.sent.push(sent.clone());
        let towards_nobody = !by.is_client() && self.dead.contains(&tuple.remote);
        let lost = (self.lose)(&sent) || self.lose_nth == Some(self.sent.len() - 1);
        if !towards_nobody && !lost {
            self.under_way.insert((self.now + DELAY, self.sent.len()), sent);
        }
    }

    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut turns = 0;
        loop {
            self.transmit();
            let timeouts = [&self.client, &self.server].map(|end| end.connection.as_ref()?.poll_timeout());
            let arrival = self.under_way.keys().next().map(|(at, _)| *at);
            let Some(next) = timeouts.into_iter().chain([arrival]).flatten().min().filter(|at| *at <= end)
            else {
                self.now = end;
                return;
            };
            turns = if next > self.now { 0 } else { turns + 1 };
            assert!(turns < MAX_TURNS, "nothing but turns at {:?}", self.now);
            self.now = self.now.max(next);
            self.deliver();
            let now = self.now;
            for end in [&mut self.client, &mut self.server] {
                if let Some(connection) = &mut end.connection
                    && connection.poll_timeout().is_some_and(|at| at <= now)
                {
                    connection.handle_timeout(now);
                }
            }
        }
    }

    fn transmit(&mut self) {
        let mut buffer = Vec::new();
        for side in [Side::Client, Side::Server] {
            let (now, loses_batches) = (self.now, self.loses_batches);
            let end = self.end(side);
            end.service();
            let mut leaving: Vec<_> =
                end.stateless.drain(..).map(|answer| (answer.transmit.tuple, None, answer.bytes)).collect();
            while let Some(transmit) = end.connection.as_mut().and_then(|c| c.poll_transmit(now, &mut buffer))
            {
                if loses_batches && transmit.segment_size.is_some() {
                    continue;
                }
                let size = transmit.segment_size.unwrap_or(transmit.size);
                let segments = buffer[..transmit.size].chunks(size);
                leaving.extend(segments.map(|segment| (transmit.tuple, transmit.ecn, segment.to_vec())));
            }
            // An end that writes is asked for packets afterwards: not here.
            end.take_events();
            leaving.into_iter().for_each(|(tuple, ecn, payload)| self.send_marked(side, tuple, ecn, payload));
        }
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.under_way.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let sent = entry.remove();
            let tuple = FourTuple { local: sent.tuple.remote, remote: sent.tuple.local };
            let side = if sent.by.is_client() { Side::Server } else { Side::Client };
            self.receive_marked(side, tuple, (self.remark)(&sent), &sent.payload);
        }
    }

    /// A datagram without a mark arrives at `side`; `tuple` as that side sees it.
    pub(super) fn receive(&mut self, side: Side, tuple: FourTuple, payload: &[u8]) {
        self.receive_marked(side, tuple, None, payload);
    }

    fn receive_marked(&mut self, side: Side, tuple: FourTuple, ecn: Option<Ecn>, payload: &[u8]) {
        let now = self.now;
        let end = self.end(side);
        let datagram = Datagram { tuple, ecn, received_at: now, payload: BytesMut::from(payload) };
        match end.endpoint.handle_datagram(now, datagram, &mut end.stateless) {
            Some(Routed::Connection(_, datagram)) => {
                if let Some(connection) = &mut end.connection {
                    connection.handle_datagram(now, datagram);
                }
            }
            Some(Routed::Incoming(incoming)) => {
                let (handle, connection) = end.endpoint.accept(now, incoming, None).unwrap();
                (end.handle, end.connection) = (Some(handle), Some(connection));
            }
            None => {}
        }
        end.service();
    }

    /// Bytes that one end sent to an address, from `since` on.
    pub(super) fn bytes_to(&self, by: Side, remote: SocketAddr, since: Time) -> usize {
        let to = |sent: &&Sent| sent.by == by && sent.tuple.remote == remote && sent.at >= since;
        self.sent.iter().filter(to).map(|sent| sent.payload.len()).sum()
    }

    /// Datagrams that one end sent since then.
    pub(super) fn datagrams(&self, by: Side, since: Time) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(move |sent| sent.by == by && sent.at >= since)
    }
}

fn server_endpoint(config: &Arc<ServerConfig>, quic_lb: Option<QuicLbServer>) -> Endpoint {
    let endpoint = EndpointConfig { quic_lb, ..EndpointConfig::new([4; 32]) };
    Endpoint::new(Arc::new(endpoint), Some(config.clone()), [5; 32])
}
