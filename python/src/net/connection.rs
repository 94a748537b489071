//! Connections.

use std::sync::Arc;

use hawser::{
    ConnectionStats, PathEvent, PathEventError, PathEvents, PathInfo, PathState, PathStats, PathStatus,
};
use pyo3::exceptions::PyStopAsyncIteration;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pyo3_async_runtimes::tokio::future_into_py;
use tokio::sync::Mutex;

use super::stream::{Receiving, Sending};
use super::{Held, checked_code, quietly, trouble};
use crate::trouble::Trouble;

/// A connection over all links.
#[pyclass(module = "hawser._native", frozen)]
pub(crate) struct Connection {
    connection: Held<hawser::Connection>,
    /// What a policy in Python raised.
    trouble: Trouble,
}

impl Connection {
    pub(super) fn new(connection: hawser::Connection, trouble: Trouble) -> Self {
        Connection { connection: Held::new(connection), trouble }
    }
}

#[pymethods]
impl Connection {
    /// Awaits a new stream in both directions, or one that only sends: what sends and what receives.
    fn open<'py>(&self, py: Python<'py>, both: bool) -> PyResult<Bound<'py, PyAny>> {
        let connection = self.connection.get()?;
        future_into_py(py, async move {
            let lost = |error| trouble::lost(&error);
            if !both {
                let send = connection.open_uni().await.map_err(lost)?;
                return Ok((Sending::new(send), None));
            }
            let (send, receive) = connection.open_bi().await.map_err(lost)?;
            Ok((Sending::new(send), Some(Receiving::new(receive))))
        })
    }

    /// Awaits the peer's next stream in both directions, or one that only the peer sends on.
    fn accept<'py>(&self, py: Python<'py>, both: bool) -> PyResult<Bound<'py, PyAny>> {
        let connection = self.connection.get()?;
        future_into_py(py, async move {
            let lost = |error| trouble::lost(&error);
            if !both {
                let receive = connection.accept_uni().await.map_err(lost)?;
                return Ok((None, Receiving::new(receive)));
            }
            let (send, receive) = connection.accept_bi().await.map_err(lost)?;
            Ok((Some(Sending::new(send)), Receiving::new(receive)))
        })
    }

    /// Queues a datagram.
    ///
    /// # Errors
    /// `BlockingIOError` when the queue is full; `ValueError` for one that is too long, or if the peer takes none.
    fn send_datagram(&self, data: &[u8]) -> PyResult<()> {
        let connection = self.connection.get()?;
        let data = bytes::Bytes::copy_from_slice(data);
        quietly(|| match connection.close_reason() {
            Some(reason) => Err(trouble::lost(&reason)),
            None => connection.send_datagram(data).map_err(trouble::datagram),
        })
    }

    /// Awaits the next datagram.
    fn receive_datagram<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let connection = self.connection.get()?;
        future_into_py(py, async move {
            let data = connection.read_datagram().await.map_err(|error| trouble::lost(&error))?;
            Python::attach(|py| Ok(PyBytes::new(py, &data).unbind()))
        })
    }

    /// The longest datagram that is possible now, in bytes; `None` if the peer takes none.
    #[getter]
    fn max_datagram_size(&self) -> PyResult<Option<usize>> {
        let connection = self.connection.get()?;
        Ok(quietly(|| connection.max_datagram_size()))
    }

    /// The paths that exist.
    #[getter]
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let connection = self.connection.get()?;
        let paths = py.detach(|| {
            let with_counters = |info: PathInfo| {
                let stats = connection.path_stats(info.id)?;
                Some((info, stats))
            };
            connection.paths().into_iter().filter_map(with_counters).collect::<Vec<_>>()
        });
        let rows = paths.iter().map(|(info, stats)| path(py, info, stats));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    /// Counters of the whole life of the connection.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let connection = self.connection.get()?;
        let stats: ConnectionStats = py.detach(|| connection.stats());
        let row = PyDict::new(py);
        row.set_item("bytes_sent", stats.bytes_sent)?;
        row.set_item("bytes_received", stats.bytes_received)?;
        row.set_item("stream_bytes_sent", stats.stream_bytes_sent)?;
        row.set_item("stream_bytes_retransmitted", stats.stream_bytes_retransmitted)?;
        row.set_item("stream_bytes_copied", stats.stream_bytes_copied)?;
        row.set_item("stream_bytes_acked", stats.stream_bytes_acked)?;
        row.set_item("stream_bytes_received", stats.stream_bytes_received)?;
        Ok(row)
    }

    /// What happens to paths and links from now on, after those that are open.
    fn events(&self) -> PyResult<Events> {
        let connection = self.connection.get()?;
        Ok(Events(Arc::new(Mutex::new(quietly(|| connection.path_events())))))
    }

    /// Whether both ends speak multipath.
    #[getter]
    fn is_multipath(&self) -> PyResult<bool> {
        let connection = self.connection.get()?;
        Ok(quietly(|| connection.is_multipath()))
    }

    /// The protocol that both ends agreed on.
    #[getter]
    fn alpn(&self) -> PyResult<Option<String>> {
        let connection = self.connection.get()?;
        let protocol = quietly(|| connection.application_protocol());
        Ok(protocol.map(|name| String::from_utf8_lossy(&name).into_owned()))
    }

    /// Address and port of the peer on the first path.
    #[getter]
    fn remote_address(&self) -> PyResult<(String, u16)> {
        let connection = self.connection.get()?;
        let address = quietly(|| connection.remote_address());
        Ok((address.ip().to_string(), address.port()))
    }

    /// Closes it.
    ///
    /// # Errors
    /// `ValueError`: no such code.
    fn close(&self, code: u64, reason: &str) -> PyResult<()> {
        let code = checked_code(code)?;
        let connection = self.connection.get()?;
        quietly(|| connection.close(code, reason.as_bytes()));
        Ok(())
    }

    /// Why it is over, with the code of the peer's application if that closed it; `None` while it is open.
    #[getter]
    fn close_reason(&self) -> PyResult<Option<(String, Option<u64>)>> {
        let connection = self.connection.get()?;
        let reason = quietly(|| connection.close_reason());
        Ok(reason.map(|reason| (reason.to_string(), trouble::code(&reason))))
    }

    /// Awaits that it is over.
    fn closed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let connection = self.connection.get()?;
        future_into_py(py, async move {
            connection.closed().await;
            Ok(())
        })
    }

    /// Raises what a policy in Python raised, once.
    fn check(&self) -> PyResult<()> {
        self.trouble.take().map_or(Ok(()), Err)
    }
}

