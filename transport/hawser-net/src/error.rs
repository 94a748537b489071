//! What can go wrong before there is a connection. Each message says what to do next where that is known.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hawser_core::crypto::TlsConfigError;
use hawser_core::{ConnectionError, OutOfRange, Printable};

use crate::{CertificateProblem, Cipher};

/// Why a client or server configuration could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// This machine has no store of certificate authorities.
    #[error(
        "this machine has no certificate authorities{detail}: install them (Debian: ca-certificates), or name \
         the server's pin or an authority file"
    )]
    NoSystemAuthorities {
        /// What the search met.
        detail: String,
    },
    /// An authority's certificate is not usable.
    #[error("an authority's certificate cannot be used: {0}")]
    Authority(#[source] rustls::Error),
    /// The server's certificate and key do not fit, or are of an unsupported kind.
    #[error("the certificate and key cannot be used together: {}", identity_words(.0))]
    Identity(#[source] rustls::Error),
    /// TLS does not accept the configuration.
    #[error("TLS configuration: {0}")]
    Tls(String),
    /// The provider does not have a cipher suite that was asked for.
    #[error("the cryptographic library lacks the cipher suite {0}")]
    NoCipher(Cipher),
    /// The builder contradicts the rustls configuration that it started from.
    #[error("`{setting}` was set, and the rustls configuration says that already: set it there")]
    SaidByRustls {
        /// The method that was called.
        setting: &'static str,
    },
    /// The folder for traces could not be created.
    #[cfg(feature = "qlog")]
    #[error("cannot create the folder for qlog traces {}: {source}", folder.display())]
    QlogDirectory {
        /// The folder asked for.
        folder: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A connection cannot begin in a version that is not offered.
    #[error("QUIC version {first} is to be the first, but only {offered} may be spoken")]
    FirstVersion {
        /// The version to begin with.
        first: hawser_core::Version,
        /// Those offered.
        offered: hawser_core::Versions,
    },
    /// So many workers make no sense.
    #[error("{asked} workers: expected 1 to {most}")]
    Workers {
        /// How many were asked for.
        asked: usize,
        /// How many are possible.
        most: usize,
    },
    /// A value with which no connection would work.
    #[error("transport configuration: {0}")]
    Transport(#[from] OutOfRange),
    /// TLS as configured cannot serve QUIC.
    #[error(transparent)]
    Quic(#[from] TlsConfigError),
}

/// Why an endpoint could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The listening socket could not be bound.
    #[error("cannot listen on UDP {address}: {source}{}", bind_advice(.source))]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A socket that was handed in cannot be used.
    #[error("a socket that was handed in cannot be used: {0}")]
    Socket(#[source] io::Error),
    /// Several workers share no socket.
    #[error(
        "a socket that is handed in serves one worker, and {workers} are configured: let them listen at an address"
    )]
    WorkersOfOneSocket {
        /// How many.
        workers: usize,
    },
    /// A worker's thread could not be started.
    #[error("cannot start a thread for a worker: {0}")]
    Thread(#[source] io::Error),
    /// Called outside a tokio runtime.
    #[error("an endpoint needs a running tokio runtime")]
    NoRuntime,
}

fn bind_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => " (another program uses this port)",
        io::ErrorKind::PermissionDenied => " (ports below 1024 need privileges; try a higher one)",
        io::ErrorKind::AddrNotAvailable => " (no interface of this machine has that address)",
        _ => "",
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The name is neither a DNS name nor an IP address.
    #[error("{0:?} is not a server name: expected a DNS name or an IP address")]
    InvalidServerName(String),
    /// No address was given.
    #[error("the server has no address to connect to")]
    NoAddress,
    /// The endpoint has no client configuration.
    #[error("the endpoint has no client configuration; set one or pass it to connect_with")]
    NoConfig,
    /// None of the selected links has an address from which the server could be reached.
    #[error(
        "no way to {remote}: of the selected links ({links}) none is up with an address from which that one can be reached \
         (of the same family; loopback leads to this machine only, link-local to its link)"
    )]
    NoLink {
        /// The server.
        remote: SocketAddr,
        /// The user's selection.
        links: String,
    },
    /// What the links may carry in this period is used up.
    #[error("the budgets of {} are used up, and no other link is up", .links.join(", "))]
    BudgetsUsedUp {
        /// These links.
        links: Vec<String>,
    },
    /// No socket could be bound to a link.
    #[error("cannot bind a socket to {link}: {source}")]
    Bind {
        /// The link.
        link: String,
        /// Why.
        source: io::Error,
    },
    /// The host answered that nobody listens on that port.
    #[error("{remote} refused: the host is there, but no server listens on that UDP port")]
    Refused {
        /// The server.
        remote: SocketAddr,
    },
    /// The system knows no way there.
    #[error("cannot send to {remote} over {link}: {source}")]
    Unreachable {
        /// The server.
        remote: SocketAddr,
        /// The link.
        link: String,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing came back.
    #[error(
        "{remote} did not answer within {:.1} s (tried over {}). Is the server running, and does a firewall let \
         UDP through?", .after.as_secs_f64(), .links.join(", ")
    )]
    TimedOut {
        /// The server.
        remote: SocketAddr,
        /// Links tried.
        links: Vec<String>,
        /// How long.
        after: Duration,
    },
    /// The server could not prove who it is.
    #[error(transparent)]
    Certificate(CertificateProblem),
    /// The server speaks none of the application protocols that were offered (RFC 7301).
    #[error("{}", no_protocol(.offered))]
    ApplicationProtocol {
        /// What was offered.
        offered: Vec<Vec<u8>>,
    },
    /// The handshake failed otherwise.
    #[error("the handshake failed: {0}")]
    Handshake(#[from] ConnectionError),
    /// The core refused to start.
    #[error("cannot start a connection: {0}")]
    Start(String),
    /// The endpoint was closed.
    #[error("the endpoint was closed")]
    EndpointClosed,
}

fn no_protocol(offered: &[Vec<u8>]) -> String {
    if offered.is_empty() {
        return "the server wants an application protocol (ALPN), and none was offered: name it in the client's configuration".into();
    }
    let offered: Vec<String> = offered.iter().map(|protocol| Printable::new(protocol).to_string()).collect();
    format!(
        "the server speaks none of the application protocols (ALPN) that were offered: {}",
        offered.join(", ")
    )
}

/// Words for a certificate and a key that do not go together: rustls prints the names of its own values.
fn identity_words(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch) => {
            "the key is not that of the certificate".to_owned()
        }
        other => other.to_string(),
    }
}

impl ConnectError {
    /// How much the error tells when several attempts failed in different ways; the largest is reported.
    pub(crate) fn weight(&self) -> u8 {
        match self {
            ConnectError::Certificate(_) => 5,
            ConnectError::Handshake(ConnectionError::TimedOut) => 1,
            ConnectError::Handshake(_) | ConnectError::ApplicationProtocol { .. } => 4,
            ConnectError::Refused { .. } => 3,
            ConnectError::TimedOut { .. } => 1,
            ConnectError::Unreachable { .. } | ConnectError::Bind { .. } => 2,
            _ => 6,
        }
    }
}
