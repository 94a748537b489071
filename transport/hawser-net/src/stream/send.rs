use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hawser_core::{ConnectionError, WriteError as CoreWriteError};
use hawser_policy::StreamId;
use tokio::io::AsyncWrite;

use super::{AbortError, ClosedStream, lost};
use crate::code;
use crate::connection::{ConnectionState, Handle};

/// The sending end of a stream.
///
/// When it is dropped the stream is finished: what was written is delivered, followed by the end, as long as the connection
/// stays. The last handle that is dropped closes the connection: wait for [`stopped`](SendStream::stopped) before, or keep a
/// [`Connection`](crate::Connection). To give the stream up instead, call [`reset`](SendStream::reset).
#[derive(Debug)]
pub struct SendStream {
    pub(super) connection: Arc<Handle>,
    pub(super) id: StreamId,
    /// Who decided its end, once it is decided.
    over: Option<Over>,
    /// With which code the peer stopped it.
    stop_code: Option<u64>,
}

/// Why nothing more can be written.
#[derive(Clone, Copy, Debug)]
enum Over {
    /// It was finished or reset here.
    Closed,
    /// The peer stopped it, with this code.
    Stopped(u64),
}

/// Why a write failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The peer no longer wants the stream.
    #[error("the peer stopped reading the stream: code {0}")]
    Stopped(u64),
    /// The connection has ended.
    #[error("the connection is lost: {0}")]
    ConnectionLost(ConnectionError),
    /// The stream was finished or reset before.
    #[error(transparent)]
    Closed(#[from] ClosedStream),
}

/// Why nothing is known about the delivery of a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection is lost: {0}")]
pub struct StoppedError(pub ConnectionError);

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        match &error {
            WriteError::Stopped(_) => io::Error::new(io::ErrorKind::BrokenPipe, error),
            WriteError::ConnectionLost(reason) => lost(reason),
            WriteError::Closed(_) => io::Error::new(io::ErrorKind::NotConnected, error),
        }
    }
}

impl SendStream {
    pub(crate) fn new(connection: Arc<Handle>, id: StreamId) -> Self {
        SendStream { connection, id, over: None, stop_code: None }
    }

