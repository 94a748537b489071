//! What has come of a simulation, read from its parts.

use std::time::Duration;

use hawser_core::{ConnectionHandle, PathStats};
use hawser_link::LinkIndex;
use hawser_media::Measure;
use hawser_policy::{PathId, PolicyKind, Time};
use hawser_scenario::{Direction, Flow, FlowKind};

use super::build::SessionInfo;
use super::lane::PacketLane;
use super::meter::{Delays, Meter};
use super::participant::Participant;
use super::server::ServerSession;
use super::session::Session;
use super::simulation::Simulation;
use super::summary::{
    CopyOutcome, End, FlowOutcome, LinkOutcome, Outcome, PathOutcome, RepairOutcome, Totals,
};

impl Simulation {
    pub(super) fn flow_name(&self, info: SessionInfo) -> String {
        let flow = &self.parts.flows[info.flow];
        if flow.count == 1 { flow.name.clone() } else { format!("{}.{}", flow.name, info.copy + 1) }
    }

    fn client_session(&self, number: usize, info: SessionInfo) -> Option<&Session> {
        match &self.parts.participants.0[info.client] {
            Participant::Clients(host) => {
                let sessions = &host.application.sessions;
                let at = sessions.binary_search_by_key(&number, |(of, _)| *of).ok()?;
                Some(&sessions[at].1)
            }
            _ => None,
        }
    }

    /// What the receiving end saw, and how many datagrams the other sent.
    pub(super) fn received(&self, number: usize, info: SessionInfo) -> (Meter, u64) {
        let client = self.client_session(number, info);
        match self.parts.flows[info.flow].kind.direction() {
            Direction::Down => {
                let meter = client.map(|session| session.meter.clone()).unwrap_or_default();
                (meter, self.datagrams_of_server(number, info))
            }
            Direction::Up => {
                let sent = client.map(|session| session.role.datagrams_sent());
                (self.meter_of_server(number, info), sent.unwrap_or(0))
            }
        }
    }

    fn meter_of_server(&self, number: usize, info: SessionInfo) -> Meter {
        let meter = match &self.parts.participants.0[info.server] {
            Participant::Servers(host) => {
                host.application.sessions.get(&number).map(|session| &session.meter)
            }
            Participant::Foreign(server) => server.meter(number),
            _ => None,
        };
        meter.cloned().unwrap_or_default()
    }

    fn datagrams_of_server(&self, number: usize, info: SessionInfo) -> u64 {
        match &self.parts.participants.0[info.server] {
            Participant::Servers(host) => {
                host.application.sessions.get(&number).map_or(0, ServerSession::datagrams_sent)
            }
            Participant::Foreign(server) => server.datagrams_sent(number),
            _ => 0,
        }
    }

    /// Counters of the paths at the sending end, with the links they took.
    pub(super) fn sender_paths(
        &mut self,
        number: usize,
        info: SessionInfo,
    ) -> Vec<(PathId, Option<usize>, PathStats)> {
        let links = self
            .client_session(number, info)
            .and_then(|session| session.paths.as_ref())
            .map(|paths| paths.links.clone())
            .unwrap_or_default();
        let totals = match self.parts.flows[info.flow].kind.direction() {
            Direction::Up => self.client_totals(number, info),
            Direction::Down => self.server_totals(number, info),
        };
        let link_of = |path| links.get(&path).map(|link| link.0 as usize);
        totals.paths.into_iter().map(|(path, stats)| (path, link_of(path), stats)).collect()
    }

    /// Stream bytes that arrived at the receiving end, in whatever order.
    pub(super) fn arrived(&mut self, number: usize, info: SessionInfo) -> u64 {
        let totals = match self.parts.flows[info.flow].kind.direction() {
            Direction::Up => self.server_totals(number, info),
            Direction::Down => self.client_totals(number, info),
        };
        totals.connection.stream_bytes_received
    }

    fn client_totals(&mut self, number: usize, info: SessionInfo) -> Totals {
        let handle = self.client_session(number, info).and_then(Session::connection);
        let Participant::Clients(host) = &mut self.parts.participants.0[info.client] else {
            return Totals::default();
        };
        let gone = host.application.gone.get(&number).cloned().unwrap_or_default();
        live(handle, |handle| host.peek(handle).map(Totals::of)).unwrap_or(gone)
    }

    fn server_totals(&mut self, number: usize, info: SessionInfo) -> Totals {
        let host = match &mut self.parts.participants.0[info.server] {
            Participant::Servers(host) => host,
            Participant::Foreign(server) => {
                return Totals { paths: server.paths(number), ..Totals::default() };
            }
            _ => return Totals::default(),
        };
        let Some(session) = host.application.sessions.get(&number) else { return Totals::default() };
        let gone = session.gone.clone();
        live(session.connection, |handle| host.peek(handle).map(Totals::of)).unwrap_or(gone)
    }

