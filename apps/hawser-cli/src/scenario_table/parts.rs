//! The parts of a scenario as they are printed.

use hawser_scenario::{Direction, Flow, FlowKind, Medium, Scenario, ScenarioLink, Transport, TunnelMix};
use serde::Serialize;

use hawser::{Composition, PolicyKind, Registry};
use hawser_command::units;

/// What a link is apart from its two directions.
#[derive(Debug, Serialize)]
pub(super) struct LinkPart {
    name: String,
    /// The hosts at its ends; the first has the interface.
    between: [String; 2],
    medium: Medium,
    backup: bool,
    metered: bool,
    /// What it may carry in a period.
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<String>,
    /// The segments on the way, for each route that is taken at some time.
    via: Vec<Vec<String>>,
    /// Whether its interface loses its address in outages.
    detaches: bool,
    /// Times at which the peer sees another address.
    nat_rebinding_seconds: Vec<f64>,
}

/// What is sent.
#[derive(Debug, Serialize)]
pub(super) struct FlowPart {
    name: String,
    /// The host that opens the connection.
    client: String,
    server: String,
    /// The links; empty when it crosses segments only.
    over: Vec<String>,
    /// In words.
    what: String,
    count: u32,
    start_seconds: f64,
    stop_seconds: Option<f64>,
    /// Whether the run waits for its end.
    awaited: bool,
    scheduler: String,
    controller: String,
}

/// How connections behave.
#[derive(Debug, Serialize)]
pub(super) struct TransportPart {
    scheduler: String,
    controller: String,
    crypto: &'static str,
    ecn: bool,
}

impl LinkPart {
    pub(super) fn new(scenario: &Scenario, link: &ScenarioLink) -> Self {
        let names = |route: &Vec<usize>| {
            route.iter().map(|&index| scenario.segments[index].name.clone()).collect::<Vec<_>>()
        };
        LinkPart {
            name: link.name.clone(),
            between: link.between.map(|host| scenario.hosts[host].clone()),
            medium: link.medium,
            backup: link.backup,
            metered: link.metered,
            cap: link.cap.map(|cap| cap.to_string()),
            via: link.via.alternatives.iter().map(names).collect(),
            detaches: link.detaches,
            nat_rebinding_seconds: link.nat_rebinding.iter().map(|&at| at as f64 / 1e9).collect(),
        }
    }

    /// A line of text; nothing for a plain link between the usual two hosts.
    pub(super) fn line(&self) -> Option<String> {
        let mut words = Vec::new();
        if self.between != ["client", "server"] {
            words.push(self.between.join(" - "));
        }
        if self.medium != Medium::Unknown {
            words.push(format!("{:?}", self.medium).to_lowercase());
        }
        if self.backup {
            words.push("backup".to_owned());
        }
        if self.metered {
            words.push("metered".to_owned());
        }
        words.extend(self.cap.iter().map(|cap| format!("cap {cap}")));
        let routes: Vec<_> =
            self.via.iter().filter(|route| !route.is_empty()).map(|route| short(route)).collect();
        if !routes.is_empty() {
            words.push(format!("via {}", routes.join(" or ")));
        }
        if self.detaches {
            words.push("no address in outages".to_owned());
        }
        if !self.nat_rebinding_seconds.is_empty() {
            let times: Vec<_> = self.nat_rebinding_seconds.iter().map(|at| format!("{at} s")).collect();
            words.push(format!("another address at {}", short(&times)));
        }
        (!words.is_empty()).then(|| format!("{:<15} {}", self.name, words.join(", ")))
    }
}

