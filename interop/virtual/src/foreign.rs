use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use hawser_core::{Ecn, FourTuple};
use hawser_policy::Time;
use hawser_sim::{Node, Packet};

use crate::Exchange;

/// A datagram that arrived for a foreign stack.
#[derive(Debug)]
pub struct Arrival {
    /// At which of its addresses.
    pub local: IpAddr,
    /// From where.
    pub remote: SocketAddr,
    /// The ECN field.
    pub ecn: Option<Ecn>,
    /// What it carries.
    pub payload: BytesMut,
}

impl From<Packet> for Arrival {
    /// Who is local to the sender of a packet is remote to its receiver.
    fn from(packet: Packet) -> Self {
        let FourTuple { local: remote, remote: local } = packet.tuple;
        Arrival { local: local.ip(), remote, ecn: packet.ecn, payload: packet.payload }
    }
}

/// Datagrams that a foreign stack wants sent; their bytes are in the buffer it was given.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Where to.
    pub remote: SocketAddr,
    /// From which of its addresses, if that matters to it.
    pub local: Option<IpAddr>,
    /// The ECN field.
    pub ecn: Option<Ecn>,
    /// Bytes in the buffer.
    pub size: usize,
    /// Size of each datagram but the last, if there are several.
    pub segment_size: Option<usize>,
}

impl Outgoing {
    /// Cuts the buffer that it was given with into datagrams from `local`.
    pub(crate) fn packets(self, local: SocketAddr, buffer: &[u8]) -> impl Iterator<Item = Packet> {
        let tuple = FourTuple { local, remote: self.remote };
        let segment = self.segment_size.unwrap_or(self.size).max(1);
        let datagrams = buffer[..self.size].chunks(segment);
        datagrams.map(move |payload| Packet::new(tuple, self.ecn, BytesMut::from(payload)))
    }
}

/// Translates between the time of the simulation and the instants of a foreign stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The stack's instant at the time zero of the simulation.
    pub(crate) origin: Instant,
}

impl Clock {
    pub(crate) fn instant(self, time: Time) -> Instant {
        self.origin + Duration::from_nanos(time.as_nanos())
    }

    pub(crate) fn time(self, instant: Instant) -> Time {
        Time::from_nanos(instant.saturating_duration_since(self.origin).as_nanos() as u64)
    }
}

/// A foreign endpoint with one connection.
pub trait Stack {
    /// A datagram arrived. An answer of the endpoint itself is appended to `buffer`.
    fn receive(&mut self, now: Instant, arrival: Arrival, buffer: &mut Vec<u8>) -> Option<Outgoing>;

    /// The next datagrams, appended to `buffer`.
    fn transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing>;

    /// When [`expire`](Stack::expire) should be called.
    fn timeout(&mut self) -> Option<Instant>;

    /// The timer expired.
    fn expire(&mut self, now: Instant);

    /// Passes events between endpoint, connection and application. `time` is the same as `now`, for the record.
    fn service(&mut self, now: Instant, time: Time, exchange: &mut Exchange);
}

/// A foreign stack as a node of the simulator.
pub struct Foreign<S> {
    /// The stack.
    pub stack: S,
    /// Its application.
    pub exchange: Exchange,
    clock: Clock,
    /// Its addresses, the first being the one used when the stack names none: these stacks know no local ports.
    addresses: Vec<SocketAddr>,
    ready: VecDeque<Packet>,
    buffer: Vec<u8>,
}

impl<S: Stack> Foreign<S> {
    /// A node with these addresses. The stack was made at `origin`.
    pub fn new(stack: S, exchange: Exchange, origin: Instant, addresses: Vec<SocketAddr>) -> Self {
        let clock = Clock { origin };
        Foreign { stack, exchange, clock, addresses, ready: VecDeque::new(), buffer: Vec::new() }
    }

    /// The stack's word for a time.
    pub fn instant(&self, now: Time) -> Instant {
        self.clock.instant(now)
    }

    fn queue(&mut self, outgoing: Outgoing) {
        let local = match outgoing.local {
            Some(ip) => self.addresses.iter().copied().find(|address| address.ip() == ip),
            None => self.addresses.first().copied(),
        };
        let Some(local) = local else { return };
        self.ready.extend(outgoing.packets(local, &self.buffer));
    }
}

impl<S: Stack> Node for Foreign<S> {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        let instant = self.instant(now);
        self.buffer.clear();
        if let Some(outgoing) = self.stack.receive(instant, packet.into(), &mut self.buffer) {
            self.queue(outgoing);
        }
        self.stack.service(instant, now, &mut self.exchange);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.ready.is_empty() {
            let instant = self.instant(now);
            self.stack.service(instant, now, &mut self.exchange);
            self.buffer.clear();
            let outgoing = self.stack.transmit(instant, &mut self.buffer)?;
            self.queue(outgoing);
        }
        self.ready.pop_front()
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.stack.timeout().map(|at| self.clock.time(at))
    }

    fn handle_timeout(&mut self, now: Time) {
        let instant = self.instant(now);
        self.stack.expire(instant);
        self.stack.service(instant, now, &mut self.exchange);
    }
}
