//! Data that a scheduler chose by its place in a stream.

use std::ops::Range;

use hawser_policy::{PathId, StreamId};
use hawser_wire::Writer;

use super::Streams;
use super::outgoing::{Purpose, WrittenData, write_frame};
use crate::connection::frames::SentFrames;

impl Streams {
    /// Writes those bytes of a range that wait to be sent and were not given to another path than `path`: lost ones first,
    /// then unsent ones within flow control. Ranges that reach beyond what was written, or lie in streams that are not
    /// there, are cut to what there is.
    #[inline(never)]
    pub(crate) fn write_range(
        &mut self,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
        path: PathId,
        id: StreamId,
        range: Range<u64>,
    ) -> WrittenData {
        let mut written = WrittenData::default();
        let Some(key) = self.table.find(id) else { return written };
        let Some(send) = self.table.send_mut(key) else { return written };
        let before = send.amounts();
        while let Some((part, lost)) = send.next_named(path, &range, self.credit.left()) {
            let Some(count) = write_frame(send, id, part.clone(), Purpose::Deliver(path), w, sent) else {
                break;
            };
            let part = part.start..part.start + count;
            if lost {
                send.mark_resent(part);
                written.retransmitted_bytes += count;
            } else {
                self.credit.take(send.mark_sent(part));
                written.new_bytes += count;
            }
        }
        let after = send.amounts();
        self.totals.replace(&before, &after);
        let priority = send.priority;
        // No walk through the order meets it. It keeps its place there as long as more may be written.
        let is_sent = send.queued && send.is_finishing() && after.gaps == 0 && after.unsent == 0;
        send.queued &= !is_sent;
        if send.reset_frame().is_some() {
            // A reset that promised data was waiting for it to be sent.
            self.note_stream_control(key);
        }
        if is_sent {
            self.order.remove_key(priority, key);
        }
        if self.credit.left() == 0 && written.new_bytes > 0 {
            self.note_data_blocked();
        }
        written
    }
}
