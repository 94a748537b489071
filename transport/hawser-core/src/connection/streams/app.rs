//! The application's calls.

use bytes::Bytes;
use hawser_policy::StreamId;

use super::Streams;
use super::due::Due;
use super::errors::{ClosedStream, ReadError, ReadOutcome, ResetAtError, WriteError};
use super::key::Key;
use super::send::WriteBlock;

impl Streams {
    /// Opens a stream; `None` at the peer's limit, and then [`StreamEvent::Available`](super::StreamEvent) follows.
    //= rfc9000-4.6-5: an endpoint that cannot open a stream sends STREAMS_BLOCKED
    //= rfc9000-19.14-1: STREAMS_BLOCKED when no stream can be opened
    pub(crate) fn open(&mut self, bidirectional: bool) -> Option<StreamId> {
        let kind = usize::from(bidirectional);
        let local = &mut self.local[kind];
        let told = local.open_blocked;
        match local.open() {
            Some(index) => Some(StreamId::new(self.side, bidirectional, index)),
            None => {
                // Before the handshake there is no limit that the peer could raise.
                self.control.streams_blocked[kind] |= !told && local.limit() > 0;
                None
            }
        }
    }

    /// The next stream the peer opened.
    pub(crate) fn accept(&mut self, bidirectional: bool) -> Option<StreamId> {
        let index = self.peer[usize::from(bidirectional)].accept()?;
        Some(StreamId::new(self.side.peer(), bidirectional, index))
    }

    /// Copies as much of `data` as there is room for; returns how much. Only a write that fails with
    /// [`WriteError::Blocked`] is followed by [`StreamEvent::Writable`](super::StreamEvent).
    pub(crate) fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, WriteError> {
        let (key, room) = self.writable(id, data.len())?;
        self.update_send(key, |send| send.write(&data[..room]));
        self.after_write();
        Ok(room)
    }

    /// Takes as much of `data` as there is room for, without copying; returns how much.
    pub(crate) fn write_bytes(&mut self, id: StreamId, mut data: Bytes) -> Result<usize, WriteError> {
        let (key, room) = self.writable(id, data.len())?;
        data.truncate(room);
        self.update_send(key, |send| send.write_shared(data));
        self.after_write();
        Ok(room)
    }

    pub(super) fn after_write(&mut self) {
        if self.credit.left() == 0 {
            self.note_data_blocked();
        }
    }

    /// The stream and how much of `wanted` bytes may be written.
    pub(super) fn writable(&mut self, id: StreamId, wanted: usize) -> Result<(Key, usize), WriteError> {
        let key = self.open_stream(id).ok_or(WriteError::ClosedStream)?;
        let own = self.table.send_mut(key).ok_or(WriteError::ClosedStream)?.unacked();
        let space = self.send_space(own);
        let send = self.table.send_mut(key).ok_or(WriteError::ClosedStream)?;
        let was_blocked = send.blocked;
        let writable = send.writable(space);
        let blocked = send.blocked;
        match writable {
            Ok(room) => Ok((key, room.min(wanted))),
            Err(error) => {
                match blocked {
                    WriteBlock::Buffer if was_blocked != blocked => self.blocked_writers.push(key),
                    WriteBlock::StreamCredit if was_blocked != blocked => self.note_stream_blocked(key),
                    _ => {}
                }
                self.settle_send(key);
                Err(error)
            }
        }
    }

