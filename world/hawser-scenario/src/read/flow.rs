//! `[[flow]]`: what is sent.

use std::time::Duration;

use hawser_media::{Choice, choose};

use super::fields::{Fields, Value};
use super::link::plain_name;
use super::policies::{policies, spec};
use super::{Context, Result, mix, route};
use crate::{Direction, Flow, FlowKind, Pattern, ScenarioLink, Segment, Transport};

/// Copies of one flow.
const MOST_COPIES: u64 = 100_000;
/// Bytes of a request unless the file says otherwise: one packet.
const REQUEST_BYTES: u64 = 500;
/// Bytes of a datagram unless the file says otherwise: fits the smallest packet that QUIC allows.
const DATAGRAM_BYTES: u64 = 1100;
/// Bytes of a UDP packet unless the file says otherwise.
const UDP_BYTES: u64 = 1500;
/// Bytes of an IPv6 and a UDP header: the smallest packet.
const SMALLEST_UDP: u64 = 48;

/// Bytes of an IPv4 and a UDP header: what a packet has at least around its payload.
const UDP_HEADERS: u32 = 28;
/// Largest UDP payload that path MTU discovery tries by default, and the one that the transport takes for granted.
const PAYLOADS: [u32; 2] = [1452, 1200];
/// Requests at the same time.
const MOST_PARALLEL: u64 = 1_000;
/// Bytes around the data of a datagram: short header with a connection ID of 8 bytes and the longest packet number,
/// tag, type and length of the frame.
const AROUND_DATAGRAM: u32 = 1 + 8 + 4 + 16 + 1 + 2;

/// What flows go over.
pub(super) struct Network<'n> {
    pub(super) hosts: &'n [String],
    pub(super) links: &'n [ScenarioLink],
    pub(super) segments: &'n [Segment],
    pub(super) transport: &'n Transport,
}

/// The kinds as the file names them.
#[derive(Clone, Copy)]
enum Kind {
    Bulk,
    Requests,
    Datagrams,
    Application,
    TunnelMix,
    Udp { poisson: bool },
}

pub(super) fn flows(
    fields: &Fields<'_>,
    network: &Network<'_>,
    context: &Context<'_, '_>,
) -> Result<Vec<Flow>> {
    let Some(value) = fields.optional("flow") else { return Ok(Vec::new()) };
    let mut flows: Vec<Flow> = Vec::new();
    for item in value.array()? {
        let mut fields = item.fields()?;
        let name_field = fields.required("name", "\"main\"")?;
        let name = plain_name(&name_field, "a flow")?;
        if flows.iter().any(|flow| flow.name == name) {
            return Err(name_field.error(format!("two flows are named {name:?}; names must differ")));
        }
        fields.rename(format!("flow.{name}"));
        flows.push(flow(name, fields, network, context)?);
    }
    Ok(flows)
}

fn flow(name: &str, fields: Fields<'_>, network: &Network<'_>, context: &Context<'_, '_>) -> Result<Flow> {
    let kind = kind(&fields, context)?;
    let links = ends(&fields, network.hosts, network.links)?;
    network.check_size(&kind, &links.1, &fields)?;
    let end = context.duration.filter(|_| !context.shortened);
    let start = fields.read_or("start", 0, |value| match (value.duration()?, end) {
        (start, Some(end)) if start >= end => {
            Err(value.error("the flow would never start: the scenario's `duration` is over by then"))
        }
        (start, _) => Ok(start),
    })?;
    let stop = fields.read("stop", |value| match value.duration()? {
        stop if stop <= start => Err(value.error("a flow must stop after its start")),
        stop => Ok(stop),
    })?;
    let own_end = match kind {
        FlowKind::Bulk { size, .. } => size.is_some(),
        FlowKind::Requests { number, .. } => number.is_some(),
        // It says itself when it is over.
        FlowKind::Application { .. } => true,
        FlowKind::Datagrams { .. } | FlowKind::TunnelMix(_) | FlowKind::Udp { .. } => false,
    };
    let has_own_times = matches!(kind, FlowKind::Application { .. } | FlowKind::TunnelMix(_));
    let awaited = fields.read_or("awaited", own_end, |value| match value.boolean()? {
        true if !own_end && stop.is_none() => {
            Err(value.error("the flow has no end to wait for; give it a `size`, a `number` or a `stop`"))
        }
        awaited => Ok(awaited),
    })?;
    let flow = Flow {
        name: name.to_owned(),
        client: links.0,
        links: links.1,
        start,
        stop,
        count: fields.read_or("count", 1, |value| value.integer(1..=MOST_COPIES))? as u32,
        policies: policies(&fields, &network.transport.policies, context.registry)?,
        kind,
        awaited,
        pattern: fields.read("on_off", |value| match has_own_times {
            true => Err(value.error("an application or a mix has its own times; leave `on_off` out")),
            false => pattern(value),
        })?,
    };
    fields.finish()?;
    Ok(flow)
}

