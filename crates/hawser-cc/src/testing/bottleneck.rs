//! A model of flows through drop-tail links: bulk senders that pace, acknowledgements one by one that are never lost, loss
//! found by three later packets. Deterministic, and quick enough for minutes of virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use hawser_policy::{
    Ack, CongestionController, ControllerInit, DeliverySample, GroupId, LimitedBy, Loss, LossCause, PathId,
    Rate, Sent, Sibling, Siblings, Time,
};

use super::{DATAGRAM, build_with, init};
use crate::random::Random;

const JITTER_HOLD: Duration = Duration::from_millis(20);
const BYTES: u64 = DATAGRAM as u64;

/// A drop-tail link.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// From when on which rate holds, bit/s.
    pub(crate) rates: Vec<(Time, u64)>,
    pub(crate) buffer: u64,
    /// Share of packets lost at random.
    pub(crate) loss: f64,
    /// Every so many packets one is lost.
    pub(crate) loss_every: Option<u64>,
    carried: u64,
    overflows: u64,
    /// Mean of a delay that takes another value every [`JITTER_HOLD`], without changing the order of packets.
    pub(crate) jitter: Duration,
    noise: (Time, Duration),
    idle_at: Time,
    random: Random,
}

impl Link {
    /// `megabits` per second with a buffer of so many bytes.
    pub(crate) fn new(megabits: f64, buffer: u64) -> Link {
        Link {
            rates: vec![(Time::ZERO, (megabits * 1e6) as u64)],
            buffer,
            loss: 0.0,
            loss_every: None,
            carried: 0,
            overflows: 0,
            jitter: Duration::ZERO,
            noise: (Time::ZERO, Duration::ZERO),
            idle_at: Time::ZERO,
            random: Random::new(7),
        }
    }

    pub(crate) fn with_loss(mut self, share: f64) -> Link {
        self.loss = share;
        self
    }

    /// Packets that found no room.
    pub(crate) fn overflows(&self) -> u64 {
        self.overflows
    }

    fn rate(&self, now: Time) -> Rate {
        let bits = self.rates.iter().rev().find(|(from, _)| *from <= now).map_or(0, |(_, bits)| *bits);
        Rate::from_bits_per_second(bits)
    }

    /// When a packet that arrives now leaves the queue, and for how long it waited; `None` if it is lost.
    fn carry(&mut self, now: Time) -> Option<(Time, Duration)> {
        let rate = self.rate(now);
        let wait = self.idle_at.since(now);
        if rate.bytes_in(wait) + BYTES > self.buffer {
            self.overflows += 1;
            return None;
        }
        self.idle_at = self.idle_at.max(now) + rate.time_for(BYTES);
        self.carried += 1;
        let hit = self.loss_every.is_some_and(|every| self.carried.is_multiple_of(every));
        (!hit && self.random.fraction() >= self.loss).then_some((self.idle_at, wait))
    }

    /// A positive normal delay around the mean, half of it its deviation.
    fn noise(&mut self, now: Time) -> Duration {
        if !self.jitter.is_zero() && now >= self.noise.0 {
            let normal = (0..12).map(|_| self.random.fraction()).sum::<f64>() - 6.0;
            self.noise = (now + JITTER_HOLD, self.jitter.mul_f64((1.0 + normal / 2.0).max(0.0)));
        }
        self.noise.1
    }
}

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

struct Packet {
    sent_at: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    inflight: u64,
    lost: u64,
    done: bool,
}

/// A bulk sender.
pub(crate) struct Flow {
    pub(crate) controller: Box<dyn CongestionController>,
    pub(crate) link: usize,
    /// Flows of one connection are siblings.
    pub(crate) connection: usize,
    rtt: Duration,
    starts: Time,
    stops: Time,
    first: u64,
    packets: VecDeque<Packet>,
    in_flight: u64,
    next_send: Time,
    last_ack_at: Time,
    heard_at: Time,
    delivered_at: Time,
    first_sent_at: Time,
    srtt: Duration,
    variance: Duration,
    min_rtt: Duration,
    recovery_until: u64,
    since_loss: u64,
    between_losses: u64,
    peak_rate: Rate,
    delivered: u64,
    lost: u64,
    pub(crate) sent: u64,
    /// Queueing delays of its packets since the last [`Network::forget`].
    pub(crate) waits: Vec<Duration>,
    delivered_before: u64,
    sent_before: u64,
    lost_before: u64,
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
        self.flows.push(Flow {
            controller: build(&start),
            link,
            connection,
            rtt,
            starts,
            stops,
            first: 0,
            packets: VecDeque::new(),
            in_flight: 0,
            next_send: starts,
            last_ack_at: starts,
            heard_at: starts,
            delivered_at: starts,
            first_sent_at: starts,
            srtt: Duration::ZERO,
            variance: Duration::ZERO,
            min_rtt: Duration::MAX,
            recovery_until: 0,
            since_loss: 0,
            between_losses: 0,
            peak_rate: Rate::ZERO,
            delivered: 0,
            lost: 0,
            sent: 0,
            waits: Vec::new(),
            delivered_before: 0,
            sent_before: 0,
            lost_before: 0,
        });
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

