//! Looks at endpoints, and makes rates and totals of what their counters say.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Instant;

use hawser_net::policy::LinkId;
use hawser_net::{ConnectionObserver, ConnectionSample, ConnectionTotals, Endpoint, LinkUse, PathSample};

use crate::convert;
use crate::model::{Carried, Connection, Link, Path, Totals};
use crate::silence::{Look, Silence};
use crate::wireless::Wireless;

/// Time constant of rates in seconds: a link that stops is seen to have stopped within half a second.
const RATE_MEMORY: f64 = 0.2;
/// Connections that a status lists; of more, the busiest.
pub(crate) const MAX_LISTED: usize = 256;
/// Links whose sums are kept.
const MAX_LINKS: usize = 64;

/// An endpoint of the program.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// Counts the endpoints of the program.
    pub(crate) number: u32,
    pub(crate) endpoint: Endpoint,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) totals: Totals,
    pub(crate) links: Vec<Link>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) left_out: u64,
}

/// What was known of a connection when last looked.
#[derive(Debug, Default)]
struct Known {
    rates: Rates,
    paths: HashMap<u32, KnownPath>,
    /// Whether it was there in the pass that runs.
    present: bool,
}

/// Smoothed rates of a pair of counters.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    counters: (u64, u64),
    sent: f64,
    received: f64,
}

impl Rates {
    /// Returns what was received meanwhile, bit/s; none in the first look.
    fn update(&mut self, counters: (u64, u64), elapsed: Option<f64>) -> Option<f64> {
        let before = std::mem::replace(&mut self.counters, counters);
        let elapsed = elapsed?;
        let gain = 1.0 - (-elapsed / RATE_MEMORY).exp();
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 * 8.0 / elapsed;
        let received = rate(counters.1, before.1);
        self.sent += gain * (rate(counters.0, before.0) - self.sent);
        self.received += gain * (received - self.received);
        Some(received)
    }
}

/// What was known of a path when last looked.
#[derive(Clone, Copy, Debug, Default)]
struct KnownPath {
    rates: Rates,
    silence: Silence,
}

/// Bytes sent and received over links, by their names.
type LinkBytes = BTreeMap<String, (u64, u64)>;

/// Adds what an endpoint counted. Connections that ended are part of it, also those that came and went between two looks.
fn add_links(sums: &mut LinkBytes, counted: &ConnectionTotals, names: &Names) {
    for (link, (sent, received)) in &counted.links {
        let Some(name) = names.0.get(link) else { continue };
        if sums.len() < MAX_LINKS || sums.contains_key(name) {
            let sum = sums.entry(name.clone()).or_default();
            *sum = (sum.0 + sent, sum.1 + received);
        }
    }
}

/// Remembers counters between two looks.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    known: HashMap<(u32, u64), Known>,
    /// What connections counted, as far as the pass that runs has come.
    counted: ConnectionTotals,
    /// The same of each endpoint when it was looked at last, and of those that are gone.
    endpoints: HashMap<u32, ConnectionTotals>,
    gone: ConnectionTotals,
    /// Bytes of each link of endpoints that are gone, by name.
    gone_links: LinkBytes,
    /// Names of links that each endpoint has or had.
    names: HashMap<u32, Names>,
    wireless: Wireless,
    sampled: Option<Instant>,
}

impl Sampler {
    /// Looks at everything.
    pub(crate) fn look(&mut self, endpoints: &[Watched], now: Instant) -> Seen {
        let since = self.sampled.replace(now).map(|before| now.duration_since(before).as_secs_f64());
        let elapsed = since.filter(|elapsed| *elapsed > 1e-3);
        self.known.values_mut().for_each(|known| known.present = false);
        let mut seen = Seen::default();
        let mut link_rates: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for watched in endpoints {
            let mut names = self.names.remove(&watched.number).unwrap_or_default();
            names.learn(&watched.endpoint);
            // One that ends from here on is missing in this look, not twice in it.
            self.counted = watched.endpoint.ended_connections();
            for observer in watched.endpoint.connections() {
                let connection = self.connection(watched.number, &observer, &names, elapsed);
                for path in &connection.paths {
                    let rates = link_rates.entry(path.name.clone()).or_default();
                    rates.0 += path.rate_sent_bps;
                    rates.1 += path.rate_received_bps;
                }
                seen.connections.push(connection);
            }
            self.names.insert(watched.number, names);
            let last = self.endpoints.entry(watched.number).or_default();
            *last = largest(last, &self.counted);
        }
        let (gone, gone_links, names) = (&mut self.gone, &mut self.gone_links, &self.names);
        self.endpoints.retain(|number, counted| {
            let stays = endpoints.iter().any(|watched| watched.number == *number);
            if !stays {
                if let Some(names) = names.get(number) {
                    add_links(gone_links, counted, names);
                }
                // Their numbers mean nothing without the endpoint.
                counted.links.clear();
                gone.add(counted);
            }
            stays
        });
        self.names.retain(|number, _| endpoints.iter().any(|watched| watched.number == *number));
        self.known.retain(|_, known| known.present);
        seen.totals = self.totals(&seen.connections);
        seen.links = self.links(endpoints, &link_rates);
        for link in &mut seen.links {
            self.add_signal(link, now);
        }
        let busy = |connection: &Connection| connection.rate_sent_bps + connection.rate_received_bps;
        seen.connections.sort_by(|a, b| busy(b).total_cmp(&busy(a)));
        seen.left_out = seen.connections.len().saturating_sub(MAX_LISTED) as u64;
        seen.connections.truncate(MAX_LISTED);
        seen
    }

