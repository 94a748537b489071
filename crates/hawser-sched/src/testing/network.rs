//! A model of one sender and one receiver with several paths between them: drop-tail links, CUBIC on each path, one
//! stream. Packets are ranges of the stream; acknowledgements come back one by one and are never lost.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::time::Duration;

use hawser_cc::Cubic;
use hawser_policy::{
    Ack, Assignment, CongestionController, ControllerInit, Decision, LimitedBy, Loss, LossCause, PathChange,
    PathId, PathState, PathView, QueueView, Rate, Scheduler, Selection, Sent, Siblings, Time,
};

use super::{DATAGRAM, path, view_at};

/// Room for stream frames in a datagram of `DATAGRAM` bytes; with one frame 96 % of it are stream bytes.
const PAYLOAD: u64 = 970;
/// Header of each range.
const FRAME: u64 = 10;
/// Datagrams that one assignment sends at most.
const BATCH: u64 = 16;

/// A link: rate, round-trip time without queue, and a buffer of one bandwidth-delay product.
#[derive(Clone, Copy)]
pub(crate) struct LinkSpec {
    pub(crate) rate: Rate,
    pub(crate) rtt: Duration,
    /// From then on everything is lost.
    pub(crate) dies_at: Time,
}

pub(crate) fn link(megabits: u64, rtt_ms: u64) -> LinkSpec {
    LinkSpec {
        rate: Rate::from_megabits_per_second(megabits),
        rtt: Duration::from_millis(rtt_ms),
        dies_at: Time::FAR_FUTURE,
    }
}

/// How a transfer went.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// When the last byte was there.
    pub(crate) finished: Time,
    /// Most bytes held by the receiver because earlier ones were missing.
    pub(crate) reorder_buffer: u64,
    /// Stream bytes delivered by each path, first copies only.
    pub(crate) delivered: Vec<u64>,
    /// Longest time in which the stream made no progress.
    pub(crate) longest_stall: Duration,
}

impl Outcome {
    /// Goodput over the sum of the links' rates.
    pub(crate) fn aggregation(&self, links: &[LinkSpec]) -> f64 {
        let sum: u64 = links.iter().map(|link| link.rate.bits_per_second()).sum();
        let bytes: u64 = self.delivered.iter().sum();
        Rate::from_bytes_over(bytes, self.finished - Time::ZERO).bits_per_second() as f64 / sum as f64
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrived { path: usize, number: u64, ranges: Vec<(u64, u64)> },
    Acked { path: usize, number: u64 },
    Lost { path: usize, number: u64 },
    Wake,
}

struct InFlight {
    ranges: Vec<Range<u64>>,
    sent_at: Time,
}

struct Path {
    spec: LinkSpec,
    view: PathView,
    controller: Cubic,
    next_number: u64,
    in_flight: BTreeMap<u64, InFlight>,
    /// When the link has sent what it holds.
    idle_at: Time,
    /// Packets below this belong to an earlier recovery epoch.
    recovery_until: u64,
    copies: VecDeque<Vec<Range<u64>>>,
}

/// The whole model. `buffer` is what the application keeps queued at most, as a socket's send buffer would.
pub(crate) struct Network<'s> {
    now: Time,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    sequence: u64,
    paths: Vec<Path>,
    scheduler: &'s mut dyn Scheduler,
    unwritten: u64,
    buffer: u64,
    unsent: VecDeque<Range<u64>>,
    retransmit: VecDeque<Range<u64>>,
    written: u64,
    acked: Ranges,
    received: Ranges,
    outcome: Outcome,
    last_progress: Time,
}

/// Disjoint ranges, merged.
#[derive(Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range; how many bytes of it are new.
    fn insert(&mut self, range: &Range<u64>) -> u64 {
        let (mut start, mut end, before) = (range.start, range.end, self.total_in(range));
        let touching: Vec<u64> =
            self.0.range(..=end).rev().take_while(|(_, e)| **e >= start).map(|(s, _)| *s).collect();
        for key in touching {
            let stop = self.0.remove(&key).expect("just seen");
            (start, end) = (start.min(key), end.max(stop));
        }
        self.0.insert(start, end);
        range.end - range.start - before
    }

    fn total_in(&self, range: &Range<u64>) -> u64 {
        self.0
            .range(..range.end)
            .rev()
            .take_while(|(_, end)| **end > range.start)
            .map(|(start, end)| (*end).min(range.end) - (*start).max(range.start))
            .sum()
    }

    fn prefix(&self) -> u64 {
        self.0.get(&0).copied().unwrap_or(0)
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }
}