    /// Measures from now on.
    pub(crate) fn forget(&mut self) {
        self.measured_since = self.now;
        for flow in &mut self.flows {
            flow.waits.clear();
            (flow.delivered_before, flow.sent_before, flow.lost_before) =
                (flow.delivered, flow.sent, flow.lost);
        }
    }

    /// Delivered by a flow, Mbit/s.
    pub(crate) fn goodput(&self, flow: usize) -> f64 {
        let flow = &self.flows[flow];
        let seconds = self.now.since(self.measured_since).as_secs_f64();
        (flow.delivered - flow.delivered_before) as f64 * 8e-6 / seconds
    }

    /// Delivered by all, as a share of what a link of `megabits` carries.
    pub(crate) fn utilisation(&self, megabits: f64) -> f64 {
        (0..self.flows.len()).map(|flow| self.goodput(flow)).sum::<f64>() / megabits
    }

    /// Share of a flow's packets that were lost.
    pub(crate) fn loss(&self, flow: usize) -> f64 {
        let flow = &self.flows[flow];
        (flow.lost - flow.lost_before) as f64 / BYTES as f64 / (flow.sent - flow.sent_before).max(1) as f64
    }

    /// Mean queueing delay of a flow's packets in milliseconds.
    pub(crate) fn mean_wait(&self, flow: usize) -> f64 {
        let waits = &self.flows[flow].waits;
        waits.iter().map(Duration::as_secs_f64).sum::<f64>() * 1e3 / waits.len().max(1) as f64
    }

    /// Jain's index of all flows' goodput.
    pub(crate) fn jain(&self) -> f64 {
        let rates: Vec<f64> = (0..self.flows.len()).map(|flow| self.goodput(flow)).collect();
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
        sum * sum / (rates.len() as f64 * squares)
    }

