//! Control frames of streams: which are due, writing them, and what their acknowledgement or loss means.

use std::collections::VecDeque;

use hawser_wire::frame::{Frame, ResetStream, ResetStreamAt, StopSending, StreamDirection, StreamHeader};
use hawser_wire::{BufferTooShort, Writer};

use super::Streams;
use super::due::Due;
use super::key::Key;
use super::table::Table;
use crate::connection::frames::{SentFrame, SentFrames, SentStream, StreamControl};

/// Control frames to be sent.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) max_data: bool,
    pub(super) data_blocked: bool,
    /// The limit that the last DATA_BLOCKED named: each is named once, and again only if that frame is lost.
    data_blocked_at: Option<u64>,
    /// By direction, bidirectional at 1, as everywhere.
    pub(super) max_streams: [bool; 2],
    pub(super) streams_blocked: [bool; 2],
    /// Streams with something due, and some that had.
    queue: VecDeque<Key>,
    /// Streams with something due.
    pub(super) streams: usize,
}

impl Control {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.streams == 0
            && !self.max_data
            && !self.data_blocked
            && self.max_streams == [false; 2]
            && self.streams_blocked == [false; 2]
    }

    /// Nothing that was said of the peer's limits holds.
    pub(super) fn forget_blocked(&mut self) {
        (self.data_blocked, self.data_blocked_at) = (false, None);
        self.streams_blocked = [false; 2];
    }

    pub(super) fn shrink(&mut self) {
        self.queue.shrink_to_fit();
    }

    /// Notes that a stream must send a control frame.
    pub(super) fn add(&mut self, table: &mut Table, key: Key, frame: Due) {
        let Some(stream) = table.get_mut(key) else { return };
        if stream.due.is_empty() {
            self.streams += 1;
            self.queue.push_back(key);
        }
        stream.due = stream.due.with(frame);
    }

    /// Notes that a stream need not send a control frame any more.
    pub(super) fn cancel(&mut self, table: &mut Table, key: Key, frame: Due) {
        let Some(stream) = table.get_mut(key) else { return };
        if stream.due.has(frame) {
            stream.due = stream.due.without(frame);
            self.streams -= usize::from(stream.due.is_empty());
        }
    }
}

impl Streams {
    /// Whether control frames are due.
    #[inline]
    pub(crate) fn has_pending_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Writes control frames, as many as fit. RFC 9000 section 13.3: each with the value of this moment.
    pub(crate) fn write_control(&mut self, w: &mut Writer<'_>, sent: &mut SentFrames) {
        // An error means that the packet is full; what was not written stays due.
        let _full = self.write_connection_control(w, sent).and_then(|()| self.write_stream_control(w, sent));
    }

    //= rfc9000-4.6-5: an endpoint that cannot open a stream sends STREAMS_BLOCKED
    fn write_connection_control(
        &mut self,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
    ) -> Result<(), BufferTooShort> {
        if self.control.max_data {
            Frame::MaxData(self.shared.window.announce()).encode(w)?;
            sent.push(SentFrame::StreamControl(StreamControl::MaxData));
            self.control.max_data = false;
        }
        for bidirectional in [true, false] {
            let kind = usize::from(bidirectional);
            let direction = direction(bidirectional);
            if self.control.max_streams[kind] {
                Frame::MaxStreams { direction, maximum: self.peer[kind].announce() }.encode(w)?;
                sent.push(SentFrame::StreamControl(StreamControl::MaxStreams { bidirectional }));
                self.control.max_streams[kind] = false;
            }
            if self.control.streams_blocked[kind] {
                Frame::StreamsBlocked { direction, limit: self.local[kind].limit() }.encode(w)?;
                sent.push(SentFrame::StreamControl(StreamControl::StreamsBlocked { bidirectional }));
                self.control.streams_blocked[kind] = false;
            }
        }
        if self.control.data_blocked {
            Frame::DataBlocked(self.credit.limit()).encode(w)?;
            sent.push(SentFrame::StreamControl(StreamControl::DataBlocked));
            self.control.data_blocked_at = Some(self.credit.limit());
            self.control.data_blocked = false;
        }
        Ok(())
    }

    fn write_stream_control(
        &mut self,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
    ) -> Result<(), BufferTooShort> {
        while let Some(&key) = self.control.queue.front() {
            for frame in Due::EACH {
                if self.table.get(key).is_some_and(|stream| stream.due.has(frame)) {
                    self.write_one(key, frame, w, sent)?;
                    self.control.cancel(&mut self.table, key, frame);
                }
            }
            self.control.queue.pop_front();
        }
        Ok(())
    }

