//! RTMP, as far as a server needs it to which encoders publish, and a client that publishes: handshake, chunks, and a handful of
//! commands.
//!
//! Source: Adobe's Real Time Messaging Protocol (RTMP) specification, 1.0, of 2012; AMF 0 of 2007. What encoders do beyond
//! it (`releaseStream`, `FCPublish`) is answered or passed over as servers in use do.
//!
//! [`Session`] is one connection without I/O: bytes in, bytes and [`Event`]s out; [`Publisher`] is the other end. Everything that a peer can make it keep has
//! a cap: [`MAX_CHUNK_STREAMS`], [`MAX_PARTIAL`], [`MAX_TAG`](crate::flv::MAX_TAG) and those of [`amf`].

use crate::flv::MAX_TAG;

mod amf;
mod chunk;
mod client;
mod session;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod work;

pub use chunk::{MAX_CHUNK_STREAMS, MAX_PARTIAL};
pub use client::{Publisher, PublisherEvent};
pub use session::{Event, Session};

/// Why a connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RtmpError {
    /// Not RTMP, or one of its encrypted variants.
    #[error("the other end speaks version {0} of RTMP; only 3, plain RTMP, is known")]
    Version(u8),
    /// A chunk that refers to one that never came.
    #[error("a chunk of stream {0} refers to an earlier one that never came")]
    NoPrevious(u32),
    /// More chunk streams than any encoder uses.
    #[error("more than {MAX_CHUNK_STREAMS} chunk streams")]
    TooManyStreams,
    /// A message larger than a tag may be.
    #[error("a message of {0} bytes; the most that is taken is {MAX_TAG}")]
    TooLarge(u32),
    /// Too much of messages that are not complete.
    #[error("more than {MAX_PARTIAL} bytes of messages that are not complete")]
    TooMuchPartial,
    /// A size of chunks that is not allowed.
    #[error("chunks of {0} bytes are not possible")]
    ChunkSize(u32),
}
