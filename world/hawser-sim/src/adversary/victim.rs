//! The node that is attacked, watched: what it holds, allocates, receives and sends.

use bytes::BytesMut;
use hawser_policy::Time;

use crate::{Node, Packet};

/// What some work took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes allocated and not freed, less those freed that were there before.
    pub held: i64,
    /// Bytes allocated in all.
    pub allocated: u64,
    /// Time that a processor spent, in nanoseconds.
    pub nanos: u64,
}

/// Measures work. It belongs to the program: it needs an allocator that counts, and perhaps a clock.
pub trait Meter {
    /// Does the work and says what it took.
    fn measure(&mut self, work: &mut dyn FnMut()) -> Usage;
}

/// A node whose every call is measured.
///
/// Payloads are copied at its border, so that what it keeps of them is its own, and what it has sent is not.
#[derive(Debug)]
pub struct Victim<N, M> {
    /// The node.
    pub node: N,
    meter: M,
    /// Since it began.
    total: Usage,
    /// Most that was held at a time.
    most_held: i64,
    /// What was held when [`begin`](Self::begin) was called.
    base: i64,
    packets_in: u64,
    bytes_in: u64,
    bytes_out: u64,
}

/// What an attack took of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Toll {
    /// Datagrams that arrived.
    pub packets_in: u64,
    /// Their UDP payload.
    pub bytes_in: u64,
    /// UDP payload that was sent.
    pub bytes_out: u64,
    /// Most memory held at a time, beyond what was held before, in bytes.
    pub most_held: u64,
    /// Memory held now, beyond what was held before, in bytes.
    pub held: u64,
    /// Memory allocated in all, freed or not, in bytes.
    pub allocated: u64,
    /// Time that a processor spent, in nanoseconds.
    pub nanos: u64,
}

impl<N: Node, M: Meter> Victim<N, M> {
    /// Watches a node.
    pub fn new(node: N, meter: M) -> Self {
        let (total, most_held, base) = (Usage::default(), 0, 0);
        Victim { node, meter, total, most_held, base, packets_in: 0, bytes_in: 0, bytes_out: 0 }
    }

    /// Counts from here on.
    pub fn begin(&mut self) {
        self.base = self.total.held;
        (self.most_held, self.total.allocated, self.total.nanos) = (self.base, 0, 0);
        (self.packets_in, self.bytes_in, self.bytes_out) = (0, 0, 0);
    }

    /// What was counted.
    pub fn toll(&self) -> Toll {
        let beyond = |held: i64| u64::try_from(held - self.base).unwrap_or(0);
        Toll {
            packets_in: self.packets_in,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            most_held: beyond(self.most_held),
            held: beyond(self.total.held),
            allocated: self.total.allocated,
            nanos: self.total.nanos,
        }
    }

    fn measured<T>(&mut self, work: impl FnOnce(&mut N) -> T) -> Option<T> {
        let (mut work, mut result) = (Some(work), None);
        let node = &mut self.node;
        let usage = self.meter.measure(&mut || result = work.take().map(|work| work(node)));
        self.total.held += usage.held;
        self.total.allocated += usage.allocated;
        self.total.nanos += usage.nanos;
        self.most_held = self.most_held.max(self.total.held);
        result
    }
}

impl<N: Node, M: Meter> Node for Victim<N, M> {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        self.packets_in += 1;
        self.bytes_in += packet.payload.len() as u64;
        self.measured(|node| {
            let payload = BytesMut::from(&packet.payload[..]);
            node.handle_packet(
                now,
                Packet { payload, ..Packet::new(packet.tuple, packet.ecn, BytesMut::new()) },
            );
        });
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let packet = self.measured(|node| node.poll_transmit(now)).flatten()?;
        let payload = BytesMut::from(&packet.payload[..]);
        self.bytes_out += payload.len() as u64;
        let (tuple, ecn, label) = (packet.tuple, packet.ecn, packet.label);
        self.measured(|_| drop(packet));
        Some(Packet { label, ..Packet::new(tuple, ecn, payload) })
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.measured(Node::poll_timeout).flatten()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.measured(|node| node.handle_timeout(now));
    }
}