fn requests(fields: &Fields<'_>) -> Result<FlowKind> {
    let every = fields.read("every", |value| match fields.optional("think") {
        Some(_) => Err(value.error("a pace (`every`) leaves no time to `think`; leave one of them out")),
        None => Ok(Duration::from_nanos(value.positive_duration()?)),
    })?;
    // At an even pace nothing waits for what is late.
    let parallel = if every.is_some() { MOST_PARALLEL } else { 1 };
    Ok(FlowKind::Requests {
        request: fields.read_or("request", REQUEST_BYTES, bytes)?,
        response: bytes(&fields.required("response", "\"100 kB\"")?)?,
        think: Duration::from_nanos(fields.read_or("think", 0, |value| value.duration())?),
        number: fields.read("number", |value| value.integer(1..=u64::from(u32::MAX)))?,
        parallel: fields.read_or("parallel", parallel, |value| value.integer(1..=MOST_PARALLEL))? as u32,
        every,
    })
}

fn kind(fields: &Fields<'_>, context: &Context<'_, '_>) -> Result<FlowKind> {
    let kind = fields.required("kind", "\"bulk\"")?.choice(&[
        ("bulk", Kind::Bulk),
        ("requests", Kind::Requests),
        ("datagrams", Kind::Datagrams),
        ("application", Kind::Application),
        ("tunnel-mix", Kind::TunnelMix),
        ("cbr", Kind::Udp { poisson: false }),
        ("poisson", Kind::Udp { poisson: true }),
    ])?;
    let direction = |fields: &Fields<'_>| {
        let directions = Direction::BOTH.map(|direction| (direction.name(), direction));
        fields.read_or("direction", Direction::Down, |value| value.choice(&directions))
    };
    let rate = || fields.required("rate", "\"2 Mbit/s\"").and_then(|value| value.positive_rate());
    Ok(match kind {
        Kind::Bulk => FlowKind::Bulk {
            direction: direction(fields)?,
            size: match fields.optional("size") {
                Some(value) if value.as_string() == Some("unlimited") => None,
                Some(value) => Some(bytes(&value)?),
                None => None,
            },
        },
        Kind::Requests => requests(fields)?,
        Kind::Datagrams => FlowKind::Datagrams {
            direction: direction(fields)?,
            size: fields.read_or("size", DATAGRAM_BYTES, |value| value.size_within(1..=65_000))? as u32,
            rate: rate()?,
        },
        Kind::Application => {
            FlowKind::Application { direction: direction(fields)?, application: application(fields)? }
        }
        Kind::TunnelMix => FlowKind::TunnelMix(mix::mix(fields)?),
        Kind::Udp { poisson } => FlowKind::Udp {
            direction: direction(fields)?,
            size: fields.read_or("size", UDP_BYTES, |value| value.size_within(SMALLEST_UDP..=9000))? as u32,
            rate: rate()?,
            poisson,
            over: over(fields, context)?,
        },
    })
}

impl Network<'_> {
    /// Refuses packets and datagrams that are too large for every way they can go.
    fn check_size(&self, kind: &FlowKind, links: &[usize], fields: &Fields<'_>) -> Result<()> {
        let (size, most, why) = match kind {
            FlowKind::Udp { size, over, .. } => {
                let own = if over.is_empty() { self.widest(links) } else { self.mtu_of(over) };
                (*size, own, "the MTU of its way".to_owned())
            }
            FlowKind::Datagrams { size, .. } => {
                let payload = self.transport.max_datagram.map_or(PAYLOADS[0], u32::from);
                let payload = payload.min(self.widest(links).saturating_sub(UDP_HEADERS).max(PAYLOADS[1]));
                (*size, payload - AROUND_DATAGRAM, format!("what fits into {payload} bytes of UDP payload"))
            }
            FlowKind::Bulk { .. }
            | FlowKind::Requests { .. }
            | FlowKind::Application { .. }
            | FlowKind::TunnelMix(_) => return Ok(()),
        };
        if size <= most {
            return Ok(());
        }
        let message = format!("expected at most {most} bytes, {why}, found {size}");
        Err(match fields.optional("size") {
            Some(value) => value.error(message),
            None => fields.error(format!("`size`: {message}")),
        })
    }

    /// The largest MTU of the routes of these links.
    fn widest(&self, links: &[usize]) -> u32 {
        let links = links.iter().filter_map(|&link| self.links.get(link));
        let of_link = |link: &ScenarioLink| {
            let routes = link.via.alternatives.iter().map(|route| self.mtu_of(route));
            routes.max().unwrap_or(u32::MAX).min(link.up.mtu)
        };
        links.map(of_link).max().unwrap_or(u32::MAX)
    }

    /// The smallest MTU of these segments.
    fn mtu_of(&self, route: &[usize]) -> u32 {
        let segments = route.iter().filter_map(|&segment| self.segments.get(segment));
        segments.map(|segment| segment.up.mtu).min().unwrap_or(u32::MAX)
    }
}

