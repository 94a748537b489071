use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hawser_core::FourTuple;
use hawser_link::{Arrival, Fabric, RouteIndex};
use hawser_policy::{Earliest, Time};
use rustc_hash::FxHashMap;

use crate::deadlines::Deadlines;
use crate::observer::Observer;
use crate::trace_hash::{TraceHash, fingerprint};
use crate::{Node, Packet};

/// The nodes of a simulation, whatever they are kept in.
pub(crate) trait Nodes {
    fn node(&mut self, index: usize) -> &mut dyn Node;
}

/// An address of a node and the ways from and to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attachment {
    /// The node with the address.
    pub(crate) owner: usize,
    /// The node at the other end.
    pub(crate) peer: usize,
    /// From the owner to the peer.
    pub(crate) up: RouteIndex,
    /// From the peer to the owner.
    pub(crate) down: RouteIndex,
}

/// What becomes of a packet before it enters a link.
pub(crate) enum Fate {
    Pass,
    Drop,
    Delay(Duration),
}

/// Decides about each packet, which is about to take this route; the number is that of the attachment.
pub(crate) type Filter = Box<dyn FnMut(Time, usize, &Packet) -> Fate>;

/// Moves packets between nodes from event to event.
///
/// A node is asked for packets and for its next deadline only after something happened to it, so that an idle node costs
/// nothing.
pub(crate) struct Engine {
    pub(crate) fabric: Fabric<Packet>,
    pub(crate) filter: Option<Filter>,
    attachments: Vec<Attachment>,
    /// Which nodes have addresses of their own, so that nobody looks for those of a server.
    has_addresses: Vec<bool>,
    by_address: FxHashMap<IpAddr, usize>,
    /// Where each route leads.
    destinations: Vec<usize>,
    /// Network address translation: what the peer sees instead of an address.
    translated: BTreeMap<SocketAddr, SocketAddr>,
    /// Packets that a filter delays, by the time at which they go on; the number keeps the order of equal times.
    held: BTreeMap<(Time, u64), (RouteIndex, Packet)>,
    held_count: u64,
    /// When which node wants attention.
    timers: Deadlines,
    touched: Vec<usize>,
    is_touched: Vec<bool>,
    now: Time,
    hash: TraceHash,
    counters: Counters,
}

/// What an engine did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived.
    pub packets: u64,
    /// Instants at which something happened.
    pub events: u64,
}

impl Engine {
    pub(crate) fn new() -> Self {
        Engine {
            fabric: Fabric::new(),
            filter: None,
            attachments: Vec::new(),
            has_addresses: Vec::new(),
            by_address: FxHashMap::default(),
            destinations: Vec::new(),
            translated: BTreeMap::new(),
            held: BTreeMap::new(),
            held_count: 0,
            timers: Deadlines::default(),
            touched: Vec::new(),
            is_touched: Vec::new(),
            now: Time::ZERO,
            hash: TraceHash::default(),
            counters: Counters::default(),
        }
    }

    /// Adds a node; they are numbered from zero.
    pub(crate) fn add_node(&mut self) {
        self.touched.push(self.is_touched.len());
        self.is_touched.push(true);
        self.has_addresses.push(false);
    }

    /// Gives a node an address; returns the number of the attachment.
    pub(crate) fn attach(&mut self, address: IpAddr, attachment: Attachment) -> usize {
        let Attachment { owner, peer, up, down } = attachment;
        let routes = up.as_usize().max(down.as_usize()) + 1;
        self.destinations.resize(self.destinations.len().max(routes), usize::MAX);
        self.destinations[down.as_usize()] = owner;
        // In this order: for traffic one way both are the same route.
        self.destinations[up.as_usize()] = peer;
        self.by_address.insert(address, self.attachments.len());
        self.has_addresses[owner] = true;
        self.attachments.push(attachment);
        self.attachments.len() - 1
    }