    /// Ends the stream after what was written.
    pub(crate) fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        let key = self.open_stream(id).ok_or(WriteError::ClosedStream)?;
        let finished = self.update_send(key, |send| send.finish()).ok_or(WriteError::ClosedStream)?;
        self.note_stream_control(key);
        self.settle_send(key);
        finished
    }

    /// Gives the sending half up: nothing written counts any more.
    pub(crate) fn reset(&mut self, id: StreamId, code: u64) -> Result<(), ClosedStream> {
        let key = self.open_stream(id).ok_or(ClosedStream)?;
        let reset = self.update_send(key, |send| send.reset(code)).ok_or(ClosedStream)?;
        self.after_reset(key);
        reset
    }

    /// Gives the sending half up past `reliable_size` bytes, which are still delivered.
    pub(crate) fn reset_at(
        &mut self,
        id: StreamId,
        code: u64,
        reliable_size: u64,
    ) -> Result<(), ResetAtError> {
        let key = self.open_stream(id).ok_or(ClosedStream)?;
        if !self.peer_limits.reset_stream_at {
            return Err(ResetAtError::Unsupported);
        }
        let reset = self.update_send(key, |send| send.reset_at(code, reliable_size)).ok_or(ClosedStream)?;
        self.after_reset(key);
        reset
    }

    pub(super) fn after_reset(&mut self, key: Key) {
        for frame in [Due::FIN, Due::BLOCKED] {
            self.control.cancel(&mut self.table, key, frame);
        }
        self.note_stream_control(key);
        self.settle_send(key);
        self.wake_writers();
    }

    /// Streams of higher priority send first. The default is 0.
    pub(crate) fn set_priority(&mut self, id: StreamId, priority: i32) -> Result<(), ClosedStream> {
        let key = self.open_stream(id).ok_or(ClosedStream)?;
        let send = self.table.send_mut(key).ok_or(ClosedStream)?;
        let before = std::mem::replace(&mut send.priority, priority);
        let (queued, requeued) = (send.queued, send.requeued);
        if before == priority {
            return Ok(());
        }
        if queued {
            self.order.remove_key(before, key);
            self.order.push(priority, key);
        }
        if requeued {
            self.retransmissions.remove_key(before, key);
            self.retransmissions.push(priority, key);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn priority(&self, id: StreamId) -> Result<i32, ClosedStream> {
        match self.table.find_ref(id).and_then(|key| self.table.get(key)) {
            Some(stream) => stream.send.as_ref().map(|send| send.priority).ok_or(ClosedStream),
            None => {
                let kind = usize::from(id.is_bidirectional());
                let open = if self.is_local(id) {
                    self.local[kind].is_open(id.index())
                } else {
                    id.is_bidirectional() && self.peer[kind].is_open(id.index())
                };
                if open { Ok(0) } else { Err(ClosedStream) }
            }
        }
    }

    /// The code with which the peer stopped what we send, if it did and the application did not end the stream since.
    pub(crate) fn stopped(&mut self, id: StreamId) -> Option<u64> {
        let key = self.table.find(id)?;
        let code = self.table.send_mut(key)?.stopped();
        self.settle_send(key);
        code
    }

    /// Whether the sending half is still known: not yet delivered as a whole, and not over otherwise.
    pub(crate) fn is_sending(&self, id: StreamId) -> bool {
        self.table.find_ref(id).and_then(|key| self.send_half(key)).is_some()
    }

    /// Copies received data into `out`.
    pub(crate) fn read(&mut self, id: StreamId, out: &mut [u8]) -> Result<ReadOutcome, ReadError> {
        let key = self.open_stream(id).ok_or(ReadError::ClosedStream)?;
        let recv = self.table.recv_mut(key).ok_or(ReadError::ClosedStream)?;
        let outcome = recv.read(out, &mut self.shared);
        self.after_read(key, matches!(outcome, Ok(ReadOutcome::Finished) | Err(ReadError::Reset(_))));
        outcome
    }

    /// Takes up to `max` bytes of received data without copying; `None` at the end of the stream.
    pub(crate) fn read_chunk(&mut self, id: StreamId, max: usize) -> Result<Option<Bytes>, ReadError> {
        let key = self.open_stream(id).ok_or(ReadError::ClosedStream)?;
        let recv = self.table.recv_mut(key).ok_or(ReadError::ClosedStream)?;
        let outcome = recv.read_chunk(max, &mut self.shared);
        self.after_read(key, matches!(outcome, Ok(None) | Err(ReadError::Reset(_))));
        outcome
    }

    // A call of its own would look the stream up again.
    #[inline(always)]
    pub(super) fn after_read(&mut self, key: Key, ended: bool) {
        if ended {
            self.close_receive(key);
        } else if let Some(recv) = self.table.recv_mut(key) {
            let is_tunable = recv.window().is_tunable() || self.shared.window.is_tunable();
            if is_tunable || recv.window().wants_update() {
                self.update_window_of(key, is_tunable);
            }
        }
        self.note_connection_window();
    }

    /// A window may have to grow, or its limit to be announced: rarely, so that reading does without all this.
    #[inline(never)]
    fn update_window_of(&mut self, key: Key, is_tunable: bool) {
        if let Some(recv) = self.table.recv_mut(key)
            && is_tunable
            && !recv.to_be_tuned
        {
            recv.to_be_tuned = true;
            self.to_be_tuned.push(key);
        }
        self.note_stream_window(key);
    }

    /// The application does not want the rest; the peer is asked to stop.
    pub(crate) fn stop(&mut self, id: StreamId, code: u64) -> Result<(), ClosedStream> {
        let key = self.open_stream(id).ok_or(ClosedStream)?;
        let recv = self.table.recv_mut(key).ok_or(ClosedStream)?;
        if recv.is_stopped() {
            return Err(ClosedStream);
        }
        if recv.stop(code, &mut self.shared) {
            self.control.add(&mut self.table, key, Due::STOP);
            self.control.cancel(&mut self.table, key, Due::MAX_DATA);
        }
        self.settle_receive(key);
        self.note_connection_window();
        Ok(())
    }

    /// Frees a stopped receiving half whose final size is known.
    pub(super) fn settle_receive(&mut self, key: Key) {
        if self.table.recv_mut(key).is_some_and(|recv| recv.is_done()) {
            self.close_receive(key);
        }
    }
}