impl<'s> Network<'s> {
    /// Sends `bytes` over `links`; panics when the transfer does not finish within ten minutes of virtual time.
    pub(crate) fn transfer(
        scheduler: &'s mut dyn Scheduler,
        links: &[LinkSpec],
        bytes: u64,
        buffer: u64,
    ) -> Outcome {
        let mut network = Network {
            now: Time::ZERO,
            events: BinaryHeap::new(),
            sequence: 0,
            paths: links.iter().enumerate().map(|(id, spec)| Path::new(id as u32, *spec)).collect(),
            scheduler,
            unwritten: bytes,
            buffer,
            unsent: VecDeque::new(),
            retransmit: VecDeque::new(),
            written: 0,
            acked: Ranges::default(),
            received: Ranges::default(),
            outcome: Outcome {
                finished: Time::ZERO,
                reorder_buffer: 0,
                delivered: vec![0; links.len()],
                longest_stall: Duration::ZERO,
            },
            last_progress: Time::ZERO,
        };
        network.send();
        while network.received.prefix() < bytes {
            let Some(Reverse((now, _, event))) = network.events.pop() else {
                panic!("{} sends nothing more", network.scheduler.name());
            };
            assert!(now < Time::from_secs(600), "{} never finishes", network.scheduler.name());
            network.now = now;
            network.handle(event);
            network.send();
        }
        network.outcome.finished = network.now;
        network.outcome
    }

    fn at(&mut self, when: Time, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((when, self.sequence, event)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrived { path, number, ranges } => {
                let before = self.received.prefix();
                for (start, end) in ranges {
                    self.outcome.delivered[path] += self.received.insert(&(start..end));
                }
                let prefix = self.received.prefix();
                if prefix > before {
                    let stall = self.now - self.last_progress;
                    self.outcome.longest_stall = self.outcome.longest_stall.max(stall);
                    self.last_progress = self.now;
                }
                let held = self.received.total() - prefix;
                self.outcome.reorder_buffer = self.outcome.reorder_buffer.max(held);
                self.at(self.now + self.paths[path].spec.rtt / 2, Event::Acked { path, number });
            }
            Event::Acked { path, number } => {
                if let Some(packet) = self.paths[path].acknowledge(number, self.now) {
                    for range in &packet.ranges {
                        self.acked.insert(range);
                    }
                }
            }
            Event::Lost { path, number } => {
                if self.now >= self.paths[path].spec.dies_at {
                    self.paths[path].view.state = PathState::Suspect;
                    let (now, path) = (self.now, PathId(path as u32));
                    let event = hawser_policy::Event::Path { now, path, change: PathChange::Suspect };
                    self.scheduler.on_event(&event, &mut Vec::new());
                }
                if let Some(packet) = self.paths[path].lose(number, self.now) {
                    self.retransmit.extend(packet.ranges);
                }
            }
            Event::Wake => {}
        }
    }

    /// The core's loop: ask, send, ask again.
    fn send(&mut self) {
        loop {
            let acked = &self.acked;
            let is_open = |range: &Range<u64>| acked.total_in(range) < range.end - range.start;
            self.retransmit.retain(is_open);
            for path in &mut self.paths {
                path.copies.retain(|ranges| ranges.iter().any(is_open));
                path.update_view();
            }
            let queued: u64 = length(&self.unsent);
            let room = self.buffer.saturating_sub(queued).min(self.unwritten);
            if room > 0 {
                match self.unsent.back_mut() {
                    Some(last) if last.end == self.written => last.end += room,
                    _ => self.unsent.push_back(self.written..self.written + room),
                }
                self.written += room;
                self.unwritten -= room;
            }
            let views: Vec<PathView> = self.paths.iter().map(|path| path.view.clone()).collect();
            let queue = QueueView {
                unsent: length(&self.unsent),
                retransmit: length(&self.retransmit),
                connection_window_left: u64::MAX,
                ..QueueView::default()
            };
            let copies: u64 = views.iter().map(|path| path.copies_queued).sum();
            if queue.total() + copies == 0 || views.iter().all(|path| path.sendable() == 0) {
                return;
            }
            match self.scheduler.schedule(&view_at(self.now, &views, queue), &mut Vec::new()) {
                Decision::Wait(None) => return,
                Decision::Wait(Some(until)) => {
                    assert!(until > self.now, "waits for the past");
                    return self.at(until, Event::Wake);
                }
                Decision::Send(assignment) => {
                    if !self.carry_out(&assignment) {
                        return;
                    }
                }
            }
        }
    }

