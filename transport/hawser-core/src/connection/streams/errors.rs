//! What the application's calls on streams answer.

use bytes::Bytes;

/// The stream is not open in this direction: it ended, was reset or stopped by this side, or never existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream is not open in this direction")]
pub struct ClosedStream;

/// Why nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The send buffer or the stream's flow control is full; [`StreamEvent::Writable`](crate::StreamEvent) follows.
    #[error("the stream takes no more data now")]
    Blocked,
    /// The peer no longer wants the stream and gave this code; the stream was reset.
    #[error("the peer stopped reading the stream: code {0}")]
    Stopped(u64),
    /// See [`ClosedStream`].
    #[error("the stream is not open for writing")]
    ClosedStream,
}

/// Why nothing was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Nothing is there; [`StreamEvent::Readable`](crate::StreamEvent) follows.
    #[error("the stream has no data now")]
    Blocked,
    /// The peer gave the stream up with this code. What could be read was read; the stream is closed now.
    #[error("the peer reset the stream: code {0}")]
    Reset(u64),
    /// The peer gave these bytes up; nothing that arrived is lost. Only [`next_chunk`](crate::Connection::next_chunk)
    /// goes past them.
    #[error("{length} bytes at {offset} will not come: read with next_chunk, which gives gaps")]
    Gap {
        /// Where the reader is.
        offset: u64,
        /// Bytes missing there, as far as known.
        length: u64,
    },
    /// See [`ClosedStream`].
    #[error("the stream is not open for reading")]
    ClosedStream,
}

/// Why a stream was not reset at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResetAtError {
    /// The peer does not speak RESET_STREAM_AT.
    #[error("the peer does not support partial delivery of reset streams")]
    Unsupported,
    /// Only bytes that were written can be promised.
    #[error("cannot promise delivery of {asked} bytes: only {written} were written")]
    NotWritten {
        /// Bytes promised.
        asked: u64,
        /// Bytes written.
        written: u64,
    },
    /// See [`ClosedStream`].
    #[error("the stream is not open for writing")]
    ClosedStream,
}

/// Why a frame was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The stream has no such frame of which something is not acknowledged.
    #[error("the stream holds no frame of this number")]
    Unknown,
    /// The peer does not take STREAM_SKIP: its readers would wait indefinitely.
    #[error("the peer does not support streams with gaps")]
    Unsupported,
    /// See [`ClosedStream`].
    #[error("the stream is not open for writing")]
    ClosedStream,
}

/// A piece of a stream that may have gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// Bytes, at least one.
    Data {
        /// Their place in the stream.
        offset: u64,
        /// Themselves.
        bytes: Bytes,
    },
    /// Bytes that will not come. Two gaps may follow each other.
    Gap {
        /// Where.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// The end of the stream.
    End,
}

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// So many bytes, at least one unless the buffer was empty.
    Data(usize),
    /// The stream has ended; everything was read before.
    Finished,
}

impl From<ClosedStream> for WriteError {
    fn from(_: ClosedStream) -> Self {
        WriteError::ClosedStream
    }
}

impl From<ClosedStream> for ReadError {
    fn from(_: ClosedStream) -> Self {
        ReadError::ClosedStream
    }
}

impl From<ClosedStream> for ResetAtError {
    fn from(_: ClosedStream) -> Self {
        ResetAtError::ClosedStream
    }
}
