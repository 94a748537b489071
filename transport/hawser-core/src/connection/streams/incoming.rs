//! Frames from the peer.

use bytes::Bytes;
use hawser_policy::StreamId;
use hawser_wire::codepoints::frame;
use hawser_wire::frame::MAX_STREAM_COUNT;
use hawser_wire::varint;

use super::Streams;
use super::due::Due;
use super::events::StreamEvent;
use super::key::Key;
use super::send::WriteBlock;
use crate::{Code, TransportError};

impl Streams {
    /// A STREAM frame. `data` is kept as it is: a slice of the receive buffer is not copied unless many pile up.
    //= rfc9000-19.8-2: STREAM data beyond 2^62 - 1: error
    #[inline]
    pub(crate) fn on_stream(
        &mut self,
        id: StreamId,
        offset: u64,
        fin: bool,
        data: Bytes,
    ) -> Result<(), TransportError> {
        // RFC 9000 section 19.8.
        if offset.saturating_add(data.len() as u64) > varint::MAX {
            return Err(ends_too_late(offset, data.len()));
        }
        let key = match self.table.find(id) {
            Some(key) if self.has_receive_half(id) => key,
            _ => match self.received_on(id, frame::STREAM)? {
                Some(key) => key,
                None => return Ok(()),
            },
        };
        let Some(recv) = self.table.recv_mut(key) else { return Ok(()) };
        recv.on_data(offset, fin, data, &mut self.shared)?;
        self.last_received = Some(id);
        let (wakes, stopped) = (recv.take_wakeup(), recv.is_stopped());
        if fin {
            self.control.cancel(&mut self.table, key, Due::MAX_DATA);
        }
        if wakes || stopped {
            self.settle_received(key, wakes);
        }
        Ok(())
    }

    /// A RESET_STREAM frame.
    pub(crate) fn on_reset_stream(
        &mut self,
        id: StreamId,
        code: u64,
        final_size: u64,
    ) -> Result<(), TransportError> {
        self.reset_received(id, code, final_size, 0, frame::RESET_STREAM)
    }

    /// A RESET_STREAM_AT frame (draft-ietf-quic-reliable-stream-reset).
    pub(crate) fn on_reset_stream_at(
        &mut self,
        id: StreamId,
        code: u64,
        final_size: u64,
        reliable_size: u64,
    ) -> Result<(), TransportError> {
        self.reset_received(id, code, final_size, reliable_size, frame::RESET_STREAM_AT)
    }

    fn reset_received(
        &mut self,
        id: StreamId,
        code: u64,
        final_size: u64,
        reliable_size: u64,
        frame_type: u64,
    ) -> Result<(), TransportError> {
        let Some(key) = self.received_on(id, frame_type)? else { return Ok(()) };
        let Some(recv) = self.table.recv_mut(key) else { return Ok(()) };
        recv.on_reset(code, final_size, reliable_size, frame_type, &mut self.shared)?;
        self.control.cancel(&mut self.table, key, Due::MAX_DATA);
        self.control.cancel(&mut self.table, key, Due::STOP);
        self.note_connection_window();
        self.after_receive(key);
        Ok(())
    }

    /// Wakes the application if there is news for it, or frees the half if there is nobody to tell.
    pub(super) fn after_receive(&mut self, key: Key) {
        let Some(recv) = self.table.recv_mut(key) else { return };
        let wakes = recv.take_wakeup();
        if wakes || recv.is_stopped() {
            self.settle_received(key, wakes);
        }
    }

    /// Apart from [`on_stream`](Self::on_stream), so that this is inlined: of many packets one wakes.
    #[inline(never)]
    fn settle_received(&mut self, key: Key, wakes: bool) {
        if wakes {
            self.events.push(StreamEvent::Readable(key.id));
        } else {
            self.note_connection_window();
            self.settle_receive(key);
        }
    }

    /// A STOP_SENDING frame (RFC 9000 section 19.5).
    pub(crate) fn on_stop_sending(&mut self, id: StreamId, code: u64) -> Result<(), TransportError> {
        let Some(key) = self.sent_on(id, frame::STOP_SENDING)? else { return Ok(()) };
        if self.update_send(key, |send| send.on_stop_sending(code)) == Some(true) {
            self.events.push(StreamEvent::Stopped { id, code });
        }
        self.after_reset(key);
        Ok(())
    }

    /// A MAX_DATA frame.
    pub(crate) fn on_max_data(&mut self, limit: u64) {
        if self.credit.raise(limit) {
            self.give_up_deferred();
            self.note_data_blocked();
        }
    }

    /// A DATA_BLOCKED frame. Our windows follow what is consumed, so there is nothing to do for any limit.
    pub(crate) fn on_data_blocked(&mut self, _limit: u64) {}

    /// A MAX_STREAM_DATA frame (RFC 9000 section 19.10).
    pub(crate) fn on_max_stream_data(&mut self, id: StreamId, limit: u64) -> Result<(), TransportError> {
        if let Some(key) = self.sent_on(id, frame::MAX_STREAM_DATA)? {
            self.raise_stream_credit(key, limit);
        }
        Ok(())
    }

    pub(super) fn raise_stream_credit(&mut self, key: Key, limit: u64) {
        if self.update_send(key, |send| send.raise_credit(limit)) != Some(true) {
            return;
        }
        self.control.cancel(&mut self.table, key, Due::BLOCKED);
        let Some(send) = self.table.send_mut(key) else { return };
        if send.blocked == WriteBlock::StreamCredit {
            send.blocked = WriteBlock::None;
            self.events.push(StreamEvent::Writable(key.id));
        }
    }

