//! Streams as the application holds them.

mod frames;
mod gaps;
mod recv;
mod send;

use std::io;

use hawser_core::ConnectionError;
pub use hawser_core::{Chunk, FrameError};

pub use self::recv::{ReadError, ReadExactError, ReadToEndError, RecvStream};
pub use self::send::{SendStream, StoppedError, WriteError};

/// A stream was used after its end, or after this side gave it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream was closed by this side already")]
pub struct ClosedStream;

/// Why a stream was not reset or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AbortError {
    /// It is over already.
    #[error(transparent)]
    Closed(#[from] ClosedStream),
    /// No code is that large. The stream goes on.
    #[error("the code {0} is too large: codes are below 2^62")]
    CodeTooLarge(u64),
}

fn lost(error: &ConnectionError) -> io::Error {
    let kind = match error {
        ConnectionError::TimedOut => io::ErrorKind::TimedOut,
        ConnectionError::Reset => io::ErrorKind::ConnectionReset,
        ConnectionError::PeerApplication { .. } | ConnectionError::PeerTransport(_) => {
            io::ErrorKind::ConnectionAborted
        }
        _ => io::ErrorKind::NotConnected,
    };
    io::Error::new(kind, error.clone())
}
