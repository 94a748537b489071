//! What each path of a connection did: for the progress lines and the report.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::silence::Shown;
use hawser::{Connection, Endpoint, LinkId, PathId, PathInfo, PathState, PathStats, PathStatus};

/// Time constant of a path's rate in seconds.
const RATE_MEMORY: f64 = 0.4;

/// Which direction counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// What arrived.
    Received,
    /// What was sent.
    Sent,
}

/// Counters of paths at some moment.
pub type PathCounters = BTreeMap<PathId, PathStats>;

/// The counters of the paths that a connection has and had.
pub fn counters(connection: &Connection) -> PathCounters {
    let paths = connection.past_paths().into_iter().chain(connection.paths());
    paths.filter_map(|path| Some((path.id, connection.path_stats(path.id)?))).collect()
}

/// All paths that a connection had since this table began, and what they did.
#[derive(Debug)]
pub struct PathTable {
    endpoint: Endpoint,
    connection: Connection,
    names: BTreeMap<LinkId, String>,
    rows: BTreeMap<PathId, Row>,
    /// What paths had done before: a connection may have carried other files.
    before: PathCounters,
    sampled: Instant,
    /// What the watch over the server's silence says.
    pub shown: Shown,
}

#[derive(Debug)]
struct Row {
    info: PathInfo,
    stats: PathStats,
    /// Whether it still exists.
    open: bool,
    /// Bit/s received and sent, smoothed.
    rates: (f64, f64),
}

/// One path for a person or a program.
#[derive(Clone, Debug, Serialize)]
pub struct PathReport {
    /// Number on the wire.
    pub id: u32,
    /// Interface, or the local address when the interface is not known.
    pub interface: String,
    /// Local address.
    pub local: String,
    /// Remote address.
    pub remote: String,
    /// `validating`, `active`, `suspect` or `closed`.
    pub state: &'static str,
    /// Whether it is for regular use.
    pub backup: bool,
    /// UDP payload bytes.
    pub bytes_received: u64,
    /// UDP payload bytes.
    pub bytes_sent: u64,
    /// Part of the connection's bytes in the direction of the transfer, 0 to 1.
    pub share: f64,
    /// Now, in that direction.
    pub rate_bps: f64,
    /// Smoothed.
    pub rtt_ms: f64,
    /// Smallest.
    pub min_rtt_ms: f64,
    /// Congestion window of this end.
    pub cwnd_bytes: u64,
    /// Of packets sent by this end.
    pub packets_lost: u64,
    /// Lost of all sent by this end, 0 to 1.
    pub loss: f64,
    /// UDP payload size.
    pub mtu: u16,
    /// Times it fell silent with data outstanding.
    pub times_suspect: u64,
}

impl PathTable {
    /// What the paths had done `before` does not count.
    pub fn new(endpoint: Endpoint, connection: Connection, before: PathCounters) -> Self {
        let mut table = PathTable {
            endpoint,
            connection,
            names: BTreeMap::new(),
            rows: BTreeMap::new(),
            before,
            sampled: Instant::now(),
            shown: Shown::default(),
        };
        table.sample();
        table
    }

    /// The same, with a watch over the server's silence.
    pub fn beside(self, shown: Shown) -> Self {
        PathTable { shown, ..self }
    }

    /// Looks at all paths now. Call it a few times a second, for the rates.
    pub fn sample(&mut self) {
        let now = Instant::now();
        let elapsed = now.duration_since(self.sampled).as_secs_f64();
        for link in self.endpoint.links() {
            self.names.insert(link.id, link.name);
        }
        self.rows.values_mut().for_each(|row| row.open = false);
        for info in self.connection.paths() {
            let Some(stats) = self.stats(info.id) else { continue };
            let row = self.rows.entry(info.id).or_insert_with(|| Row {
                info: info.clone(),
                stats: PathStats::default(),
                open: true,
                rates: (0.0, 0.0),
            });
            (row.info, row.open) = (info, true);
            row.update(stats, elapsed);
        }
        self.add_unseen();
        let closed: Vec<PathId> = self.rows.iter().filter(|(_, row)| !row.open).map(|(id, _)| *id).collect();
        for id in closed {
            let stats = self.stats(id);
            let Some(row) = self.rows.get_mut(&id) else { continue };
            row.rates = (0.0, 0.0);
            if let Some(stats) = stats {
                row.stats = stats;
            }
        }
        self.sampled = now;
    }

    /// Adds the paths that came and went since the last look.
    fn add_unseen(&mut self) {
        for info in self.connection.past_paths() {
            if !self.before.contains_key(&info.id) {
                let stats = PathStats::default();
                self.rows.entry(info.id).or_insert(Row { info, stats, open: false, rates: (0.0, 0.0) });
            }
        }
    }

    /// Totals of the connection.
    pub fn connection_stats(&self) -> hawser::ConnectionStats {
        self.connection.stats()
    }

    /// What a path did that counts.
    fn stats(&self, id: PathId) -> Option<PathStats> {
        let mut stats = self.connection.path_stats(id)?;
        if let Some(before) = self.before.get(&id) {
            stats.bytes_received = stats.bytes_received.saturating_sub(before.bytes_received);
            stats.bytes_sent = stats.bytes_sent.saturating_sub(before.bytes_sent);
            stats.packets_acked = stats.packets_acked.saturating_sub(before.packets_acked);
            stats.packets_lost = stats.packets_lost.saturating_sub(before.packets_lost);
            stats.times_suspect = stats.times_suspect.saturating_sub(before.times_suspect);
        }
        Some(stats)
    }

