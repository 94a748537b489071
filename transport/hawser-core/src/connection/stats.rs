//! Counters of a connection and its paths.

use std::time::Duration;

use hawser_policy::{LimitedBy, LinkId, PathId, PathState, PathStatus, Rate, Time};

use crate::FourTuple;

/// Totals of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionStats {
    /// UDP datagrams sent.
    pub datagrams_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Batches handed to the driver; `datagrams_sent / batches_sent` is the mean batch.
    pub batches_sent: u64,
    /// UDP datagrams received.
    pub datagrams_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Packets that could not be authenticated.
    pub packets_undecryptable: u64,
    /// Packets received twice.
    pub packets_duplicate: u64,
    /// Datagrams that were dropped because those before them had cost more than they had paid for.
    pub datagrams_put_off: u64,
    /// Packets that were not acknowledged, so that the peer sends them again: there was no room for what was in them.
    pub packets_refused: u64,
    /// Packets dropped for other reasons: no keys yet, unknown version, malformed header.
    pub packets_dropped: u64,
    /// Stream bytes sent for the first time.
    pub stream_bytes_sent: u64,
    /// Stream bytes sent again because they were lost or their path fell silent.
    pub stream_bytes_retransmitted: u64,
    /// Stream bytes that the peer acknowledged, each counted once.
    pub stream_bytes_acked: u64,
    /// Stream bytes sent as copies.
    pub stream_bytes_copied: u64,
    /// Of these, the ones whose original was acknowledged before the copy: had the scheduler waited, nothing would have
    /// been missing. The rest of the copies arrived first, or instead of a lost original.
    pub stream_bytes_copied_needlessly: u64,
    /// Stream bytes received for the first time.
    pub stream_bytes_received: u64,
    /// Stream bytes received that were there already: needless copies, and needless retransmissions.
    pub stream_bytes_duplicate: u64,
    /// Stream bytes that were discarded: not sent, or lost and not sent again.
    pub stream_bytes_discarded: u64,
    /// Stream bytes of the peer that readers passed as gaps.
    pub stream_bytes_missed: u64,
    /// Messages (DATAGRAM frames) dropped before they were sent: newer ones took their place, or they no longer fit the
    /// path.
    pub messages_dropped_unsent: u64,
    /// Messages dropped because their deadline passed before they were sent.
    pub messages_expired: u64,
    /// Received messages that newer ones pushed out before the application read them.
    pub messages_dropped_unread: u64,
    /// Messages to the peer's policies that were sent, repetitions included.
    pub policy_messages_sent: u64,
    /// Messages of the peer's policies that were handed on.
    pub policy_messages_received: u64,
    /// Messages of the peer's policies that were dropped: they came too fast, or nobody took them.
    pub policy_messages_dropped: u64,
    /// Commands of policies that were not applied: they named a path, a range or a stream that does not exist, asked for
    /// what the stream does not permit, or were too many.
    pub policy_commands_ignored: u64,
    /// Repair symbols of erasure codes sent.
    pub repair_symbols_sent: u64,
    /// Stream bytes that were lost and that the peer brought back with repair symbols.
    pub stream_bytes_recovered_by_peer: u64,
    /// Repair symbols received.
    pub repair_symbols_received: u64,
    /// Of these, dropped because they contradicted others.
    pub repair_symbols_dropped: u64,
    /// Stream bytes received that were lost on their way and brought back with repair symbols.
    pub stream_bytes_recovered: u64,
    /// Key updates, by either end.
    pub key_updates: u64,
}

impl ConnectionStats {
    /// Share of the copied bytes that turned out needless, at the end that sent them; `None` if none were sent.
    pub fn needless_copies(&self) -> Option<f64> {
        share(self.stream_bytes_copied_needlessly, self.stream_bytes_copied)
    }

    /// Share of the received stream bytes that were there already; `None` if none were received.
    pub fn duplicate_share(&self) -> Option<f64> {
        share(self.stream_bytes_duplicate, self.stream_bytes_received + self.stream_bytes_duplicate)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Counters of one path. They survive the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathStats {
    /// UDP datagrams sent.
    pub datagrams_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// UDP datagrams received.
    pub datagrams_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Packets acknowledged.
    pub packets_acked: u64,
    /// Bytes acknowledged.
    pub bytes_acked: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Bytes declared lost.
    pub bytes_lost: u64,
    /// Lost packets that were acknowledged after all.
    pub packets_spuriously_lost: u64,
    /// Name of the congestion controller.
    pub controller: &'static str,
    /// Congestion window in bytes.
    pub congestion_window: u64,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// Smoothed round-trip time; before the first sample, what is assumed of it
    /// ([`initial_rtt`](crate::TransportConfig::initial_rtt)), as in the next two.
    pub smoothed_rtt: Duration,
    /// The newest sample of the round-trip time.
    pub latest_rtt: Duration,
    /// Smallest round-trip time.
    pub min_rtt: Duration,
    /// Mean deviation of the round-trip time.
    pub rtt_variance: Duration,
    /// Latest one-way delay to the peer, with an offset that is unknown, constant and the same for all paths of the
    /// connection; `None` if the peer reports no receive times.
    pub one_way_delay: Option<Duration>,
    /// Delivery rate.
    pub delivery_rate: Option<Rate>,
    /// UDP payload size in use.
    pub mtu: u16,
    /// Probe timeouts.
    pub probe_timeouts: u64,
    /// Times the path fell silent with data outstanding.
    pub times_suspect: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Share of lost bytes among about the last thousand packets, in parts per million.
    pub recent_loss_ppm: u32,
    /// Reductions of the window for loss or congestion marks.
    pub congestion_events: u64,
    /// Congestion marks (ECN) that the peer reported.
    pub congestion_marks: u64,
    /// A packet counts as lost when one sent so many numbers later is acknowledged; `None` once the path was seen to reorder, where
    /// only time tells.
    pub reordering_threshold: Option<u64>,
    /// Why the sender last stopped; [`LimitedBy::Nothing`] if it has not since.
    pub limited_by: LimitedBy,
    /// Whether the controller is in slow start.
    pub in_slow_start: bool,
    /// Rate at which the pacer lets data out; `None` without a limit.
    pub pacing_rate: Option<Rate>,
    /// Copies that wait for this path, in bytes.
    pub copies_queued: u64,
    /// When a datagram last arrived on it.
    pub heard_at: Option<Time>,
}

/// A path as the application sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathInfo {
    /// Its id.
    pub id: PathId,
    /// Its addresses.
    pub tuple: FourTuple,
    /// Its state.
    pub state: PathState,
    /// What it is used for: backup if either end wants that.
    pub status: PathStatus,
    /// The local link, if the driver named one.
    pub link: Option<LinkId>,
}
