//! Gaps, on the receiving end of a stream.

use std::future::poll_fn;
use std::ops::Range;
use std::task::{Context, Poll};

use super::{Chunk, ClosedStream, ReadError, RecvStream};

impl RecvStream {
    /// Reads the next piece, of at most `max` bytes, without copying; or the gap in its place, where the peer gave bytes
    /// up. [`Chunk::End`] at the end of the stream.
    ///
    /// # Errors
    /// [`ReadError`], but never `Gap`.
    pub async fn next_chunk(&mut self, max: usize) -> Result<Chunk, ReadError> {
        poll_fn(|cx| self.poll_next_chunk(cx, max)).await
    }

    /// [`next_chunk`](RecvStream::next_chunk) for implementations of other traits.
    pub fn poll_next_chunk(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<Result<Chunk, ReadError>> {
        let id = self.id;
        let chunk = self.poll_core(cx, |state| match state.core.next_chunk(id, max)? {
            Chunk::End => Ok(None),
            chunk => Ok(Some(chunk)),
        });
        chunk.map_ok(|chunk| chunk.unwrap_or(Chunk::End))
    }

    /// What is missing and may still come, in order: holes before data that arrived, before gaps, or before the end. At
    /// most 256 of them.
    pub fn missing(&self) -> Vec<Range<u64>> {
        self.connection.shared().lock().core.missing(self.id)
    }

    /// Waits no longer for what is missing at the place of the reader, for one whose own deadline is past: the first range
    /// of [`missing`](Self::missing) is a gap from now on, and is returned; what arrives of it later is dropped. `None` if
    /// there is something to read, or nothing is known to be missing.
    ///
    /// # Errors
    /// When the stream is over.
    pub fn pass_missing(&mut self) -> Result<Option<Range<u64>>, ClosedStream> {
        let shared = self.connection.shared();
        let mut state = shared.lock();
        let gap = state.core.pass_missing(self.id);
        // Flow control may have credit to give.
        shared.touch(&mut state);
        gap.map_err(|_| ClosedStream)
    }
}
