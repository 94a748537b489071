//! Our errors as `h3` wants to hear them.

use std::sync::Arc;

use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming};
use hawser_net::{ConnectionError, ReadError, WriteError};

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
