//! From a scenario to nodes, links and routes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use hawser_core::crypto::null::{NullClient, NullServer};
use hawser_core::{
    ClientConfig, Endpoint, EndpointConfig, FourTuple, LossRecovery, QlogFactory, ServerConfig,
    TransportConfig,
};
use hawser_link::{LinkIndex, RouteIndex, derive_seed};
use hawser_paths::CostCaps;
use hawser_policy::{Composition, LinkId, LinkInfo, PathStatus, PolicyKind, Registry, Time};
use hawser_scenario::{Departures, Direction, Flow, FlowKind, Layout, Scenario, TunnelMix};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::addresses::{self, FIRST_PORT, MOST_SESSIONS};
use super::attachments::Attachments;
use super::client::Clients;
use super::client::role::Role;
use super::delivery::{Deliveries, Followed};
use super::error::RunError;
use super::interfaces::Interfaces;
use super::link_forecasts::{LinkForecasts, link_kind};
use super::notes::FlowNotes;
use super::participant::{Participant, Participants, ServerFactory};
use super::server::{Servers, Setup};
use super::session::{Plan, Session};
use super::udp::{UdpSink, UdpSource};
use crate::Host;
use crate::engine::{Attachment, Engine};
use crate::oracle::{self, Knowledge, OracleEdpf};
use crate::tls::{self, Sessions};

/// Streams of a tunnel besides those of a page.
const OTHER_STREAMS: u64 = 64;

/// Says where the connections of a flow leave their qlog traces.
pub type FlowTraces = Arc<dyn Fn(&Flow) -> QlogFactory + Send + Sync>;

/// What may be asked of a simulation besides its scenario.
#[derive(Default)]
pub struct Options {
    /// Where the connections of a flow leave qlog traces.
    pub qlog: Option<FlowTraces>,
    /// Sessions of clients and servers; `None`: what the scenario's `transport.crypto` says.
    pub crypto: Option<Sessions>,
    /// Makes the servers; `None`: Hawser's. Foreign servers speak TLS, so the scenario has to say so.
    pub server: Option<ServerFactory>,
}

/// A route by number: what leads along it.
#[derive(Clone, Debug)]
pub(super) struct RouteInfo {
    pub(super) name: String,
    pub(super) direction: Direction,
}

/// A session by number.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionInfo {
    /// The flow of the scenario, and which of its copies.
    pub(super) flow: usize,
    pub(super) copy: u32,
    /// The nodes at its ends.
    pub(super) client: usize,
    pub(super) server: usize,
}

/// A UDP flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct UdpInfo {
    pub(super) flow: usize,
    pub(super) node: usize,
    pub(super) source: SocketAddr,
}

/// Everything that a simulation runs on.
pub(super) struct Parts {
    pub(super) engine: Engine,
    pub(super) participants: Participants,
    /// Links, then segments: up and down.
    pub(super) links: Vec<[LinkIndex; 2]>,
    pub(super) routes: Vec<RouteInfo>,
    pub(super) flows: Vec<Flow>,
    /// The policies of each flow's connections.
    pub(super) policies: Vec<Composition>,
    pub(super) sessions: Vec<SessionInfo>,
    pub(super) udp: Vec<UdpInfo>,
    /// The node that receives UDP.
    pub(super) sink: Option<usize>,
    /// Packets whose delivery may be wanted.
    pub(super) followed: Followed,
    /// What policies note.
    pub(super) notes: FlowNotes,
    /// What clients want attached where, and the routes of each link, up and down.
    pub(super) attachments: Attachments,
    pub(super) link_routes: Vec<[RouteIndex; 2]>,
}

/// Builds everything; fails before anything has run.
pub(super) fn build(scenario: &Scenario, registry: &Registry, options: Options) -> Result<Parts, RunError> {
    let flows = scenario.traffic().into_owned();
    if scenario.duration.is_none() && !flows.iter().any(|flow| flow.awaited) {
        return Err(RunError::Endless);
    }
    let found: usize = flows.iter().filter(|flow| !is_udp(flow)).map(|flow| flow.count as usize).sum();
    if found > MOST_SESSIONS {
        return Err(RunError::TooManyConnections { found, most: MOST_SESSIONS });
    }
    let crypto = sessions(scenario, &options)?;
    let registry = &oracle::with_oracle(registry);
    let mut builder = Builder::new(scenario, registry, options, crypto, flows);
    builder.add_hosts()?;
    builder.add_udp();
    Ok(builder.finish())
}

fn cost_caps(scenario: &Scenario) -> Option<Arc<CostCaps>> {
    let capped = scenario.links.iter().filter_map(|link| Some((link.name.clone(), link.cap?)));
    let capped: Vec<_> = capped.collect();
    (!capped.is_empty()).then(|| Arc::new(CostCaps::new(capped)))
}

