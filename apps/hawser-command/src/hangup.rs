//! SIGHUP, on which servers read their certificate and keys again.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{Exit, Failure};
use crate::output::Output;
use hawser::{Endpoint, ServerConfig};

/// Listens for SIGHUP, which no longer ends the process.
pub struct Hangup(Signal);

impl Hangup {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn listen() -> Result<Self, Failure> {
        signal(SignalKind::hangup())
            .map(Hangup)
            .map_err(|error| Failure::new(Exit::Failure, format!("cannot listen for SIGHUP: {error}")))
    }

    /// Waits for the next one.
    pub async fn raised(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

/// Puts a new configuration in the place of the one before, for connections to come. One that is wrong changes nothing.
pub fn reload(endpoint: &Endpoint, output: Output, config: Result<ServerConfig, Failure>) {
    match config {
        Ok(config) => {
            endpoint.set_server_config(Some(config));
            output.remark("the certificate and keys were reloaded");
        }
        Err(failure) => {
            output.remark(format_args!("the certificate and keys stay as they were: {failure}"));
        }
    }
}
