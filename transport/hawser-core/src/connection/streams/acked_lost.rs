//! What a packet's acknowledgement or loss means for the data in it.

use hawser_policy::PathId;

use super::Streams;
use super::key::Key;
use crate::connection::frames::SentStream;
use crate::connection::work::MOVE;

impl Streams {
    /// A packet with this range arrived.
    #[inline]
    pub(crate) fn on_acked(&mut self, range: &SentStream) {
        let Some(key) = self.table.find(range.id) else { return };
        let news = self.update_send(key, |send| {
            let (before, moves) = (send.unacked(), send.moves_to_ack(range.offset));
            send.on_acked(range.offset..range.end(), range.fin);
            let acked = before - send.unacked();
            let needless = if send.copies.is_empty() { 0 } else { send.on_acked_of_several(range) };
            (acked, needless, moves, send.is_ending())
        });
        let Some((acked, needless, moves, is_ending)) = news else { return };
        self.shared.work += moves * MOVE;
        self.acked_bytes += acked;
        self.needless_copies += needless;
        if is_ending {
            self.on_acked_at_end(key);
        }
        self.wake_writers();
    }

    /// Something was acknowledged of a stream that the application has finished or reset.
    #[inline(never)]
    fn on_acked_at_end(&mut self, key: Key) {
        let Some(send) = self.table.send_mut(key) else { return };
        if send.is_done() {
            self.settle_send(key);
        } else if send.lone_fin().is_some() {
            // The data that would have carried the end has arrived without it.
            self.note_stream_control(key);
        }
    }

    /// The packet with this range, on `path` if that is known, was lost. Its bytes are queued again unless they arrived otherwise, are queued already
    /// or are still in flight as copies.
    pub(crate) fn on_lost(&mut self, range: &SentStream, path: Option<PathId>) {
        let Some(key) = self.table.find(range.id) else { return };
        let may_give_up = self.may_give_up();
        let outcome = self.update_send(key, |send| {
            let bytes = range.offset..range.end();
            let mut is_shared = false;
            if send.copies.is_empty() {
                send.on_lost(bytes.clone(), range.fin);
            } else {
                is_shared = send.on_lost_of_several(range, path);
            }
            (is_shared, if may_give_up { send.give_up_lost(bytes) } else { 0 })
        });
        let (is_shared, given_up) = outcome.unwrap_or_default();
        self.shared_losses += u64::from(is_shared);
        self.count_given_up(given_up);
        self.note_stream_control(key);
    }
}