    /// Whether anything was sent.
    fn carry_out(&mut self, assignment: &Assignment) -> bool {
        let index = self.paths.iter().position(|path| path.view.id == assignment.path).expect("a known path");
        let mut left = assignment.max_bytes.clamp(DATAGRAM, BATCH * DATAGRAM);
        let mut sent = false;
        while left >= DATAGRAM && self.paths[index].view.sendable() > 0 {
            let ranges = self.take(index, assignment.selection);
            if ranges.is_empty() {
                break;
            }
            for other in 0..self.paths.len() {
                if assignment.copies.contains(other) {
                    self.paths[other].copies.push_back(ranges.clone());
                }
            }
            self.transmit(index, ranges);
            left -= DATAGRAM;
            sent = true;
        }
        sent
    }

    /// One datagram's worth; several ranges if the first ones are short.
    fn take(&mut self, path: usize, selection: Selection) -> Vec<Range<u64>> {
        let skip = match selection {
            Selection::Copies => return self.paths[path].copies.pop_front().unwrap_or_default(),
            Selection::Next => 0,
            Selection::Skip(bytes) => bytes,
            // There is one stream and there are no datagrams here; what is taken by name is not modelled.
            Selection::Range { .. } | Selection::Datagrams => return Vec::new(),
        };
        let (mut ranges, mut room) = (Vec::new(), PAYLOAD);
        while room > FRAME {
            let part = cut(&mut self.retransmit, 0, room - FRAME)
                .or_else(|| cut(&mut self.unsent, skip, room - FRAME));
            let Some(range) = part else { break };
            room = room.saturating_sub(range.end - range.start + FRAME);
            ranges.push(range);
        }
        ranges
    }

    fn transmit(&mut self, index: usize, ranges: Vec<Range<u64>>) {
        let now = self.now;
        let path = &mut self.paths[index];
        let number = path.next_number;
        path.next_number += 1;
        path.in_flight.insert(number, InFlight { ranges: ranges.clone(), sent_at: now });
        path.view.bytes_in_flight += DATAGRAM;
        path.view.bytes_sent += DATAGRAM;
        path.controller.on_sent(&Sent {
            now,
            packet_number: number,
            bytes: DATAGRAM,
            bytes_in_flight: path.view.bytes_in_flight,
            limited_by: LimitedBy::Nothing,
        });
        let backlog = path.spec.rate.bytes_in(path.idle_at - now);
        let serialisation = path.spec.rate.time_for(DATAGRAM);
        let (rate, rtt) = (path.spec.rate, path.spec.rtt);
        if now >= path.spec.dies_at {
            // Found by the probe timeout.
            let timeout = now + path.view.probe_timeout * 3;
            self.at(timeout, Event::Lost { path: index, number });
        } else if backlog + DATAGRAM > rate.bytes_in(rtt) {
            // Found when the three packets behind it would be acknowledged.
            let noticed = path.idle_at + serialisation * 3 + rtt;
            self.at(noticed, Event::Lost { path: index, number });
        } else {
            path.idle_at = path.idle_at.max(now) + serialisation;
            let arrival = path.idle_at + rtt / 2;
            let ranges = ranges.into_iter().map(|range| (range.start, range.end)).collect();
            self.at(arrival, Event::Arrived { path: index, number, ranges });
        }
    }
}

impl Path {
    fn new(id: u32, spec: LinkSpec) -> Path {
        let init = ControllerInit {
            path: PathId(id),
            now: Time::ZERO,
            max_datagram_size: DATAGRAM as u16,
            initial_window: 10 * DATAGRAM,
            link: None,
            remote: SocketAddr::from((Ipv4Addr::LOCALHOST, 443)),
            seed: 0,
            snapshot: None,
        };
        let mut view = path(id, 333, 0);
        (view.bytes_in_flight, view.has_rtt_sample) = (0, false);
        if id == 0 {
            // The handshake ran here.
            (view.smoothed_rtt, view.min_rtt, view.has_rtt_sample) = (spec.rtt, spec.rtt, true);
        }
        Path {
            spec,
            view,
            controller: Cubic::new(&init),
            next_number: 0,
            in_flight: BTreeMap::new(),
            idle_at: Time::ZERO,
            recovery_until: 0,
            copies: VecDeque::new(),
        }
    }

