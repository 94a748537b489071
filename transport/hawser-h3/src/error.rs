//! What ends a connection, in our words and in those of `h3`.

use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming};
use hawser_net::ConnectionError;

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

/// `h3` used the traits in a way their documentation rules out.
pub(crate) fn misuse(what: &str) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: ConnectionErrorIncoming::InternalError(what.to_owned()),
    }
}
