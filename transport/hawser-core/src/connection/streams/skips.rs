//! Partial delivery over all streams: frames of the application, commands of the scheduler, STREAM_SKIP frames.

use std::collections::BTreeSet;
use std::ops::Range;

use bytes::Bytes;
use hawser_policy::{FrameInfo, PathId, Reliability, StreamId, Time};
use hawser_wire::codepoints::frame;
use hawser_wire::frame::{Frame, StreamSkip};
use hawser_wire::{BufferTooShort, Writer, varint};

use super::Streams;
use super::errors::{Chunk, ClosedStream, FrameError, ReadError, WriteError};
use super::key::Key;
use super::send::{GivenUp, SendStream};
use crate::connection::frames::{SentFrame, SentFrames, SentSkip};
use crate::connection::work::LOOKUP;
use crate::{Code, TransportError};

/// Partial delivery of a connection.
#[derive(Debug)]
pub(super) struct Skips {
    /// Whether the peer takes STREAM_SKIP. Without it nothing is skipped: its readers would wait indefinitely.
    supported: bool,
    /// When the next frame of each stream that has such frames may expire: that time, or one before it.
    expiries: BTreeSet<(Time, Key)>,
    /// Streams with ranges to be given up when the connection has credit.
    deferred: Vec<Key>,
    /// Whether a path was ever given something ahead of time.
    assigns: bool,
    totals: SkipTotals,
}

/// Counters of partial delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SkipTotals {
    /// Bytes given up by us.
    pub(crate) bytes_given_up: u64,
    /// Bytes that readers passed as gaps.
    pub(crate) bytes_missed: u64,
}

impl Skips {
    pub(super) fn new() -> Self {
        Skips {
            supported: false,
            expiries: BTreeSet::new(),
            deferred: Vec::new(),
            assigns: false,
            totals: SkipTotals::default(),
        }
    }
}

impl Streams {
    /// Whether the peer takes STREAM_SKIP.
    pub(crate) fn set_skip_supported(&mut self, supported: bool) {
        self.skips.supported = supported;
    }

    /// Counters.
    pub(crate) fn skip_totals(&self) -> SkipTotals {
        self.skips.totals
    }

    // --- the application ---

    /// Writes a frame, or the next part of one: as much as there is room for.
    pub(crate) fn write_frame(
        &mut self,
        id: StreamId,
        info: &FrameInfo,
        mut data: Bytes,
    ) -> Result<usize, WriteError> {
        let wanted = data.len();
        let (key, room) = self.writable(id, wanted)?;
        data.truncate(room);
        let start = self.table.send_mut(key).map_or(0, |send| send.written());
        let given_up = self.update_send(key, |send| {
            send.write_shared(data);
            send.add_to_frame(info, start)
        });
        if given_up == Some(true) {
            self.give_up(key, |send, credit| send.cancel_frame(info.id, credit));
        }
        if info.reliability == Reliability::UntilDeadline {
            self.note_deadline(key, info.deadline);
        }
        self.after_write();
        if room < wanted {
            // There is a rest: as if a write had been refused, so that its writer is called.
            let _blocked = self.writable(id, wanted - room);
        }
        Ok(room)
    }

    fn note_deadline(&mut self, key: Key, deadline: Option<Time>) {
        let (Some(deadline), Some(send)) = (deadline, self.table.send_mut(key)) else { return };
        let noted = send.noted_expiry();
        if noted.is_none_or(|noted| deadline < noted) {
            noted.map(|noted| self.skips.expiries.remove(&(noted, key)));
            self.skips.expiries.insert((deadline, key));
            send.note_expiry(Some(deadline));
        }
    }

    /// The sending half of a stream ends.
    pub(super) fn forget_expiry(&mut self, key: Key) {
        if let Some(noted) = self.table.send_mut(key).and_then(|send| send.noted_expiry()) {
            self.skips.expiries.remove(&(noted, key));
        }
    }

    /// Gives up what has not arrived of a frame.
    pub(crate) fn cancel_frame(&mut self, id: StreamId, frame: u64) -> Result<(), FrameError> {
        let key = self.stream_with_frame(id, frame)?;
        if !self.skips.supported {
            return Err(FrameError::Unsupported);
        }
        self.give_up(key, |send, credit| send.cancel_frame(frame, credit));
        Ok(())
    }

    /// Gives a frame another deadline.
    pub(crate) fn set_frame_deadline(
        &mut self,
        id: StreamId,
        frame: u64,
        deadline: Option<Time>,
    ) -> Result<(), FrameError> {
        let key = self.stream_with_frame(id, frame)?;
        if let Some(send) = self.table.send_mut(key) {
            send.set_frame_deadline(frame, deadline);
        }
        self.note_deadline(key, deadline);
        Ok(())
    }

