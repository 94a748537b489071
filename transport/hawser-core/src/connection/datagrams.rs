//! DATAGRAM frames (RFC 9221): unreliable messages that share the connection's packets.
//!
//! A message waits in a bounded queue until a packet takes it, and is then forgotten: its loss is not repaired. A
//! message can be bound to a path; others go on whichever path the scheduler gives the next packet to. Messages of higher
//! priority go first, and one whose deadline passes before it left is dropped. Received
//! messages wait in a queue that is bounded too; where the application does not keep up the oldest are dropped, since
//! the newest are worth most to the uses that datagrams have.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::ControlFlow;

use bytes::Bytes;
use hawser_policy::{DatagramInfo, Earliest, PathId, QueuedDatagram, Time};
use hawser_wire::Writer;
use hawser_wire::codepoints::frame;
use hawser_wire::frame::{datagram_capacity, datagram_header_len, write_datagram_header};
use hawser_wire::varint;

use crate::{TransportConfig, TransportError};

/// Memory of a queued message besides its bytes: what bounds a queue of empty messages.
const ENTRY_OVERHEAD: usize = size_of::<Outgoing>();

/// The same of a received message.
const RECEIVED_OVERHEAD: usize = size_of::<ReceivedDatagram>();

/// A message that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceivedDatagram {
    /// What it says.
    pub data: Bytes,
    /// Whether a router on the way marked its packet because of congestion (ECN-CE).
    pub is_marked: bool,
}

/// Why a datagram was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendDatagramError {
    /// The peer takes none.
    #[error("the peer does not accept datagrams")]
    Unsupported,
    /// It fits no packet.
    #[error("the datagram is longer than the {max} bytes that fit a packet")]
    TooLarge {
        /// The longest that is possible now, in bytes.
        max: usize,
    },
    /// The queue is full.
    #[error("the datagram queue is full")]
    Blocked,
    /// The path that it was meant for cannot be sent on.
    #[error("there is no path {0} to send on")]
    NoPath(PathId),
}

/// What a send queue does when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// Refuse the new message.
    Refuse,
    /// Drop the oldest of the lowest priority: the new message is worth more.
    DropOldest,
}

/// Messages dropped so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatagramDrops {
    /// Queued for sending, and pushed out by newer ones.
    pub(crate) send_overflow: u64,
    /// Queued for sending, and too long for the path by the time a packet was built.
    pub(crate) too_large: u64,
    /// Queued for sending until their deadline.
    pub(crate) expired: u64,
    /// Received, and pushed out by newer ones.
    pub(crate) receive_overflow: u64,
}

/// The order in which messages leave, whatever queue they are in: by priority, then by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    priority: Reverse<i32>,
    number: u64,
}

#[derive(Debug)]
struct Outgoing {
    rank: Rank,
    class: u32,
    deadline: Option<Time>,
    data: Bytes,
}

impl Outgoing {
    fn cost(&self) -> usize {
        self.data.len() + ENTRY_OVERHEAD
    }
}

/// Messages to send in the order of their ranks, and their sum of bytes.
#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Outgoing>,
    bytes: u64,
}

impl Queue {
    fn push(&mut self, message: Outgoing) {
        self.bytes += message.data.len() as u64;
        if self.messages.back().is_none_or(|last| last.rank < message.rank) {
            self.messages.push_back(message);
        } else {
            let at = self.messages.partition_point(|other| other.rank < message.rank);
            self.messages.insert(at, message);
        }
    }

    fn pop(&mut self) -> Option<Outgoing> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.data.len() as u64;
        Some(message)
    }

    fn first(&self) -> Option<Rank> {
        self.messages.front().map(|message| message.rank)
    }

    /// The place of the message that is worth least, and its rank: the oldest of those of the lowest priority.
    fn least(&self) -> Option<(usize, Rank)> {
        let lowest = self.messages.back()?.rank.priority;
        let at = self.messages.partition_point(|message| message.rank.priority < lowest);
        Some((at, self.messages.get(at)?.rank))
    }

    fn remove(&mut self, at: usize) -> Option<Outgoing> {
        let message = self.messages.remove(at)?;
        self.bytes -= message.data.len() as u64;
        Some(message)
    }

    /// Drops messages whose deadline is past; returns how many, and what they cost.
    fn expire(&mut self, now: Time) -> (u64, usize) {
        let (mut count, mut cost) = (0, 0);
        self.messages.retain(|message| {
            let expired = message.deadline.is_some_and(|deadline| deadline <= now);
            if expired {
                count += 1;
                cost += message.cost();
                self.bytes -= message.data.len() as u64;
            }
            !expired
        });
        (count, cost)
    }
}

