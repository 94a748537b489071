//! What a policy in Python sees: the names of `hawser-policy`. Times are seconds, sizes bytes, rates bit/s.

use std::time::Duration;

use hawser_policy::{LossCause, PathState, PathStatus, PathView, SendView, Siblings, Time};
use pyo3::prelude::*;

/// One path at one moment.
#[pyclass(module = "hawser._native", frozen, get_all)]
pub(crate) struct Path {
    pub(super) id: u32,
    link: Option<u32>,
    state: &'static str,
    backup: bool,
    smoothed_rtt: f64,
    min_rtt: f64,
    latest_rtt: f64,
    rtt_variance: f64,
    has_rtt_sample: bool,
    one_way_delay: Option<f64>,
    probe_timeout: f64,
    congestion_window: u64,
    bytes_in_flight: u64,
    oldest_in_flight: Option<f64>,
    in_slow_start: bool,
    pacing_rate: u64,
    delivery_rate: Option<u64>,
    loss_ppm: u32,
    max_datagram_size: u16,
    copies_queued: u64,
    bytes_sent: u64,
    bytes_acked: u64,
    bytes_lost: u64,
    window_left: u64,
    sendable: u64,
    /// Whether it carries data by preference: active, and no backup while another one is.
    preferred: bool,
}

fn seconds(time: Option<Time>) -> Option<f64> {
    time.map(Time::as_secs_f64)
}

impl Path {
    fn of(view: &PathView, preferred: bool) -> Self {
        Path {
            id: view.id.0,
            link: view.link.map(|link| link.0),
            state: match view.state {
                PathState::Validating => "validating",
                PathState::Active => "active",
                _ => "suspect",
            },
            backup: view.status == PathStatus::Backup,
            smoothed_rtt: view.smoothed_rtt.as_secs_f64(),
            min_rtt: view.min_rtt.as_secs_f64(),
            latest_rtt: view.latest_rtt.as_secs_f64(),
            rtt_variance: view.rtt_variance.as_secs_f64(),
            has_rtt_sample: view.has_rtt_sample,
            one_way_delay: view.one_way_delay.map(|delay| delay.as_secs_f64()),
            probe_timeout: view.probe_timeout.as_secs_f64(),
            congestion_window: view.congestion_window,
            bytes_in_flight: view.bytes_in_flight,
            oldest_in_flight: seconds(view.oldest_in_flight),
            in_slow_start: view.in_slow_start,
            pacing_rate: view.pacing_rate.bits_per_second(),
            delivery_rate: view.delivery_rate.map(|rate| rate.bits_per_second()),
            loss_ppm: view.loss_ppm,
            max_datagram_size: view.max_datagram_size,
            copies_queued: view.copies_queued,
            bytes_sent: view.bytes_sent,
            bytes_acked: view.bytes_acked,
            bytes_lost: view.bytes_lost,
            window_left: view.window_left(),
            sendable: view.sendable(),
            preferred,
        }
    }
}

#[pymethods]
impl Path {
    fn __repr__(&self) -> String {
        format!(
            "<hawser.Path {}: {}, rtt {:.1} ms, {} of {} bytes in flight, {} sendable>",
            self.id,
            self.state,
            self.smoothed_rtt * 1e3,
            self.bytes_in_flight,
            self.congestion_window,
            self.sendable
        )
    }
}

/// How much waits to be sent.
#[pyclass(module = "hawser._native", frozen, get_all)]
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    unsent: u64,
    retransmit: u64,
    datagrams: u64,
    datagram_count: u64,
    repair: u64,
    connection_window_left: u64,
    total: u64,
}

/// A connection at one moment, as a scheduler sees it.
#[pyclass(module = "hawser._native", frozen)]
pub(crate) struct View {
    /// Seconds since the start.
    #[pyo3(get)]
    now: f64,
    paths: Vec<Py<Path>>,
    #[pyo3(get)]
    queue: Queue,
}

impl View {
    /// A copy, which the policy may keep.
    pub(super) fn of(py: Python<'_>, view: &SendView<'_>) -> PyResult<Self> {
        let mut preferred = view.preferred().map(|path| path.id).peekable();
        let mut paths = Vec::with_capacity(view.paths.len());
        for path in view.paths {
            let is_preferred = preferred.next_if_eq(&path.id).is_some();
            paths.push(Py::new(py, Path::of(path, is_preferred))?);
        }
        let queue = Queue {
            unsent: view.queue.unsent,
            retransmit: view.queue.retransmit,
            datagrams: view.queue.datagrams,
            datagram_count: view.queue.datagram_count,
            repair: view.queue.repair,
            connection_window_left: view.queue.connection_window_left,
            total: view.queue.total(),
        };
        Ok(View { now: view.now.as_secs_f64(), paths, queue })
    }
}

