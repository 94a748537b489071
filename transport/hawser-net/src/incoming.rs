//! Connections that clients ask for.

use std::future::{Future, IntoFuture};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use hawser_core::{AcceptErrorReason, ConnectionError};

use crate::worker::Worker;
use crate::{Connection, ServerConfig};

/// A client wants a connection. Accept it by awaiting it, or by [`accept`](Incoming::accept); dropping it refuses it.
#[must_use = "a connection that is not accepted is refused"]
pub struct Incoming {
    inner: Option<hawser_core::Incoming>,
    remote: SocketAddr,
    local: SocketAddr,
    worker: Arc<Worker>,
}

/// Why an incoming connection came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// It could not be accepted.
    #[error(transparent)]
    Refused(#[from] AcceptErrorReason),
    /// The handshake failed.
    #[error("the handshake failed: {0}")]
    Handshake(#[from] ConnectionError),
}

impl Incoming {
    pub(crate) fn new(incoming: hawser_core::Incoming, worker: Arc<Worker>) -> Self {
        Incoming {
            remote: incoming.remote_address(),
            local: incoming.local_address(),
            inner: Some(incoming),
            worker,
        }
    }

    /// Where the client's packets come from. Can be forged unless
    /// [`is_address_validated`](Incoming::is_address_validated).
    pub fn remote_address(&self) -> SocketAddr {
        self.remote
    }

    /// The address that the client wrote to.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Whether the client has proven that it receives what is sent to its address.
    pub fn is_address_validated(&self) -> bool {
        self.inner.as_ref().is_some_and(hawser_core::Incoming::is_address_validated)
    }

    /// Begins the handshake.
    ///
    /// # Errors
    /// It waited for too long, or TLS cannot start.
    pub fn accept(self) -> Result<Connecting, AcceptErrorReason> {
        self.accept_as(None)
    }

    /// Begins the handshake with a configuration of its own.
    ///
    /// # Errors
    /// As [`accept`](Incoming::accept).
    pub fn accept_with(self, config: &ServerConfig) -> Result<Connecting, AcceptErrorReason> {
        self.accept_as(Some(config.core.clone()))
    }

    fn accept_as(
        mut self,
        config: Option<Arc<hawser_core::ServerConfig>>,
    ) -> Result<Connecting, AcceptErrorReason> {
        let incoming = self.inner.take().ok_or(AcceptErrorReason::Expired)?;
        let shared = self.worker.accept(incoming, config)?;
        Ok(Connecting { connection: Connection::new(shared) })
    }

    /// Tells the client that it is not served.
    pub fn refuse(self) {
        drop(self);
    }

    /// Asks the client to prove its address. It comes again as another `Incoming`. A client that has done so already is
    /// handed back.
    ///
    /// # Errors
    /// The connection, if its client cannot be asked (again).
    pub fn retry(mut self) -> Result<(), Box<Incoming>> {
        let Some(incoming) = self.inner.take() else { return Ok(()) };
        let mut state = self.worker.lock();
        match state.core.retry(self.worker.clock.now(), incoming) {
            Ok(response) => {
                state.respond(&response);
                Ok(())
            }
            Err(error) => {
                drop(state);
                self.inner = Some(*error.0);
                Err(Box::new(self))
            }
        }
    }

    /// Forgets it without an answer.
    pub fn ignore(mut self) {
        if let Some(incoming) = self.inner.take() {
            self.worker.lock().core.ignore(incoming);
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(incoming) = self.inner.take() {
            let mut state = self.worker.lock();
            if let Some(response) = state.core.refuse(incoming) {
                state.respond(&response);
            }
        }
    }
}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").field("remote", &self.remote).field("local", &self.local).finish()
    }
}

impl IntoFuture for Incoming {
    type Output = Result<Connection, AcceptError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.accept()?.await?) })
    }
}

/// A handshake with a client; completes when TLS does.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Connecting {
    connection: Connection,
}

impl Connecting {
    /// The connection as it is, before the handshake is complete: for servers that take 0-RTT
    /// ([`ServerConfigBuilder::early_data`](crate::ServerConfigBuilder::early_data)), which read here what the client sent
    /// with its first packets, and answer it. Nothing is known of the client yet, and what it sends may be a replay;
    /// [`Connection::handshake_complete`] tells when that is over, or that there will be no connection.
    pub fn into_early(self) -> Connection {
        self.connection
    }
}

impl IntoFuture for Connecting {
    type Output = Result<Connection, ConnectionError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let connection = self.connection;
            connection.handshake_complete().await?;
            Ok(connection)
        })
    }
}
