//! Hand-made views.

use std::time::Duration;

use hawser_policy::{Assignment, Decision, PathId, PathView, QueueView, Selection, SendView, Time};

pub(crate) const DATAGRAM: u64 = 1_000;

/// An active path; `window_left` of its 100 kB window are free.
pub(crate) fn path(id: u32, rtt_ms: u64, window_left: u64) -> PathView {
    let congestion_window = 100_000;
    let rtt = Duration::from_millis(rtt_ms);
    PathView::new(PathId(id)).with(|path| {
        path.smoothed_rtt = rtt;
        path.min_rtt = rtt;
        path.rtt_variance = Duration::ZERO;
        path.latest_rtt = rtt;
        path.has_rtt_sample = true;
        path.probe_timeout = rtt + Duration::from_millis(25);
        path.congestion_window = congestion_window;
        path.bytes_in_flight = congestion_window - window_left;
        path.in_slow_start = false;
        path.max_datagram_size = DATAGRAM as u16;
    })
}

pub(crate) fn view_at(now: Time, paths: &[PathView], queue: QueueView) -> SendView<'_> {
    SendView::new(now, paths, queue, &())
}

/// A view at time zero with `unsent` stream bytes.
pub(crate) fn view(paths: &[PathView], unsent: u64) -> SendView<'_> {
    view_at(
        Time::ZERO,
        paths,
        QueueView::default().with(|queue| {
            queue.unsent = unsent;
            queue.connection_window_left = u64::MAX;
        }),
    )
}

/// The head of the queue on this path.
pub(crate) fn next(id: u32) -> Decision {
    Decision::Send(Assignment::next(PathId(id)))
}

/// What lies `gap` bytes behind the head of `unsent` bytes on this path.
pub(crate) fn skips(id: u32, gap: u64, unsent: u64) -> Decision {
    Decision::Send(Assignment::next(PathId(id)).with(|assignment| {
        assignment.selection = Selection::Skip(gap);
        assignment.max_bytes = unsent - gap;
    }))
}
