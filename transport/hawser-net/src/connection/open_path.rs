//! Paths that the program opens itself, next to those of the path manager.

use std::io;
use std::net::{IpAddr, SocketAddr};

use hawser_core::{ConnectionError, PathError};
use hawser_policy::{PathId, PathStatus};
use tokio::sync::oneshot;

/// Requests of one connection that wait for the worker.
pub(crate) const MAX_PATH_REQUESTS: usize = 64;

/// Why a path that the program asked for was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenPathError {
    /// The connection does not allow it, or not yet.
    #[error(transparent)]
    Path(#[from] PathError),
    /// There is no socket for it.
    #[error("cannot bind a socket to {local}: {source}")]
    Socket {
        /// The address asked for.
        local: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The link has a budget, of which nothing is left now.
    #[error("the budget of {0} is used up: wait until it begins again, or raise it")]
    BudgetUsedUp(String),
    /// The endpoint has budgets, and does not know to which link the address belongs.
    #[error(
        "no link that this endpoint uses has the address {0}, and what goes over others is not counted: name it among its links"
    )]
    UnknownLink(IpAddr),
    /// 64 requests are under way.
    #[error("{MAX_PATH_REQUESTS} paths are being opened: wait for one of them")]
    TooMany,
    /// The connection ended.
    #[error(transparent)]
    ConnectionLost(#[from] ConnectionError),
}

/// What the program asks of the worker, which has the sockets.
#[derive(Debug)]
pub(crate) struct PathRequest {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) status: PathStatus,
    pub(crate) answer: oneshot::Sender<Result<PathId, OpenPathError>>,
}
