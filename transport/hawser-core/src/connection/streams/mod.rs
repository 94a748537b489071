//! Streams: what the application writes and reads, and the frames that carry it.
//!
//! [`Streams`] owns all streams of a connection. A stream has up to two halves, [`send::SendStream`] and
//! [`recv::RecvStream`], each a state machine that knows nothing of the others; what is common to all (credit,
//! totals, send order, control frames that are due, events) is kept here, and every change of a half goes through
//! [`Streams::update_send`] or its like, which keeps the totals exact.
//!
//! A stream's state is made when it is first used and freed when both halves have ended; streams without state are
//! numbers (see [`numbers`]).
//!
//! * `app`: the application's calls
//! * `incoming`: frames from the peer
//! * `outgoing`: data into packets; `named`: data that a scheduler named; `control`: control frames into packets
//! * `acked_lost`: what a packet's fate means for the data in it
//! * `skips`: partial delivery, STREAM_SKIP
//! * `copies`: ranges of which several transmissions are in flight; `outgoing_copies`: these into packets
//! * `repair`: what erasure codes need
//! * `rewind`: after 0-RTT was rejected

mod acked_lost;
mod app;
mod assembler;
mod control;
mod copies;
mod due;
mod errors;
mod events;
mod flow;
mod incoming;
mod key;
mod named;
mod numbers;
mod order;
mod outgoing;
mod outgoing_copies;
mod recv;
mod repair;
mod rewind;
mod segments;
mod send;
mod send_buffer;
mod skips;
mod table;

use std::time::Duration;

use hawser_policy::{QueueView, Side, StreamId, Time};
use hawser_wire::TransportParameters;
use hawser_wire::codepoints::private::feature;

use crate::connection::work;
use crate::{TransportConfig, send_memory};

use assembler::Budget;
use control::Control;
use due::Due;
use events::Events;
use flow::{ReceiveWindow, SendCredit};
use key::Key;
use numbers::{LocalStreams, PeerStreams};
use order::SendOrder;
use outgoing::WholePacket;
use recv::{Arrived, RecvStream, Shared};
use send::{Amounts, SendStream, WriteBlock};
use skips::Skips;
use table::{Stream, Table};

pub(crate) use copies::{ANY_ROUND, Carried};
pub use errors::{Chunk, ClosedStream, FrameError, ReadError, ReadOutcome, ResetAtError, WriteError};
pub use events::StreamEvent;
pub(crate) use outgoing::WrittenData;

pub(crate) use segments::Segments;

/// The send buffer before the connection sets one by its congestion windows.
const INITIAL_SEND_BUFFER: u64 = 256 << 10;

/// All streams of a connection. See the module.
///
/// Arrays of two are by direction, with bidirectional streams at index 1.
#[derive(Debug)]
pub(crate) struct Streams {
    side: Side,
    table: Table,
    local: [LocalStreams; 2],
    peer: [PeerStreams; 2],
    peer_limits: StreamLimits,
    stream_window: u64,
    stream_window_cap: u64,
    credit: SendCredit,
    shared: Shared,
    order: SendOrder,
    retransmissions: SendOrder,
    totals: Amounts,
    whole_packet: WholePacket,
    control: Control,
    skips: Skips,
    events: Events,
    /// Streams whose writers wait for room in the send buffer.
    blocked_writers: Vec<Key>,
    /// Streams whose windows, or that of the connection with them, may have to grow.
    to_be_tuned: Vec<Key>,
    send_buffer_limit: u64,
    /// What that may be raised to at present.
    send_memory_limit: u64,
    max_send_buffer: u64,
    /// Bytes sent as copies, and of these those whose original was acknowledged first.
    copied_bytes: u64,
    needless_copies: u64,
    /// Losses of a transmission of something for which another one answers.
    shared_losses: u64,
    acked_bytes: u64,
    /// When the windows were last tuned.
    now: Time,
    /// The stream on which data last came, until [`take_came`](Self::take_came) asks.
    last_received: Option<StreamId>,
    /// The one on which data last came before that was asked.
    interrupted: Option<StreamId>,
}

