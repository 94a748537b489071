//! Hand-made views.

use std::time::Duration;

use hawser_policy::{Assignment, Decision, PathId, PathView, QueueView, Selection, SendView, Time};

pub(crate) const DATAGRAM: u64 = 1_000;

/// An active path; `window_left` of its 100 kB window are free.
pub(crate) fn path(id: u32, rtt_ms: u64, window_left: u64) -> PathView {
    let congestion_window = 100_000;
    let rtt = Duration::from_millis(rtt_ms);
    PathView {
        smoothed_rtt: rtt,
        min_rtt: rtt,
        rtt_variance: Duration::ZERO,
        latest_rtt: rtt,
        has_rtt_sample: true,
        probe_timeout: rtt + Duration::from_millis(25),
        congestion_window,
        bytes_in_flight: congestion_window - window_left,
        in_slow_start: false,
        max_datagram_size: DATAGRAM as u16,
        ..PathView::new(PathId(id))
    }
}

pub(crate) fn view_at(now: Time, paths: &[PathView], queue: QueueView) -> SendView<'_> {
    SendView { now, paths, queue, segments: &() }
}

/// A view at time zero with `unsent` stream bytes.
pub(crate) fn view(paths: &[PathView], unsent: u64) -> SendView<'_> {
    view_at(Time::ZERO, paths, QueueView { unsent, connection_window_left: u64::MAX, ..QueueView::default() })
}

/// The head of the queue on this path.
pub(crate) fn next(id: u32) -> Decision {
    Decision::Send(Assignment::next(PathId(id)))
}

/// What lies `gap` bytes behind the head of `unsent` bytes on this path.
pub(crate) fn skips(id: u32, gap: u64, unsent: u64) -> Decision {
    Decision::Send(Assignment {
        selection: Selection::Skip(gap),
        max_bytes: unsent - gap,
        ..Assignment::next(PathId(id))
    })
}