    /// Its id.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Writes some of `data`; returns how much, at least one byte unless `data` is empty.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn write(&mut self, data: &[u8]) -> Result<usize, WriteError> {
        poll_fn(|cx| self.poll_write_some(cx, data)).await
    }

    /// Writes all of `data`.
    ///
    /// # Errors
    /// [`WriteError`]; how much was written is unknown then.
    pub async fn write_all(&mut self, mut data: &[u8]) -> Result<(), WriteError> {
        while !data.is_empty() {
            let written = self.write(data).await?;
            data = &data[written..];
        }
        Ok(())
    }

    /// Writes all of `data` without copying it.
    ///
    /// # Errors
    /// As [`write_all`](SendStream::write_all).
    pub async fn write_chunk(&mut self, mut data: Bytes) -> Result<(), WriteError> {
        poll_fn(|cx| self.poll_write_chunk(cx, &mut data)).await
    }

    /// Writes some of `data` (see [`write`](SendStream::write)) for implementations of other traits.
    pub fn poll_write_some(&mut self, cx: &mut Context<'_>, data: &[u8]) -> Poll<Result<usize, WriteError>> {
        if data.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let id = self.id;
        self.poll_core(cx, |state| state.core.write(id, data))
    }

    /// Writes `data` without copying, taking off its front what was written, until nothing is left.
    pub fn poll_write_chunk(
        &mut self,
        cx: &mut Context<'_>,
        data: &mut Bytes,
    ) -> Poll<Result<(), WriteError>> {
        let id = self.id;
        while !data.is_empty() {
            let chunk = data.clone();
            let written = ready!(self.poll_core(cx, |state| state.core.write_bytes(id, chunk)))?;
            let _ = data.split_to(written.min(data.len()));
        }
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_core(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(&mut ConnectionState) -> Result<usize, CoreWriteError>,
    ) -> Poll<Result<usize, WriteError>> {
        match self.over {
            None => {}
            Some(Over::Closed) => return Poll::Ready(Err(ClosedStream.into())),
            Some(Over::Stopped(code)) => return Poll::Ready(Err(WriteError::Stopped(code))),
        }
        let shared = self.connection.shared();
        let mut state = shared.lock();
        if let Some(error) = &state.outcome {
            return Poll::Ready(Err(WriteError::ConnectionLost(error.clone())));
        }
        match write(&mut state) {
            Ok(written) => {
                shared.touch(&mut state);
                Poll::Ready(Ok(written))
            }
            Err(CoreWriteError::Blocked) => {
                state.wakers.writers.insert(self.id, cx.waker().clone());
                // The peer may have to be told that we are blocked.
                shared.touch(&mut state);
                Poll::Pending
            }
            Err(CoreWriteError::Stopped(code)) => {
                self.over = Some(Over::Stopped(code));
                self.stop_code = Some(code);
                Poll::Ready(Err(WriteError::Stopped(code)))
            }
            Err(CoreWriteError::ClosedStream) => Poll::Ready(Err(ClosedStream.into())),
        }
    }

    /// Marks the end of the stream. What was written is still delivered, as long as the connection stays
    /// ([`SendStream`]).
    ///
    /// # Errors
    /// When it was finished or reset before.
    pub fn finish(&mut self) -> Result<(), ClosedStream> {
        if matches!(self.over, Some(Over::Closed)) {
            return Err(ClosedStream);
        }
        // A peer that stopped the stream does not care for its end.
        if matches!(self.over.replace(Over::Closed), Some(Over::Stopped(_))) {
            return Ok(());
        }
        let shared = self.connection.shared();
        let mut state = shared.lock();
        let finished = state.core.finish(self.id);
        shared.touch(&mut state);
        match finished {
            Ok(()) | Err(CoreWriteError::Stopped(_)) => Ok(()),
            Err(_) => Err(ClosedStream),
        }
    }

    /// Gives the stream up, with an application's code of at most [`MAX_APPLICATION_CODE`](crate::MAX_APPLICATION_CODE). What was
    /// not delivered yet is not.
    ///
    /// # Errors
    /// When it was reset before, or finished and acknowledged; or the code is too large, and the stream goes on.
    pub fn reset(&mut self, code: u64) -> Result<(), AbortError> {
        let code = code::checked(code)?;
        self.over = Some(Over::Closed);
        let shared = self.connection.shared();
        let mut state = shared.lock();
        let reset = state.core.reset(self.id, code);
        shared.touch(&mut state);
        reset.map_err(|_| ClosedStream.into())
    }

    /// How urgent the stream is; larger goes first, 0 is the default. Streams of the same priority send 64 kB
    /// in their turn; one that had nothing to send for a round goes before those that had.
    ///
    /// # Errors
    /// When the stream is closed.
    pub fn set_priority(&self, priority: i32) -> Result<(), ClosedStream> {
        self.connection.shared().lock().core.set_priority(self.id, priority).map_err(|_| ClosedStream)
    }

    /// Waits until the peer has received everything, the end included (`None`), or does not want it any more (the
    /// peer's code).
    ///
    /// # Errors
    /// When the connection ends before.
    pub async fn stopped(&mut self) -> Result<Option<u64>, StoppedError> {
        poll_fn(|cx| self.poll_stopped(cx)).await
    }

    /// [`stopped`](SendStream::stopped) for implementations of other traits.
    pub fn poll_stopped(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<u64>, StoppedError>> {
        let mut state = self.connection.shared().lock();
        if let Some(code) = self.stop_code.or_else(|| state.core.stopped(self.id)) {
            self.stop_code = Some(code);
            return Poll::Ready(Ok(Some(code)));
        }
        // The core forgets a sending half once its end is acknowledged.
        if !state.core.is_sending(self.id) {
            return Poll::Ready(Ok(None));
        }
        if let Some(error) = &state.outcome {
            return Poll::Ready(Err(StoppedError(error.clone())));
        }
        state.wakers.finishers.insert(self.id, cx.waker().clone());
        Poll::Pending
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().poll_write_some(cx, data).map_err(Into::into)
    }

    /// The worker sends by itself: there is nothing to flush.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Finishes the stream, without waiting for the peer.
    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Shutting down twice is no error for this trait.
        let _ = self.get_mut().finish();
        Poll::Ready(Ok(()))
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        let _ = self.finish();
        let mut state = self.connection.shared().lock();
        state.wakers.writers.remove(&self.id);
        state.wakers.finishers.remove(&self.id);
    }
}
