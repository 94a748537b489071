//! What became of sent data.

use super::Streams;
use crate::connection::frames::SentStream;

impl Streams {
    /// A packet with this range arrived.
    #[inline]
    pub(crate) fn on_acked(&mut self, range: &SentStream) {
        let Some(key) = self.table.find(range.id) else { return };
        self.update_send(key, |send| send.on_acked(range.offset..range.end(), range.fin));
        let Some(send) = self.table.send_mut(key) else { return };
        if send.is_done() {
            self.settle_send(key);
        } else if send.lone_fin().is_some() {
            // The data that would have carried the end has arrived without it.
            self.note_stream_control(key);
        }
        self.wake_writers();
    }

    /// The packet with this range was lost. Its bytes are queued again unless they arrived otherwise or are queued
    /// already; the loss of a copy changes nothing, since another packet owns the bytes.
    pub(crate) fn on_lost(&mut self, range: &SentStream) {
        if range.copy {
            return;
        }
        let Some(key) = self.table.find(range.id) else { return };
        self.update_send(key, |send| send.on_lost(range.offset..range.end(), range.fin));
        self.note_stream_control(key);
    }

    /// Nothing that was sent so far counts, because a Retry packet came: all of it is unsent again.
    pub(crate) fn retry_all(&mut self) {
        self.credit.restart();
        for key in self.table.keys() {
            self.update_send(key, |send| send.restart());
            self.restart_control(key);
        }
    }

    /// The server rejected 0-RTT: all is unsent again, and limits remembered from the earlier connection are void
    /// (RFC 9001 section 4.6.2, RFC 9000 section 7.4.1). To be followed by
    /// [`set_peer_limits`](Self::set_peer_limits) with the real ones.
    pub(crate) fn on_0rtt_rejected(&mut self) {
        self.credit.void();
        self.peer_limits = Default::default();
        for local in &mut self.local {
            local.void();
        }
        for key in self.table.keys() {
            let local = self.is_local(key.id);
            self.update_send(key, |send| {
                send.restart();
                send.void_limits(!local);
            });
            self.restart_control(key);
        }
    }

    fn restart_control(&mut self, key: super::table::Key) {
        self.note_stream_control(key);
        if self.table.recv_mut(key).is_some_and(|recv| recv.stop_code().is_some()) {
            self.control.add(&mut self.table, key, super::control::Due::STOP);
        }
    }
}
