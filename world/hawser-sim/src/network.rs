use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hawser_link::{DirectionConfig, LinkIndex, LinkStats, derive_seed};
use hawser_policy::Time;

use crate::engine::{Attachment, Engine, Fate, Nodes};
use crate::observer::Blind;
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
    /// Enters the link so much later: packets behind it overtake.
    Delay(Duration),
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Both nodes, for the engine.
struct Both<'a, C, S>(&'a mut C, &'a mut S);

impl<C: Node, S: Node> Nodes for Both<'_, C, S> {
    fn node(&mut self, index: usize) -> &mut dyn Node {
        if index == CLIENT { self.0 } else { self.1 }
    }
}

/// A client with several links to one server: every client address leaves through a link of its own, in both
/// directions. The server has one address or several behind all links.
///
/// This is the small form of a simulation, for tests that look into both ends; [`Simulation`](crate::run::Simulation) is the large one.
pub struct Network<C, S> {
    /// The node whose addresses select the link.
    pub client: C,
    /// The other node.
    pub server: S,
    /// Up, down.
    links: Vec<[LinkIndex; 2]>,
    engine: Engine,
    seed: u64,
}

impl<C: Node, S: Node> Network<C, S> {
    /// A network at time zero without links.
    pub fn new(client: C, server: S, seed: u64) -> Self {
        let mut engine = Engine::new();
        engine.add_node();
        engine.add_node();
        Network { client, server, links: Vec::new(), engine, seed }
    }

    /// Adds a link for the client address `address`; `up` leads to the server.
    pub fn add_link(&mut self, address: IpAddr, up: &DirectionConfig, down: &DirectionConfig) -> LinkHandle {
        let index = self.links.len();
        let seed = |direction: &str| derive_seed(self.seed, &format!("link{index}.{direction}"));
        let fabric = &mut self.engine.fabric;
        let links = [fabric.add_link(up, seed("up")), fabric.add_link(down, seed("down"))];
        let [up, down] = links.map(|link| fabric.add_route(&[link]));
        self.links.push(links);
        self.engine.attach(address, Attachment { owner: CLIENT, peer: SERVER, up, down });
        LinkHandle(index)
    }

    /// Takes a link down or up in both directions, or gives it back to its schedule.
    pub fn force(&mut self, link: LinkHandle, state: Option<bool>) {
        let now = self.engine.now().as_nanos();
        for index in self.links.get(link.0).into_iter().flatten() {
            self.engine.fabric.force(now, *index, state);
        }
    }

    /// From now on the server sees `outside` instead of the client's `inside` (a NAT box that lost its state).
    pub fn translate(&mut self, inside: SocketAddr, outside: SocketAddr) {
        self.engine.translate(inside, outside);
    }

    /// A function that sees every packet before it enters a link and may drop or delay it.
    pub fn set_filter(&mut self, mut filter: impl FnMut(Time, LinkHandle, &Packet) -> Verdict + 'static) {
        self.engine.filter =
            Some(Box::new(move |now, link, packet| match filter(now, LinkHandle(link), packet) {
                Verdict::Pass => Fate::Pass,
                Verdict::Drop => Fate::Drop,
                Verdict::Delay(delay) => Fate::Delay(delay),
            }));
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// A number that depends on every packet delivered: when, where, how long, and what.
    pub fn trace_hash(&self) -> u64 {
        self.engine.trace_hash()
    }

    /// Packets delivered so far.
    pub fn packets_delivered(&self) -> u64 {
        self.engine.counters().packets
    }

    /// Counters of a link: towards the server, and towards the client.
    pub fn link_stats(&self, link: LinkHandle) -> Option<(&LinkStats, &LinkStats)> {
        let [up, down] = self.links.get(link.0)?;
        Some((self.engine.fabric.stats(*up)?, self.engine.fabric.stats(*down)?))
    }

    /// Runs until `done` says so or the time is `deadline`; returns whether `done` did.
    pub fn run_until(&mut self, deadline: Time, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        loop {
            // Tests change nodes between two calls, and in `done`.
            self.engine.touch(CLIENT);
            self.engine.touch(SERVER);
            self.engine.transmit(&mut Both(&mut self.client, &mut self.server));
            if done(self) {
                return true;
            }
            let Some(next) = self.engine.next_event().filter(|&next| next <= deadline) else {
                self.engine.skip_to(deadline);
                return false;
            };
            self.engine.step(next, &mut Both(&mut self.client, &mut self.server), &mut Blind);
        }
    }

    /// Runs for a stretch of virtual time.
    pub fn run_to(&mut self, time: Time) {
        self.run_until(time, |_| false);
    }
}