    fn send(&mut self, index: usize) {
        let now = self.now;
        loop {
            let flow = &mut self.flows[index];
            if now < flow.starts || now >= flow.stops || now < flow.next_send {
                return;
            }
            if flow.in_flight + BYTES > flow.controller.window() {
                return;
            }
            if flow.in_flight == 0 {
                (flow.first_sent_at, flow.delivered_at) = (now, now);
                flow.heard_at = now;
            }
            let number = flow.first + flow.packets.len() as u64;
            flow.in_flight += BYTES;
            flow.sent += 1;
            flow.packets.push_back(Packet {
                sent_at: now,
                delivered: flow.delivered,
                delivered_at: flow.delivered_at,
                first_sent_at: flow.first_sent_at,
                inflight: flow.in_flight,
                lost: flow.lost,
                done: false,
            });
            let (bytes_in_flight, limited_by) = (flow.in_flight, LimitedBy::Nothing);
            flow.controller.on_sent(&Sent {
                now,
                packet_number: number,
                bytes: BYTES,
                bytes_in_flight,
                limited_by,
            });
            let link = &mut self.links[flow.link];
            if let Some((left, wait)) = link.carry(now) {
                flow.waits.push(wait);
                flow.last_ack_at = (left + flow.rtt + link.noise(now)).max(flow.last_ack_at);
                let at = flow.last_ack_at;
                self.at(at, Event::Ack(index, number));
            } else {
                let at = now + self.flows[index].timeout();
                self.at(at, Event::Silence(index));
            }
            let flow = &mut self.flows[index];
            if let Some(rate) = flow.pacing() {
                flow.next_send = flow.next_send.max(now - Duration::from_millis(1)) + rate.time_for(BYTES);
                let at = flow.next_send;
                if at > now {
                    return self.at(at, Event::Send(index));
                }
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
            siblings.push(Sibling {
                path: PathId(path as u32),
                group: GroupId(0),
                congestion_window: flow.controller.window(),
                smoothed_rtt: flow.srtt,
                min_rtt: flow.min_rtt,
                usable: !flow.srtt.is_zero() && now < flow.stops,
                max_datagram_size: DATAGRAM,
                delivery_rate: Some(flow.peak_rate),
                max_delivery_rate: Some(flow.peak_rate),
                acked_since_loss: flow.since_loss,
                acked_between_losses: flow.between_losses,
                loss_ppm: 0,
            });
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

impl Flow {
    fn timeout(&self) -> Duration {
        (self.srtt * 3).max(self.rtt * 3) + Duration::from_millis(25)
    }

    fn pacing(&self) -> Option<Rate> {
        self.controller.pacing_rate().or_else(|| {
            // As the core does (RFC 9002 section 7.7).
            let scale = if self.controller.in_slow_start() { (289, 100) } else { (5, 4) };
            (!self.srtt.is_zero())
                .then(|| Rate::from_bytes_over(self.controller.window(), self.srtt).scaled(scale.0, scale.1))
        })
    }

    fn on_rtt(&mut self, rtt: Duration) {
        if self.srtt.is_zero() {
            (self.srtt, self.variance) = (rtt, rtt / 2);
        } else {
            self.variance = (self.variance * 3 + self.srtt.abs_diff(rtt)) / 4;
            self.srtt = (self.srtt * 7 + rtt) / 8;
        }
        self.min_rtt = self.min_rtt.min(rtt);
    }

    fn acknowledge(&mut self, number: u64, now: Time, siblings: &Siblings<'_>) {
        let Some(at) = number.checked_sub(self.first).map(|at| at as usize) else { return };
        if self.packets.get(at).is_none_or(|packet| packet.done) {
            return;
        }
        let packet = &mut self.packets[at];
        packet.done = true;
        let (sent_at, prior, inflight, lost_then) =
            (packet.sent_at, packet.delivered, packet.inflight, packet.lost);
        let interval = sent_at.since(packet.first_sent_at).max(now.since(packet.delivered_at));
        self.in_flight -= BYTES;
        self.delivered += BYTES;
        self.since_loss += BYTES;
        (self.delivered_at, self.heard_at, self.first_sent_at) = (now, now, self.first_sent_at.max(sent_at));
        let rtt = now - sent_at;
        self.on_rtt(rtt);
        if number >= 3 {
            self.lose_before(number - 2, now, siblings);
        }
        let rate =
            (interval >= self.min_rtt).then(|| Rate::from_bytes_over(self.delivered - prior, interval));
        self.peak_rate = self.peak_rate.max(rate.unwrap_or(Rate::ZERO));
        let ack = Ack {
            bytes_in_recovery: if number < self.recovery_until { BYTES } else { 0 },
            largest_acked: number,
            largest_sent_at: sent_at,
            bytes_in_flight: self.in_flight,
            smoothed_rtt: self.srtt,
            rtt_variance: self.variance,
            min_rtt: self.min_rtt,
            delivered: self.delivered,
            delivery: Some(DeliverySample {
                rate,
                delivered: self.delivered - prior,
                prior_delivered: prior,
                inflight_at_send: inflight,
                lost: self.lost - lost_then,
                limited_by: LimitedBy::Nothing,
            }),
            ..super::ack(now, BYTES, rtt)
        };
        self.controller.on_ack(&ack, siblings);
        self.trim();
    }

    fn lose_before(&mut self, end: u64, now: Time, siblings: &Siblings<'_>) {
        let (first, mut packets, mut newest) = (self.first, 0, None);
        for (offset, packet) in self.packets.iter_mut().enumerate() {
            let number = first + offset as u64;
            if number >= end {
                break;
            }
            if !packet.done {
                packet.done = true;
                packets += 1;
                newest = Some((number, packet.sent_at, packet.inflight, packet.lost));
            }
        }
        let Some((number, largest_sent_at, inflight_at_send, lost_then)) = newest else { return };
        let bytes = packets * BYTES;
        self.in_flight -= bytes;
        self.lost += bytes;
        let new_epoch = number >= self.recovery_until;
        if new_epoch {
            self.recovery_until = first + self.packets.len() as u64;
            (self.between_losses, self.since_loss) = (self.since_loss, 0);
        }
        let loss = Loss {
            bytes,
            packets,
            largest_sent_at,
            largest_lost: number,
            bytes_in_flight: self.in_flight,
            inflight_at_send,
            lost_since_sent: self.lost - lost_then,
            ..super::loss(now, LossCause::Loss, new_epoch)
        };
        self.controller.on_loss(&loss, siblings);
        self.trim();
    }

    fn trim(&mut self) {
        while self.packets.front().is_some_and(|packet| packet.done) {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}