    fn totals(&self, connections: &[Connection]) -> Totals {
        let mut counted = self.gone.clone();
        self.endpoints.values().for_each(|endpoint| counted.add(endpoint));
        let mut totals = Totals {
            connections: connections.len() as u64,
            connections_ever: counted.connections,
            bytes_sent: counted.bytes_sent,
            bytes_received: counted.bytes_received,
            packets_sent: counted.packets_sent,
            packets_lost: counted.packets_lost,
            packets_spuriously_lost: counted.packets_spuriously_lost,
            times_suspect: counted.times_suspect,
            stream_bytes_sent: counted.stream_bytes_sent,
            stream_bytes_retransmitted: counted.stream_bytes_retransmitted,
            stream_bytes_copied: counted.stream_bytes_copied,
            repair_symbols_sent: counted.repair_symbols_sent,
            ..Totals::default()
        };
        for connection in connections {
            totals.rate_sent_bps += connection.rate_sent_bps;
            totals.rate_received_bps += connection.rate_received_bps;
        }
        totals
    }

    fn connection(
        &mut self,
        endpoint: u32,
        observer: &ConnectionObserver,
        names: &Names,
        elapsed: Option<f64>,
    ) -> Connection {
        let sample = observer.sample();
        let known = self.known.entry((endpoint, observer.number())).or_default();
        known.present = true;
        // Of one that began after the last look everything is new.
        known.rates.update((sample.stats.bytes_sent, sample.stats.bytes_received), elapsed);
        let mut connection = convert::connection(format!("{endpoint}.{}", observer.number()), &sample);
        connection.rate_sent_bps = known.rates.sent;
        connection.rate_received_bps = known.rates.received;
        let mut paths = HashMap::with_capacity(sample.paths.len());
        let mut arrivals = Vec::with_capacity(sample.paths.len());
        for path in &sample.paths {
            let mut known = known.paths.get(&path.info.id.0).copied().unwrap_or_default();
            let described = convert::path(names.of_path(path), path, sample.now);
            let received = known.rates.update((path.stats.bytes_sent, path.stats.bytes_received), elapsed);
            arrivals.push(received.unwrap_or_default());
            paths.insert(path.info.id.0, known);
            connection.paths.push(Path {
                rate_sent_bps: known.rates.sent,
                rate_received_bps: known.rates.received,
                ..described
            });
        }
        let total: f64 = arrivals.iter().sum();
        for (path, received) in connection.paths.iter_mut().zip(arrivals) {
            let (Some(known), Some(elapsed)) = (paths.get_mut(&path.id), elapsed) else { continue };
            let others = total - received;
            known.silence.note(&Look { elapsed, received, others, smoothed_rtt_ms: path.smoothed_rtt_ms });
            path.stalled = known.silence.is_stalled();
        }
        known.paths = paths;
        connection.carried = carried(&sample, names);
        self.counted.add(&sample.totals());
        connection
    }

    /// The signal of a WiFi link of which no observer tells one.
    fn add_signal(&mut self, link: &mut Link, now: Instant) {
        if link.radio.as_ref().is_none_or(|radio| radio.strength_dbm.is_none())
            && let Some(level) = self.wireless.level(&link.name, now)
        {
            link.radio.get_or_insert_default().strength_dbm = Some(level);
        }
    }