    fn update_view(&mut self) {
        self.view.congestion_window = self.controller.window();
        self.view.in_slow_start = self.controller.in_slow_start();
        self.view.copies_queued = self.copies.len() as u64;
        self.view.probe_timeout =
            self.view.smoothed_rtt + 4 * self.view.rtt_variance + Duration::from_millis(25);
    }

    fn acknowledge(&mut self, number: u64, now: Time) -> Option<InFlight> {
        let packet = self.in_flight.remove(&number)?;
        let view = &mut self.view;
        view.bytes_in_flight -= DATAGRAM;
        view.bytes_acked += DATAGRAM;
        let rtt = now - packet.sent_at;
        if view.has_rtt_sample {
            view.rtt_variance = (view.rtt_variance * 3 + view.smoothed_rtt.abs_diff(rtt)) / 4;
            view.smoothed_rtt = (view.smoothed_rtt * 7 + rtt) / 8;
            view.min_rtt = view.min_rtt.min(rtt);
        } else {
            (view.smoothed_rtt, view.rtt_variance, view.min_rtt) = (rtt, rtt / 2, rtt);
        }
        (view.latest_rtt, view.has_rtt_sample) = (rtt, true);
        let ack = Ack {
            now,
            bytes: DATAGRAM,
            bytes_in_recovery: if number < self.recovery_until { DATAGRAM } else { 0 },
            packets: 1,
            largest_acked: number,
            largest_sent_at: packet.sent_at,
            bytes_in_flight: view.bytes_in_flight,
            received_on: view.id,
            latest_rtt: Some(rtt),
            raw_rtt: Some(rtt),
            smoothed_rtt: view.smoothed_rtt,
            rtt_variance: view.rtt_variance,
            min_rtt: view.min_rtt,
            one_way_delay: None,
            // The window was not the limit.
            limited_by: match view.bytes_in_flight + 4 * DATAGRAM < view.congestion_window / 2 {
                true => LimitedBy::Application,
                false => LimitedBy::CongestionWindow,
            },
            delivered: view.bytes_acked,
            delivery: None,
            ecn_ce: 0,
        };
        self.controller.on_ack(&ack, &Siblings::NONE);
        Some(packet)
    }

    fn lose(&mut self, number: u64, now: Time) -> Option<InFlight> {
        let packet = self.in_flight.remove(&number)?;
        self.view.bytes_in_flight -= DATAGRAM;
        self.view.bytes_lost += DATAGRAM;
        let new_epoch = number >= self.recovery_until;
        if new_epoch {
            self.recovery_until = self.next_number;
        }
        let loss = Loss {
            now,
            cause: LossCause::Loss,
            bytes: DATAGRAM,
            packets: 1,
            largest_sent_at: packet.sent_at,
            largest_lost: number,
            bytes_in_flight: self.view.bytes_in_flight,
            inflight_at_send: 0,
            lost_since_sent: 0,
            limited_by: LimitedBy::Nothing,
            new_epoch,
        };
        self.controller.on_loss(&loss, &Siblings::NONE);
        Some(packet)
    }
}

fn length(ranges: &VecDeque<Range<u64>>) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

/// Takes up to `most` bytes of one range after the first `skip` bytes.
fn cut(ranges: &mut VecDeque<Range<u64>>, mut skip: u64, most: u64) -> Option<Range<u64>> {
    for index in 0..ranges.len() {
        let range = ranges[index].clone();
        let available = range.end - range.start;
        if skip >= available {
            skip -= available;
            continue;
        }
        let start = range.start + skip;
        let taken = start..range.end.min(start + most);
        ranges[index].end = taken.start;
        if taken.end < range.end {
            ranges.insert(index + 1, taken.end..range.end);
        }
        if ranges[index].is_empty() {
            ranges.remove(index);
        }
        return Some(taken);
    }
    None
}