impl FlowPart {
    pub(super) fn new(scenario: &Scenario, flow: &Flow, registry: &Registry) -> Self {
        let over_segments = match &flow.kind {
            FlowKind::Udp { over, .. } => over.as_slice(),
            _ => &[],
        };
        let over = if over_segments.is_empty() {
            flow.links.iter().map(|&link| scenario.links[link].name.clone()).collect()
        } else {
            over_segments.iter().map(|&segment| scenario.segments[segment].name.clone()).collect()
        };
        let server = flow.links.first().map_or(flow.client, |&link| scenario.links[link].between[1]);
        FlowPart {
            name: flow.name.clone(),
            client: scenario.hosts[flow.client].clone(),
            server: scenario.hosts[server].clone(),
            over,
            what: what(flow),
            count: flow.count,
            start_seconds: flow.start as f64 / 1e9,
            stop_seconds: flow.stop.map(|stop| stop as f64 / 1e9),
            awaited: flow.awaited,
            scheduler: policies(registry, &scenario.policies_of(flow), PolicyKind::Scheduler),
            controller: policies(registry, &scenario.policies_of(flow), PolicyKind::Congestion),
        }
    }

    pub(super) fn line(&self) -> String {
        let count = if self.count > 1 { format!("{} x ", self.count) } else { String::new() };
        let from =
            if self.start_seconds > 0.0 { format!(", from {} s", self.start_seconds) } else { String::new() };
        let until = self.stop_seconds.map_or(String::new(), |stop| format!(", until {stop} s"));
        let policies = format!(", {} on {}", self.scheduler, self.controller);
        let awaited = if self.awaited { ", ends the run" } else { "" };
        format!(
            "{:<15} {count}{} over {}{policies}{from}{until}{awaited}",
            self.name,
            self.what,
            short(&self.over)
        )
    }
}

impl TransportPart {
    pub(super) fn new(transport: &Transport, registry: &Registry) -> Self {
        TransportPart {
            scheduler: policies(registry, &transport.policies, PolicyKind::Scheduler),
            controller: policies(registry, &transport.policies, PolicyKind::Congestion),
            crypto: if transport.tls { "tls" } else { "null" },
            ecn: transport.ecn,
        }
    }
}

/// The policy of one kind, chosen or by default.
fn policies(registry: &Registry, wanted: &Composition, kind: PolicyKind) -> String {
    let resolved = registry.resolve(wanted);
    resolved.get(kind).or(resolved.policy.as_ref()).map_or_else(String::new, ToString::to_string)
}

/// Some names: all of a few, the ends of many.
fn short(names: &[String]) -> String {
    match names {
        [first, .., last] if names.len() > 4 => format!("{first} .. {last} ({})", names.len()),
        _ => names.join(", "),
    }
}

/// The parts of a mix.
fn mixed(mix: &TunnelMix) -> String {
    let bulk = mix.bulk.map(|direction| if direction == Direction::Up { "upload" } else { "download" });
    let parts = [
        bulk,
        mix.web.map(|_| "pages"),
        mix.call.map(|_| "call"),
        mix.game.map(|_| "game"),
        mix.udp.map(|_| "UDP"),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    format!("tunnel with {}", parts.join(", "))
}

fn what(flow: &Flow) -> String {
    let way = |direction: &Direction| if *direction == Direction::Up { "upload" } else { "download" };
    let rate = |rate: u64| units::bit_rate(rate as f64);
    let number =
        |number: &Option<u64>| number.map_or("requests".to_owned(), |number| units::count(number, "request"));
    match &flow.kind {
        FlowKind::Bulk { direction, size: Some(size) } => {
            format!("{} of {}", way(direction), units::bytes(*size))
        }
        FlowKind::Bulk { direction, size: None } => format!("{}, unbounded", way(direction)),
        FlowKind::Requests { response, number: count, think, .. } => {
            format!("{} for {}, {} s apart", number(count), units::bytes(*response), think.as_secs_f64())
        }
        FlowKind::Datagrams { direction, size, rate: bits } => {
            format!("{} of datagrams of {size} B at {}", way(direction), rate(*bits))
        }
        FlowKind::Application { direction, application } => format!("{} of {application}", way(direction)),
        FlowKind::TunnelMix(mix) => mixed(mix),
        FlowKind::Udp { direction, size, rate: bits, poisson, .. } => {
            let gaps = if *poisson { "Poisson" } else { "even" };
            format!("{} of {gaps} UDP packets of {size} B at {}", way(direction), rate(*bits))
        }
    }
}