/// Datagrams of a connection, both ways.
#[derive(Debug)]
pub(crate) struct DatagramQueue {
    /// For any path.
    unbound: Queue,
    /// For one path each. Few paths: a linear search is best.
    bound: Vec<(PathId, Queue)>,
    next_number: u64,
    /// When the next message expires.
    next_expiry: Earliest,
    /// Cost of all queued messages.
    queued: usize,
    send_limit: usize,
    send_blocked: bool,
    /// The peer's `max_datagram_frame_size`, 0 for none.
    peer_max_frame_size: u64,
    received: VecDeque<ReceivedDatagram>,
    received_cost: usize,
    receive_limit: Option<usize>,
    drops: DatagramDrops,
    moved: u64,
}

impl DatagramQueue {
    pub(crate) fn new(config: &TransportConfig) -> Self {
        DatagramQueue {
            unbound: Queue::default(),
            bound: Vec::new(),
            next_number: 0,
            next_expiry: Earliest::NONE,
            queued: 0,
            send_limit: config.datagram_send_buffer,
            send_blocked: false,
            peer_max_frame_size: 0,
            received: VecDeque::new(),
            received_cost: 0,
            receive_limit: config.datagram_receive_buffer,
            drops: DatagramDrops::default(),
            moved: 0,
        }
    }

    /// The peer's `max_datagram_frame_size` (RFC 9221 section 3), 0 for none.
    pub(crate) fn set_peer_max_frame_size(&mut self, bytes: u64) {
        self.peer_max_frame_size = bytes;
    }

    /// The longest message that can be sent when a packet has room for `packet_room` bytes of frames; `None` if the
    /// peer takes no datagrams.
    //= rfc9221-3-1: no DATAGRAM before the peer's max_datagram_frame_size
    //= rfc9221-3-2: no DATAGRAM above the peer's max_datagram_frame_size
    pub(crate) fn max_size(&self, packet_room: usize) -> Option<usize> {
        if self.peer_max_frame_size == 0 {
            return None;
        }
        let frame = usize::try_from(self.peer_max_frame_size).unwrap_or(usize::MAX).min(packet_room);
        datagram_capacity(frame)
    }

    /// Queues a message. `packet_room` is what a packet has for frames: on that path, or the
    /// least of all paths.
    //= rfc9221-5.4-1: congestion control delays or drops DATAGRAM
    pub(crate) fn send(
        &mut self,
        data: Bytes,
        info: &DatagramInfo,
        packet_room: usize,
        when_full: WhenFull,
    ) -> Result<(), SendDatagramError> {
        let max = self.max_size(packet_room).ok_or(SendDatagramError::Unsupported)?;
        if data.len() > max {
            return Err(SendDatagramError::TooLarge { max });
        }
        let rank = Rank { priority: Reverse(info.priority), number: self.next_number };
        let message = Outgoing { rank, class: info.class, deadline: info.deadline, data };
        while self.queued + message.cost() > self.send_limit {
            if when_full == WhenFull::Refuse || !self.drop_least(rank) {
                self.send_blocked = true;
                return Err(SendDatagramError::Blocked);
            }
        }
        self.next_number += 1;
        self.queued += message.cost();
        self.next_expiry = self.next_expiry.or(info.deadline);
        match info.path {
            None => self.unbound.push(message),
            Some(path) => self.bound_queue(path).push(message),
        }
        Ok(())
    }

    fn bound_queue(&mut self, path: PathId) -> &mut Queue {
        let index = self.bound.iter().position(|(id, _)| *id == path).unwrap_or_else(|| {
            self.bound.push((path, Queue::default()));
            self.bound.len() - 1
        });
        &mut self.bound[index].1
    }

    fn queues_mut(&mut self) -> impl Iterator<Item = &mut Queue> {
        std::iter::once(&mut self.unbound).chain(self.bound.iter_mut().map(|(_, queue)| queue))
    }

    /// Drops the message that is worth least, if it is worth no more than the one of this rank.
    fn drop_least(&mut self, rank: Rank) -> bool {
        let least = self.queues_mut().filter_map(|queue| queue.least().map(|(at, rank)| (queue, at, rank)));
        let least = least.max_by_key(|(_, _, least)| (least.priority, Reverse(least.number)));
        let Some((queue, at, _)) = least.filter(|(_, _, least)| least.priority >= rank.priority) else {
            return false;
        };
        let Some(dropped) = queue.remove(at) else { return false };
        self.queued -= dropped.cost();
        self.drops.send_overflow += 1;
        true
    }

    /// Bytes of messages that may go on any path, and one more for each, the least that a frame adds: an empty message is
    /// something to send as well (RFC 9221 section 4).
    #[inline]
    pub(crate) fn queued_for_any(&self) -> u64 {
        self.unbound.bytes + self.unbound.messages.len() as u64
    }