    /// The paths as of the last look, by id.
    pub fn report(&self, flow: Flow) -> Vec<PathReport> {
        let total: u64 = self.rows.values().map(|row| row.bytes(flow)).sum();
        self.rows.iter().map(|(id, row)| self.describe(*id, row, flow, total)).collect()
    }

    fn describe(&self, id: PathId, row: &Row, flow: Flow, total: u64) -> PathReport {
        let stats = &row.stats;
        let local = row.info.tuple.local;
        let name = row.info.link.and_then(|link| self.names.get(&link)).cloned();
        let interface = name.or_else(|| interface_of(local.ip())).unwrap_or_else(|| local.ip().to_string());
        let state = match (row.open, row.info.state) {
            (false, _) => "closed",
            (_, PathState::Validating) => "validating",
            (_, PathState::Active) => "active",
            (_, _) => "suspect",
        };
        let settled = stats.packets_acked + stats.packets_lost;
        PathReport {
            id: id.0,
            interface,
            local: local.to_string(),
            remote: row.info.tuple.remote.to_string(),
            state,
            backup: row.info.status == PathStatus::Backup,
            bytes_received: stats.bytes_received,
            bytes_sent: stats.bytes_sent,
            share: ratio(row.bytes(flow), total),
            rate_bps: if flow == Flow::Received { row.rates.0 } else { row.rates.1 },
            rtt_ms: milliseconds(stats.smoothed_rtt),
            min_rtt_ms: milliseconds(stats.min_rtt),
            cwnd_bytes: stats.congestion_window,
            packets_lost: stats.packets_lost,
            loss: ratio(stats.packets_lost, settled),
            mtu: stats.mtu,
            times_suspect: stats.times_suspect,
        }
    }
}

impl Row {
    fn bytes(&self, flow: Flow) -> u64 {
        if flow == Flow::Received { self.stats.bytes_received } else { self.stats.bytes_sent }
    }

    fn update(&mut self, stats: PathStats, elapsed: f64) {
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 * 8.0 / elapsed.max(0.001);
        let received = rate(stats.bytes_received, self.stats.bytes_received);
        let sent = rate(stats.bytes_sent, self.stats.bytes_sent);
        let gain = 1.0 - (-elapsed / RATE_MEMORY).exp();
        self.rates.0 += gain * (received - self.rates.0);
        self.rates.1 += gain * (sent - self.rates.1);
        self.stats = stats;
    }
}

/// The same for a person: one line for each interface, however often its path was closed and opened again. What is not
/// a sum is that of the latest path.
pub fn by_interface(paths: &[PathReport]) -> Vec<PathReport> {
    let mut merged: Vec<PathReport> = Vec::new();
    for path in paths {
        let Some(place) = merged.iter_mut().find(|other| other.interface == path.interface) else {
            merged.push(path.clone());
            continue;
        };
        let sent = place.bytes_sent + path.bytes_sent;
        let lost = place.loss * place.bytes_sent as f64 + path.loss * path.bytes_sent as f64;
        *place = PathReport {
            bytes_received: place.bytes_received + path.bytes_received,
            bytes_sent: sent,
            share: place.share + path.share,
            rate_bps: place.rate_bps + path.rate_bps,
            min_rtt_ms: place.min_rtt_ms.min(path.min_rtt_ms),
            packets_lost: place.packets_lost + path.packets_lost,
            loss: if sent == 0 { 0.0 } else { lost / sent as f64 },
            times_suspect: place.times_suspect + path.times_suspect,
            ..path.clone()
        };
    }
    merged
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A duration in ms.
pub fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// The interface that has this address.
fn interface_of(address: std::net::IpAddr) -> Option<String> {
    let has_it = |interface: &nix::ifaddrs::InterfaceAddress| {
        let storage = interface.address.as_ref()?;
        let v4 = storage.as_sockaddr_in().map(|v4| std::net::IpAddr::V4(v4.ip()));
        v4.or_else(|| storage.as_sockaddr_in6().map(|v6| std::net::IpAddr::V6(v6.ip())))
    };
    nix::ifaddrs::getifaddrs()
        .ok()?
        .find(|interface| has_it(interface) == Some(address))
        .map(|i| i.interface_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(id: u32, interface: &str, state: &'static str, bytes: u64) -> PathReport {
        PathReport {
            id,
            interface: interface.to_owned(),
            local: String::new(),
            remote: String::new(),
            state,
            backup: false,
            bytes_received: bytes,
            bytes_sent: bytes,
            share: bytes as f64 / 100.0,
            rate_bps: 0.0,
            rtt_ms: f64::from(id),
            min_rtt_ms: f64::from(id),
            cwnd_bytes: 0,
            packets_lost: 1,
            loss: 0.5,
            mtu: 1200,
            times_suspect: 1,
        }
    }

    #[test]
    fn an_interface_has_one_line_however_often_it_came_back() {
        let paths =
            [path(1, "wlan0", "closed", 30), path(2, "wwan0", "active", 50), path(5, "wlan0", "active", 20)];
        let merged = by_interface(&paths);
        assert_eq!(merged.len(), 2);
        let wlan = &merged[0];
        assert_eq!((wlan.interface.as_str(), wlan.state, wlan.bytes_received), ("wlan0", "active", 50));
        assert_eq!((wlan.share, wlan.loss, wlan.rtt_ms, wlan.min_rtt_ms), (0.5, 0.5, 5.0, 1.0));
        assert_eq!((wlan.packets_lost, wlan.times_suspect), (2, 2));
    }
}