/// What the peer's transport parameters say of new streams.
#[derive(Clone, Copy, Debug, Default)]
struct StreamLimits {
    /// Of bidirectional streams that the peer opened.
    bidirectional_from_peer: u64,
    /// Of bidirectional streams that we opened.
    bidirectional_from_us: u64,
    unidirectional: u64,
    /// Whether it takes RESET_STREAM_AT frames.
    reset_stream_at: bool,
}

impl Streams {
    /// No streams, and no right to open any until the peer's limits are set.
    pub(crate) fn new(side: Side, config: &TransportConfig) -> Self {
        Streams {
            side,
            table: Table::default(),
            local: Default::default(),
            peer: [config.max_unidirectional_streams, config.max_bidirectional_streams].map(PeerStreams::new),
            peer_limits: StreamLimits::default(),
            stream_window: config.initial_stream_window,
            stream_window_cap: config.max_stream_window,
            credit: SendCredit::default(),
            shared: Shared {
                window: ReceiveWindow::new(
                    config.initial_connection_window,
                    config.max_connection_window,
                    Time::ZERO,
                ),
                budget: Budget::default(),
                arrived: Arrived::default(),
                refused: false,
                work: 0,
            },
            order: SendOrder::default(),
            retransmissions: SendOrder::default(),
            totals: Amounts::default(),
            whole_packet: WholePacket::default(),
            control: Control::default(),
            skips: Skips::new(),
            events: Events::default(),
            blocked_writers: Vec::new(),
            to_be_tuned: Vec::new(),
            send_buffer_limit: INITIAL_SEND_BUFFER.min(config.max_send_buffer),
            send_memory_limit: send_memory::FLOOR.min(config.max_send_buffer),
            max_send_buffer: config.max_send_buffer,
            copied_bytes: 0,
            needless_copies: 0,
            shared_losses: 0,
            acked_bytes: 0,
            now: Time::ZERO,
            last_received: None,
            interrupted: None,
        }
    }

    /// The peer's transport parameters. Limits rise only.
    pub(crate) fn set_peer_limits(&mut self, parameters: &TransportParameters) {
        let limits = &mut self.peer_limits;
        raise(&mut limits.bidirectional_from_peer, parameters.initial_max_stream_data_bidi_local);
        raise(&mut limits.bidirectional_from_us, parameters.initial_max_stream_data_bidi_remote);
        raise(&mut limits.unidirectional, parameters.initial_max_stream_data_uni);
        limits.reset_stream_at = parameters.reset_stream_at;
        self.set_skip_supported(
            parameters.features.is_some_and(|features| features.contains(feature::STREAM_SKIP)),
        );
        for key in self.table.keys() {
            let credit = self.initial_credit(key.id);
            self.raise_stream_credit(key, credit);
        }
        self.on_max_data(parameters.initial_max_data);
        self.raise_streams_limit(true, parameters.initial_max_streams_bidi);
        self.raise_streams_limit(false, parameters.initial_max_streams_uni);
    }

    fn initial_credit(&self, id: StreamId) -> u64 {
        if self.is_withheld(id) {
            return 0;
        }
        match (id.is_bidirectional(), self.is_local(id)) {
            (true, true) => self.peer_limits.bidirectional_from_us,
            (true, false) => self.peer_limits.bidirectional_from_peer,
            (false, _) => self.peer_limits.unidirectional,
        }
    }

    fn is_local(&self, id: StreamId) -> bool {
        id.initiator() == self.side
    }

    /// What waits to be sent.
    #[inline]
    pub(crate) fn queue(&self) -> QueueView {
        let credit = self.credit.left();
        QueueView::default().with(|queue| {
            queue.unsent = self.totals.gaps + self.totals.tail.min(credit);
            queue.retransmit = self.totals.lost;
            queue.connection_window_left = credit;
        })
    }

