//! The control socket: a Unix socket with a JSON object in each line, for the program's owner only.

mod client;
mod place;
pub mod protocol;
mod server;

use std::io;
use std::path::PathBuf;

pub use client::{Client, ClientError};
pub use place::{running, runtime_folder};
pub use server::ControlSocket;

/// Why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The system says no.
    #[error("cannot make the control socket {}: {source}; name another place with --control PATH, or none with --control none", path.display())]
    Bind {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The path is longer than the system allows.
    #[error("the path of the control socket is too long, at most 103 bytes are possible: {}", .0.display())]
    TooLong(PathBuf),
    /// A program that runs has it.
    #[error("another program has the control socket {}", .0.display())]
    Used(PathBuf),
    /// Something else is there.
    #[error("{} exists and is no socket; it is left alone", .0.display())]
    NoSocket(PathBuf),
}