    fn stream_with_frame(&mut self, id: StreamId, frame: u64) -> Result<Key, FrameError> {
        let key = self.open_stream(id).ok_or(FrameError::ClosedStream)?;
        let send =
            self.table.send_mut(key).filter(|send| !send.is_reset()).ok_or(FrameError::ClosedStream)?;
        let known = send.frames(frame).next().is_some();
        if known { Ok(key) } else { Err(FrameError::Unknown) }
    }

    /// Labels a stream for policies.
    pub(crate) fn set_class(&mut self, id: StreamId, class: u32) -> Result<(), ClosedStream> {
        let key = self.open_stream(id).ok_or(ClosedStream)?;
        self.table.send_mut(key).ok_or(ClosedStream)?.set_class(class);
        Ok(())
    }

    /// Says how carefully what is written outside of frames must be delivered.
    pub(crate) fn set_reliability(
        &mut self,
        id: StreamId,
        reliability: Reliability,
    ) -> Result<(), ClosedStream> {
        let key = self.open_stream(id).ok_or(ClosedStream)?;
        self.table.send_mut(key).ok_or(ClosedStream)?.set_reliability(reliability);
        Ok(())
    }

    /// Takes up to `max` bytes of received data without copying, or the gap in their place.
    pub(crate) fn next_chunk(&mut self, id: StreamId, max: usize) -> Result<Chunk, ReadError> {
        let key = self.open_stream(id).ok_or(ReadError::ClosedStream)?;
        let recv = self.table.recv_mut(key).ok_or(ReadError::ClosedStream)?;
        let outcome = recv.next_chunk(max, &mut self.shared);
        if let Ok(Chunk::Gap { length, .. }) = &outcome {
            self.skips.totals.bytes_missed += length;
        }
        self.after_read(key, matches!(outcome, Ok(Chunk::End) | Err(ReadError::Reset(_))));
        outcome
    }

    /// Waits no longer for what is missing where the reader is; returns the range if something was.
    pub(crate) fn pass_missing(&mut self, id: StreamId) -> Result<Option<Range<u64>>, ClosedStream> {
        let key = self.open_stream(id).ok_or(ClosedStream)?;
        let recv = self.table.recv_mut(key).filter(|recv| !recv.is_stopped()).ok_or(ClosedStream)?;
        let gap = recv.pass_missing(&mut self.shared);
        if let Some(gap) = &gap {
            self.skips.totals.bytes_missed += gap.end - gap.start;
            self.after_read(key, false);
        }
        Ok(gap)
    }

    /// What is missing from a stream and may still come.
    pub(crate) fn missing(&self, id: StreamId) -> Vec<Range<u64>> {
        let stream = self.table.find_ref(id).and_then(|key| self.table.get(key));
        stream.and_then(|stream| stream.recv.as_ref()).map_or_else(Vec::new, |recv| recv.missing())
    }

    // --- the scheduler ---

    /// Applies [`Command::Discard`](hawser_policy::Command::Discard); whether there was anything to discard.
    pub(crate) fn discard(&mut self, id: StreamId, range: Range<u64>) -> bool {
        self.apply(id, |send, credit| send.discard(range, credit))
    }

    /// Applies [`Command::DoNotRetransmit`](hawser_policy::Command::DoNotRetransmit), likewise.
    pub(crate) fn do_not_retransmit(&mut self, id: StreamId, range: Range<u64>) -> bool {
        self.apply(id, |send, _| send.do_not_retransmit(range))
    }

    fn apply(&mut self, id: StreamId, change: impl FnOnce(&mut SendStream, u64) -> GivenUp) -> bool {
        let Some(key) = self.table.find(id).filter(|_| self.skips.supported) else { return false };
        let done = self.give_up(key, change);
        done.bytes + done.later > 0
    }

    /// Applies [`Command::Assign`](hawser_policy::Command::Assign); whether there were such bytes.
    pub(crate) fn assign(&mut self, id: StreamId, range: Range<u64>, path: PathId) -> bool {
        let key = self.table.find(id);
        let applied =
            key.and_then(|key| self.table.send_mut(key)).is_some_and(|send| send.assign(range, path));
        self.skips.assigns |= applied;
        applied
    }

    /// Applies [`Command::Unassign`](hawser_policy::Command::Unassign); whether any path had such bytes.
    pub(crate) fn unassign(&mut self, id: StreamId, range: Range<u64>) -> bool {
        let key = self.table.find(id);
        key.and_then(|key| self.table.send_mut(key)).is_some_and(|send| send.unassign(range))
    }

    /// A path cannot send what it was given: others may.
    pub(crate) fn unassign_path(&mut self, path: PathId) {
        if !self.skips.assigns {
            return;
        }
        self.shared.work += self.table.keys().len() as u64 * LOOKUP;
        for key in self.table.keys() {
            if let Some(send) = self.table.send_mut(key) {
                send.unassign_path(path);
            }
        }
    }

    // --- giving up ---

    /// Whether what is lost may be given up.
    #[inline]
    pub(crate) fn may_give_up(&self) -> bool {
        self.skips.supported
    }