    /// Whether there is something in the queue.
    #[inline]
    pub(crate) fn has_queued(&self) -> bool {
        let totals = &self.totals;
        totals.lost > 0 || totals.gaps > 0 || (totals.tail > 0 && self.credit.left() > 0)
    }

    /// Whether data was written that is not acknowledged.
    #[inline]
    pub(crate) fn has_unacked(&self) -> bool {
        self.totals.unacked > 0
    }

    /// Whether data is written and unsent, all of which flow control holds back.
    pub(crate) fn is_held_by_flow_control(&self) -> bool {
        self.totals.unsent > 0 && !self.has_queued()
    }

    /// The next event.
    #[inline]
    pub(crate) fn poll_event(&mut self) -> Option<StreamEvent> {
        self.events.poll()
    }

    /// Grows receive windows that seem to limit the peer. To be called before control frames are written, once per
    /// batch of packets; `limits` tells the largest smoothed round-trip time of the paths in use, and what no window
    /// grows beyond.
    //= rfc9000-4.2-1: credit does not wait for a BLOCKED frame
    #[inline]
    pub(crate) fn update_windows(&mut self, now: Time, limits: impl FnOnce() -> (Duration, u64)) {
        self.now = now;
        if !self.to_be_tuned.is_empty() {
            let (rtt, most) = limits();
            self.tune_windows(now, rtt, most);
        }
    }

    #[inline(never)]
    fn tune_windows(&mut self, now: Time, rtt: Duration, most: u64) {
        while let Some(key) = self.to_be_tuned.pop() {
            let Some(recv) = self.table.recv_mut(key) else { continue };
            recv.to_be_tuned = false;
            let window = recv.window_mut();
            // Room for one stream to use its whole window while others move as well.
            window.tune(now, rtt, most);
            let size = window.size();
            self.shared.window.grow_to((size + size / 2).min(most));
            self.note_stream_window(key);
        }
        self.shared.window.tune(now, rtt, most);
        self.note_connection_window();
    }

    fn note_connection_window(&mut self) {
        self.control.max_data |= self.shared.window.wants_update();
    }

    fn note_stream_window(&mut self, key: Key) {
        let Some(recv) = self.table.recv_mut(key) else { return };
        if recv.wants_credit() && recv.window_mut().wants_update() {
            self.control.add(&mut self.table, key, Due::MAX_DATA);
        }
    }

    /// Bytes that the streams may hold unacknowledged before writes are blocked: about twice what is in flight keeps
    /// the paths busy, more only adds delay. And `most`, which is what the endpoint allows.
    pub(crate) fn set_send_buffer_limit(&mut self, bytes: u64, most: u64) {
        self.send_memory_limit = most.min(self.max_send_buffer);
        self.send_buffer_limit = bytes.min(self.send_memory_limit);
        self.wake_writers();
    }

    /// Bytes of memory in the send buffers.
    #[inline]
    pub(crate) fn buffered(&self) -> u64 {
        self.totals.held
    }

    /// Frees what is held unread: the connection is over, and nobody will read it.
    pub(crate) fn release_received(&mut self) {
        for key in self.table.keys() {
            if let Some(recv) = self.table.recv_mut(key) {
                recv.release(&mut self.shared);
            }
        }
    }

    /// Bytes from the first unread one of each stream to the highest received.
    #[inline]
    pub(crate) fn unread(&self) -> u64 {
        self.shared.window.unconsumed()
    }

    /// Whether data came since this was last asked.
    pub(crate) fn take_came(&mut self) -> bool {
        let last = self.last_received.take();
        self.interrupted = last.or(self.interrupted);
        last.is_some()
    }

    /// Whether the peer fell silent in the middle of something: more of the stream on which data came when
    /// [`take_came`](Self::take_came) was last true, or the answer on one that we opened, is still to come.
    pub(crate) fn is_interrupted(&self) -> bool {
        let is_awaited = |stream: &Stream| {
            let is_answer = self.is_local(stream.id) && stream.id.is_bidirectional();
            let is_awaited = is_answer || Some(stream.id) == self.interrupted;
            is_awaited && stream.recv.as_ref().is_some_and(RecvStream::awaits_data)
        };
        self.interrupted.is_some() && self.table.iter().any(is_awaited)
    }

