//! A serving stack as a node of the simulator.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use hawser_core::PathStats;
use hawser_policy::{PathId, Time};
use hawser_sim::run::{DatagramPacer, ForeignServer, Meter, session_of};
use hawser_sim::tls::Randomness;
use hawser_sim::{Node, Packet};

use super::conversation::Conversation;
use super::{Received, ServingStack};
use crate::foreign::Clock;
use crate::{Arrival, Outgoing};

/// The server of a scenario: an endpoint and what it talks about with every client.
pub(super) struct Server<S> {
    stack: S,
    /// Lent to every call of the stack, whose handshakes draw from it.
    randomness: Randomness,
    clock: Clock,
    address: SocketAddr,
    /// By connection, with the session.
    conversations: BTreeMap<usize, (usize, Conversation)>,
    /// By session.
    seen: BTreeMap<usize, Seen>,
    /// The connection that sends next.
    turn: usize,
    ready: VecDeque<Packet>,
    buffer: Vec<u8>,
}

/// What is known of a session when its connection is gone, too.
#[derive(Default)]
struct Seen {
    meter: Meter,
    /// The connection on which it asks.
    connection: Option<usize>,
    /// What the connection had sent and done when it went.
    datagrams: u64,
    paths: Vec<(PathId, PathStats)>,
}

impl<S: ServingStack> Server<S> {
    pub(super) fn new(stack: S, address: SocketAddr, seed: u64, origin: Instant) -> Self {
        Server {
            stack,
            randomness: Randomness::new(seed),
            clock: Clock { origin },
            address,
            conversations: BTreeMap::new(),
            seen: BTreeMap::new(),
            turn: 0,
            ready: VecDeque::new(),
            buffer: Vec::new(),
        }
    }

    /// Lets a conversation hear what happened on its connection.
    fn service(&mut self, now: Time, connection: usize) {
        let Some((session, conversation)) = self.conversations.get_mut(&connection) else { return };
        let seen = self.seen.entry(*session).or_default();
        while let Some(happened) = self.randomness.lend(|| self.stack.poll(connection)) {
            conversation.on_event(now, happened, &mut self.stack, connection, &mut seen.meter);
        }
        if conversation.was_asked {
            seen.connection = Some(connection);
        }
        if !self.stack.is_drained(connection) {
            return;
        }
        if seen.connection == Some(connection) {
            seen.connection = None;
            seen.datagrams = conversation.pacer.as_ref().map_or(0, DatagramPacer::sent);
            seen.paths = self.stack.paths(connection);
        }
        self.stack.forget(connection);
        self.conversations.remove(&connection);
    }

    fn queue(&mut self, outgoing: Outgoing) {
        self.ready.extend(outgoing.packets(self.address, &self.buffer));
    }

    /// The connection whose turn it is, or the first after it that has something to send.
    fn fill(&mut self, now: Time) -> Option<()> {
        let instant = self.clock.instant(now);
        let later = self.conversations.range(self.turn..).map(|(connection, _)| *connection);
        let earlier = self.conversations.range(..self.turn).map(|(connection, _)| *connection);
        let order: Vec<usize> = later.chain(earlier).collect();
        for connection in order {
            self.service(now, connection);
            if !self.conversations.contains_key(&connection) {
                continue;
            }
            self.buffer.clear();
            let (stack, buffer) = (&mut self.stack, &mut self.buffer);
            if let Some(outgoing) = self.randomness.lend(|| stack.transmit(connection, instant, buffer)) {
                self.queue(outgoing);
                self.turn = connection + 1;
                return Some(());
            }
        }
        None
    }
}

impl<S: ServingStack> Node for Server<S> {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        let instant = self.clock.instant(now);
        self.buffer.clear();
        let (stack, buffer) = (&mut self.stack, &mut self.buffer);
        let arrival = Arrival::from(packet);
        let remote = arrival.remote;
        match self.randomness.lend(|| stack.receive(instant, arrival, buffer)) {
            Received::Nothing => {}
            Received::Answer(outgoing) => self.queue(outgoing),
            Received::New(connection) => {
                // The first packet comes before any NAT on the way forgets.
                self.conversations.insert(connection, (session_of(remote), Conversation::default()));
                self.service(now, connection);
            }
            Received::Connection(connection) => self.service(now, connection),
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.ready.is_empty() {
            self.fill(now)?;
        }
        self.ready.pop_front()
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        let mut next: Option<Time> = None;
        for (connection, (_, conversation)) in &self.conversations {
            let own = self.stack.timeout(*connection).map(|at| self.clock.time(at));
            let datagram = conversation.pacer.as_ref().map(DatagramPacer::next_at);
            next = [next, own, datagram].into_iter().flatten().min();
        }
        next
    }

    fn handle_timeout(&mut self, now: Time) {
        let instant = self.clock.instant(now);
        let connections: Vec<usize> = self.conversations.keys().copied().collect();
        for connection in connections {
            let stack = &mut self.stack;
            if stack.timeout(connection).is_some_and(|at| at <= instant) {
                self.randomness.lend(|| stack.expire(connection, instant));
            }
            if let Some((_, conversation)) = self.conversations.get_mut(&connection) {
                conversation.send_due(now, &mut self.stack, connection);
            }
            self.service(now, connection);
        }
    }
}

impl<S: ServingStack> ForeignServer for Server<S> {
    fn meter(&self, session: usize) -> Option<&Meter> {
        self.seen.get(&session).map(|seen| &seen.meter)
    }

    fn datagrams_sent(&self, session: usize) -> u64 {
        let Some(seen) = self.seen.get(&session) else { return 0 };
        let live = seen.connection.and_then(|connection| self.conversations.get(&connection));
        match live {
            Some((_, conversation)) => conversation.pacer.as_ref().map_or(0, DatagramPacer::sent),
            None => seen.datagrams,
        }
    }

    fn paths(&mut self, session: usize) -> Vec<(PathId, PathStats)> {
        let Some(seen) = self.seen.get(&session) else { return Vec::new() };
        match seen.connection {
            Some(connection) => self.stack.paths(connection),
            None => seen.paths.clone(),
        }
    }
}