fn path<'py>(py: Python<'py>, info: &PathInfo, stats: &PathStats) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("id", info.id.0)?;
    row.set_item("local", info.tuple.local.to_string())?;
    row.set_item("remote", info.tuple.remote.to_string())?;
    let state = match info.state {
        PathState::Validating => "validating",
        PathState::Active => "active",
        _ => "suspect",
    };
    row.set_item("state", state)?;
    row.set_item("backup", info.status == PathStatus::Backup)?;
    row.set_item("bytes_sent", stats.bytes_sent)?;
    row.set_item("bytes_received", stats.bytes_received)?;
    row.set_item("packets_sent", stats.packets_sent)?;
    row.set_item("packets_lost", stats.packets_lost)?;
    row.set_item("smoothed_rtt", stats.smoothed_rtt.as_secs_f64())?;
    row.set_item("min_rtt", stats.min_rtt.as_secs_f64())?;
    row.set_item("congestion_window", stats.congestion_window)?;
    row.set_item("bytes_in_flight", stats.bytes_in_flight)?;
    row.set_item("mtu", stats.mtu)?;
    Ok(row)
}

/// What happens to paths and links: an asynchronous iterator of name and path or link.
#[pyclass(module = "hawser._native", frozen)]
pub(crate) struct Events(Arc<Mutex<PathEvents>>);

#[pymethods]
impl Events {
    fn __aiter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let events = self.0.clone();
        future_into_py(py, async move {
            let mut events = events.lock().await;
            loop {
                match events.recv().await {
                    Ok(event) => {
                        if let Some(told) = told(&event) {
                            return Ok(told);
                        }
                    }
                    Err(PathEventError::Missed(missed)) => return Ok(("missed", missed.to_string())),
                    Err(_) => return Err(PyStopAsyncIteration::new_err(())),
                }
            }
        })
    }
}

/// An event as Python sees it, if it does.
fn told(event: &PathEvent) -> Option<(&'static str, String)> {
    Some(match event {
        PathEvent::MultipathReady => ("multipath_ready", String::new()),
        PathEvent::LinkUp(link) => ("link_up", link.name.clone()),
        PathEvent::LinkDown(id) => ("link_down", id.0.to_string()),
        PathEvent::Established(id) => ("established", id.0.to_string()),
        PathEvent::Suspect(id) => ("suspect", id.0.to_string()),
        PathEvent::Recovered(id) => ("recovered", id.0.to_string()),
        PathEvent::Closed(id) => ("closed", id.0.to_string()),
        _ => return None,
    })
}
