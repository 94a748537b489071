//! A look at a connection that does not keep it open.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use hawser_core::{ConnectionStats, PathError, PathInfo, PathStats, SetControllerError, Version};
use hawser_policy::{
    Figures, LinkId, Message, PathId, PathStatus, PolicyError, PolicySpec, QueueView, Side, Time,
};

use super::path_events::PathEvents;
use super::{ConnectionShared, Phase};

/// Looks at a connection, and steers its paths and policies, without being one of its handles: it does not keep the connection
/// open, and what it holds is forgotten once the connection has ended. From [`Endpoint::connections`](crate::Endpoint::connections).
#[derive(Clone, Debug)]
pub struct ConnectionObserver(pub(crate) Arc<ConnectionShared>);

/// A connection at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectionSample {
    /// When, in the time of the endpoint.
    pub now: Time,
    /// Which end this is.
    pub side: Side,
    /// The QUIC version that it speaks.
    pub version: Version,
    /// The peer's address on the first path, or where the handshake ran.
    pub remote: SocketAddr,
    /// The server name that the client asked for, if this is the server.
    pub server_name: Option<String>,
    /// Negotiated application protocol, once known.
    pub application_protocol: Option<Vec<u8>>,
    /// Whether the handshake goes on.
    pub is_handshaking: bool,
    /// Whether it was closed, or timed out.
    pub is_closed: bool,
    /// Whether both ends speak multipath.
    pub is_multipath: bool,
    /// Totals.
    pub stats: ConnectionStats,
    /// What waits to be sent.
    pub queue: QueueView,
    /// Bytes of memory that its buffers take, roughly.
    pub buffered: u64,
    /// Name of the scheduler that places data now.
    pub scheduler: &'static str,
    /// What the scheduler says of itself.
    pub scheduler_figures: Figures,
    /// The paths that exist.
    pub paths: Vec<PathSample>,
    /// Those that ended; of very many the latest.
    pub past_paths: Vec<PathSample>,
}

/// Sums over connections and all of their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionTotals {
    /// How many.
    pub connections: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Of these, acknowledged after all.
    pub packets_spuriously_lost: u64,
    /// Times that paths fell silent with data outstanding.
    pub times_suspect: u64,
    /// Bytes of streams sent for the first time.
    pub stream_bytes_sent: u64,
    /// Sent again.
    pub stream_bytes_retransmitted: u64,
    /// Sent as copies on another path.
    pub stream_bytes_copied: u64,
    /// Repair symbols sent.
    pub repair_symbols_sent: u64,
    /// Bytes of each link, at an end that chooses links: sent and received.
    pub links: BTreeMap<LinkId, (u64, u64)>,
}

/// Links whose bytes are summed up: an endpoint numbers each that appears.
const MAX_LINKS: usize = 1_024;

impl ConnectionTotals {
    /// Of one connection and its paths.
    fn of(stats: &ConnectionStats, paths: impl Iterator<Item = (Option<LinkId>, PathStats)>) -> Self {
        let mut totals = ConnectionTotals {
            connections: 1,
            bytes_sent: stats.bytes_sent,
            bytes_received: stats.bytes_received,
            stream_bytes_sent: stats.stream_bytes_sent,
            stream_bytes_retransmitted: stats.stream_bytes_retransmitted,
            stream_bytes_copied: stats.stream_bytes_copied,
            repair_symbols_sent: stats.repair_symbols_sent,
            ..ConnectionTotals::default()
        };
        for (link, path) in paths {
            totals.add_link(link, (path.bytes_sent, path.bytes_received));
            totals.packets_sent += path.packets_sent;
            totals.packets_lost += path.packets_lost;
            totals.packets_spuriously_lost += path.packets_spuriously_lost;
            totals.times_suspect += path.times_suspect;
        }
        totals
    }

    /// The same of one whose lock is held.
    pub(crate) fn of_core(core: &hawser_core::Connection) -> Self {
        let paths = core.past_paths().into_iter().chain(core.paths());
        let paths = paths.filter_map(|path| Some((path.link, core.path_stats(path.id)?)));
        ConnectionTotals::of(&core.stats(), paths)
    }

    fn add_link(&mut self, link: Option<LinkId>, (sent, received): (u64, u64)) {
        let Some(link) = link else { return };
        if self.links.len() < MAX_LINKS || self.links.contains_key(&link) {
            let sum = self.links.entry(link).or_default();
            *sum = (sum.0 + sent, sum.1 + received);
        }
    }