    /// A MAX_STREAMS frame (RFC 9000 section 19.11).
    pub(crate) fn on_max_streams(&mut self, bidirectional: bool, limit: u64) -> Result<(), TransportError> {
        check_stream_count(
            limit,
            if bidirectional { frame::MAX_STREAMS_BIDI } else { frame::MAX_STREAMS_UNI },
        )?;
        self.raise_streams_limit(bidirectional, limit);
        Ok(())
    }

    pub(super) fn raise_streams_limit(&mut self, bidirectional: bool, limit: u64) {
        let kind = usize::from(bidirectional);
        let before = self.local[kind].limit();
        let withheld = self.local[kind].has_withheld();
        if !self.local[kind].raise(limit) {
            return;
        }
        if withheld {
            self.release_withheld(bidirectional, before);
        }
        if self.local[kind].can_open() {
            self.control.streams_blocked[kind] = false;
            if std::mem::take(&mut self.local[kind].open_blocked) {
                self.events.push(StreamEvent::Available { bidirectional });
            }
        }
    }

    /// A STREAM_DATA_BLOCKED frame. As with DATA_BLOCKED there is nothing to do, but the stream must exist.
    //= rfc9000-19.13-2: STREAM_DATA_BLOCKED for a stream that only we send on: STREAM_STATE_ERROR
    pub(crate) fn on_stream_data_blocked(&mut self, id: StreamId) -> Result<(), TransportError> {
        self.received_on(id, frame::STREAM_DATA_BLOCKED).map(|_| ())
    }

    /// A STREAMS_BLOCKED frame (RFC 9000 section 19.14).
    //= rfc9000-19.14-2: STREAMS_BLOCKED above 2^60: error
    pub(crate) fn on_streams_blocked(
        &mut self,
        bidirectional: bool,
        limit: u64,
    ) -> Result<(), TransportError> {
        let frame_type = if bidirectional { frame::STREAMS_BLOCKED_BIDI } else { frame::STREAMS_BLOCKED_UNI };
        check_stream_count(limit, frame_type)
    }

    /// The stream on which the peer sent something; `None` if that has ended.
    //= rfc9000-19.4-1: RESET_STREAM for a stream that only we send on: STREAM_STATE_ERROR
    //= rfc9000-19.8-1: STREAM for a stream that we did not open or only send on: STREAM_STATE_ERROR
    #[inline(never)]
    pub(super) fn received_on(
        &mut self,
        id: StreamId,
        frame_type: u64,
    ) -> Result<Option<Key>, TransportError> {
        if let Some(key) = self.table.find(id)
            && self.has_receive_half(id)
        {
            return Ok(Some(key));
        }
        if !self.has_receive_half(id) {
            return Err(state_error(format!("{id} only sends from our side"), frame_type));
        }
        self.named_by_peer(id, frame_type)
    }

    /// The stream about whose sending from our side the peer said something; `None` if that has ended.
    //= rfc9000-19.5-2: STOP_SENDING for a stream that we only receive on: STREAM_STATE_ERROR
    //= rfc9000-19.10-2: MAX_STREAM_DATA for a stream that we only receive on: STREAM_STATE_ERROR
    fn sent_on(&mut self, id: StreamId, frame_type: u64) -> Result<Option<Key>, TransportError> {
        if !self.has_send_half(id) {
            return Err(state_error(format!("{id} only sends from the peer's side"), frame_type));
        }
        self.named_by_peer(id, frame_type)
    }

    //= rfc9000-4.6-3: a stream above the limit: STREAM_LIMIT_ERROR
    //= rfc9000-19.5-1: STOP_SENDING for a stream that we did not open: STREAM_STATE_ERROR
    //= rfc9000-19.10-1: MAX_STREAM_DATA for a stream that we did not open: STREAM_STATE_ERROR
    //= rfc9000-19.11-4: a peer that opens more streams than allowed: STREAM_LIMIT_ERROR
    fn named_by_peer(&mut self, id: StreamId, frame_type: u64) -> Result<Option<Key>, TransportError> {
        let (kind, index) = (usize::from(id.is_bidirectional()), id.index());
        if self.is_local(id) {
            // RFC 9000 section 19.8: only a stream that exists.
            if !self.local[kind].was_opened(index) {
                return Err(state_error(format!("we did not open {id}"), frame_type));
            }
        } else {
            let limit = self.peer[kind].limit();
            if index >= limit {
                let reason = format!("{id} is number {} of its kind, {limit} are allowed", index + 1);
                return Err(TransportError::new(Code::STREAM_LIMIT_ERROR, reason).in_frame(frame_type));
            }
            if self.peer[kind].open_up_to(index) {
                self.events.push(StreamEvent::Opened { bidirectional: id.is_bidirectional() });
            }
        }
        Ok(self.open_stream(id))
    }
}

fn state_error(reason: String, frame_type: u64) -> TransportError {
    TransportError::new(Code::STREAM_STATE_ERROR, reason).in_frame(frame_type)
}

#[cold]
fn ends_too_late(offset: u64, length: usize) -> TransportError {
    let reason = format!("stream data ends above 2^62 - 1: {length} bytes at {offset}");
    TransportError::new(Code::FRAME_ENCODING_ERROR, reason).in_frame(frame::STREAM)
}

//= rfc9000-19.11-1: MAX_STREAMS above 2^60: FRAME_ENCODING_ERROR
fn check_stream_count(count: u64, frame_type: u64) -> Result<(), TransportError> {
    if count > MAX_STREAM_COUNT {
        let reason = format!("{count} streams, at most 2^60 can exist");
        return Err(TransportError::new(Code::FRAME_ENCODING_ERROR, reason).in_frame(frame_type));
    }
    Ok(())
}