/// How sessions start: as asked, or with the crypto of the scenario.
fn sessions(scenario: &Scenario, options: &Options) -> Result<Sessions, RunError> {
    if let Some(sessions) = &options.crypto {
        return Ok(sessions.clone());
    }
    if scenario.transport.tls {
        let seed = derive_seed(scenario.seed, "tls");
        return tls::sessions(seed).map_err(|error| RunError::Tls(error.to_string()));
    }
    if options.server.is_some() {
        return Err(RunError::ForeignNull);
    }
    Ok((Arc::new(NullClient::default()), Arc::new(NullServer::default())))
}

fn is_udp(flow: &Flow) -> bool {
    matches!(flow.kind, FlowKind::Udp { .. })
}

struct Builder<'a> {
    scenario: &'a Scenario,
    registry: &'a Registry,
    options: Options,
    crypto: Sessions,
    engine: Engine,
    layout: Layout,
    routes: Vec<RouteInfo>,
    participants: Vec<Participant>,
    flows: Vec<Flow>,
    sessions: Vec<SessionInfo>,
    udp: Vec<UdpInfo>,
    sink: Option<usize>,
    followed: Followed,
    notes: FlowNotes,
    attachments: Attachments,
    /// Budgets of links, which all connections share.
    cost_caps: Option<Arc<CostCaps>>,
}

impl<'a> Builder<'a> {
    fn new(
        scenario: &'a Scenario,
        registry: &'a Registry,
        options: Options,
        crypto: Sessions,
        flows: Vec<Flow>,
    ) -> Self {
        let mut engine = Engine::new();
        let layout = Layout::build(scenario, &mut engine.fabric);
        Builder {
            scenario,
            registry,
            options,
            crypto,
            engine,
            layout,
            routes: Vec::new(),
            participants: Vec::new(),
            flows,
            sessions: Vec::new(),
            udp: Vec::new(),
            sink: None,
            followed: Followed::default(),
            notes: FlowNotes::default(),
            attachments: Attachments::of(scenario),
            cost_caps: cost_caps(scenario),
        }
    }

    fn finish(self) -> Parts {
        Parts {
            engine: self.engine,
            participants: Participants(self.participants),
            links: self.layout.links().to_vec(),
            routes: self.routes,
            policies: self
                .flows
                .iter()
                .map(|flow| self.registry.resolve(&self.scenario.policies_of(flow)))
                .collect(),
            flows: self.flows,
            sessions: self.sessions,
            udp: self.udp,
            sink: self.sink,
            followed: self.followed,
            notes: self.notes,
            attachments: self.attachments,
            link_routes: self.layout.routes().to_vec(),
        }
    }

    fn add_node(&mut self, participant: Participant) -> usize {
        self.participants.push(participant);
        self.engine.add_node();
        self.participants.len() - 1
    }

    /// Clients, servers, and what joins them.
    fn add_hosts(&mut self) -> Result<(), RunError> {
        let scenario = self.scenario;
        let mut plans: BTreeMap<usize, Vec<(usize, Session)>> = BTreeMap::new();
        let mut setups = Vec::new();
        for (index, flow) in self.flows.clone().iter().enumerate().filter(|(_, flow)| !is_udp(flow)) {
            let mut shared = Arc::new(self.transport(index, flow, self.registry)?);
            let server = flow.links.first().map_or(0, |link| scenario.links[*link].between[1]);
            for copy in 0..flow.count {
                let number = setups.len();
                let counted = match flow.kind {
                    FlowKind::Bulk { direction, .. } => Some(direction),
                    _ => None,
                };
                let deliveries = Deliveries::both_ways(counted, &self.followed);
                let knowledge = self.knowledge_for(flow);
                if let Some(knowledge) = &knowledge {
                    let registry = oracle::with_knowledge(self.registry, knowledge);
                    shared = Arc::new(self.transport(index, flow, &registry)?);
                }
                let application = match &flow.kind {
                    FlowKind::Application { direction, application } => {
                        Some((*direction, application.clone(), self.application_seed(number)))
                    }
                    _ => None,
                };
                let mix = match &flow.kind {
                    FlowKind::TunnelMix(mix) => Some(mix.clone()),
                    _ => None,
                };
                let is_ours = application.is_some() || mix.is_some();
                if is_ours && self.options.server.is_some() {
                    return Err(RunError::ForeignApplication { flow: flow.name.clone() });
                }
                let setup = Setup { config: self.server_config(&shared), deliveries, application, mix };
                let session = self.session(number, flow, server, &shared, &setup, knowledge)?;
                plans.entry(flow.client).or_default().push((number, session));
                setups.push((server, setup));
                self.sessions.push(SessionInfo { flow: index, copy, client: flow.client, server });
            }
        }
        let clients: BTreeMap<usize, usize> = plans
            .into_iter()
            .map(|(host, sessions)| {
                let endpoint = Endpoint::new(endpoint_config(7), None, self.seed("client", host));
                let node = Host::new(endpoint, Clients::new(sessions)).labelled_from(self.first_label());
                (host, self.add_node(Participant::Clients(Box::new(node))))
            })
            .collect();
        let mut servers = BTreeMap::new();
        for host in setups.iter().map(|(host, _)| *host).collect::<std::collections::BTreeSet<_>>() {
            let node = self.server(host, &setups);
            servers.insert(host, self.add_node(node));
        }
        for session in &mut self.sessions {
            (session.client, session.server) = (clients[&session.client], servers[&session.server]);
        }
        for (index, link) in scenario.links.iter().enumerate() {
            let [up, down] = self.layout.routes()[index];
            for direction in Direction::BOTH {
                self.routes.push(RouteInfo { name: link.name.clone(), direction });
            }
            let (Some(&owner), Some(&peer)) = (clients.get(&link.between[0]), servers.get(&link.between[1]))
            else {
                continue;
            };
            self.engine.attach(addresses::interface(index), Attachment { owner, peer, up, down });
        }
        Ok(())
    }