    /// Whether there are any.
    #[inline]
    pub(crate) fn has_for_any(&self) -> bool {
        !self.unbound.messages.is_empty()
    }

    /// How many these are.
    #[inline]
    pub(crate) fn count_for_any(&self) -> u64 {
        self.unbound.messages.len() as u64
    }

    /// Calls `visit` for each of them in order until it breaks.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&QueuedDatagram) -> ControlFlow<()>) {
        for message in &self.unbound.messages {
            let Outgoing { rank, class, deadline, ref data } = *message;
            let priority = rank.priority.0;
            let datagram = QueuedDatagram::default().with(|datagram| {
                datagram.bytes = data.len() as u64;
                datagram.class = class;
                datagram.priority = priority;
                datagram.deadline = deadline;
            });
            if visit(&datagram).is_break() {
                return;
            }
        }
    }

    /// When [`expire`](Self::expire) should be called.
    #[inline]
    pub(crate) fn next_expiry(&self) -> Option<Time> {
        self.next_expiry.time()
    }

    /// Drops messages whose deadline is past. To be called before data is planned.
    #[inline]
    pub(crate) fn expire(&mut self, now: Time) {
        if self.next_expiry().is_some_and(|at| at <= now) {
            self.drop_expired(now);
        }
    }

    #[cold]
    fn drop_expired(&mut self, now: Time) {
        let (mut count, mut cost, mut next) = (0, 0, Earliest::NONE);
        for queue in self.queues_mut() {
            let (more, freed) = queue.expire(now);
            count += more;
            cost += freed;
            next = queue.messages.iter().fold(next, |next, message| next.or(message.deadline));
        }
        self.queued -= cost;
        self.drops.expired += count;
        self.next_expiry = next;
    }

    /// Whether there ever was a message for one path only: if not, there is nothing to search.
    #[inline]
    pub(crate) fn any_bound(&self) -> bool {
        !self.bound.is_empty()
    }

    /// Whether messages wait for a packet on `path` and no other.
    #[inline]
    pub(crate) fn has_bound(&self, path: PathId) -> bool {
        self.bound.iter().any(|(id, queue)| *id == path && queue.first().is_some())
    }

    /// Whether a packet on `path` could take a message.
    #[inline]
    #[cfg(test)]
    pub(crate) fn has_pending(&self, path: PathId) -> bool {
        self.unbound.first().is_some() || self.has_bound(path)
    }

    /// The path is gone: what was bound to it may go on any.
    pub(crate) fn on_path_gone(&mut self, path: PathId) {
        let Some(index) = self.bound.iter().position(|(id, _)| *id == path) else { return };
        let (_, queue) = self.bound.swap_remove(index);
        let mut merged: Vec<Outgoing> = self.unbound.messages.drain(..).collect();
        merged.append(&mut queue.messages.into());
        merged.sort_by_key(|message| message.rank);
        self.unbound.messages = merged.into();
        self.unbound.bytes += queue.bytes;
    }

    /// Writes messages for `path`, urgent and old ones first, until one does not fit. `empty_room` is what an empty packet
    /// of the path has for frames: what does not fit even that (the path's MTU fell) is dropped. Returns how many messages
    /// were written. A message that ends with the writer's buffer has no length field.
    //= rfc9221-5-1: DATAGRAM is sent soon, with other frames
    #[inline]
    pub(crate) fn write(&mut self, w: &mut Writer<'_>, path: PathId, empty_room: usize) -> usize {
        // Nearly always, and asked for every packet.
        if self.queued == 0 && self.bound.is_empty() {
            return 0;
        }
        self.write_waiting(w, path, empty_room)
    }

    #[inline(never)]
    fn write_waiting(&mut self, w: &mut Writer<'_>, path: PathId, empty_room: usize) -> usize {
        let max = self.max_size(empty_room).unwrap_or(0);
        let mut written = 0;
        while let Some(queue) = self.next_queue(path) {
            let Some(length) = queue.messages.front().map(|message| message.data.len()) else { break };
            let too_large = length > max;
            if !too_large && datagram_header_len(None) + length > w.remaining() {
                break;
            }
            let Some(message) = queue.pop() else { break };
            self.queued -= message.cost();
            if too_large {
                self.drops.too_large += 1;
            } else if write_message(w, &message.data).is_some() {
                written += 1;
                self.moved += 1;
            }
        }
        if self.bound.len() > MAX_IDLE_QUEUES {
            self.bound.retain(|(_, queue)| queue.first().is_some());
        }
        written
    }

    /// The queue whose first message is next on `path`.
    fn next_queue(&mut self, path: PathId) -> Option<&mut Queue> {
        let bound = self.bound.iter_mut().find(|(id, _)| *id == path).map(|(_, queue)| queue);
        match (self.unbound.first(), bound) {
            (unbound, Some(queue))
                if queue.first().is_some_and(|own| unbound.is_none_or(|other| own < other)) =>
            {
                Some(queue)
            }
            (Some(_), _) => Some(&mut self.unbound),
            (None, _) => None,
        }
    }

    /// Whether a message was refused, and nobody was told yet that there is room.
    #[inline]
    pub(crate) fn was_refused(&self) -> bool {
        self.send_blocked
    }

    /// Whether a refused message might be taken now. True once after each refusal, when half the queue is free.
    pub(crate) fn take_writable(&mut self) -> bool {
        self.send_blocked && self.queued <= self.send_limit / 2 && std::mem::take(&mut self.send_blocked)
    }

    /// A DATAGRAM frame. `frame_size` is its size with type and length field. Returns whether the application must be
    /// told: true for the first message since it had read all.
    //= rfc9221-3-3: DATAGRAM that was not offered: PROTOCOL_VIOLATION
    //= rfc9221-3-4: a DATAGRAM that is too long: PROTOCOL_VIOLATION
    pub(crate) fn on_datagram(
        &mut self,
        data: Bytes,
        frame_size: usize,
        is_marked: bool,
    ) -> Result<bool, TransportError> {
        // RFC 9221 section 3.
        let Some(limit) = self.receive_limit else {
            let reason = "datagrams were not offered";
            return Err(TransportError::protocol_violation(reason).in_frame(frame::DATAGRAM));
        };
        if frame_size as u64 > self.max_frame_size() {
            let reason = format!("datagram frame of {frame_size} bytes, {} allowed", self.max_frame_size());
            return Err(TransportError::protocol_violation(reason).in_frame(frame::DATAGRAM));
        }
        self.moved += 1;
        let was_empty = self.received.is_empty();
        // A slice pins the receive buffer it lies in: a short one always, any that waits behind others when nobody reads.
        let copies = data.len() < MIN_SHARED || !was_empty;
        let data = if copies { Bytes::copy_from_slice(&data) } else { data };
        self.received_cost += data.len() + RECEIVED_OVERHEAD;
        self.received.push_back(ReceivedDatagram { data, is_marked });
        while self.received_cost > limit {
            let Some(dropped) = self.received.pop_front() else { break };
            self.received_cost -= dropped.data.len() + RECEIVED_OVERHEAD;
            self.drops.receive_overflow += 1;
        }
        Ok(was_empty && !self.received.is_empty())
    }

    /// Messages that were written into packets and that arrived, so far.
    pub(crate) fn moved(&self) -> u64 {
        self.moved
    }

    fn max_frame_size(&self) -> u64 {
        max_frame_size(self.receive_limit)
    }

    /// The oldest received message.
    pub(crate) fn receive(&mut self) -> Option<ReceivedDatagram> {
        let message = self.received.pop_front()?;
        self.received_cost -= message.data.len() + RECEIVED_OVERHEAD;
        Some(message)
    }

    /// What the received messages cost.
    #[inline]
    pub(crate) fn received_cost(&self) -> u64 {
        self.received_cost as u64
    }

    /// What was dropped so far.
    pub(crate) fn drops(&self) -> DatagramDrops {
        self.drops
    }

    /// Bytes of memory held, roughly.
    pub(crate) fn memory(&self) -> u64 {
        (self.queued + self.received_cost) as u64
    }
}

/// The `max_datagram_frame_size` to announce with this much buffer for received messages, 0 for none.
//= rfc9221-3-5 (not done): max_datagram_frame_size of 65535 is offered
pub(crate) fn max_frame_size(receive_buffer: Option<usize>) -> u64 {
    // RFC 9221 section 3 recommends the largest value; a message longer than our buffer would be lost anyway.
    receive_buffer.map_or(0, |limit| (limit as u64).min(65_535))
}

/// Received messages shorter than this are copied, even if they may be read at once.
const MIN_SHARED: usize = 512;

/// Queues of paths that may be gone are cleaned up above this number.
const MAX_IDLE_QUEUES: usize = 16;

/// Writes a message that fits with the shortest header.
fn write_message(w: &mut Writer<'_>, data: &[u8]) -> Option<()> {
    let left = w.remaining().checked_sub(datagram_header_len(None) + data.len())?;
    let length = if left >= varint::len(data.len() as u64) {
        Some(data.len() as u64)
    } else {
        // PADDING before the frame lets it end with the packet, where it needs no length.
        w.write_zeros(left).ok()?;
        None
    };
    write_datagram_header(w, length).ok()?;
    w.write_bytes(data).ok()
}

#[cfg(test)]
mod tests;