    /// Adds others.
    pub fn add(&mut self, other: &ConnectionTotals) {
        self.connections += other.connections;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.packets_sent += other.packets_sent;
        self.packets_lost += other.packets_lost;
        self.packets_spuriously_lost += other.packets_spuriously_lost;
        self.times_suspect += other.times_suspect;
        self.stream_bytes_sent += other.stream_bytes_sent;
        self.stream_bytes_retransmitted += other.stream_bytes_retransmitted;
        self.stream_bytes_copied += other.stream_bytes_copied;
        self.repair_symbols_sent += other.repair_symbols_sent;
        other.links.iter().for_each(|(link, bytes)| self.add_link(Some(*link), *bytes));
    }
}

impl ConnectionSample {
    /// Returns what it counted: that of one connection. Of very many paths the oldest are forgotten.
    pub fn totals(&self) -> ConnectionTotals {
        let paths = self.past_paths.iter().chain(&self.paths);
        ConnectionTotals::of(&self.stats, paths.map(|path| (path.info.link, path.stats)))
    }
}

/// A path at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PathSample {
    /// Id, addresses, state, link.
    pub info: PathInfo,
    /// Its counters.
    pub stats: PathStats,
    /// What its controller says of itself.
    pub figures: Figures,
}

impl ConnectionObserver {
    /// Returns its number among all connections that the endpoint ever had, from 1.
    pub fn number(&self) -> u64 {
        self.0.number()
    }

    /// Looks at everything at once. Takes the lock of the connection for some microseconds; nothing is counted between samples
    /// that is not counted anyway.
    pub fn sample(&self) -> ConnectionSample {
        let state = self.0.lock();
        let core = &state.core;
        let look = |info: PathInfo| {
            let stats = core.path_stats(info.id)?;
            Some(PathSample { figures: core.path_figures(info.id), info, stats })
        };
        let paths: Vec<PathSample> = core.paths().into_iter().filter_map(look).collect();
        ConnectionSample {
            now: self.0.now(),
            side: core.side(),
            version: core.version(),
            remote: paths.first().map_or(self.0.first_tuple().remote, |path| path.info.tuple.remote),
            server_name: core.server_name(),
            application_protocol: core.application_protocol(),
            is_handshaking: state.phase == Phase::Handshaking,
            is_closed: state.outcome.is_some() || core.is_closed(),
            is_multipath: core.is_multipath(),
            stats: core.stats(),
            queue: core.send_queue(),
            buffered: core.buffered(),
            scheduler: core.scheduler_name(),
            scheduler_figures: core.scheduler_figures(),
            past_paths: core.past_paths().into_iter().filter_map(look).collect(),
            paths,
        }
    }

    /// Returns true if the connection was closed by either end, or timed out.
    pub fn is_closed(&self) -> bool {
        self.0.lock().outcome.is_some()
    }

    /// As [`Connection::path_events`](crate::Connection::path_events).
    pub fn path_events(&self) -> PathEvents {
        self.0.lock().subscribe()
    }

    /// As [`Connection::set_path_status`](crate::Connection::set_path_status).
    ///
    /// # Errors
    /// [`PathError`].
    pub fn set_path_status(&self, path: PathId, status: PathStatus) -> Result<(), PathError> {
        let now = self.0.now();
        self.0.act(|state| state.core.set_path_status(now, path, status))
    }

    /// As [`Connection::set_scheduler`](crate::Connection::set_scheduler).
    ///
    /// # Errors
    /// [`PolicyError`] names the schedulers and parameters that exist.
    pub fn set_scheduler(&self, spec: PolicySpec) -> Result<(), PolicyError> {
        self.0.act(|state| {
            let registry = state.scheduler_requests.registry();
            state.core.set_scheduler(&registry, spec)
        })
    }

    /// As [`Connection::set_controller`](crate::Connection::set_controller).
    ///
    /// # Errors
    /// [`SetControllerError`] names the controllers and parameters that exist.
    pub fn set_controller(&self, path: PathId, spec: PolicySpec) -> Result<(), SetControllerError> {
        let now = self.0.now();
        self.0.act(|state| {
            let registry = state.scheduler_requests.registry();
            state.core.set_controller(now, path, &registry, spec)
        })
    }

    /// As [`Connection::tell_policies`](crate::Connection::tell_policies).
    pub fn tell_policies(&self, message: &Message) {
        let now = self.0.now();
        self.0.act(|state| state.core.tell_policies(now, message));
    }

    /// As [`Connection::set_qlog`](crate::Connection::set_qlog).
    #[cfg(feature = "qlog")]
    pub fn set_qlog(&self, writer: Box<dyn std::io::Write + Send>, title: &str) {
        self.0.lock().core.set_qlog(writer, title);
    }
}
