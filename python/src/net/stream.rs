//! The two directions of streams.

use std::sync::Arc;

use hawser::{ClosedStream, RecvStream, SendStream};
use pyo3::exceptions::PyBrokenPipeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_async_runtimes::tokio::{future_into_py, get_runtime};
use tokio::sync::Mutex;

use super::{Held, checked_code, trouble};

/// What sends. One call at a time is in progress.
#[pyclass(module = "hawser._native", frozen, name = "SendStream")]
pub(crate) struct Sending {
    stream: Held<Arc<Mutex<SendStream>>>,
    id: u64,
}

impl Sending {
    pub(super) fn new(stream: SendStream) -> Self {
        Sending { id: stream.id().0, stream: Held::new(Arc::new(Mutex::new(stream))) }
    }
}

fn over(error: ClosedStream) -> PyErr {
    PyBrokenPipeError::new_err(error.to_string())
}

#[pymethods]
impl Sending {
    /// The number of the stream.
    #[getter]
    fn id(&self) -> u64 {
        self.id
    }

    /// Awaits that the transport has taken these bytes.
    fn write<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let (stream, data) = (self.stream.get()?, bytes::Bytes::copy_from_slice(data));
        future_into_py(py, async move { stream.lock().await.write_chunk(data).await.map_err(trouble::write) })
    }

    /// Awaits that the end is marked, after what was written.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.stream.get()?;
        future_into_py(py, async move { stream.lock().await.finish().map_err(over) })
    }

    /// Awaits that the peer has everything (`None`), or says that it does not want it (the code).
    fn delivered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.stream.get()?;
        future_into_py(py, async move {
            stream.lock().await.stopped().await.map_err(|error| trouble::lost(&error.0))
        })
    }

    /// Gives up what was not delivered, as soon as no other call is in progress.
    ///
    /// # Errors
    /// `ValueError`: no such code.
    fn reset(&self, code: u64) -> PyResult<()> {
        let (code, stream) = (checked_code(code)?, self.stream.get()?);
        get_runtime().spawn(async move { stream.lock().await.reset(code) });
        Ok(())
    }

    /// Sets how urgent it is: larger goes first.
    fn set_priority(&self, priority: i32) -> PyResult<()> {
        let stream = self.stream.get()?;
        get_runtime().spawn(async move { stream.lock().await.set_priority(priority) });
        Ok(())
    }
}

/// What receives. One call at a time is in progress.
#[pyclass(module = "hawser._native", frozen, name = "ReceiveStream")]
pub(crate) struct Receiving {
    stream: Held<Arc<Mutex<RecvStream>>>,
    id: u64,
}

impl Receiving {
    pub(super) fn new(stream: RecvStream) -> Self {
        Receiving { id: stream.id().0, stream: Held::new(Arc::new(Mutex::new(stream))) }
    }
}

#[pymethods]
impl Receiving {
    /// The number of the stream.
    #[getter]
    fn id(&self) -> u64 {
        self.id
    }

    /// Awaits at most so many bytes; `None` at the end.
    fn read<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.stream.get()?;
        future_into_py(py, async move {
            let chunk = stream.lock().await.read_chunk(most).await.map_err(trouble::read)?;
            Python::attach(|py| Ok(chunk.map(|data| PyBytes::new(py, &data).unbind())))
        })
    }

    /// Tells the peer that what it still sends is not wanted, as soon as no other call is in progress.
    ///
    /// # Errors
    /// `ValueError`: no such code.
    fn stop(&self, code: u64) -> PyResult<()> {
        let (code, stream) = (checked_code(code)?, self.stream.get()?);
        get_runtime().spawn(async move { stream.lock().await.stop(code) });
        Ok(())
    }
}