    /// Writes one control frame, unless it lost its meaning since it was noted.
    fn write_one(
        &mut self,
        key: Key,
        frame: Due,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
    ) -> Result<(), BufferTooShort> {
        if frame == Due::SKIP {
            return self.write_skips(key, w, sent);
        }
        // Noted again when the peer allows the stream.
        if self.is_withheld(key.id) {
            return Ok(());
        }
        let (id, stream_id) = (key.id, key.id.0);
        let Some(stream) = self.table.get_mut(key) else { return Ok(()) };
        let control = match (frame, &mut stream.send, &mut stream.recv) {
            (Due::RESET, Some(send), _) => {
                let Some((error_code, final_size, reliable_size)) = send.reset_frame() else { return Ok(()) };
                if reliable_size == 0 {
                    Frame::ResetStream(ResetStream { stream_id, error_code, final_size }).encode(w)?;
                } else {
                    let reset = ResetStreamAt { stream_id, error_code, final_size, reliable_size };
                    Frame::ResetStreamAt(reset).encode(w)?;
                }
                send.mark_reset_sent();
                StreamControl::ResetStream(id)
            }
            (Due::STOP, _, Some(recv)) => {
                let Some(error_code) = recv.stop_code() else { return Ok(()) };
                Frame::StopSending(StopSending { stream_id, error_code }).encode(w)?;
                StreamControl::StopSending(id)
            }
            (Due::MAX_DATA, _, Some(recv)) if recv.wants_credit() => {
                let maximum = recv.window_mut().announce();
                Frame::MaxStreamData { stream_id, maximum }.encode(w)?;
                StreamControl::MaxStreamData(id)
            }
            (Due::BLOCKED, Some(send), _) => {
                let Some(limit) = send.blocked_at() else { return Ok(()) };
                Frame::StreamDataBlocked { stream_id, limit }.encode(w)?;
                StreamControl::StreamDataBlocked(id)
            }
            (Due::FIN, Some(send), _) => {
                let Some(offset) = send.lone_fin() else { return Ok(()) };
                StreamHeader { stream_id, offset, length: Some(0), fin: true }.encode(w)?;
                send.mark_fin_sent();
                let end = SentStream { id, offset, length: 0, fin: true, copy: false, round: 0 };
                sent.push(SentFrame::Stream(end));
                return Ok(());
            }
            _ => return Ok(()),
        };
        sent.push(SentFrame::StreamControl(control));
        Ok(())
    }

    /// A control frame arrived.
    #[inline(never)]
    pub(crate) fn on_control_acked(&mut self, frame: StreamControl) {
        if let StreamControl::ResetStream(id) = frame
            && let Some(key) = self.table.find(id)
        {
            self.update_send(key, |send| send.on_reset_acked());
            self.settle_send(key);
        }
    }

    /// A control frame was lost. It is sent again, with the value of then, only if it still matters.
    pub(crate) fn on_control_lost(&mut self, frame: StreamControl) {
        match frame {
            StreamControl::MaxData => self.control.max_data = true,
            StreamControl::MaxStreams { bidirectional } => {
                self.control.max_streams[usize::from(bidirectional)] = true;
            }
            StreamControl::DataBlocked => {
                self.control.data_blocked_at = None;
                self.note_data_blocked();
            }
            StreamControl::StreamsBlocked { bidirectional } => {
                let kind = usize::from(bidirectional);
                let local = &self.local[kind];
                self.control.streams_blocked[kind] = local.open_blocked && !local.can_open();
            }
            StreamControl::ResetStream(id) => {
                if let Some(key) = self.table.find(id) {
                    self.update_send(key, |send| send.on_reset_lost());
                    self.note_stream_control(key);
                }
            }
            StreamControl::StopSending(id) => {
                if let Some(key) = self.table.find(id)
                    && self.table.recv_mut(key).is_some_and(|recv| recv.stop_code().is_some())
                {
                    self.control.add(&mut self.table, key, Due::STOP);
                }
            }
            StreamControl::MaxStreamData(id) => {
                if let Some(key) = self.table.find(id)
                    && self.table.recv_mut(key).is_some_and(|recv| recv.wants_credit())
                {
                    self.control.add(&mut self.table, key, Due::MAX_DATA);
                }
            }
            StreamControl::StreamDataBlocked(id) => {
                if let Some(key) = self.table.find(id) {
                    self.note_stream_blocked(key);
                }
            }
        }
    }

    /// Notes DATA_BLOCKED if the connection's flow control is what holds data back.
    //= rfc9000-4.1-4: a sender that flow control blocks sends a BLOCKED frame
    //= rfc9000-19.12-1: DATA_BLOCKED when the connection's limit stops data
    pub(super) fn note_data_blocked(&mut self) {
        let blocked = self.credit.left() == 0 && self.totals.tail > 0;
        self.control.data_blocked = blocked && self.control.data_blocked_at != Some(self.credit.limit());
    }

    //= rfc9000-4.1-4: a sender that flow control blocks sends a BLOCKED frame
    //= rfc9000-19.13-1: STREAM_DATA_BLOCKED when the stream's limit stops data
    pub(super) fn note_stream_blocked(&mut self, key: Key) {
        if self.table.send_mut(key).is_some_and(|send| send.blocked_at().is_some()) {
            self.control.add(&mut self.table, key, Due::BLOCKED);
        }
    }

    /// Notes what a stream's sending half has due by its state: reset, lone end, bytes given up.
    #[inline]
    pub(super) fn note_stream_control(&mut self, key: Key) {
        let Some(send) = self.table.send_mut(key) else { return };
        let (reset, fin) = (send.reset_frame().is_some(), send.lone_fin().is_some());
        let skip = send.next_skip().is_some();
        if reset {
            self.control.add(&mut self.table, key, Due::RESET);
        }
        if fin {
            self.control.add(&mut self.table, key, Due::FIN);
        }
        if skip {
            self.control.add(&mut self.table, key, Due::SKIP);
        }
    }
}

pub(super) fn direction(bidirectional: bool) -> StreamDirection {
    if bidirectional { StreamDirection::Bidirectional } else { StreamDirection::Unidirectional }
}
