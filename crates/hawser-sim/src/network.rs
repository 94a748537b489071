use std::collections::BTreeMap;
use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hawser_core::{Ecn, FourTuple};
use hawser_link::{DirectionConfig, Link, LinkStats, derive_seed};
use hawser_policy::Time;
use rustc_hash::FxHasher;

use crate::{Node, Packet};

/// Names a link of a [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkHandle(usize);

/// What a [`Network::set_filter`] function says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Goes its way.
    Pass,
    /// Vanishes before it enters the link.
    Drop,
    /// Enters the link so much later: packets behind it overtake. (The links themselves keep the order.)
    Delay(Duration),
}

type Filter = Box<dyn FnMut(Time, LinkHandle, &Packet) -> Verdict>;

/// A packet that waits before its link.
struct Held {
    link: usize,
    up: bool,
    packet: Packet,
}

struct Pair {
    up: Link<Packet>,
    down: Link<Packet>,
}

/// A client with several links to one server: every client address leaves through a link of its own, in both
/// directions. The server has one address or several behind all links.
pub struct Network<C, S> {
    /// The node whose addresses select the link.
    pub client: C,
    /// The other node.
    pub server: S,
    links: Vec<Pair>,
    by_address: BTreeMap<IpAddr, usize>,
    /// Network address translation: what the server sees instead of a client address.
    translated: BTreeMap<SocketAddr, SocketAddr>,
    filter: Option<Filter>,
    /// By the time at which they go on; the number keeps the order of equal times.
    held: BTreeMap<(Time, u64), Held>,
    held_count: u64,
    now: Time,
    hash: FxHasher,
    delivered: u64,
    seed: u64,
}

impl<C: Node, S: Node> Network<C, S> {
    /// A network at time zero without links.
    pub fn new(client: C, server: S, seed: u64) -> Self {
        Network {
            client,
            server,
            links: Vec::new(),
            by_address: BTreeMap::new(),
            translated: BTreeMap::new(),
            filter: None,
            held: BTreeMap::new(),
            held_count: 0,
            now: Time::ZERO,
            hash: FxHasher::default(),
            delivered: 0,
            seed,
        }
    }

    /// Adds a link for the client address `address`; `up` leads to the server.
    pub fn add_link(&mut self, address: IpAddr, up: &DirectionConfig, down: &DirectionConfig) -> LinkHandle {
        let index = self.links.len();
        let seed = |direction: &str| derive_seed(self.seed, &format!("link{index}.{direction}"));
        self.links.push(Pair { up: Link::new(up, seed("up")), down: Link::new(down, seed("down")) });
        self.by_address.insert(address, index);
        LinkHandle(index)
    }

    /// Takes a link down or up in both directions, or gives it back to its schedule.
    pub fn force(&mut self, link: LinkHandle, state: Option<bool>) {
        let now = self.now.as_nanos();
        if let Some(pair) = self.links.get_mut(link.0) {
            pair.up.force(now, state);
            pair.down.force(now, state);
        }
    }

    /// From now on the server sees `outside` instead of the client's `inside` (a NAT box that lost its state).
    pub fn translate(&mut self, inside: SocketAddr, outside: SocketAddr) {
        self.translated.retain(|_, seen| *seen != outside);
        self.translated.insert(inside, outside);
    }

    /// A function that sees every packet before it enters a link and may drop or delay it.
    pub fn set_filter(&mut self, filter: impl FnMut(Time, LinkHandle, &Packet) -> Verdict + 'static) {
        self.filter = Some(Box::new(filter));
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.now
    }

    /// A number that depends on every packet delivered: when, where, how long, and its bytes.
    pub fn trace_hash(&self) -> u64 {
        self.hash.finish()
    }

    /// Packets delivered so far.
    pub fn packets_delivered(&self) -> u64 {
        self.delivered
    }

    /// Counters of a link: towards the server, and towards the client.
    pub fn link_stats(&self, link: LinkHandle) -> Option<(&LinkStats, &LinkStats)> {
        self.links.get(link.0).map(|pair| (pair.up.stats(), pair.down.stats()))
    }

