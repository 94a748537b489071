//! What can go wrong.

use std::io;

use hawser_emu::EmuError;
use hawser_net::{ConfigError, ConnectError, EndpointError, IdentityError};
use hawser_sim::run::RunError;

/// Why the two worlds could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The emulator.
    #[error(transparent)]
    Emulator(#[from] EmuError),
    /// The simulator.
    #[error(transparent)]
    Simulator(#[from] RunError),
    /// Nothing to compare.
    #[error("all flows of the scenario are UDP; add one of the kind \"bulk\", \"requests\" or \"datagrams\"")]
    NoConnection,
    /// A flow that only the simulator has.
    #[error("flow {0:?} is active at random times, which only the simulator does: leave out its `on_off`")]
    OnOff(String),
    /// The same.
    #[error(
        "flow {0:?} has several requests at a time, which only the simulator does: leave out its `parallel` and `every`"
    )]
    Parallel(String),
    /// The same.
    #[error(
        "flow {0:?} runs an application, which only the simulator does: make it \"bulk\", \"requests\" or \"datagrams\""
    )]
    Application(String),
    /// An endpoint cannot be made.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// An endpoint's configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server's certificate.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A client found no server.
    #[error("flow {flow:?} did not connect in the emulator: {source}")]
    Connect {
        /// The flow.
        flow: String,
        /// Why.
        source: ConnectError,
    },
    /// The operating system refused something.
    #[error("{step} failed: {source}")]
    Io {
        /// What was being done.
        step: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl CompareError {
    /// An error while doing something.
    pub(super) fn io(step: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { step, source }
    }
}
