//! The run itself.

use std::time::Duration;

use hawser_policy::{Registry, Time};
use hawser_scenario::{Direction, Scenario};

use super::addresses;
use super::attachments::{Order, Target};
use super::build::{Options, Parts, RouteInfo, build};
use super::delivery::Settled;
use super::error::RunError;
use super::meter::{Delays, Meter};
use super::participant::Participant;
use super::recorder::{FlowSample, LinkSample, PathSample, Recorder};
use super::summary::{End, Outcome};
use super::tap::PacketTap;

/// The longest a scenario without a duration may take: what has not ended by then never will.
const LONGEST: Duration = Duration::from_secs(3600);

/// A scenario that can be run once.
pub struct Simulation {
    pub(super) scenario: Scenario,
    pub(super) parts: Parts,
    /// Of all packets by route.
    delays: Vec<Delays>,
    /// When a NAT on the way of a link forgets; the last comes first.
    rebindings: Vec<(Time, usize)>,
    rebound: usize,
}

impl Simulation {
    /// Puts everything into place.
    ///
    /// # Errors
    /// [`RunError`]: a policy that does not exist, a scenario without an end.
    pub fn new(scenario: &Scenario, registry: &Registry, options: Options) -> Result<Self, RunError> {
        let parts = build(scenario, registry, options)?;
        let delays = vec![Delays::default(); parts.routes.len()];
        let rebindings = scenario.links.iter().enumerate().flat_map(|(index, link)| {
            link.nat_rebinding.iter().map(move |at| (Time::from_nanos(*at), index))
        });
        let mut rebindings: Vec<_> = rebindings.collect();
        rebindings.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Simulation { scenario: scenario.clone(), parts, delays, rebindings, rebound: 0 })
    }

    /// Runs to the end.
    pub fn run<R: Recorder>(&mut self, recorder: &mut R) -> Outcome {
        let limit = Time::ZERO + self.scenario.duration.unwrap_or(LONGEST);
        let interval = recorder.sample_interval();
        let mut next_sample = interval.map(|_| Time::ZERO);
        if recorder.wants_packets() {
            self.parts.engine.fabric.keep_failures();
        }
        if recorder.wants_deliveries() {
            self.parts.followed.start();
        }
        self.parts.notes.start(recorder.wants_notes());
        let names: Vec<String> = self.link_names().map(str::to_owned).collect();
        let end = loop {
            if self.parts.attachments.has_orders() {
                self.apply_attachments();
            }
            let Parts { engine, participants, .. } = &mut self.parts;
            engine.transmit(participants);
            self.tell_deliveries(recorder);
            self.tell_notes(recorder);
            if self.is_finished() {
                break End::Finished;
            }
            if !recorder.goes_on() {
                break End::Stopped;
            }
            let Some(next) = self.parts.engine.next_event() else { break End::Quiet };
            if next <= limit && self.parts.engine.counters().events >= self.scenario.limits.events {
                break End::Events;
            }
            // A sample has everything of its time, so the next event is later. The end takes its own, also where one is due.
            while let Some(at) = next_sample.filter(|at| *at < next.min(limit)) {
                self.sample(at, recorder);
                next_sample = interval.map(|interval| at + interval);
            }
            if next > limit {
                self.parts.engine.skip_to(limit);
                break End::Duration;
            }
            while let Some((_, link)) = self.rebindings.pop_if(|(at, _)| *at <= next) {
                self.rebind(link);
            }
            let wanted = recorder.wants_packets();
            let Parts { engine, participants, routes, followed, .. } = &mut self.parts;
            let delays = &mut self.delays;
            let mut tap = PacketTap { recorder, wanted, delays, routes, links: &names, followed };
            engine.step(next, participants, &mut tap);
        };
        self.sample(self.parts.engine.now(), recorder);
        self.outcome(end)
    }

    /// Delays of the packets that arrived over a link, end to end, in one direction.
    pub fn delays(&self, link: &str, direction: Direction) -> Option<&Delays> {
        let is = |route: &RouteInfo| route.name == link && route.direction == direction;
        self.delays.get(self.parts.routes.iter().position(is)?)
    }

    /// What the receiving end of a connection saw; `None` when there is no such flow. UDP flows have no connection.
    pub fn meter(&self, flow: &str) -> Option<Meter> {
        let number = self.parts.sessions.iter().position(|info| self.flow_name(*info) == flow)?;
        Some(self.received(number, self.parts.sessions[number]).0)
    }

    /// Data is read between two instants, when nodes are asked what they have to send.
    fn tell_deliveries<R: Recorder>(&self, recorder: &mut R) {
        while let Some((label, settled)) = self.parts.followed.poll_settled() {
            let at = (settled == Settled::Delivered).then_some(self.parts.engine.now());
            recorder.settled(label, at);
        }
    }

    fn tell_notes<R: Recorder>(&self, recorder: &mut R) {
        while let Some((flow, note)) = self.parts.notes.poll() {
            recorder.note(&self.parts.flows[flow].name, note);
        }
    }

    /// Whether all flows that are waited for have done their work.
    fn is_finished(&self) -> bool {
        let clients = self.parts.participants.0.iter().filter_map(|node| match node {
            Participant::Clients(host) => Some(&host.application),
            _ => None,
        });
        let (mut awaited, mut left) = (0, 0);
        for application in clients {
            awaited += application.awaited;
            left += application.awaited_left;
        }
        awaited > 0 && left == 0
    }

    /// Moves links to where policies want them attached.
    fn apply_attachments(&mut self) {
        let Parts { engine, attachments, link_routes, links, .. } = &mut self.parts;
        while let Some(Order { link, to, number }) = attachments.poll_order() {
            let Some(of_scenario) = self.scenario.links.get(link) else { continue };
            let now = engine.now().as_nanos();
            let outage = of_scenario.attach_outage.unwrap_or(0);
            let seed = |direction: Direction| {
                let seed = self.scenario.seed_of(&of_scenario.name, direction);
                hawser_link::derive_seed(seed, &format!("attachment {number}"))
            };
            let config = |direction: Direction| match &to {
                Target::Route(_) => {
                    let config = of_scenario.direction(direction).clone();
                    let outages = config.outages.clone().with_window(now, now + outage);
                    hawser_link::DirectionConfig { outages, ..config }
                }
                Target::Profile(profile) => of_scenario.following(direction, profile),
            };
            if let Target::Route(alternative) = to {
                for route in link_routes.get(link).into_iter().flatten() {
                    engine.fabric.choose(*route, alternative);
                }
                if outage == 0 {
                    continue;
                }
            }
            for direction in Direction::BOTH {
                let index = links[link][direction as usize];
                engine.fabric.reconfigure(now, index, &config(direction), seed(direction));
            }
        }
    }

    /// The NAT of a link forgets all its mappings.
    fn rebind(&mut self, link: usize) {
        self.rebound += 1;
        for (number, session) in self.parts.sessions.iter().enumerate() {
            if self.parts.flows[session.flow].links.contains(&link) {
                let port = addresses::FIRST_PORT + number as u16;
                let inside = std::net::SocketAddr::new(addresses::interface(link), port);
                self.parts.engine.translate(inside, addresses::rebound(inside, self.rebound));
            }
        }
    }

    pub(super) fn link_names(&self) -> impl Iterator<Item = &str> {
        let links = self.scenario.links.iter().map(|link| link.name.as_str());
        links.chain(self.scenario.segments.iter().map(|segment| segment.name.as_str()))
    }

    fn sample<R: Recorder>(&mut self, at: Time, recorder: &mut R) {
        if recorder.sample_interval().is_none() {
            return;
        }
        for number in 0..self.parts.sessions.len() {
            let info = self.parts.sessions[number];
            let flow = self.flow_name(info);
            let (meter, _) = self.received(number, info);
            let waiting = self.arrived(number, info).saturating_sub(meter.bytes);
            let completed = meter.completed;
            recorder.flow(&FlowSample { at, flow: &flow, bytes: meter.bytes, completed, waiting });
            for (path, link, stats) in self.sender_paths(number, info) {
                let link = link.map_or("", |link| self.scenario.links[link].name.as_str());
                recorder.path(&PathSample { at, flow: &flow, path, link, stats: &stats });
            }
        }
        for (index, name) in self.link_names().enumerate() {
            for direction in Direction::BOTH {
                let fabric = &self.parts.engine.fabric;
                let link = self.parts.links[index][direction as usize];
                let Some(stats) = fabric.stats(link) else { continue };
                recorder.link(&LinkSample {
                    at,
                    link: name,
                    direction,
                    up: fabric.is_up(at.as_nanos(), link),
                    queued_bytes: fabric.queued_bytes(link),
                    delivered_bytes: stats.delivered_bytes,
                    dropped_packets: stats.dropped_packets(),
                });
            }
        }
    }
}