    /// Runs until `done` says so or the time is `deadline`; returns whether `done` did.
    pub fn run_until(&mut self, deadline: Time, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        loop {
            self.transmit();
            if done(self) {
                return true;
            }
            let Some(next) = self.next_event().filter(|&next| next <= deadline) else {
                self.now = self.now.max(deadline);
                return false;
            };
            self.now = self.now.max(next);
            self.release();
            self.deliver();
            let now = self.now;
            if self.client.poll_timeout().is_some_and(|at| at <= now) {
                self.client.handle_timeout(now);
            }
            if self.server.poll_timeout().is_some_and(|at| at <= now) {
                self.server.handle_timeout(now);
            }
        }
    }

    /// Runs for a stretch of virtual time.
    pub fn run_to(&mut self, time: Time) {
        self.run_until(time, |_| false);
    }

    fn next_event(&mut self) -> Option<Time> {
        let links = self.links.iter().flat_map(|pair| [pair.up.next_departure(), pair.down.next_departure()]);
        let departures = links.flatten().map(Time::from_nanos);
        let held = self.held.first_key_value().map(|((at, _), _)| *at);
        departures.chain(held).chain(self.client.poll_timeout()).chain(self.server.poll_timeout()).min()
    }

    fn transmit(&mut self) {
        while let Some(packet) = self.client.poll_transmit(self.now) {
            let source = packet.tuple.local;
            let outside = self.translated.get(&source).copied().unwrap_or(source);
            let route = self.by_address.get(&source.ip()).copied();
            let packet = Packet { tuple: FourTuple { local: outside, ..packet.tuple }, ..packet };
            self.enqueue(route, true, packet);
        }
        while let Some(packet) = self.server.poll_transmit(self.now) {
            let seen = packet.tuple.remote;
            let inside =
                self.translated.iter().find(|(_, outside)| **outside == seen).map(|(inside, _)| *inside);
            // Behind a NAT that forgot, the old outside address leads nowhere.
            let inside = inside.or_else(|| (!self.translated.contains_key(&seen)).then_some(seen));
            let Some(inside) = inside else { continue };
            let route = self.by_address.get(&inside.ip()).copied();
            let packet = Packet { tuple: FourTuple { remote: inside, ..packet.tuple }, ..packet };
            self.enqueue(route, false, packet);
        }
    }

    fn enqueue(&mut self, route: Option<usize>, up: bool, packet: Packet) {
        let Some(link) = route else { return };
        let verdict =
            self.filter.as_mut().map_or(Verdict::Pass, |filter| filter(self.now, LinkHandle(link), &packet));
        match verdict {
            Verdict::Pass => self.enter(Held { link, up, packet }),
            Verdict::Drop => {}
            Verdict::Delay(delay) => {
                self.held_count += 1;
                self.held.insert((self.now + delay, self.held_count), Held { link, up, packet });
            }
        }
    }

    /// Lets the packets go whose delay is over.
    fn release(&mut self) {
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let held = entry.remove();
            self.enter(held);
        }
    }

    fn enter(&mut self, Held { link, up, packet }: Held) {
        let Some(pair) = self.links.get_mut(link) else { return };
        let link = if up { &mut pair.up } else { &mut pair.down };
        let length = packet.ip_length();
        // What the link refuses is gone, as on a real link; its statistics tell.
        let _ = link.enqueue(self.now.as_nanos(), length, packet);
    }

    fn deliver(&mut self) {
        let nanos = self.now.as_nanos();
        for index in 0..self.links.len() {
            while let Some(departure) = self.links[index].up.dequeue(nanos) {
                self.record(index, &departure.payload);
                self.server.handle_packet(self.now, departure.payload);
            }
            while let Some(departure) = self.links[index].down.dequeue(nanos) {
                self.record(index, &departure.payload);
                self.client.handle_packet(self.now, departure.payload);
            }
        }
    }

    fn record(&mut self, link: usize, packet: &Packet) {
        self.delivered += 1;
        self.hash.write_u64(self.now.as_nanos());
        self.hash.write_usize(link);
        self.hash.write_u8(packet.ecn.map_or(0, |ecn| if ecn == Ecn::Ce { 3 } else { 1 }));
        self.hash.write(&packet.payload);
    }
}
