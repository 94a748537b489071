//! The transport on real sockets, for asyncio: endpoints, connections, streams, datagrams.
//!
//! Tokio's threads drive the sockets; what waits is a future of asyncio. Two rules keep both from waiting for each other: the interpreter
//! is let go of before a connection's lock is taken ([`quietly`]), because a policy in Python takes it under that lock; and what a
//! Python object held is dropped by a thread of Tokio ([`Held`]).

mod connection;
mod endpoint;
mod settings;
mod stream;
mod trouble;

use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::get_runtime;

use crate::wrong;

pub(crate) use connection::{Connection, Events};
pub(crate) use endpoint::Endpoint;
pub(crate) use stream::{Receiving, Sending};

/// Does something with the transport without the interpreter's lock.
fn quietly<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    Python::attach(|py| py.detach(work))
}

/// The code, if it can be sent.
fn checked_code(code: u64) -> PyResult<u64> {
    if code > hawser::MAX_APPLICATION_CODE {
        return Err(wrong(format!("code: expected 0 to 2**62 - 1, found {code}")));
    }
    Ok(code)
}

/// A handle of the transport in a Python object. Its end takes locks, so that a thread does it that does not hold the interpreter.
struct Held<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> Held<T> {
    fn new(handle: T) -> Self {
        Held(Some(handle))
    }
}

impl<T: Clone + Send + 'static> Held<T> {
    /// The handle; `None` only while it is dropped.
    fn get(&self) -> PyResult<T> {
        self.0.clone().ok_or_else(|| trouble::closed("it was dropped"))
    }
}

impl<T: Send + 'static> Drop for Held<T> {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take() {
            get_runtime().spawn(async move { drop(handle) });
        }
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Endpoint>()?;
    module.add_class::<Connection>()?;
    module.add_class::<Events>()?;
    module.add_class::<Sending>()?;
    module.add_class::<Receiving>()?;
    module.add("ConnectionClosed", module.py().get_type::<trouble::ConnectionClosed>())
}