    pub(super) fn outcome(&mut self, end: End) -> Outcome {
        let now = self.parts.engine.now();
        let counters = self.parts.engine.counters();
        let mut flows: Vec<FlowOutcome> =
            (0..self.parts.sessions.len()).map(|n| self.flow_outcome(n, now)).collect();
        // From zero: the sum of nothing is minus zero.
        let goodput_bps = flows.iter().fold(0.0, |sum, flow| sum + flow.goodput_bps);
        flows.extend((0..self.parts.udp.len()).map(|index| self.udp_outcome(index, now)));
        Outcome {
            scenario: self.scenario.name.clone(),
            seed: self.scenario.seed,
            scenes: self.scenario.scenes.clone(),
            trace_hash: format!("{:016x}", self.parts.engine.trace_hash()),
            simulated_seconds: now.as_secs_f64(),
            end,
            packets: counters.packets,
            events: counters.events,
            goodput_bps,
            flows,
            paths: (0..self.parts.sessions.len()).flat_map(|number| self.path_outcomes(number)).collect(),
            links: self.link_outcomes(now),
        }
    }

    fn flow_outcome(&mut self, number: usize, now: Time) -> FlowOutcome {
        let info = self.parts.sessions[number];
        let (copies, repair) = self.copies_and_repair(number, info);
        let flow = &self.parts.flows[info.flow];
        let (meter, sent) = self.received(number, info);
        let measures = self.measures(number, info, now);
        let session = self.client_session(number, info);
        let start = Time::from_nanos(flow.start);
        let since_start = |at: Time| at.since(start).as_secs_f64();
        let finished = session.and_then(|session| session.finished_at);
        let policies = &self.parts.policies[info.flow];
        // What a set decides goes by the name of the set.
        let text = |kind| {
            policies.get(kind).or(policies.policy.as_ref()).map_or_else(String::new, ToString::to_string)
        };
        FlowOutcome {
            flow: self.flow_name(info),
            scheduler: text(PolicyKind::Scheduler),
            controller: text(PolicyKind::Congestion),
            connect_seconds: session.and_then(|session| session.connected_at).map(since_start),
            completion_seconds: finished.map(since_start),
            sent,
            copies,
            repair,
            measures,
            error: session.and_then(|session| session.failure.as_ref()).map(ToString::to_string),
            ..measured(flow, &meter, finished.unwrap_or(now), finished.is_some())
        }
    }

    /// Of both ends of an application.
    fn measures(&self, number: usize, info: SessionInfo, now: Time) -> Vec<Measure> {
        let client = self.client_session(number, info).map(|session| session.role.measures(now));
        let server = match &self.parts.participants.0[info.server] {
            Participant::Servers(host) => {
                host.application.sessions.get(&number).map(|session| session.measures(now))
            }
            _ => None,
        };
        let of_ends = client.into_iter().chain(server).flatten();
        of_ends.chain(self.lane_measures(number, info, now)).collect()
    }

    /// Of the packets of a tunnel, either way.
    fn lane_measures(&self, number: usize, info: SessionInfo, now: Time) -> Vec<Measure> {
        let client = self.client_session(number, info).and_then(|session| session.role.lane());
        let server = match &self.parts.participants.0[info.server] {
            Participant::Servers(host) => {
                host.application.sessions.get(&number).and_then(ServerSession::lane)
            }
            _ => None,
        };
        let (Some(client), Some(server)) = (client, server) else { return Vec::new() };
        let mut measures = PacketLane::measures(server, client, Direction::Down, now);
        measures.extend(PacketLane::measures(client, server, Direction::Up, now));
        measures
    }

    fn copies_and_repair(&mut self, number: usize, info: SessionInfo) -> (CopyOutcome, RepairOutcome) {
        let ends = [self.client_totals(number, info), self.server_totals(number, info)];
        let [client, server] = ends.map(|totals| totals.connection);
        let (sender, receiver) = match self.parts.flows[info.flow].kind.direction() {
            Direction::Up => (client, server),
            Direction::Down => (server, client),
        };
        (CopyOutcome::of(&sender, &receiver), RepairOutcome::of(&sender, &receiver))
    }

    fn udp_outcome(&self, index: usize, now: Time) -> FlowOutcome {
        let udp = self.parts.udp[index];
        let flow = &self.parts.flows[udp.flow];
        let meter = match self.parts.sink.map(|sink| &self.parts.participants.0[sink]) {
            Some(Participant::Sink(sink)) => sink.meters.get(&udp.source).cloned().unwrap_or_default(),
            _ => Meter::default(),
        };
        let sent = match &self.parts.participants.0[udp.node] {
            Participant::Source(source) => source.sent,
            _ => 0,
        };
        let until = flow.stop.map_or(now, |stop| now.min(Time::from_nanos(stop)));
        FlowOutcome { sent, ..measured(flow, &meter, until, until < now) }
    }