    fn server(&mut self, host: usize, setups: &[(usize, Setup)]) -> Participant {
        let seed = derive_seed(self.scenario.seed, &format!("server/{host}"));
        if let Some(make) = &mut self.options.server {
            return Participant::Foreign(make(addresses::server(host), seed));
        }
        let own = |(of, setup): &(usize, Setup)| (*of == host).then(|| setup.clone());
        let own: Vec<Option<Setup>> = setups.iter().map(own).collect();
        let default = own.iter().flatten().next().map(|setup| setup.config.clone());
        let endpoint = Endpoint::new(endpoint_config(8), default, self.seed("server", host));
        let node = Host::new(endpoint, Servers::new(own)).labelled_from(self.first_label());
        Participant::Servers(Box::new(node))
    }

    /// Where the labels of the next node's packets begin, far from those of the one before.
    fn first_label(&self) -> u64 {
        (self.participants.len() as u64) << 40
    }

    fn session(
        &self,
        number: usize,
        flow: &Flow,
        server: usize,
        transport: &Arc<TransportConfig>,
        setup: &Setup,
        knowledge: Option<Knowledge>,
    ) -> Result<Session, RunError> {
        let mut links: Vec<LinkInfo> = flow.links.iter().map(|link| self.link_info(*link)).collect();
        // The handshake starts where data is to go.
        links.sort_by_key(|link| link.preference != PathStatus::Available);
        let interfaces = links.iter().filter_map(|info| {
            let link = &self.scenario.links[info.id.0 as usize];
            link.detaches.then(|| (info.clone(), link.up.outages.clone()))
        });
        let interfaces = Interfaces::new(interfaces);
        let plan = Plan {
            links,
            port: FIRST_PORT + number as u16,
            remote: addresses::server(server),
            config: ClientConfig::new(self.crypto.0.clone(), transport.clone()),
            path_manager: self.registry.paths_of(&self.scenario.policies_of(flow))?,
            cost_caps: self.cost_caps.clone(),
            setup_rounds: self.scenario.transport.setup_rounds,
            start: Time::from_nanos(flow.start),
            stop: flow.stop.map(Time::from_nanos),
            awaited: flow.awaited,
            // Only our own ends tell what they send and read.
            deliveries: self.options.server.is_none().then(|| setup.deliveries.clone()),
            attachments: self.attachments.clone(),
            interfaces,
            knowledge,
            forecasts: LinkForecasts::of(flow.links.iter().map(|link| (*link, &self.scenario.links[*link]))),
        };
        let pattern =
            flow.pattern.map(|pattern| (pattern, self.random(&format!("session/{number}/activity"))));
        Ok(Session::new(plan, Role::new(&flow.kind, self.application_seed(number), pattern)))
    }

    fn application_seed(&self, number: usize) -> u64 {
        derive_seed(self.scenario.seed, &format!("session/{number}/application"))
    }

    fn link_info(&self, index: usize) -> LinkInfo {
        let link = &self.scenario.links[index];
        LinkInfo::new(LinkId(index as u32), link.name.clone(), vec![addresses::interface(index)]).with(
            |info| {
                info.kind = link_kind(link.medium);
                info.preference = if link.backup { PathStatus::Backup } else { PathStatus::Available };
                info.metered = link.metered;
            },
        )
    }

    fn server_config(&self, transport: &Arc<TransportConfig>) -> Arc<ServerConfig> {
        Arc::new(ServerConfig::new(self.crypto.1.clone(), transport.clone(), [9; 32]))
    }

