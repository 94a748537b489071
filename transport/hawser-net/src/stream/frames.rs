//! Frames with metadata, on the sending end of a stream.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hawser_policy::{FrameInfo, Reliability, Time};

use super::{ClosedStream, FrameError, SendStream, WriteError};

impl SendStream {
    /// Writes a frame: bytes that are of use as a whole, with what the scheduler should know of them. Where the peer takes
    /// streams with gaps ([`Connection::can_discard`](crate::Connection::can_discard)), frames that are not
    /// [`Reliability::Reliable`] may be discarded: by their deadline, by the scheduler, or by
    /// [`cancel_frame`](Self::cancel_frame). The receiver reads with [`next_chunk`](crate::RecvStream::next_chunk).
    ///
    /// If it is dropped before it is done, a part of the frame was written; writing the rest with the same `info` completes
    /// it.
    ///
    /// # Errors
    /// [`WriteError`]; how much was written is unknown then.
    pub async fn write_frame(&mut self, info: &FrameInfo, mut data: Bytes) -> Result<(), WriteError> {
        poll_fn(|cx| self.poll_write_frame(cx, info, &mut data)).await
    }

    /// [`write_frame`](SendStream::write_frame) for implementations of other traits: takes off the front of `data` what was
    /// written, until nothing is left.
    pub fn poll_write_frame(
        &mut self,
        cx: &mut Context<'_>,
        info: &FrameInfo,
        data: &mut Bytes,
    ) -> Poll<Result<(), WriteError>> {
        let id = self.id;
        while !data.is_empty() {
            let chunk = data.clone();
            let written = ready!(self.poll_core(cx, |state| state.core.write_frame(id, info, chunk)))?;
            let _ = data.split_to(written.min(data.len()));
        }
        Poll::Ready(Ok(()))
    }

    /// Discards what has not left of a frame, and retransmits nothing of it, however reliable it was meant to be.
    ///
    /// # Errors
    /// [`FrameError`].
    pub fn cancel_frame(&mut self, frame: u64) -> Result<(), FrameError> {
        let shared = self.connection.shared();
        let mut state = shared.lock();
        let cancelled = state.core.cancel_frame(self.id, frame);
        shared.touch(&mut state);
        cancelled
    }

    /// Gives a frame that was written another deadline, or none. One that expired stays discarded.
    ///
    /// # Errors
    /// [`FrameError`], but never `Unsupported`.
    pub fn set_frame_deadline(&mut self, frame: u64, deadline: Option<Time>) -> Result<(), FrameError> {
        let shared = self.connection.shared();
        let mut state = shared.lock();
        let changed = state.core.set_frame_deadline(self.id, frame, deadline);
        shared.touch(&mut state);
        changed
    }

    /// Labels the stream for the scheduler.
    ///
    /// # Errors
    /// When the stream is closed.
    pub fn set_class(&self, class: u32) -> Result<(), ClosedStream> {
        let mut state = self.connection.shared().lock();
        state.core.set_stream_class(self.id, class).map_err(|_| ClosedStream)
    }

    /// Says how carefully bytes that belong to no frame must be delivered. Those that are not [`Reliability::Reliable`] may
    /// be discarded by the scheduler; beyond that they are retransmitted like others.
    ///
    /// # Errors
    /// When the stream is closed.
    pub fn set_reliability(&self, reliability: Reliability) -> Result<(), ClosedStream> {
        let mut state = self.connection.shared().lock();
        state.core.set_stream_reliability(self.id, reliability).map_err(|_| ClosedStream)
    }
}