/// Chosen by a text or a table, as policies are.
fn application(fields: &Fields<'_>) -> Result<Choice> {
    let value = fields.required("application", "\"live,video=sintel\"")?;
    choose(&spec(&value, None)?).map_err(|error| value.error(error.to_string()))
}

fn bytes(value: &Value<'_>) -> Result<u64> {
    value.size_within(1..=1 << 50)
}

/// The segments that a UDP flow crosses instead of links.
fn over(fields: &Fields<'_>, context: &Context<'_, '_>) -> Result<Vec<usize>> {
    let Some(value) = fields.optional("over") else { return Ok(Vec::new()) };
    let over = value.list(|item| route::segment(item, context))?;
    if over.is_empty() {
        return Err(value.error("expected at least one segment"));
    }
    Ok(over)
}

/// The host that has the links, and the links.
fn ends(fields: &Fields<'_>, hosts: &[String], links: &[ScenarioLink]) -> Result<(usize, Vec<usize>)> {
    let host = |value: &Value<'_>| {
        let name = value.string()?;
        hosts.iter().position(|host| host == name).ok_or_else(|| {
            value.error(format!("no link leads to a host {name:?}; there are: {}", hosts.join(", ")))
        })
    };
    let from = fields.read("from", host)?;
    let to = fields.read("to", host)?;
    let Some(value) = fields.optional("links") else {
        return all_links(fields, hosts, links, from, to);
    };
    let chosen = value.list(|item| link(item, links))?;
    let Some(&first) = chosen.first() else { return Err(value.error("expected at least one link")) };
    let between = links[first].between;
    for (item, &index) in value.array()?.iter().zip(&chosen) {
        let other = &links[index];
        if other.between != between {
            let ends = |between: [usize; 2]| format!("{} - {}", hosts[between[0]], hosts[between[1]]);
            let message = format!(
                "the links of a flow must join the same hosts, but {:?} joins {} and {:?} {}",
                links[first].name,
                ends(between),
                other.name,
                ends(other.between)
            );
            return Err(item.error(message));
        }
        if chosen.iter().filter(|&&link| link == index).count() > 1 {
            return Err(item.error("the link is named twice"));
        }
    }
    for (given, end, place) in [(from, between[0], "from"), (to, between[1], "to")] {
        if given.is_some_and(|given| given != end) {
            let message = format!("`{place}` is not {:?}, where its `links` end", hosts[end]);
            return Err(value.error(message));
        }
    }
    Ok((between[0], chosen))
}

fn link(item: &Value<'_>, links: &[ScenarioLink]) -> Result<usize> {
    let name = item.string()?;
    links.iter().position(|link| link.name == name).ok_or_else(|| {
        let names: Vec<_> = links.iter().map(|link| link.name.as_str()).take(20).collect();
        item.error(format!("there is no link {name:?}; there are: {}", names.join(", ")))
    })
}

/// All links of a host, by default those of the first link's host.
fn all_links(
    fields: &Fields<'_>,
    hosts: &[String],
    links: &[ScenarioLink],
    from: Option<usize>,
    to: Option<usize>,
) -> Result<(usize, Vec<usize>)> {
    let from = from.or_else(|| links.first().map(|link| link.between[0])).unwrap_or_default();
    let of_host = |&(_, link): &(usize, &ScenarioLink)| link.between[0] == from;
    let reached: Vec<usize> =
        links.iter().enumerate().filter(of_host).map(|(_, link)| link.between[1]).collect();
    let Some(&first) = reached.first() else {
        return Err(fields.error(format!(
            "no link begins at {:?}; the host named first in a link's `between` opens connections",
            hosts[from]
        )));
    };
    let to = to.unwrap_or(first);
    if !reached.contains(&to) {
        return Err(fields.error(format!("no link leads from {:?} to {:?}", hosts[from], hosts[to])));
    }
    let other = reached.iter().find(|&&host| host != to);
    if let (Some(&other), None) = (other, fields.optional("to")) {
        return Err(fields.error(format!(
            "{:?} has links to {:?} and to {:?}; say which with `to` or `links`",
            hosts[from], hosts[to], hosts[other]
        )));
    }
    let matching = links.iter().enumerate().filter(|(_, link)| link.between == [from, to]);
    Ok((from, matching.map(|(index, _)| index).collect()))
}

fn pattern(value: &Value<'_>) -> Result<Pattern> {
    let fields = value.fields()?;
    let time = |name| fields.required(name, "\"10 s\"").and_then(|value| value.interval());
    let pattern = Pattern { on: Duration::from_nanos(time("on")?), off: Duration::from_nanos(time("off")?) };
    fields.finish()?;
    Ok(pattern)
}