    /// From now on peers see `outside` instead of `inside`.
    pub(crate) fn translate(&mut self, inside: SocketAddr, outside: SocketAddr) {
        self.translated.retain(|_, seen| *seen != outside);
        self.translated.insert(inside, outside);
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn trace_hash(&self) -> u64 {
        self.hash.finish()
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// Says that a node was changed from outside.
    pub(crate) fn touch(&mut self, node: usize) {
        if !self.is_touched[node] {
            self.is_touched[node] = true;
            self.touched.push(node);
        }
    }

    /// Lets time pass without events until `time`.
    pub(crate) fn skip_to(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// When something happens next.
    pub(crate) fn next_event(&mut self) -> Option<Time> {
        let arrival = self.fabric.next_event().map(Time::from_nanos);
        let held = self.held.first_key_value().map(|((at, _), _)| *at);
        Earliest::NONE.or(arrival).or(held).or(self.timers.next()).time()
    }

    /// Sends what the touched nodes have to send, and notes their deadlines.
    pub(crate) fn transmit(&mut self, nodes: &mut impl Nodes) {
        // Nodes do not touch each other while they send, so the list can keep its memory.
        let mut touched = std::mem::take(&mut self.touched);
        // In the order of nodes, not of events: what happens at the same instant has no order.
        touched.sort_unstable();
        for index in touched.drain(..) {
            self.is_touched[index] = false;
            let node = nodes.node(index);
            while let Some(mut packet) = node.poll_transmit(self.now) {
                if let Some((attachment, route)) = self.way_of(index, &mut packet.tuple) {
                    self.filtered(attachment, route, packet);
                }
            }
            self.timers.set(index, node.poll_timeout());
        }
        self.touched = touched;
    }

    /// Goes to the next instant, at `time`, and tells the nodes what happens there.
    pub(crate) fn step(&mut self, time: Time, nodes: &mut impl Nodes, observer: &mut impl Observer) {
        self.now = self.now.max(time);
        self.counters.events += 1;
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (route, packet) = entry.remove();
            self.enter(route, packet);
        }
        self.fabric.advance(self.now.as_nanos());
        while let Some(arrival) = self.fabric.poll_arrival() {
            self.deliver(arrival, nodes, observer);
        }
        while let Some(failure) = self.fabric.poll_failure() {
            observer.failed(&failure);
        }
        while let Some(index) = self.timers.pop_due(self.now) {
            nodes.node(index).handle_timeout(self.now);
            self.touch(index);
        }
    }

    fn deliver(&mut self, arrival: Arrival<Packet>, nodes: &mut impl Nodes, observer: &mut impl Observer) {
        let Some(&destination) = self.destinations.get(arrival.route.as_usize()) else { return };
        self.counters.packets += 1;
        self.hash.packet(&arrival);
        observer.arrived(&arrival);
        nodes.node(destination).handle_packet(self.now, arrival.payload);
        self.touch(destination);
    }

    /// Finds the way of a packet of a node: from an address of its own along the route of that, or to an address of another
    /// along its return. Translates the addresses on that way.
    fn way_of(&self, node: usize, tuple: &mut FourTuple) -> Option<(usize, RouteIndex)> {
        let own = if self.has_addresses[node] { self.by_address.get(&tuple.local.ip()) } else { None };
        if let Some(&index) = own.filter(|&&index| self.attachments[index].owner == node) {
            if let Some(outside) = self.translated.get(&tuple.local) {
                tuple.local = *outside;
            }
            return Some((index, self.attachments[index].up));
        }
        if !self.translated.is_empty() {
            tuple.remote = self.translated_back(tuple.remote)?;
        }
        let &index = self.by_address.get(&tuple.remote.ip())?;
        (self.attachments[index].peer == node).then_some((index, self.attachments[index].down))
    }

    /// The address behind one that peers see. Behind a NAT that forgot, the old outside address leads nowhere.
    #[cold]
    fn translated_back(&self, seen: SocketAddr) -> Option<SocketAddr> {
        let inside = self.translated.iter().find(|(_, outside)| **outside == seen).map(|(inside, _)| *inside);
        inside.or_else(|| (!self.translated.contains_key(&seen)).then_some(seen))
    }

    fn filtered(&mut self, attachment: usize, route: RouteIndex, packet: Packet) {
        let fate = match &mut self.filter {
            None => Fate::Pass,
            Some(filter) => filter(self.now, attachment, &packet),
        };
        match fate {
            Fate::Pass => self.enter(route, packet),
            Fate::Drop => {}
            Fate::Delay(delay) => self.hold(delay, route, packet),
        }
    }

    #[cold]
    fn hold(&mut self, delay: Duration, route: RouteIndex, packet: Packet) {
        self.held_count += 1;
        self.held.insert((self.now + delay, self.held_count), (route, packet));
    }

    fn enter(&mut self, route: RouteIndex, mut packet: Packet) {
        packet.fingerprint = fingerprint(&packet.payload);
        let length = packet.ip_length();
        self.fabric.send(self.now.as_nanos(), route, length, packet);
    }
}
