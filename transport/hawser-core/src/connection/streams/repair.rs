//! What erasure codes need of streams: bytes that were sent, and what a reader lacks.

use std::ops::{ControlFlow, Range};

use hawser_policy::{Segment, StreamId};
use hawser_wire::frame::SourceRange;

use super::Streams;
use crate::connection::frames::SentStream;
use crate::{Code, TransportError};

impl Streams {
    /// Puts the bytes of a range into `out`, if all of it was sent and none acknowledged.
    pub(crate) fn read_sent(&mut self, range: &SentStream, out: &mut Vec<u8>) -> bool {
        let Some(key) = self.table.find(range.id) else { return false };
        let Some(send) = self.table.send_mut(key) else { return false };
        let bytes = range.offset..range.end();
        let is_there = send.first_unacked(bytes.clone()) == Some(bytes);
        if is_there {
            out.clear();
            out.resize(range.length as usize, 0);
            send.read(range.offset, out);
        }
        is_there
    }

    /// Shows what the application said of most of the bytes of a range: a short header that shares a packet with what it is
    /// about does not speak for it.
    pub(crate) fn visit_sent(&self, range: &SentStream, visit: &mut dyn FnMut(&Segment<'_>)) {
        let Some(send) = self.table.find_ref(range.id).and_then(|key| self.send_half(key)) else { return };
        let length = |range: &Range<u64>| range.end - range.start;
        let mut longest = 0..0;
        let _all = send.visit_segments(range.id, range.offset..range.end(), false, &mut |segment| {
            if length(&segment.range) > length(&longest) {
                longest = segment.range.clone();
            }
            ControlFlow::Continue(())
        });
        let _first = send.visit_segments(range.id, longest, false, &mut |segment| {
            visit(segment);
            ControlFlow::Break(())
        });
    }

    /// The application's number for the frame that a range belongs to.
    pub(crate) fn frame_of(&self, range: &SentStream) -> Option<u64> {
        let mut frame = None;
        self.visit_sent(range, &mut |segment| frame = segment.id);
        frame
    }

    /// Whether a reader may still get these bytes and some of them are not there.
    pub(crate) fn lacks(&self, source: &SourceRange) -> bool {
        let id = StreamId(source.stream_id);
        match self.table.find_ref(id).and_then(|key| self.table.get(key)) {
            Some(stream) => stream.recv.as_ref().is_some_and(|recv| recv.lacks(source.offset..source.end())),
            None => {
                let kind = usize::from(id.is_bidirectional());
                // Not opened yet, or open and not heard of: all is missing.
                !self.is_local(id) && !self.peer[kind].has_ended(id.index())
            }
        }
    }

    /// Whether the peer may send on this stream; an error as for a STREAM frame (RFC 9000 section 19.8), but that nothing is
    /// opened by it.
    pub(crate) fn check_receivable(&self, id: StreamId) -> Result<(), TransportError> {
        let kind = usize::from(id.is_bidirectional());
        let (index, limit) = (id.index(), self.peer[kind].limit());
        if !self.has_receive_half(id) || (self.is_local(id) && !self.local[kind].was_opened(index)) {
            let reason = format!("repair symbol of {id}, on which the peer does not send");
            return Err(TransportError::new(Code::STREAM_STATE_ERROR, reason));
        }
        if !self.is_local(id) && index >= limit {
            let reason = format!("{id} is number {} of its kind, {limit} are allowed", index + 1);
            return Err(TransportError::new(Code::STREAM_LIMIT_ERROR, reason));
        }
        Ok(())
    }
}
