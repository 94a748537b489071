//! DATAGRAM frames (RFC 9221): unreliable messages that share the connection's packets.
//!
//! A message waits in a bounded queue until a packet takes it, and is then forgotten: its loss is not repaired. A
//! message can be bound to a path; others go on whichever path the scheduler gives the next packet to. Received
//! messages wait in a queue that is bounded too; where the application does not keep up the oldest are dropped, since
//! the newest are worth most to the uses that datagrams have.

use std::collections::VecDeque;

use bytes::Bytes;
use hawser_policy::PathId;
use hawser_wire::Writer;
use hawser_wire::codepoints::frame;
use hawser_wire::frame::{datagram_capacity, datagram_header_len, write_datagram_header};
use hawser_wire::varint;

use crate::{TransportConfig, TransportError};

/// Memory of a queued message beside its bytes: what bounds a queue of empty messages.
const ENTRY_OVERHEAD: usize = size_of::<Outgoing>();

/// Why a datagram was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// Drop the oldest ones: the new message is worth more.
    DropOldest,
}

/// Messages dropped so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatagramDrops {
    /// Queued for sending, and pushed out by newer ones.
    pub(crate) send_overflow: u64,
    /// Queued for sending, and too long for the path by the time a packet was built.
    pub(crate) too_large: u64,
    /// Received, and pushed out by newer ones.
    pub(crate) receive_overflow: u64,
}

#[derive(Debug)]
struct Outgoing {
    /// Orders messages of different queues by age.
    number: u64,
    data: Bytes,
}

impl Outgoing {
    fn cost(&self) -> usize {
        self.data.len() + ENTRY_OVERHEAD
    }
}

/// Messages to send in order of age, and their sum of bytes.
#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Outgoing>,
    bytes: u64,
}

impl Queue {
    fn push(&mut self, message: Outgoing) {
        self.bytes += message.data.len() as u64;
        self.messages.push_back(message);
    }

    fn pop(&mut self) -> Option<Outgoing> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.data.len() as u64;
        Some(message)
    }

    fn oldest(&self) -> Option<u64> {
        self.messages.front().map(|message| message.number)
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
    /// Cost of all queued messages.
    queued: usize,
    send_limit: usize,
    send_blocked: bool,
    /// The peer's `max_datagram_frame_size`, 0 for none.
    peer_max_frame_size: u64,
    received: VecDeque<Bytes>,
    received_cost: usize,
    receive_limit: Option<usize>,
    drops: DatagramDrops,
}

impl DatagramQueue {
    pub(crate) fn new(config: &TransportConfig) -> Self {
        DatagramQueue {
            unbound: Queue::default(),
            bound: Vec::new(),
            next_number: 0,
            queued: 0,
            send_limit: config.datagram_send_buffer,
            send_blocked: false,
            peer_max_frame_size: 0,
            received: VecDeque::new(),
            received_cost: 0,
            receive_limit: config.datagram_receive_buffer,
            drops: DatagramDrops::default(),
        }
    }

    /// The peer's `max_datagram_frame_size` (RFC 9221 section 3), 0 for none.
    pub(crate) fn set_peer_max_frame_size(&mut self, bytes: u64) {
        self.peer_max_frame_size = bytes;
    }

    /// The longest message that can be sent when a packet has room for `packet_room` bytes of frames; `None` if the
    /// peer takes no datagrams.
    pub(crate) fn max_size(&self, packet_room: usize) -> Option<usize> {
        if self.peer_max_frame_size == 0 {
            return None;
        }
        let frame = usize::try_from(self.peer_max_frame_size).unwrap_or(usize::MAX).min(packet_room);
        datagram_capacity(frame)
    }

