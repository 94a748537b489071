//! Streams after 0-RTT was rejected: nothing of what was sent has arrived, and nothing of what allowed it holds.

use hawser_policy::StreamId;

use super::due::Due;
use super::flow::SendCredit;
use super::send::SendStream;
use super::{StreamLimits, Streams};
use crate::connection::work::ENTRY;

impl Streams {
    /// Takes back everything that was sent, as if it had only been written, and forgets the peer's limits.
    /// [`set_peer_limits`](Streams::set_peer_limits) must follow. Nothing was acknowledged yet.
    ///
    /// The new limits may be below what was opened and written. Data then waits for credit as usual; streams beyond the
    /// limit are *withheld*: they exist for the application, and no frame tells of them until the peer allows them.
    //= rfc9001-4.6.2-3 (not done): rejected 0-RTT resets all streams
    pub(crate) fn rewind(&mut self) {
        self.credit = SendCredit::default();
        self.peer_limits = StreamLimits::default();
        self.local.iter_mut().for_each(|local| local.withdraw_limit());
        for key in self.table.keys() {
            self.update_send(key, SendStream::rewind);
            for frame in [Due::RESET, Due::FIN, Due::BLOCKED, Due::SKIP, Due::STOP] {
                self.control.cancel(&mut self.table, key, frame);
            }
        }
        self.control.forget_blocked();
    }

    /// Whether the peer does not allow this stream, although it is open.
    pub(super) fn is_withheld(&self, id: StreamId) -> bool {
        let local = &self.local[usize::from(id.is_bidirectional())];
        self.is_local(id) && id.index() >= local.limit()
    }

    /// The peer allows more streams than `before`, some of which are open already.
    #[cold]
    pub(super) fn release_withheld(&mut self, bidirectional: bool, before: u64) {
        let local = &self.local[usize::from(bidirectional)];
        let released = before..local.limit();
        self.control.streams_blocked[usize::from(bidirectional)] |= local.has_withheld();
        self.shared.work += self.table.keys().len() as u64 * ENTRY;
        for key in self.table.keys() {
            let id = key.id;
            if !(self.is_local(id)
                && id.is_bidirectional() == bidirectional
                && released.contains(&id.index()))
            {
                continue;
            }
            let credit = self.initial_credit(id);
            self.raise_stream_credit(key, credit);
            self.note_stream_control(key);
            if self.table.recv_mut(key).is_some_and(|recv| recv.stop_code().is_some()) {
                self.control.add(&mut self.table, key, Due::STOP);
            }
        }
    }
}
