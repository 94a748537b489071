//! Application data with metadata: frames with deadlines, streams with gaps, datagrams with priorities.

use std::ops::Range;

use bytes::Bytes;
use hawser_policy::{DatagramInfo, FrameInfo, Reliability, StreamId, Time};

use super::Connection;
use super::datagrams::{SendDatagramError, WhenFull};
use super::streams::{Chunk, ClosedStream, FrameError, ReadError, WriteError};

impl Connection {
    /// Writes a frame to a stream; returns how many bytes were taken, at least one unless there are none. If these are
    /// not all, write the rest with the same `info` when the stream is writable again
    /// ([`StreamEvent::Writable`](super::streams::StreamEvent::Writable) tells): bytes that follow a frame and have its
    /// number belong to it, and share its fate if it was cancelled or expired meanwhile.
    ///
    /// The deadline of a frame with [`Reliability::UntilDeadline`] is kept by the connection itself: what has not left
    /// until then is discarded, and what is under way is not retransmitted. Where the peer does not take STREAM_SKIP
    /// ([`can_discard`](Self::can_discard)) all data is reliable, and metadata is for schedulers only.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write_frame(&mut self, id: StreamId, info: &FrameInfo, data: Bytes) -> Result<usize, WriteError> {
        self.policies.wake();
        self.streams.write_frame(id, info, data)
    }

    /// Whether the peer takes STREAM_SKIP, so that frames can be discarded. Known once the handshake is complete.
    pub fn can_discard(&self) -> bool {
        self.streams.may_give_up()
    }

    /// Discards what has not left of a frame, and retransmits nothing of it, however reliable it was meant to be. The
    /// receiver's stream has a gap in the place of what did not arrive.
    ///
    /// # Errors
    /// [`FrameError`].
    pub fn cancel_frame(&mut self, id: StreamId, frame: u64) -> Result<(), FrameError> {
        self.policies.wake();
        self.streams.cancel_frame(id, frame)
    }

    /// Gives a frame that was written another deadline, or none. One that expired stays discarded.
    ///
    /// # Errors
    /// [`FrameError`], but never `Unsupported`.
    pub fn set_frame_deadline(
        &mut self,
        id: StreamId,
        frame: u64,
        deadline: Option<Time>,
    ) -> Result<(), FrameError> {
        self.policies.wake();
        self.streams.set_frame_deadline(id, frame, deadline)
    }

    /// Labels a stream; the number means something to the application and its policies only.
    ///
    /// # Errors
    /// [`ClosedStream`].
    pub fn set_stream_class(&mut self, id: StreamId, class: u32) -> Result<(), ClosedStream> {
        self.streams.set_class(id, class)
    }

    /// Says how carefully the bytes of a stream that belong to no frame must be delivered. Those that are not
    /// [`Reliability::Reliable`] may be discarded by the scheduler; beyond that they are retransmitted like others.
    ///
    /// # Errors
    /// [`ClosedStream`].
    pub fn set_stream_reliability(
        &mut self,
        id: StreamId,
        reliability: Reliability,
    ) -> Result<(), ClosedStream> {
        self.streams.set_reliability(id, reliability)
    }

    /// Queues a datagram (RFC 9221) with what the scheduler should know of it. Datagrams of higher priority go first; one
    /// whose deadline passes before it left is dropped, and counted
    /// ([`messages_expired`](crate::ConnectionStats::messages_expired)).
    ///
    /// # Errors
    /// [`SendDatagramError`].
    pub fn send_datagram_with(&mut self, data: Bytes, info: &DatagramInfo) -> Result<(), SendDatagramError> {
        self.queue_datagram(data, info, WhenFull::Refuse)
    }

    /// As [`send_datagram_with`](Self::send_datagram_with), but when the queue is full the oldest datagrams of the lowest
    /// priority give way, if that is not above the one of this datagram.
    ///
    /// # Errors
    /// [`SendDatagramError`]; `Blocked` only where nothing gives way.
    pub fn send_newest_datagram_with(
        &mut self,
        data: Bytes,
        info: &DatagramInfo,
    ) -> Result<(), SendDatagramError> {
        self.queue_datagram(data, info, WhenFull::DropOldest)
    }

    /// Reads from a stream, in order and without copying: data, a gap in its place where the peer gave it up, or the end.
    ///
    /// # Errors
    /// [`ReadError`], but never `Gap`.
    pub fn next_chunk(&mut self, id: StreamId, max: usize) -> Result<Chunk, ReadError> {
        self.streams.next_chunk(id, max)
    }

    /// What is missing from a stream and may still come, in order: holes before data that arrived, before gaps, or before
    /// the end. At most 256 of them.
    pub fn missing(&self, id: StreamId) -> Vec<Range<u64>> {
        self.streams.missing(id)
    }

    /// Waits no longer for what is missing at the place of the reader, for one whose own deadline is past: the first range
    /// of [`missing`](Self::missing) is a gap from now on, and is returned; what arrives of it later is dropped. `None` if
    /// there is something to read, or nothing is known to be missing.
    ///
    /// # Errors
    /// [`ClosedStream`].
    pub fn pass_missing(&mut self, id: StreamId) -> Result<Option<Range<u64>>, ClosedStream> {
        self.streams.pass_missing(id)
    }
}
