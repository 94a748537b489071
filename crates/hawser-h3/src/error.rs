//! Our errors as `h3` wants to hear them.

use std::sync::Arc;

use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming};
use hawser_net::{ConnectionError, ReadError, WriteError};

use crate::guard::Violation;

/// Why a connection ends: by itself, or because the peer broke HTTP/3.
#[derive(Debug)]
pub(crate) enum Failure {
    Transport(ConnectionError),
    Violation(Violation),
}

impl From<ConnectionError> for Failure {
    fn from(error: ConnectionError) -> Self {
        Failure::Transport(error)
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Self {
        Failure::Violation(violation)
    }
}

impl Failure {
    /// Closes the connection if it has to be.
    pub(crate) fn apply(self, connection: &hawser_net::Connection) -> ConnectionErrorIncoming {
        match self {
            Failure::Transport(error) => connection_error(error),
            Failure::Violation(violation) => {
                connection.close(violation.code.value(), violation.reason.as_bytes());
                ConnectionErrorIncoming::Undefined(Arc::new(violation))
            }
        }
    }
}

pub(crate) fn connection_error(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::PeerApplication { code, .. } => {
            ConnectionErrorIncoming::ApplicationClose { error_code: code }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

pub(crate) fn on_stream(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: connection_error(error) }
}

pub(crate) fn read_error(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(error_code) => StreamErrorIncoming::StreamTerminated { error_code },
        ReadError::ConnectionLost(error) => on_stream(error),
        // HTTP/3 declares nothing unreliable, so a peer that gives bytes up broke the stream.
        gap @ ReadError::Gap { .. } => StreamErrorIncoming::Unknown(Box::new(gap)),
        ReadError::Closed(closed) => StreamErrorIncoming::Unknown(Box::new(closed)),
    }
}

pub(crate) fn write_error(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(error_code) => StreamErrorIncoming::StreamTerminated { error_code },
        WriteError::ConnectionLost(error) => on_stream(error),
        WriteError::Closed(closed) => StreamErrorIncoming::Unknown(Box::new(closed)),
    }
}

/// `h3` used the traits in a way their documentation rules out.
pub(crate) fn misuse(what: &str) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: ConnectionErrorIncoming::InternalError(what.to_owned()),
    }
}
