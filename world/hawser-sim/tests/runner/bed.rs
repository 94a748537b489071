//! A case from its first packet to the checks that all cases share.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_core::{
    ClientConfig, ConnectionError, Endpoint, EndpointConfig, FourTuple, QlogFactory, ServerConfig,
};
use hawser_policy::{Registry, Side, Time};
use hawser_sim::testing::{SERVER, client_address, transport};
use hawser_sim::{Host, LinkHandle, Network, tls};
use hawser_wire::packet::PacketType;
use serde_json::Value;

use crate::files::{Client, Server};
use crate::link::{Link, Rebinding};
use crate::wire::{self, Edge, Opened};

pub(crate) const KB: u64 = 1 << 10;
pub(crate) const MB: u64 = 1 << 20;

/// The link of cases that ask for no other.
pub(crate) const SIMPLE: &str = "simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25";

/// QUIC version 1.
pub(crate) const V1: u32 = 1;
/// And version 2.
pub(crate) const V2: u32 = 0x6b33_43cf;

/// What a case changes before it starts.
pub(crate) struct Case {
    pub(crate) link: &'static str,
    /// Lengths of the files of each connection.
    pub(crate) connections: Vec<Vec<u64>>,
    pub(crate) seed: u64,
    /// Addresses of the client, each on a link of its own.
    pub(crate) addresses: u8,
    pub(crate) is_ipv6: bool,
    /// Bytes that another connection fetches at the same time.
    pub(crate) rival: Option<u64>,
    pub(crate) client_tls: rustls::ClientConfig,
    pub(crate) server_tls: rustls::ServerConfig,
    pub(crate) server: fn(&mut ServerConfig),
}

impl Case {
    /// One connection that fetches these files.
    pub(crate) fn new(link: &'static str, files: &[u64]) -> Self {
        Case {
            link,
            connections: vec![files.to_vec()],
            seed: 1,
            addresses: 1,
            is_ipv6: false,
            rival: None,
            client_tls: tls::client_config().unwrap(),
            server_tls: tls::server_config().unwrap(),
            server: |_| {},
        }
    }

    fn address(&self, n: u8) -> SocketAddr {
        let v4 = client_address(n);
        match self.is_ipv6 {
            true => SocketAddr::new(Ipv6Addr::new(0xfd00, 0, 0, n.into(), 0, 0, 0, 2).into(), v4.port()),
            false => v4,
        }
    }

    fn server_address(&self) -> SocketAddr {
        match self.is_ipv6 {
            true => SocketAddr::new(Ipv6Addr::new(0xfd00, 0, 0, 99, 0, 0, 0, 1).into(), SERVER.port()),
            false => SERVER,
        }
    }

    /// Both hosts and the link, before the first packet.
    pub(crate) fn start(self) -> Bed {
        let link = Link::parse(self.link, self.seed);
        let tuple = FourTuple { local: self.address(0), remote: self.server_address() };
        let addresses: Vec<IpAddr> = (0..self.addresses).map(|n| self.address(n).ip()).collect();
        let traces = Traces::default();
        let transport = Arc::new(
            transport(&registry(), "default", "cubic")
                .with(|transport| transport.qlog = Some(traces.factory())),
        );
        let (client_crypto, server_crypto) =
            tls::sessions_with(self.client_tls, self.server_tls, self.seed).unwrap();
        let of_client = transport.clone();
        let configure = Box::new(move || ClientConfig::new(client_crypto.clone(), of_client.clone()));
        let mut client = Client::new(configure, tuple, &self.connections);
        client.rival = self.rival;
        let mut server = ServerConfig::new(server_crypto, transport, [9; 32]);
        (self.server)(&mut server);
        let endpoint = |part: u8, server| {
            Endpoint::new(Arc::new(EndpointConfig::new([part; 32])), server, [self.seed as u8 ^ part; 32])
        };
        let client = Edge::new(Host::new(endpoint(7, None), client), link.to_client.clone());
        let server =
            Edge::new(Host::new(endpoint(8, Some(Arc::new(server))), Server::default()), link.to_server);
        let mut network = Network::new(client, server, self.seed);
        let add = |address: &IpAddr| network.add_link(*address, &link.direction, &link.direction);
        Bed {
            links: addresses.iter().map(add).collect(),
            network,
            traces,
            rebinding: link.rebinding,
            rebinds: 0,
            local: tuple.local,
            connections: self.connections.len() + usize::from(self.rival.is_some()),
            files: self.connections.iter().map(Vec::len).sum(),
        }
    }
}

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    registry
}

/// A case at work.
pub(crate) struct Bed {
    pub(crate) network: Network<Edge<Host<Client>>, Edge<Host<Server>>>,
    pub(crate) links: Vec<LinkHandle>,
    traces: Traces,
    rebinding: Option<Rebinding>,
    /// How often the NAT has forgotten the client.
    pub(crate) rebinds: u16,
    local: SocketAddr,
    connections: usize,
    files: usize,
}

/// A connection that takes longer has failed.
const DEADLINE: Time = Time::from_secs(300);