    /// Whether more of a stream is to come.
    pub(crate) fn awaits_data(&mut self) -> bool {
        let mut looked_at = 0;
        let awaits = |stream: &Stream| {
            looked_at += 1;
            stream.recv.as_ref().is_some_and(RecvStream::awaits_data)
        };
        let is_awaited = self.table.iter().any(awaits);
        self.shared.work += looked_at * work::LOOKUP;
        is_awaited
    }

    /// Whether something was refused since this was last asked, for lack of room: the packet that it came in is not to be
    /// acknowledged, so that the peer sends it again.
    #[inline]
    pub(crate) fn take_refused(&mut self) -> bool {
        std::mem::take(&mut self.shared.refused)
    }

    /// Units of work that the peer's frames have cost since this was last asked, besides the price of each frame.
    #[inline]
    pub(crate) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.shared.work) + std::mem::take(&mut self.shared.budget.work)
    }

    /// What arrived, and how much of it was there already.
    pub(crate) fn arrived(&self) -> Arrived {
        self.shared.arrived
    }

    /// Bytes that were acknowledged, each counted once.
    pub(crate) fn acked_bytes(&self) -> u64 {
        self.acked_bytes
    }

    /// Gives back memory of busier times.
    pub(crate) fn shrink(&mut self) {
        self.table.shrink();
        self.order.shrink();
        self.retransmissions.shrink();
        self.control.shrink();
        self.events.shrink();
        self.blocked_writers.shrink_to_fit();
        self.to_be_tuned.shrink_to_fit();
    }

    /// Bytes of memory held, roughly.
    pub(crate) fn memory(&self) -> u64 {
        let streams: u64 = self
            .table
            .iter()
            .map(|stream| {
                let send = stream.send.as_ref().map_or(0, |send| send.memory() as u64);
                send + stream.recv.as_ref().map_or(0, RecvStream::held)
            })
            .sum();
        streams + self.totals.held + self.table.memory() as u64
    }

    // --- life of a stream ---

    fn has_send_half(&self, id: StreamId) -> bool {
        id.is_bidirectional() || self.is_local(id)
    }

    fn has_receive_half(&self, id: StreamId) -> bool {
        id.is_bidirectional() || !self.is_local(id)
    }

    /// The state of an open stream, made now if need be; `None` if it was never opened or has ended.
    #[inline]
    fn open_stream(&mut self, id: StreamId) -> Option<Key> {
        match self.table.find(id) {
            Some(key) => Some(key),
            None => self.make_stream(id),
        }
    }

    fn make_stream(&mut self, id: StreamId) -> Option<Key> {
        let kind = usize::from(id.is_bidirectional());
        let local = self.is_local(id);
        let open =
            if local { self.local[kind].is_open(id.index()) } else { self.peer[kind].is_open(id.index()) };
        if !open {
            return None;
        }
        let send = self.has_send_half(id).then(|| SendStream::new(self.initial_credit(id)));
        let recv = self
            .has_receive_half(id)
            .then(|| RecvStream::new(self.stream_window, self.stream_window_cap, self.now));
        Some(self.table.insert(Stream { id, send, recv, due: Due::default() }))
    }

    /// Changes a sending half, and brings totals and send order up to date.
    #[inline]
    fn update_send<R>(&mut self, key: Key, change: impl FnOnce(&mut SendStream) -> R) -> Option<R> {
        let send = self.table.send_mut(key)?;
        let before = send.amounts();
        let result = change(send);
        let after = send.amounts();
        self.totals.replace(&before, &after);
        if !send.queued && send.has_unsent() {
            send.queued = true;
            self.order.begin(send.priority, key, &mut send.turn);
        }
        if !send.requeued && after.lost > 0 {
            send.requeued = true;
            self.retransmissions.push(send.priority, key);
        }
        Some(result)
    }

    /// Frees the sending half if it has ended.
    //= rfc9000-3.3-1: nothing is sent on a stream that has ended
    fn settle_send(&mut self, key: Key) {
        let Some(send) = self.table.send_mut(key) else { return };
        if !send.is_done() {
            return;
        }
        if send.is_finishing() {
            self.events.push(StreamEvent::Finished(key.id));
        }
        let amounts = send.amounts();
        let (priority, queued, requeued) = (send.priority, send.queued, send.requeued);
        self.totals.replace(&amounts, &Amounts::default());
        self.forget_expiry(key);
        // Where a scheduler names what it sends, no walk removed them.
        for (order, is_in) in [(&mut self.order, queued), (&mut self.retransmissions, requeued)] {
            if is_in {
                order.remove_key(priority, key);
            }
        }
        for frame in [Due::RESET, Due::BLOCKED, Due::FIN, Due::SKIP] {
            self.control.cancel(&mut self.table, key, frame);
        }
        if let Some(stream) = self.table.get_mut(key) {
            stream.send = None;
        }
        self.settle_stream(key);
    }

    /// Frees the receiving half.
    fn close_receive(&mut self, key: Key) {
        let Some(recv) = self.table.recv_mut(key) else { return };
        recv.release(&mut self.shared);
        for frame in [Due::STOP, Due::MAX_DATA] {
            self.control.cancel(&mut self.table, key, frame);
        }
        if let Some(stream) = self.table.get_mut(key) {
            stream.recv = None;
        }
        self.settle_stream(key);
    }

    /// Forgets a stream without halves; one of the peer's may then be followed by another.
    //= rfc9000-4.4-1: after a reset of one direction the other keeps its flow control
    fn settle_stream(&mut self, key: Key) {
        if !self.table.get(key).is_some_and(|stream| stream.send.is_none() && stream.recv.is_none()) {
            return;
        }
        self.table.remove(key);
        let kind = usize::from(key.id.is_bidirectional());
        if self.is_local(key.id) {
            self.local[kind].close(key.id.index());
        } else {
            self.peer[kind].close(key.id.index());
            self.control.max_streams[kind] |= self.peer[kind].wants_update();
        }
    }

    /// Room in the send buffer for a stream that has `own` bytes in it.
    fn send_space(&self, own: u64) -> u64 {
        /// Each stream may buffer this much whatever the others do, so that bulk data never shuts out a small urgent
        /// message.
        const STREAM_RESERVE: u64 = 4 << 10;
        let shared = self.send_buffer_limit.saturating_sub(self.totals.unacked);
        // Data acknowledged out of order is still held; that is bounded too, more loosely.
        let memory = self.send_memory_limit.saturating_mul(2).saturating_sub(self.totals.held);
        shared.min(memory).max(STREAM_RESERVE.saturating_sub(own))
    }

    /// Tells blocked writers that there is room, once there is enough to be worth it; urgent streams first.
    #[inline]
    fn wake_writers(&mut self) {
        if !self.blocked_writers.is_empty() && self.send_space(u64::MAX) >= self.send_buffer_limit / 8 {
            self.wake_blocked_writers();
        }
    }

    #[inline(never)]
    fn wake_blocked_writers(&mut self) {
        let mut writers = std::mem::take(&mut self.blocked_writers);
        let priority =
            |key: &Key| self.table.get(*key).and_then(|stream| stream.send.as_ref()).map(|s| s.priority);
        writers.sort_by_key(|key| std::cmp::Reverse(priority(key)));
        for key in writers.drain(..) {
            if let Some(send) = self.table.send_mut(key)
                && send.blocked == WriteBlock::Buffer
            {
                send.blocked = WriteBlock::None;
                self.events.push(StreamEvent::Writable(key.id));
            }
        }
        self.blocked_writers = writers;
    }
}

fn raise(limit: &mut u64, to: u64) {
    *limit = (*limit).max(to);
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::test_config;
