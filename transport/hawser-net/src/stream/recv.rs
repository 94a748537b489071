use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hawser_core::{ConnectionError, ReadError as CoreReadError, ReadOutcome};
use hawser_policy::StreamId;
use tokio::io::{AsyncRead, ReadBuf};

use super::{AbortError, ClosedStream, lost};
use crate::code;
use crate::connection::{ConnectionState, Handle};

/// The receiving end of a stream.
///
/// When it is dropped before its end was read, the peer is told to stop sending (code 0).
#[derive(Debug)]
pub struct RecvStream {
    pub(super) connection: Arc<Handle>,
    pub(super) id: StreamId,
    /// How it is over, once it is.
    over: Option<Over>,
}

/// How a receiving end is over.
#[derive(Clone, Copy, Debug)]
enum Over {
    /// Everything was read.
    Finished,
    /// The peer gave it up, with this code.
    Reset(u64),
    /// This side does not want the rest.
    Stopped,
}

/// Why a read failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The peer gave the stream up.
    #[error("the peer reset the stream: code {0}")]
    Reset(u64),
    /// The peer gave these bytes up. Nothing that arrived is lost; only [`next_chunk`](RecvStream::next_chunk) goes past
    /// them.
    #[error("{length} bytes at {offset} will not come: read with next_chunk, which gives gaps")]
    Gap {
        /// Where the reader is.
        offset: u64,
        /// Bytes missing there, as far as known.
        length: u64,
    },
    /// The connection has ended.
    #[error("the connection is lost: {0}")]
    ConnectionLost(ConnectionError),
    /// This side stopped the stream before.
    #[error(transparent)]
    Closed(#[from] ClosedStream),
}

/// Why a buffer could not be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadExactError {
    /// The stream ended early.
    #[error("the stream ended after {got} of {wanted} bytes")]
    FinishedEarly {
        /// Bytes read.
        got: usize,
        /// Bytes asked for.
        wanted: usize,
    },
    /// A read failed.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why a stream could not be read to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadToEndError {
    /// It is longer than the caller wants.
    #[error("the stream is longer than {limit} bytes")]
    TooLong {
        /// The caller's limit.
        limit: usize,
    },
    /// A read failed.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match &error {
            ReadError::Reset(_) => io::Error::new(io::ErrorKind::ConnectionReset, error),
            ReadError::ConnectionLost(reason) => lost(reason),
            ReadError::Gap { .. } => io::Error::new(io::ErrorKind::InvalidData, error),
            ReadError::Closed(_) => io::Error::new(io::ErrorKind::NotConnected, error),
        }
    }
}

impl RecvStream {
    pub(crate) fn new(connection: Arc<Handle>, id: StreamId) -> Self {
        RecvStream { connection, id, over: None }
    }

    /// Its id.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Reads what is there into `buffer`, waiting if nothing is; `None` at the end of the stream.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, ReadError> {
        poll_fn(|cx| self.poll_read_some(cx, buffer)).await
    }

    /// Fills `buffer`.
    ///
    /// # Errors
    /// [`ReadExactError`].
    pub async fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), ReadExactError> {
        let wanted = buffer.len();
        let mut got = 0;
        while got < wanted {
            match self.read(&mut buffer[got..]).await? {
                Some(count) => got += count,
                None => return Err(ReadExactError::FinishedEarly { got, wanted }),
            }
        }
        Ok(())
    }

    /// Reads the next piece, of at most `max` bytes, without copying; `None` at the end of the stream.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read_chunk(&mut self, max: usize) -> Result<Option<Bytes>, ReadError> {
        poll_fn(|cx| self.poll_read_chunk(cx, max)).await
    }

    /// Reads everything to the end of the stream, if it is no longer than `limit` bytes.
    ///
    /// # Errors
    /// [`ReadToEndError`].
    pub async fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>, ReadToEndError> {
        let mut all = Vec::new();
        while let Some(chunk) = self.read_chunk(usize::MAX).await? {
            if all.len() + chunk.len() > limit {
                return Err(ReadToEndError::TooLong { limit });
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    /// [`read`](RecvStream::read) for implementations of other traits.
    pub fn poll_read_some(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<Option<usize>, ReadError>> {
        if buffer.is_empty() {
            return Poll::Ready(Ok(Some(0)));
        }
        let id = self.id;
        self.poll_core(cx, |state| match state.core.read(id, buffer)? {
            ReadOutcome::Data(count) => Ok(Some(count)),
            ReadOutcome::Finished => Ok(None),
        })
    }

    /// [`read_chunk`](RecvStream::read_chunk) for implementations of other traits.
    pub fn poll_read_chunk(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
    ) -> Poll<Result<Option<Bytes>, ReadError>> {
        let id = self.id;
        self.poll_core(cx, |state| state.core.read_chunk(id, max))
    }

    /// One attempt to read. `Ok(None)` from `read` is the end of the stream.
    pub(super) fn poll_core<T>(
        &mut self,
        cx: &mut Context<'_>,
        read: impl FnOnce(&mut ConnectionState) -> Result<Option<T>, CoreReadError>,
    ) -> Poll<Result<Option<T>, ReadError>> {
        match self.over {
            None => {}
            Some(Over::Finished) => return Poll::Ready(Ok(None)),
            Some(Over::Reset(code)) => return Poll::Ready(Err(ReadError::Reset(code))),
            Some(Over::Stopped) => return Poll::Ready(Err(ClosedStream.into())),
        }
        let shared = self.connection.shared();
        let mut state = shared.lock();
        match read(&mut state) {
            Ok(Some(data)) => {
                // Flow control may have credit to give.
                shared.touch(&mut state);
                Poll::Ready(Ok(Some(data)))
            }
            Ok(None) => {
                shared.touch(&mut state);
                self.over = Some(Over::Finished);
                Poll::Ready(Ok(None))
            }
            Err(CoreReadError::Blocked) => match &state.outcome {
                Some(error) => Poll::Ready(Err(ReadError::ConnectionLost(error.clone()))),
                None => {
                    state.wakers.readers.insert(self.id, cx.waker().clone());
                    Poll::Pending
                }
            },
            Err(CoreReadError::Reset(code)) => {
                self.over = Some(Over::Reset(code));
                Poll::Ready(Err(ReadError::Reset(code)))
            }
            Err(CoreReadError::Gap { offset, length }) => Poll::Ready(Err(ReadError::Gap { offset, length })),
            Err(CoreReadError::ClosedStream) => Poll::Ready(Err(ClosedStream.into())),
        }
    }

    /// Tells the peer that the rest is not wanted, with an application's code of at most
    /// [`MAX_APPLICATION_CODE`](crate::MAX_APPLICATION_CODE). Reads fail from then on.
    ///
    /// # Errors
    /// When the stream had ended or was stopped before; or the code is too large, and the stream goes on.
    pub fn stop(&mut self, code: u64) -> Result<(), AbortError> {
        let code = code::checked(code)?;
        if self.over.is_some() {
            return Err(ClosedStream.into());
        }
        self.over = Some(Over::Stopped);
        let shared = self.connection.shared();
        let mut state = shared.lock();
        let stopped = state.core.stop(self.id, code);
        shared.touch(&mut state);
        stopped.map_err(|_| ClosedStream.into())
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = std::task::ready!(self.get_mut().poll_read_some(cx, buffer.initialize_unfilled()))?;
        buffer.advance(count.unwrap_or(0));
        Poll::Ready(Ok(()))
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        let _ = self.stop(0);
        self.connection.shared().lock().wakers.readers.remove(&self.id);
    }
}