#[pymethods]
impl View {
    /// Every path that exists, in order of id.
    #[getter]
    fn paths(&self, py: Python<'_>) -> Vec<Py<Path>> {
        self.paths.iter().map(|path| path.clone_ref(py)).collect()
    }

    /// Paths that carry data by preference: active ones without backups, or active backups if there are no others.
    fn preferred(&self, py: Python<'_>) -> Vec<Py<Path>> {
        let paths = self.paths.iter().filter(|path| path.get().preferred);
        paths.map(|path| path.clone_ref(py)).collect()
    }

    /// Preferred paths on which a datagram can leave now.
    fn ready(&self, py: Python<'_>) -> Vec<Py<Path>> {
        let paths = self.paths.iter().filter(|path| path.get().preferred && path.get().sendable > 0);
        paths.map(|path| path.clone_ref(py)).collect()
    }
}

/// What a controller may know of a path of the connection.
#[pyclass(module = "hawser._native", frozen, get_all)]
pub(crate) struct Sibling {
    path: u32,
    own: bool,
    congestion_window: u64,
    smoothed_rtt: f64,
    min_rtt: f64,
    usable: bool,
    max_datagram_size: u16,
    delivery_rate: Option<u64>,
    loss_ppm: u32,
}

/// Entries of all paths, the controller's own included.
pub(super) fn siblings(py: Python<'_>, siblings: &Siblings<'_>) -> PyResult<Vec<Py<Sibling>>> {
    let entry = |of: &hawser_policy::Sibling| {
        let entry = Sibling {
            path: of.path.0,
            own: of.path == siblings.own,
            congestion_window: of.congestion_window,
            smoothed_rtt: of.smoothed_rtt.as_secs_f64(),
            min_rtt: of.min_rtt.as_secs_f64(),
            usable: of.usable,
            max_datagram_size: of.max_datagram_size,
            delivery_rate: of.delivery_rate.map(|rate| rate.bits_per_second()),
            loss_ppm: of.loss_ppm,
        };
        Py::new(py, entry)
    };
    siblings.paths.iter().map(entry).collect()
}

/// An acknowledgement that newly acknowledged something.
#[pyclass(module = "hawser._native", frozen, get_all)]
pub(crate) struct Ack {
    now: f64,
    bytes: u64,
    bytes_in_recovery: u64,
    packets: u64,
    bytes_in_flight: u64,
    latest_rtt: Option<f64>,
    smoothed_rtt: f64,
    min_rtt: f64,
    /// Whether the window went unused for a reason that is not the network; then it must not grow.
    app_limited: bool,
    delivered: u64,
    delivery_rate: Option<u64>,
    ecn_ce: u64,
    siblings: Vec<Py<Sibling>>,
}

impl Ack {
    pub(super) fn of(py: Python<'_>, ack: &hawser_policy::Ack, of: &Siblings<'_>) -> PyResult<Self> {
        Ok(Ack {
            now: ack.now.as_secs_f64(),
            bytes: ack.bytes,
            bytes_in_recovery: ack.bytes_in_recovery,
            packets: ack.packets,
            bytes_in_flight: ack.bytes_in_flight,
            latest_rtt: ack.latest_rtt.as_ref().map(Duration::as_secs_f64),
            smoothed_rtt: ack.smoothed_rtt.as_secs_f64(),
            min_rtt: ack.min_rtt.as_secs_f64(),
            app_limited: ack.limited_by.leaves_window_unused(),
            delivered: ack.delivered,
            delivery_rate: ack.delivery.and_then(|sample| sample.rate).map(|rate| rate.bits_per_second()),
            ecn_ce: ack.ecn_ce,
            siblings: siblings(py, of)?,
        })
    }
}

/// A congestion signal.
#[pyclass(module = "hawser._native", frozen, get_all)]
pub(crate) struct Loss {
    now: f64,
    /// `loss`, `ecn` or `persistent`.
    cause: &'static str,
    bytes: u64,
    packets: u64,
    bytes_in_flight: u64,
    /// Whether this opens a new recovery epoch: reduce once for each.
    new_epoch: bool,
    siblings: Vec<Py<Sibling>>,
}

impl Loss {
    pub(super) fn of(py: Python<'_>, loss: &hawser_policy::Loss, of: &Siblings<'_>) -> PyResult<Self> {
        Ok(Loss {
            now: loss.now.as_secs_f64(),
            cause: match loss.cause {
                LossCause::EcnMark => "ecn",
                LossCause::Persistent => "persistent",
                _ => "loss",
            },
            bytes: loss.bytes,
            packets: loss.packets,
            bytes_in_flight: loss.bytes_in_flight,
            new_epoch: loss.new_epoch,
            siblings: siblings(py, of)?,
        })
    }
}