    /// Queues a message for `path`, or for any. `packet_room` is what a packet has for frames: on that path, or the
    /// least of all paths.
    pub(crate) fn send(
        &mut self,
        data: Bytes,
        path: Option<PathId>,
        packet_room: usize,
        when_full: WhenFull,
    ) -> Result<(), SendDatagramError> {
        let max = self.max_size(packet_room).ok_or(SendDatagramError::Unsupported)?;
        if data.len() > max {
            return Err(SendDatagramError::TooLarge { max });
        }
        let message = Outgoing { number: self.next_number, data };
        while self.queued + message.cost() > self.send_limit {
            if when_full == WhenFull::Refuse || !self.drop_oldest() {
                self.send_blocked = true;
                return Err(SendDatagramError::Blocked);
            }
        }
        self.next_number += 1;
        self.queued += message.cost();
        match path {
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

    fn drop_oldest(&mut self) -> bool {
        let all = std::iter::once(&mut self.unbound).chain(self.bound.iter_mut().map(|(_, queue)| queue));
        let oldest = all.filter(|queue| queue.oldest().is_some()).min_by_key(|queue| queue.oldest());
        let Some(dropped) = oldest.and_then(Queue::pop) else { return false };
        self.queued -= dropped.cost();
        self.drops.send_overflow += 1;
        true
    }

    /// Bytes of messages that may go on any path.
    #[inline]
    pub(crate) fn queued_for_any(&self) -> u64 {
        self.unbound.bytes
    }

    /// How many these are.
    #[inline]
    pub(crate) fn count_for_any(&self) -> u64 {
        self.unbound.messages.len() as u64
    }

    /// Whether there ever was a message for one path only: if not, there is nothing to search.
    #[inline]
    pub(crate) fn any_bound(&self) -> bool {
        !self.bound.is_empty()
    }

    /// Whether messages wait for a packet on `path` and no other.
    #[inline]
    pub(crate) fn has_bound(&self, path: PathId) -> bool {
        self.bound.iter().any(|(id, queue)| *id == path && queue.oldest().is_some())
    }

    /// Whether a packet on `path` could take a message.
    #[inline]
    #[cfg(test)]
    pub(crate) fn has_pending(&self, path: PathId) -> bool {
        self.unbound.oldest().is_some() || self.has_bound(path)
    }

    /// The path is gone: what was bound to it may go on any.
    pub(crate) fn on_path_gone(&mut self, path: PathId) {
        let Some(index) = self.bound.iter().position(|(id, _)| *id == path) else { return };
        let (_, queue) = self.bound.swap_remove(index);
        let mut merged: Vec<Outgoing> = self.unbound.messages.drain(..).collect();
        merged.append(&mut queue.messages.into());
        merged.sort_by_key(|message| message.number);
        self.unbound.messages = merged.into();
        self.unbound.bytes += queue.bytes;
    }

    /// Writes messages for `path`, oldest first, until one does not fit. `empty_room` is what an empty packet of the
    /// path has for frames: what does not fit even that (the path's MTU fell) is dropped. Returns the bytes of
    /// messages written. A message that ends with the writer's buffer has no length field.
    pub(crate) fn write(&mut self, w: &mut Writer<'_>, path: PathId, empty_room: usize) -> u64 {
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
                written += length as u64;
            }
        }
        if self.bound.len() > MAX_IDLE_QUEUES {
            self.bound.retain(|(_, queue)| queue.oldest().is_some());
        }
        written
    }

    /// The queue whose oldest message is next on `path`.
    fn next_queue(&mut self, path: PathId) -> Option<&mut Queue> {
        let bound = self.bound.iter_mut().find(|(id, _)| *id == path).map(|(_, queue)| queue);
        match (self.unbound.oldest(), bound) {
            (unbound, Some(queue))
                if queue.oldest().is_some_and(|own| unbound.is_none_or(|other| own < other)) =>
            {
                Some(queue)
            }
            (Some(_), _) => Some(&mut self.unbound),
            (None, _) => None,
        }
    }

    /// Whether a refused message might be taken now. True once after each refusal, when half the queue is free.
    pub(crate) fn take_writable(&mut self) -> bool {
        self.send_blocked && self.queued <= self.send_limit / 2 && std::mem::take(&mut self.send_blocked)
    }

    /// A DATAGRAM frame. `frame_size` is its size with type and length field. Returns whether the application must be
    /// told: true for the first message since it had read all.
    pub(crate) fn on_datagram(&mut self, data: Bytes, frame_size: usize) -> Result<bool, TransportError> {
        // RFC 9221 section 3.
        let Some(limit) = self.receive_limit else {
            let reason = "datagrams were not offered";
            return Err(TransportError::protocol_violation(reason).in_frame(frame::DATAGRAM));
        };
        if frame_size as u64 > self.max_frame_size() {
            let reason = format!("datagram frame of {frame_size} bytes, {} allowed", self.max_frame_size());
            return Err(TransportError::protocol_violation(reason).in_frame(frame::DATAGRAM));
        }
        let was_empty = self.received.is_empty();
        // A short slice would pin the receive buffer it lies in.
        let data = if data.len() < MIN_SHARED { Bytes::copy_from_slice(&data) } else { data };
        self.received_cost += data.len() + ENTRY_OVERHEAD;
        self.received.push_back(data);
        while self.received_cost > limit {
            let Some(dropped) = self.received.pop_front() else { break };
            self.received_cost -= dropped.len() + ENTRY_OVERHEAD;
            self.drops.receive_overflow += 1;
        }
        Ok(was_empty && !self.received.is_empty())
    }

    fn max_frame_size(&self) -> u64 {
        max_frame_size(self.receive_limit)
    }

    /// The oldest received message.
    pub(crate) fn receive(&mut self) -> Option<Bytes> {
        let data = self.received.pop_front()?;
        self.received_cost -= data.len() + ENTRY_OVERHEAD;
        Some(data)
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
pub(crate) fn max_frame_size(receive_buffer: Option<usize>) -> u64 {
    // RFC 9221 section 3 recommends the largest value; a message longer than our buffer would be lost anyway.
    receive_buffer.map_or(0, |limit| (limit as u64).min(65_535))
}

/// Received messages shorter than this are copied.
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