    /// So many lost bytes were given up.
    pub(super) fn count_given_up(&mut self, bytes: u64) {
        self.skips.totals.bytes_given_up += bytes;
    }

    /// Gives something of a stream up, and sees to what follows from it.
    fn give_up(&mut self, key: Key, change: impl FnOnce(&mut SendStream, u64) -> GivenUp) -> GivenUp {
        let credit = self.credit.left();
        let done = self.update_send(key, |send| change(send, credit)).unwrap_or_default();
        self.credit.take(done.credit);
        self.skips.totals.bytes_given_up += done.bytes;
        if self.table.send_mut(key).is_some_and(|send| send.has_deferred())
            && !self.skips.deferred.contains(&key)
        {
            self.skips.deferred.push(key);
        }
        self.after_giving_up(key);
        done
    }

    fn after_giving_up(&mut self, key: Key) {
        self.note_stream_control(key);
        if self.credit.left() == 0 {
            self.note_data_blocked();
        }
        self.wake_writers();
    }

    /// The connection has more credit: what waited for it is given up before anything else is sent.
    pub(super) fn give_up_deferred(&mut self) {
        self.shared.work += self.skips.deferred.len() as u64 * LOOKUP;
        for key in std::mem::take(&mut self.skips.deferred) {
            self.give_up(key, |send, credit| send.give_up_deferred(credit));
        }
    }

    /// Gives up the frames whose deadline is past. To be called before data is planned.
    #[inline]
    pub(crate) fn expire(&mut self, now: Time) {
        if self.next_expiry().is_some_and(|at| at <= now) {
            self.expire_frames(now);
        }
    }

    #[cold]
    fn expire_frames(&mut self, now: Time) {
        let mut due = Vec::new();
        while let Some((_, key)) = self.skips.expiries.first().copied().filter(|(at, _)| *at <= now) {
            self.skips.expiries.pop_first();
            due.push(key);
        }
        for key in due {
            let Some(send) = self.table.send_mut(key) else { continue };
            send.note_expiry(None);
            if send.next_expiry().is_some_and(|expiry| expiry <= now) {
                self.give_up(key, |send, credit| send.expire(now, credit));
            }
            let next = self.table.send_mut(key).and_then(|send| send.next_expiry());
            self.note_deadline(key, next);
        }
    }

    /// Streams with frames that may expire.
    #[cfg(test)]
    pub(super) fn expiring_streams(&self) -> usize {
        self.skips.expiries.len()
    }

    /// When [`expire`](Self::expire) should be called.
    #[inline]
    pub(crate) fn next_expiry(&self) -> Option<Time> {
        self.skips.expiries.first().map(|(at, _)| *at).filter(|_| self.skips.supported)
    }

    // --- STREAM_SKIP ---

    /// A STREAM_SKIP frame of the peer.
    pub(crate) fn on_stream_skip(
        &mut self,
        id: StreamId,
        offset: u64,
        length: u64,
    ) -> Result<(), TransportError> {
        let end = offset.saturating_add(length);
        if end > varint::MAX {
            let reason = format!("stream ends above 2^62 - 1: {length} bytes at {offset} skipped");
            return Err(TransportError::new(Code::FRAME_ENCODING_ERROR, reason).in_frame(frame::STREAM_SKIP));
        }
        let Some(key) = self.received_on(id, frame::STREAM_SKIP)? else { return Ok(()) };
        let Some(recv) = self.table.recv_mut(key) else { return Ok(()) };
        recv.on_skip(offset..end, &mut self.shared)?;
        self.after_receive(key);
        Ok(())
    }

    /// Writes what a stream has to tell of bytes that it gave up.
    pub(super) fn write_skips(
        &mut self,
        key: Key,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
    ) -> Result<(), BufferTooShort> {
        let Some(send) = self.table.send_mut(key) else { return Ok(()) };
        while let Some(range) = send.next_skip() {
            let (offset, length) = (range.start, range.end - range.start);
            Frame::StreamSkip(StreamSkip { stream_id: key.id.0, offset, length }).encode(w)?;
            send.mark_skip_sent(range.clone());
            sent.push(SentFrame::StreamSkip(Box::new(SentSkip { id: key.id, range })));
        }
        Ok(())
    }

    /// The peer knows of a range that was given up.
    pub(crate) fn on_skip_acked(&mut self, skip: &SentSkip) {
        let Some(key) = self.table.find(skip.id) else { return };
        let Some(send) = self.table.send_mut(key) else { return };
        send.on_skip_acked(skip.range.clone());
        self.settle_send(key);
    }

    /// A STREAM_SKIP frame was lost.
    pub(crate) fn on_skip_lost(&mut self, skip: &SentSkip) {
        let Some(key) = self.table.find(skip.id) else { return };
        let Some(send) = self.table.send_mut(key) else { return };
        send.on_skip_lost(skip.range.clone());
        self.note_stream_control(key);
    }
}