    /// The links of endpoints that choose links.
    fn links(&self, endpoints: &[Watched], rates: &BTreeMap<String, (f64, f64)>) -> Vec<Link> {
        let mut links: BTreeMap<String, Link> = BTreeMap::new();
        for Watched { endpoint, .. } in endpoints {
            let states = endpoint.link_states();
            let now = endpoint.now();
            for info in endpoint.links() {
                let mut link = convert::link(&info);
                let state = states.iter().find(|(id, _)| *id == info.id);
                link.radio = state.map(|(_, state)| convert::radio(state, now));
                links.insert(info.name.clone(), link);
            }
            for (name, wanted) in endpoint.link_uses() {
                let absent = || Link { name: name.clone(), kind: "unknown".to_owned(), ..Link::default() };
                let link = links.entry(name.clone()).or_insert_with(absent);
                link.usage = convert::usage(wanted);
                if wanted == LinkUse::Paused {
                    link.up = false;
                }
            }
            for cap in endpoint.cost_cap_uses() {
                if let Some(link) = links.get_mut(&cap.link) {
                    link.budget = Some(convert::budget(&cap));
                }
            }
        }
        let mut sums = self.gone_links.clone();
        for (number, counted) in &self.endpoints {
            if let Some(names) = self.names.get(number) {
                add_links(&mut sums, counted, names);
            }
        }
        for (name, sum) in sums {
            let absent = || Link { name: name.clone(), kind: "unknown".to_owned(), ..Link::default() };
            let link = links.entry(name.clone()).or_insert_with(absent);
            (link.bytes_sent, link.bytes_received) = sum;
            (link.rate_sent_bps, link.rate_received_bps) = rates.get(&name).copied().unwrap_or_default();
        }
        links.into_values().collect()
    }
}

/// The connections of an endpoint, looked at once: without rates, which need two looks.
pub fn connections(endpoint: &Endpoint) -> Vec<Connection> {
    let watched = Watched { number: 1, endpoint: endpoint.clone() };
    Sampler::default().look(&[watched], Instant::now()).connections
}

/// Names of links by their numbers, also of those that went: an endpoint gives no number twice.
#[derive(Debug, Default)]
struct Names(HashMap<LinkId, String>);

impl Names {
    fn learn(&mut self, endpoint: &Endpoint) {
        self.0.extend(endpoint.links().into_iter().map(|link| (link.id, link.name)));
    }

    /// The link, or the address of the peer at an end that chooses none, or our own address.
    fn of_path(&self, path: &PathSample) -> String {
        let link = path.info.link.and_then(|link| self.0.get(&link));
        link.cloned().unwrap_or_else(|| match path.info.link {
            Some(_) => path.info.tuple.local.ip().to_string(),
            None => peer(path.info.tuple.remote),
        })
    }
}

/// A peer's address without its port, which changes with every socket.
fn peer(address: SocketAddr) -> String {
    address.ip().to_canonical().to_string()
}

/// What went over each link, paths that ended included.
fn carried(sample: &ConnectionSample, names: &Names) -> Vec<Carried> {
    let mut all: BTreeMap<String, Carried> = BTreeMap::new();
    for path in sample.past_paths.iter().chain(&sample.paths) {
        let name = names.of_path(path);
        let carried = all.entry(name.clone()).or_insert_with(|| Carried { name, ..Carried::default() });
        carried.bytes_sent += path.stats.bytes_sent;
        carried.bytes_received += path.stats.bytes_received;
    }
    all.into_values().collect()
}

/// Totals never fall, although a connection that ends while others are looked at is missing for once.
fn largest(before: &ConnectionTotals, now: &ConnectionTotals) -> ConnectionTotals {
    let mut totals = ConnectionTotals::default();
    totals.connections = before.connections.max(now.connections);
    totals.bytes_sent = before.bytes_sent.max(now.bytes_sent);
    totals.bytes_received = before.bytes_received.max(now.bytes_received);
    totals.packets_sent = before.packets_sent.max(now.packets_sent);
    totals.packets_lost = before.packets_lost.max(now.packets_lost);
    totals.packets_spuriously_lost = before.packets_spuriously_lost.max(now.packets_spuriously_lost);
    totals.times_suspect = before.times_suspect.max(now.times_suspect);
    totals.stream_bytes_sent = before.stream_bytes_sent.max(now.stream_bytes_sent);
    totals.stream_bytes_retransmitted = before.stream_bytes_retransmitted.max(now.stream_bytes_retransmitted);
    totals.stream_bytes_copied = before.stream_bytes_copied.max(now.stream_bytes_copied);
    totals.repair_symbols_sent = before.repair_symbols_sent.max(now.repair_symbols_sent);
    totals.links = largest_links(before, now);
    totals
}

fn largest_links(before: &ConnectionTotals, now: &ConnectionTotals) -> BTreeMap<LinkId, (u64, u64)> {
    let mut links = before.links.clone();
    for (link, (sent, received)) in &now.links {
        let known = links.entry(*link).or_default();
        *known = (known.0.max(*sent), known.1.max(*received));
    }
    links
}