    /// What the oracle of a connection of this flow is to know, if its scheduler is one.
    fn knowledge_for(&mut self, flow: &Flow) -> Option<Knowledge> {
        let policies = self.registry.resolve(&self.scenario.policies_of(flow));
        let info = self.registry.policy(PolicyKind::Scheduler, policies.scheduler?.name())?;
        if info.name != OracleEdpf::NAME {
            return None;
        }
        let knowledge = Knowledge::default();
        for link in &flow.links {
            let routes = self.layout.routes()[*link].map(|route| self.engine.fabric.foresee(route));
            knowledge.add_link(LinkId(*link as u32), routes);
        }
        Some(knowledge)
    }

    fn transport(&self, index: usize, flow: &Flow, registry: &Registry) -> Result<TransportConfig, RunError> {
        let mut config = transport_config(self.scenario, registry, flow)?;
        config.trace = Some(self.notes.of_flow(index));
        config.qlog = self.options.qlog.as_ref().map(|traces| traces(flow));
        if let FlowKind::Application { application, .. } = &flow.kind {
            config.max_unidirectional_streams = config.max_unidirectional_streams.max(application.streams());
        }
        if let FlowKind::TunnelMix(TunnelMix { web: Some(web), .. }) = &flow.kind {
            let streams = u64::from(web.objects) + OTHER_STREAMS;
            config.max_bidirectional_streams = config.max_bidirectional_streams.max(streams);
        }
        Ok(config)
    }

    fn add_udp(&mut self) {
        let flows = self.flows.clone();
        for (index, flow) in flows.iter().enumerate() {
            let FlowKind::Udp { direction, size, .. } = flow.kind else { continue };
            for copy in 0..flow.count {
                let fabric = &mut self.engine.fabric;
                let (Some(departures), Some(route)) = (
                    Departures::of(self.scenario, flow, copy),
                    self.layout.add_udp_route(self.scenario, fabric, flow),
                ) else {
                    continue;
                };
                self.routes.push(RouteInfo { name: flow.name.clone(), direction });
                let source = addresses::udp_source(self.udp.len());
                let tuple = FourTuple { local: source, remote: addresses::udp_source(usize::from(u16::MAX)) };
                let udp = UdpSource::new(tuple, size, departures);
                let node = self.add_node(Participant::Source(Box::new(udp)));
                let peer = self.sink_node();
                self.engine.attach(source.ip(), Attachment { owner: node, peer, up: route, down: route });
                self.udp.push(UdpInfo { flow: index, node, source });
            }
        }
    }

    /// The node that receives all UDP.
    fn sink_node(&mut self) -> usize {
        if let Some(sink) = self.sink {
            return sink;
        }
        let sink = self.add_node(Participant::Sink(UdpSink::default()));
        self.sink = Some(sink);
        sink
    }

    fn random(&self, name: &str) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(derive_seed(self.scenario.seed, name))
    }

    fn seed(&self, role: &str, host: usize) -> [u8; 32] {
        let mut seed = [0; 32];
        let value = derive_seed(self.scenario.seed, &format!("{role}/{host}"));
        seed[..8].copy_from_slice(&value.to_le_bytes());
        seed
    }
}

/// How the connections of a flow behave at both ends.
///
/// # Errors
/// When there is no such policy.
pub fn transport_config(
    scenario: &Scenario,
    registry: &Registry,
    flow: &Flow,
) -> Result<TransportConfig, RunError> {
    let asked = &scenario.transport;
    let mut config = TransportConfig::with_policies(registry.set(&scenario.policies_of(flow))?);
    let links = u32::try_from(flow.links.len()).unwrap_or(u32::MAX);
    config.max_concurrent_paths = config.max_concurrent_paths.max(links + 1);
    config.max_path_id = config.max_path_id.max(Some(links));
    config.ecn = asked.ecn;
    if let Some(window) = asked.receive_window {
        config.max_connection_window = window;
        config.max_stream_window = window;
        config.initial_connection_window = config.initial_connection_window.min(window);
        config.initial_stream_window = config.initial_stream_window.min(window);
    }
    if let Some(buffer) = asked.send_buffer {
        config.max_send_buffer = buffer;
    }
    if let Some(delay) = asked.max_ack_delay {
        config.max_ack_delay = std::time::Duration::from_nanos(delay);
    }
    config.least_probe_timeout = std::time::Duration::from_nanos(asked.least_timeout);
    if asked.rfc9002 {
        config.loss_recovery = LossRecovery::Rfc9002;
    }
    if let Some(timeout) = asked.idle_timeout {
        config.max_idle_timeout = Some(std::time::Duration::from_nanos(timeout));
    }
    if let Some(size) = asked.max_datagram {
        config.max_mtu = size;
        config.initial_mtu = config.initial_mtu.min(size);
    }
    Ok(config)
}

fn endpoint_config(key: u8) -> Arc<EndpointConfig> {
    Arc::new(EndpointConfig::new([key; 32]))
}
