//! What can go wrong, each with what to do about it.

use std::io;
use std::path::PathBuf;

use hawser_scenario::{LoadError, ScenarioError};

/// Why an emulation could not be set up or a command not be run in it.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    /// Not root.
    #[error("the emulator needs root for network namespaces: use sudo, or `unshare --user --map-root-user`")]
    NotRoot,
    /// The TUN driver is absent.
    #[error(
        "there is no usable /dev/net/tun ({0}): load the module (`modprobe tun`), or give the container the device"
    )]
    NoTun(io::Error),
    /// The `ip` command is absent.
    #[error("the command `ip` is missing: install the package iproute2")]
    NoIp,
    /// The scenario file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    ReadScenario {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The scenario file has a mistake.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The scenario needs what only the simulator has.
    #[error("{scenario:?} cannot run in real time: {what}; {remedy}, or simulate it (`hawser sim run`)")]
    Simulated {
        /// Name of the scenario.
        scenario: String,
        /// What the emulator lacks.
        what: String,
        /// What to change.
        remedy: &'static str,
    },
    /// A system call failed while the emulation was set up.
    #[error("{step} failed: {source}")]
    Setup {
        /// What was being done.
        step: String,
        /// Why it failed.
        source: io::Error,
    },
    /// `ip` refused a line of the configuration.
    #[error("`ip` refused to configure the {host} namespace: {message}")]
    Configure {
        /// `client` or `server`.
        host: &'static str,
        /// What `ip` said.
        message: String,
    },
    /// A link was named that the scenario does not have.
    #[error("there is no link {name:?}; the scenario has: {known}")]
    NoSuchLink {
        /// The name asked for.
        name: String,
        /// The names there are, comma separated.
        known: String,
    },
    /// A command could not be started.
    #[error("cannot run {command:?}: {source}")]
    Spawn {
        /// Its first word.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// The server command ended before the client command could start.
    #[error("the server command {command:?} ended early: {status}")]
    ServerEnded {
        /// Its first word.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
    },
    /// The server command opened no socket.
    #[error("the server command {command:?} listens on no TCP or UDP port after {seconds} s")]
    ServerSilent {
        /// Its first word.
        command: String,
        /// How long was waited.
        seconds: u64,
    },
}

impl EmuError {
    /// An error of a system call during set-up.
    pub(crate) fn setup(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let step = step.into();
        move |source| Self::Setup { step, source }
    }
}

impl From<LoadError> for EmuError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Read { path, source } => Self::ReadScenario { path, source },
            LoadError::Scenario(error) => Self::Scenario(error),
        }
    }
}
