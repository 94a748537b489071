//! Why a request asks for no tunnel.

use crate::target::InvalidTarget;

/// Why a request asks for no tunnel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Not CONNECT.
    #[error("expected a CONNECT request")]
    Method,
    /// CONNECT with a scheme or a path, or without an authority.
    #[error("a CONNECT request has an authority and neither a scheme nor a path")]
    Form,
    /// The authority or the path names no target.
    #[error(transparent)]
    Target(#[from] InvalidTarget),
    /// The path is none of CONNECT-UDP's or CONNECT-IP's.
    #[error("expected the path {0}")]
    Path(&'static str),
    /// An IP tunnel to some hosts or for one protocol only.
    #[error("IP tunnels lead everywhere here: expected `*` for target and protocol")]
    Scope,
    /// Extended CONNECT for something else.
    #[error("the protocol {0:?} is not spoken here")]
    Protocol(String),
    /// It cannot be written as a request.
    #[error("the request cannot be written: {0}")]
    Unwritable(String),
}

impl From<http::Error> for RequestError {
    fn from(error: http::Error) -> Self {
        RequestError::Unwritable(error.to_string())
    }
}
