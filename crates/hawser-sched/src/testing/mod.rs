//! Hand-made views, and a small model of a sender in [`network`].

pub(crate) mod network;

use std::ops::ControlFlow;
use std::time::Duration;

use hawser_policy::{
    GroupId, PathId, PathState, PathStatus, PathView, QueueView, Rate, Segment, SendQueue, SendView, Time,
};

pub(crate) const DATAGRAM: u64 = 1_000;

/// An active path with a full view; `window_left` of its 100 kB window are free.
pub(crate) fn path(id: u32, rtt_ms: u64, window_left: u64) -> PathView {
    let congestion_window = 100_000;
    let rtt = Duration::from_millis(rtt_ms);
    PathView {
        id: PathId(id),
        link: None,
        group: GroupId(0),
        state: PathState::Active,
        status: PathStatus::Available,
        smoothed_rtt: rtt,
        min_rtt: rtt,
        rtt_variance: Duration::ZERO,
        latest_rtt: rtt,
        has_rtt_sample: true,
        one_way_delay: None,
        probe_timeout: rtt + Duration::from_millis(25),
        congestion_window,
        bytes_in_flight: congestion_window - window_left,
        in_slow_start: false,
        pacing_rate: Rate::MAX,
        pacing_budget: u64::MAX,
        next_release: None,
        delivery_rate: None,
        loss_ppm: 0,
        max_datagram_size: DATAGRAM as u16,
        copies_queued: 0,
        bytes_sent: 0,
        bytes_acked: 0,
        bytes_lost: 0,
    }
}

/// A send queue that shows no segments: none of our schedulers looks at them.
pub(crate) struct NoSegments;

impl SendQueue for NoSegments {
    fn segments(&self, _visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {}
}

pub(crate) fn view_at(now: Time, paths: &[PathView], queue: QueueView) -> SendView<'_> {
    SendView { now, paths, queue, segments: &NoSegments }
}

/// A view at time zero with `unsent` stream bytes.
pub(crate) fn view(paths: &[PathView], unsent: u64) -> SendView<'_> {
    view_at(Time::ZERO, paths, QueueView { unsent, connection_window_left: u64::MAX, ..QueueView::default() })
}
