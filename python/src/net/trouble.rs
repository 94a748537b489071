//! Errors of the transport as Python's exceptions.

use std::io;

use hawser::{
    ConfigError, ConnectError, ConnectionError, EndpointError, IdentityError, ReadError, SendDatagramError,
    WriteError,
};
use pyo3::exceptions::{
    PyBlockingIOError, PyBrokenPipeError, PyConnectionError, PyConnectionRefusedError,
    PyConnectionResetError, PyOSError, PyTimeoutError, PyValueError,
};
use pyo3::prelude::*;

pyo3::create_exception!(
    hawser,
    ConnectionClosed,
    PyConnectionError,
    "The connection is over. ``code`` is the number that the peer's application gave, or ``None``."
);

/// A connection that is over, for this reason.
pub(super) fn closed(why: &str) -> PyErr {
    ConnectionClosed::new_err(why.to_owned())
}

/// A connection that is over.
pub(super) fn lost(error: &ConnectionError) -> PyErr {
    if *error == ConnectionError::TimedOut {
        return PyTimeoutError::new_err(error.to_string());
    }
    ConnectionClosed::new_err(error.to_string())
}

/// What the peer's application said when it closed.
pub(super) fn code(error: &ConnectionError) -> Option<u64> {
    match error {
        ConnectionError::PeerApplication { code, .. } => Some(*code),
        _ => None,
    }
}

/// With the system's number Python chooses the class: `FileNotFoundError`, `PermissionError`.
fn os(error: &dyn std::fmt::Display, source: &io::Error) -> PyErr {
    match source.raw_os_error() {
        Some(number) => PyOSError::new_err((number, error.to_string())),
        None => PyOSError::new_err(error.to_string()),
    }
}

pub(super) fn identity(error: IdentityError) -> PyErr {
    match &error {
        IdentityError::Read { source, .. } | IdentityError::Write { source, .. } => os(&error, source),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub(super) fn config(error: ConfigError) -> PyErr {
    match &error {
        ConfigError::QlogDirectory { source, .. } => os(&error, source),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub(super) fn endpoint(error: EndpointError) -> PyErr {
    match &error {
        EndpointError::Listen { source, .. } | EndpointError::Socket(source) => os(&error, source),
        _ => PyOSError::new_err(error.to_string()),
    }
}

pub(super) fn connect(error: ConnectError) -> PyErr {
    let says = error.to_string();
    match &error {
        ConnectError::InvalidServerName(_) => PyValueError::new_err(says),
        ConnectError::Refused { .. } => PyConnectionRefusedError::new_err(says),
        ConnectError::TimedOut { .. } => PyTimeoutError::new_err(says),
        ConnectError::Bind { source, .. } | ConnectError::Unreachable { source, .. } => os(&says, source),
        _ => PyConnectionError::new_err(says),
    }
}

pub(super) fn read(error: ReadError) -> PyErr {
    match &error {
        ReadError::ConnectionLost(reason) => lost(reason),
        _ => PyConnectionResetError::new_err(error.to_string()),
    }
}

pub(super) fn write(error: WriteError) -> PyErr {
    match &error {
        WriteError::ConnectionLost(reason) => lost(reason),
        _ => PyBrokenPipeError::new_err(error.to_string()),
    }
}

pub(super) fn datagram(error: SendDatagramError) -> PyErr {
    match error {
        SendDatagramError::Blocked => PyBlockingIOError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
