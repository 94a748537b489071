use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use hawser_core::{Ecn, FourTuple};
use hawser_policy::Time;
use hawser_sim::{Node, Packet};

use crate::Exchange;

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

/// A foreign endpoint with one connection.
pub trait Stack {
    /// A datagram arrived at the local address `local`. An answer of the endpoint itself is appended to `buffer`.
    fn receive(
        &mut self,
        now: Instant,
        local: IpAddr,
        remote: SocketAddr,
        ecn: Option<Ecn>,
        payload: BytesMut,
        buffer: &mut Vec<u8>,
    ) -> Option<Outgoing>;

    /// The next datagrams, appended to `buffer`.
    fn transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing>;

    /// When [`expire`](Stack::expire) should be called.
    fn timeout(&mut self) -> Option<Instant>;

    /// The time has come.
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
    /// The stack's instant at the time zero of the simulation.
    origin: Instant,
    /// Its addresses, the first being the one used when the stack names none: these stacks know no local ports.
    addresses: Vec<SocketAddr>,
    ready: VecDeque<Packet>,
    buffer: Vec<u8>,
}

impl<S: Stack> Foreign<S> {
    /// A node with these addresses. The stack was made at `origin`.
    pub fn new(stack: S, exchange: Exchange, origin: Instant, addresses: Vec<SocketAddr>) -> Self {
        Foreign { stack, exchange, origin, addresses, ready: VecDeque::new(), buffer: Vec::new() }
    }

    /// The stack's word for a time.
    pub fn instant(&self, now: Time) -> Instant {
        self.origin + Duration::from_nanos(now.as_nanos())
    }

    fn time(&self, instant: Instant) -> Time {
        Time::from_nanos(instant.saturating_duration_since(self.origin).as_nanos() as u64)
    }

    /// Cuts the buffer into datagrams.
    fn queue(&mut self, outgoing: Outgoing) {
        let local = match outgoing.local {
            Some(ip) => self.addresses.iter().copied().find(|address| address.ip() == ip),
            None => self.addresses.first().copied(),
        };
        let Some(local) = local else { return };
        let tuple = FourTuple { local, remote: outgoing.remote };
        let segment = outgoing.segment_size.unwrap_or(outgoing.size).max(1);
        for payload in self.buffer[..outgoing.size].chunks(segment) {
            self.ready.push_back(Packet::new(tuple, outgoing.ecn, BytesMut::from(payload)));
        }
    }
}

impl<S: Stack> Node for Foreign<S> {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        let (local, remote) = (packet.tuple.remote, packet.tuple.local);
        let instant = self.instant(now);
        self.buffer.clear();
        let answer =
            self.stack.receive(instant, local.ip(), remote, packet.ecn, packet.payload, &mut self.buffer);
        if let Some(outgoing) = answer {
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
        self.stack.timeout().map(|at| self.time(at))
    }

    fn handle_timeout(&mut self, now: Time) {
        let instant = self.instant(now);
        self.stack.expire(instant);
        self.stack.service(instant, now, &mut self.exchange);
    }
}
