//! A model of flows through drop-tail links: bulk senders that pace, acknowledgements one by one that are never lost, loss
//! found by three later packets. Deterministic, and quick enough for minutes of virtual time.

mod flow;
mod link;
mod results;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use hawser_policy::{CongestionController, ControllerInit, PathId, Sibling, Siblings, Time};

use super::{DATAGRAM, build_with, init};
use flow::{Flow, Place};
pub(crate) use link::Link;

const BYTES: u64 = DATAGRAM as u64;

/// Round-trip time of most tests.
pub(crate) const RTT: Duration = Duration::from_millis(40);
/// What 40 Mbit/s hold in it.
pub(crate) const BDP: u64 = 200_000;

/// A flow of the controller that a text names, by itself.
pub(crate) fn alone(spec: &str, link: Link) -> Network {
    let mut network = Network::new(vec![link]);
    network.add_named(spec, (0, 0));
    network
}

/// Two flows through one link.
pub(crate) fn beside(specs: [&str; 2], link: Link) -> Network {
    let mut network = Network::new(vec![link]);
    for (connection, spec) in specs.into_iter().enumerate() {
        network.add_named(spec, (0, connection));
    }
    network
}

/// After `warm_up` seconds `measured` more are counted.
pub(crate) fn measure(mut network: Network, warm_up: u64, measured: u64) -> Network {
    network.run(Time::from_secs(warm_up));
    network.forget();
    network.run(Time::from_secs(warm_up + measured));
    network
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Send(usize),
    Ack(usize, u64),
    Silence(usize),
}

/// Links and the flows through them.
pub(crate) struct Network {
    pub(crate) now: Time,
    pub(crate) links: Vec<Link>,
    pub(crate) flows: Vec<Flow>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    sequence: u64,
    measured_since: Time,
    siblings: Vec<Sibling>,
}

impl Network {
    pub(crate) fn new(links: Vec<Link>) -> Network {
        Network {
            now: Time::ZERO,
            links,
            flows: Vec::new(),
            events: BinaryHeap::new(),
            sequence: 0,
            measured_since: Time::ZERO,
            siblings: Vec::new(),
        }
    }

    /// Adds a flow over a link, as a path of a connection, of the controller that a text names.
    pub(crate) fn add_named(&mut self, spec: &str, place: (usize, usize)) -> usize {
        self.add(|init| build_with(spec, init), place, RTT, (Time::ZERO, Time::FAR_FUTURE))
    }

    /// Adds a flow over `link` with this round-trip time without queue, for the time from `starts` to `stops`.
    pub(crate) fn add(
        &mut self,
        build: impl FnOnce(&ControllerInit) -> Box<dyn CongestionController>,
        (link, connection): (usize, usize),
        rtt: Duration,
        (starts, stops): (Time, Time),
    ) -> usize {
        let index = self.flows.len();
        let mut start = init(10 * BYTES);
        (start.path, start.now, start.seed) = (PathId(index as u32), starts, index as u64);
        self.flows.push(Flow::new(build(&start), Place { link, connection, rtt }, starts, stops));
        self.at(starts, Event::Send(index));
        index
    }

    fn at(&mut self, when: Time, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((when, self.sequence, event)));
    }

    /// Runs until `end`, and calls `look` after each event.
    pub(crate) fn run_watched(&mut self, end: Time, mut look: impl FnMut(&Network)) {
        while let Some(Reverse((now, _, _))) = self.events.peek().copied() {
            if now > end {
                break;
            }
            let Some(Reverse((_, _, event))) = self.events.pop() else { break };
            self.now = now;
            match event {
                Event::Send(flow) => self.send(flow),
                Event::Ack(flow, number) => self.acknowledge(flow, number),
                Event::Silence(flow) => self.end_silence(flow),
            }
            look(self);
        }
        self.now = end;
    }

    pub(crate) fn run(&mut self, end: Time) {
        self.run_watched(end, |_| {});
    }

    fn send(&mut self, index: usize) {
        let now = self.now;
        while self.flows[index].may_send(now) {
            let flow = &mut self.flows[index];
            let number = flow.register_sent(now);
            let link = &mut self.links[flow.link];
            if let Some((left, wait)) = link.carry(now) {
                let at = flow.acknowledged_at(left + link.noise(now), wait);
                self.at(at, Event::Ack(index, number));
            } else {
                let at = now + self.flows[index].timeout();
                self.at(at, Event::Silence(index));
            }
            if let Some(at) = self.flows[index].pace(now) {
                return self.at(at, Event::Send(index));
            }
        }
    }

    /// The connection of a flow as its controllers see it.
    fn fill_siblings(&mut self, index: usize) {
        self.siblings.clear();
        if !self.flows[index].controller.wants_siblings() {
            return;
        }
        let connection = self.flows[index].connection;
        let (now, siblings) = (self.now, &mut self.siblings);
        for (path, flow) in self.flows.iter().enumerate().filter(|(_, flow)| flow.connection == connection) {
            siblings.push(Sibling::default().with(|sibling| {
                sibling.path = PathId(path as u32);
                sibling.group = flow.controller.bottleneck_group();
                sibling.congestion_window = flow.controller.window();
                sibling.smoothed_rtt = flow.srtt;
                sibling.min_rtt = flow.min_rtt;
                sibling.usable = !flow.srtt.is_zero() && now < flow.stops;
                sibling.max_datagram_size = DATAGRAM;
                sibling.delivery_rate = Some(flow.peak_rate);
                sibling.max_delivery_rate = Some(flow.peak_rate);
                sibling.acked_since_loss = flow.since_loss;
                sibling.acked_between_losses = flow.between_losses;
                sibling.loss_ppm = 0;
            }));
        }
    }

    fn acknowledge(&mut self, index: usize, number: u64) {
        self.fill_siblings(index);
        let siblings = Siblings { own: PathId(index as u32), paths: &self.siblings };
        self.flows[index].acknowledge(number, self.now, &siblings);
        self.send(index);
    }

    /// Nothing came back for a while: what is in flight is lost.
    fn end_silence(&mut self, index: usize) {
        self.fill_siblings(index);
        let siblings = Siblings { own: PathId(index as u32), paths: &self.siblings };
        let flow = &mut self.flows[index];
        if flow.in_flight > 0 && self.now.since(flow.heard_at) >= flow.timeout() {
            let end = flow.first + flow.packets.len() as u64;
            flow.lose_before(end, self.now, &siblings);
            self.send(index);
        } else if flow.in_flight > 0 {
            let at = self.now + flow.timeout();
            self.at(at, Event::Silence(index));
        }
    }
}