/// Time for the CONNECTION_CLOSE to arrive.
const AFTERWARDS: Duration = Duration::from_secs(2);

impl Bed {
    pub(crate) fn client(&self) -> &Client {
        &self.network.client.node.application
    }

    pub(crate) fn server(&self) -> &Server {
        &self.network.server.node.application
    }

    /// Runs until everything has come or the time is `deadline`; says whether it has.
    pub(crate) fn run_to(&mut self, deadline: Time) -> bool {
        loop {
            let rebind = self
                .rebinding
                .map(|Rebinding { first, every, .. }| Time::ZERO + first + every * u32::from(self.rebinds));
            let next = rebind.map_or(deadline, |rebind| rebind.min(deadline));
            let is_done =
                self.network.run_until(next, |network| network.client.node.application.finished_at.is_some());
            if is_done || next == deadline {
                return is_done;
            }
            self.rebind();
        }
    }

    fn rebind(&mut self) {
        self.rebinds += 1;
        let mut outside = self.local;
        outside.set_port(50_000 + self.rebinds);
        if self.rebinding.is_some_and(|rebinding| rebinding.changes_address) {
            outside.set_ip([10, 77, 0, self.rebinds as u8].into());
        }
        self.network.translate(self.local, outside);
    }

    /// Runs to the end, which must come within so many seconds, and checks what the runner checks in every case: the files
    /// are those that were asked for, with so many handshakes, in version 1, and the connections end without an error.
    pub(crate) fn finish(&mut self, seconds: f64) -> f64 {
        let is_done = self.run_to(DEADLINE);
        let client = self.client();
        assert!(
            is_done && client.failures.is_empty(),
            "{} of {} files at {}: {:?}; server {:?}",
            client.complete,
            self.files,
            self.network.now(),
            client.failures,
            self.server().closed
        );
        assert_eq!(client.complete, self.files, "files");
        let took = client.finished_at.unwrap().as_secs_f64();
        println!("finished after {took:.3} s (at most {seconds} s)");
        self.network.run_to(self.network.now() + AFTERWARDS);
        self.check_handshakes();
        self.check_closing();
        assert!(took <= seconds, "{took:.3} s");
        took
    }

    /// The runner counts connection ids of servers in Initial packets.
    fn check_handshakes(&self) {
        let initials = self.network.server.of_kind(PacketType::Initial);
        let ids: BTreeSet<&[u8]> = initials.map(|(_, header)| &header.source[..]).collect();
        assert_eq!(ids.len(), self.connections, "handshakes");
    }

    fn check_closing(&self) {
        let is_fine = |error: &ConnectionError| match error {
            ConnectionError::PeerApplication { code, .. } => *code == 0,
            // CONNECTION_CLOSE may be lost, and is sent once if nothing more comes.
            error => *error == ConnectionError::TimedOut && self.network.server.harmed > 0,
        };
        let closed = &self.server().closed;
        assert!(closed.iter().all(is_fine), "{closed:?}");
    }

    /// The traces of the only connection.
    pub(crate) fn records(&self, side: Side) -> Vec<Value> {
        let mut traces = self.all_records(side);
        assert_eq!(traces.len(), 1, "one connection");
        traces.remove(0)
    }

    /// The traces of all connections.
    pub(crate) fn all_records(&self, side: Side) -> Vec<Vec<Value>> {
        self.traces.of(side)
    }

    /// What an end sent, opened.
    pub(crate) fn sent<'a>(&'a self, side: Side, records: &'a [Value]) -> Vec<Opened<'a>> {
        match side {
            Side::Client => wire::open(&self.network.client, records),
            Side::Server => wire::open(&self.network.server, records),
        }
    }

    /// Most bytes that ever waited in the queue towards the client.
    pub(crate) fn largest_queue(&self) -> u64 {
        let down = |link: &LinkHandle| self.network.link_stats(*link).unwrap().1.queue_peak_bytes;
        self.links.iter().map(down).max().unwrap_or_default()
    }
}

/// A trace in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The traces of all connections in the order of their starts.
#[derive(Clone, Default)]
struct Traces(Arc<Mutex<Vec<(Side, Memory)>>>);

impl Traces {
    fn factory(&self) -> QlogFactory {
        let traces = self.clone();
        Arc::new(move |connection| {
            let memory = Memory::default();
            traces.0.lock().unwrap().push((connection.side, memory.clone()));
            Some(Box::new(memory) as Box<dyn Write + Send>)
        })
    }

    fn of(&self, side: Side) -> Vec<Vec<Value>> {
        let traces = self.0.lock().unwrap();
        let of_side = traces.iter().filter(|(end, _)| *end == side);
        let read = |memory: &Memory| {
            let bytes = memory.0.lock().unwrap();
            let text = std::str::from_utf8(&bytes).unwrap();
            text.split('\x1e').skip(2).map(|record| serde_json::from_str(record).unwrap()).collect()
        };
        of_side.map(|(_, memory)| read(memory)).collect()
    }
}
