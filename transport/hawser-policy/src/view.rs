use std::time::Duration;

use crate::{GroupId, LinkId, PathId, Rate, SendQueue, Time};

/// Where a path stands in its life, as far as a policy needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathState {
    /// Opened; the peer has not answered a PATH_CHALLENGE yet. Carries no application data.
    Validating,
    /// Usable.
    Active,
    /// Up but silent: acknowledgements stayed away although data is outstanding. The core has queued its
    /// data again for other paths and probes it with back-off; it turns `Active` when it answers.
    Suspect,
}

/// What the two ends want a path used for (draft-ietf-quic-multipath-21 section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum PathStatus {
    /// Use it.
    #[default]
    Available,
    /// Use it only when no available path can carry data.
    Backup,
}

/// One path at one moment. All sizes in bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PathView {
    /// Its id.
    pub id: PathId,
    /// The local link it leaves through, when the driver told.
    pub link: Option<LinkId>,
    /// The bottleneck group that a detector assigned; `GroupId(0)` when none.
    pub group: GroupId,
    /// Life-cycle state.
    pub state: PathState,
    /// Preference: backup if either end asked for it.
    pub status: PathStatus,
    /// Smoothed round-trip time (RFC 9002 section 5.3), over acknowledgements that return on the path on which most do;
    /// the configured initial RTT before a sample.
    pub smoothed_rtt: Duration,
    /// Smallest round-trip time seen.
    pub min_rtt: Duration,
    /// Mean deviation of the round-trip time.
    pub rtt_variance: Duration,
    /// When a datagram last arrived on it; `None` before the first.
    pub heard_at: Option<Time>,
    /// Most recent sample.
    pub latest_rtt: Duration,
    /// Whether `smoothed_rtt` rests on at least one sample.
    pub has_rtt_sample: bool,
    /// Latest one-way delay to the peer, with an unknown constant offset between the clocks; `None` when the
    /// peer sends no receive timestamps.
    pub one_way_delay: Option<Duration>,
    /// Probe timeout of this path (RFC 9002 section 6.2.1), without back-off.
    pub probe_timeout: Duration,
    /// Congestion window.
    pub congestion_window: u64,
    /// Bytes sent and neither acknowledged nor declared lost.
    pub bytes_in_flight: u64,
    /// When the oldest of the packets in flight was sent; `None` if nothing is in flight.
    pub oldest_in_flight: Option<Time>,
    /// Its packet number, which tells it from others that left at the same moment.
    pub oldest_packet: Option<u64>,
    /// Whether the controller is in slow start.
    pub in_slow_start: bool,
    /// Rate at which the pacer releases data.
    pub pacing_rate: Rate,
    /// Bytes the pacer would release now.
    pub pacing_budget: u64,
    /// When the pacer releases the next burst, if it holds back now.
    pub next_release: Option<Time>,
    /// Recent delivery rate, from acknowledgements; `None` before the first sample.
    pub delivery_rate: Option<Rate>,
    /// Lost among the recently sent bytes, in parts per million.
    pub loss_ppm: u32,
    /// Largest datagram this path carries (UDP payload).
    pub max_datagram_size: u16,
    /// Bytes queued as copies for this path and not yet sent.
    pub copies_queued: u64,
    /// Totals over the life of the path.
    pub bytes_sent: u64,
    /// Bytes acknowledged over the life of the path.
    pub bytes_acked: u64,
    /// Bytes declared lost over the life of the path.
    pub bytes_lost: u64,
}

