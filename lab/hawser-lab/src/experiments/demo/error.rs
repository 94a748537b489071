//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

use hawser_emu::EmuError;

/// Why there is no demonstration.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The scenario or the emulator.
    #[error(transparent)]
    Emulator(#[from] EmuError),
    /// There is no `hawser` to demonstrate.
    #[error("there is no {}: build it with `cargo build --release -p hawser-cli`, or name it with --hawser", .0.display())]
    NoCommand(PathBuf),
    /// A server did not start.
    #[error("{name} did not start: {message}")]
    Server {
        /// Which.
        name: &'static str,
        /// What it said.
        message: String,
    },
    /// The operating system refused something.
    #[error("{step} failed: {source}")]
    Io {
        /// What was being done.
        step: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The user pressed Ctrl-C.
    #[error("stopped")]
    Interrupted,
}

impl DemoError {
    /// An error while doing something.
    pub(crate) fn io(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let step = step.into();
        move |source| Self::Io { step, source }
    }

    /// An error while writing a file.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(format!("writing {}", path.display()))
    }
}