    fn path_outcomes(&mut self, number: usize) -> Vec<PathOutcome> {
        let info = self.parts.sessions[number];
        let flow = self.flow_name(info);
        let paths = self.sender_paths(number, info);
        let total: u64 = paths.iter().map(|(_, _, stats)| stats.bytes_acked).sum();
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let outcome = |(path, link, stats): &(PathId, Option<usize>, PathStats)| PathOutcome {
            flow: flow.clone(),
            path: path.0,
            link: link.map_or(String::new(), |link| self.scenario.links[link].name.clone()),
            bytes_sent: stats.bytes_sent,
            packets_sent: stats.datagrams_sent,
            packets_lost: stats.packets_lost,
            packets_spuriously_lost: stats.packets_spuriously_lost,
            bytes_acked: stats.bytes_acked,
            share: if total > 0 { stats.bytes_acked as f64 / total as f64 } else { 0.0 },
            smoothed_rtt_ms: ms(stats.smoothed_rtt),
            min_rtt_ms: ms(stats.min_rtt),
            congestion_window: stats.congestion_window,
            probe_timeouts: stats.probe_timeouts,
            times_suspect: stats.times_suspect,
        };
        paths.iter().map(outcome).collect()
    }

    fn link_outcomes(&self, now: Time) -> Vec<LinkOutcome> {
        let links = self.scenario.links.iter().map(|link| &link.name);
        let names = links.chain(self.scenario.segments.iter().map(|segment| &segment.name));
        let all = names.zip(&self.parts.links);
        all.flat_map(|(name, indices)| indices.map(|index| (name, index)).into_iter().zip(Direction::BOTH))
            .filter_map(|((name, index), direction)| self.link_outcome(name, direction, index, now))
            .collect()
    }

    fn link_outcome(
        &self,
        name: &str,
        direction: Direction,
        index: LinkIndex,
        now: Time,
    ) -> Option<LinkOutcome> {
        let fabric = &self.parts.engine.fabric;
        let counters = *fabric.stats(index)?;
        let capacity_bps = fabric.mean_rate(index, now.as_nanos());
        let rate = counters.delivered_bytes as f64 * 8.0 / now.as_secs_f64().max(1e-9);
        let carried = counters.offered_packets - counters.dropped_queue - counters.dropped_mtu;
        Some(LinkOutcome {
            link: name.to_owned(),
            direction,
            capacity_bps,
            utilisation: capacity_bps.filter(|rate| *rate > 0).map(|capacity| rate / capacity as f64),
            mean_queue_ms: counters.queue_time_total as f64 / carried.max(1) as f64 / 1e6,
            one_way_delay: self.delays(name, direction).map(Delays::summary),
            counters,
        })
    }
}

/// What a receiver measured of a flow that lasted until then; nothing of a connection. `is_over`: nothing more was to come.
fn measured(flow: &Flow, meter: &Meter, until: Time, is_over: bool) -> FlowOutcome {
    let start = Time::from_nanos(flow.start);
    let seconds = until.since(start).as_secs_f64();
    let silence = if is_over { Duration::ZERO } else { until.since(meter.last_at.unwrap_or(start)) };
    FlowOutcome {
        flow: flow.name.clone(),
        kind: kind_of(&flow.kind),
        direction: flow.kind.direction(),
        scheduler: String::new(),
        controller: String::new(),
        start_seconds: start.as_secs_f64(),
        connect_seconds: None,
        completion_seconds: None,
        bytes: meter.bytes,
        goodput_bps: if seconds > 0.0 { meter.bytes as f64 * 8.0 / seconds } else { 0.0 },
        longest_gap_ms: meter.longest_gap.max(silence).as_secs_f64() * 1e3,
        completed: meter.completed,
        sent: 0,
        delay: meter.delays.summary(),
        intact: meter.corrupt_at.is_none(),
        copies: CopyOutcome::default(),
        repair: RepairOutcome::default(),
        error: None,
        measures: Vec::new(),
    }
}

fn live<T>(handle: Option<ConnectionHandle>, read: impl FnOnce(ConnectionHandle) -> Option<T>) -> Option<T> {
    handle.and_then(read)
}

fn kind_of(kind: &FlowKind) -> &'static str {
    match kind {
        FlowKind::Bulk { .. } => "bulk",
        FlowKind::Requests { .. } => "requests",
        FlowKind::Datagrams { .. } => "datagrams",
        FlowKind::Application { .. } => "application",
        FlowKind::TunnelMix(_) => "tunnel-mix",
        FlowKind::Udp { .. } => "udp",
    }
}