impl PathView {
    /// A new, active, idle path with the values that hold before anything is known (RFC 9002 sections 6.2.2 and 7.2,
    /// datagrams of 1200 bytes). Tests of a policy start from here and set what they are about.
    pub fn new(id: PathId) -> Self {
        let initial_rtt = Duration::from_millis(333);
        PathView {
            id,
            link: None,
            group: GroupId::default(),
            state: PathState::Active,
            status: PathStatus::Available,
            smoothed_rtt: initial_rtt,
            min_rtt: initial_rtt,
            rtt_variance: initial_rtt / 2,
            heard_at: None,
            latest_rtt: initial_rtt,
            has_rtt_sample: false,
            one_way_delay: None,
            probe_timeout: initial_rtt * 3,
            congestion_window: 12_000,
            bytes_in_flight: 0,
            oldest_in_flight: None,
            oldest_packet: None,
            in_slow_start: true,
            pacing_rate: Rate::MAX,
            pacing_budget: u64::MAX,
            next_release: None,
            delivery_rate: None,
            loss_ppm: 0,
            max_datagram_size: 1200,
            copies_queued: 0,
            bytes_sent: 0,
            bytes_acked: 0,
            bytes_lost: 0,
        }
    }

    /// Free congestion window.
    pub fn window_left(&self) -> u64 {
        self.congestion_window.saturating_sub(self.bytes_in_flight)
    }

    /// What the core would let out on this path now: the lesser of free window and pacing budget, zero
    /// unless the path is active. A remainder under one datagram counts as zero.
    pub fn sendable(&self) -> u64 {
        if self.state != PathState::Active {
            return 0;
        }
        let bytes = self.window_left().min(self.pacing_budget);
        if bytes < u64::from(self.max_datagram_size) { 0 } else { bytes }
    }
}

/// How much is waiting to be sent.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct QueueView {
    /// Stream bytes never sent and allowed by flow control.
    pub unsent: u64,
    /// Stream bytes to send again.
    pub retransmit: u64,
    /// Bytes of datagrams that may go on any path, and one more for each: empty ones are to be sent too.
    pub datagrams: u64,
    /// How many datagrams these are.
    pub datagram_count: u64,
    /// Bytes of repair symbols that wait for a scheduler that asked to place them
    /// ([`Interests::REPAIR`](crate::Interests::REPAIR)); not part of [`total`](QueueView::total).
    pub repair: u64,
    /// What the peer's connection flow-control window still allows, including `unsent`.
    pub connection_window_left: u64,
}

impl QueueView {
    /// Everything a scheduler can place.
    pub fn total(&self) -> u64 {
        self.unsent.saturating_add(self.retransmit).saturating_add(self.datagrams)
    }
}

/// A connection at one moment, as a scheduler sees it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct SendView<'a> {
    /// The present.
    pub now: Time,
    /// Every path that exists, in order of id.
    pub paths: &'a [PathView],
    /// What waits.
    pub queue: QueueView,
    /// Its segments.
    pub segments: &'a dyn SendQueue,
}

impl<'a> SendView<'a> {
    /// Returns a view of a connection at one moment.
    pub fn new(now: Time, paths: &'a [PathView], queue: QueueView, segments: &'a dyn SendQueue) -> Self {
        SendView { now, paths, queue, segments }
    }

    /// The path with this id.
    pub fn path(&self, id: PathId) -> Option<&'a PathView> {
        self.paths.iter().find(|path| path.id == id)
    }

    /// Paths that carry data by preference: active and available ones; active backups if there are none.
    pub fn preferred(&self) -> impl Iterator<Item = &'a PathView> + Clone + use<'a> {
        let wanted = if self.paths.iter().any(|p| is_active(p) && p.status == PathStatus::Available) {
            PathStatus::Available
        } else {
            PathStatus::Backup
        };
        self.paths.iter().filter(move |p| is_active(p) && p.status == wanted)
    }
}

fn is_active(path: &PathView) -> bool {
    path.state == PathState::Active
}

/// A set of paths, by their position in [`SendView::paths`]. Holds the first 64 positions, far above any
/// number of paths a connection accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct PathMask(pub u64);

impl PathMask {
    /// No path.
    pub const NONE: PathMask = PathMask(0);

    /// This set with the path at `position`.
    #[must_use]
    pub fn with(self, position: usize) -> PathMask {
        if position < 64 { PathMask(self.0 | (1 << position)) } else { self }
    }

    /// Whether the path at `position` is in the set.
    pub fn contains(self, position: usize) -> bool {
        position < 64 && self.0 & (1 << position) != 0
    }
}

#[cfg(test)]
mod tests;
