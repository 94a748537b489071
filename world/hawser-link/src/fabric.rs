//! Links joined to a network: packets travel along routes of links.
//!
//! ```text
//!   route 0:  wifi0.up ----+
//!                          +--> bottleneck.up --> arrival
//!   route 1:  lte0.up -----+
//! ```
//!
//! A route is fixed for a packet when it is sent. What leaves one link enters the next at that very nanosecond, however
//! late [`Fabric::advance`] is called: the emulator, which is always a little late, computes the same times as the
//! simulator.

use std::collections::{BTreeMap, VecDeque};

use crate::config::{DirectionConfig, mean};
use crate::foresight::{Foresight, RouteForesight};
use crate::frame::{Frame, prefetch_value};
use crate::link::Link;
use crate::series::Series;
use crate::stats::DropCause;
use crate::stats::LinkStats;
use crate::time::{NEVER, Nanos};
use crate::timer_queue::TimerQueue;

/// Names a link of a [`Fabric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkIndex(u32);

/// Names a route of a [`Fabric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteIndex(u32);

impl LinkIndex {
    /// Counts from zero in the order of [`Fabric::add_link`].
    pub fn as_usize(self) -> usize {
        self.0 as usize
    }
}

impl RouteIndex {
    /// Counts from zero in the order of [`Fabric::add_route`].
    pub fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// Links and the routes over them.
#[derive(Debug)]
pub struct Fabric<P> {
    /// What the links are made of, for those who want to know their future.
    configs: Vec<(DirectionConfig, u64)>,
    /// Of links that were reconfigured.
    changed: BTreeMap<usize, Changed>,
    foresights: Vec<Option<Foresight>>,
    /// Packets are boxed: on their way through a link they are moved half a dozen times.
    links: Vec<Link<Box<Transit<P>>>>,
    /// Boxes of packets that have arrived. The next packets take those that are still in the processor's cache.
    spare: Vec<Box<Transit<P>>>,
    routes: Vec<Route>,
    /// When which link wants attention.
    due: TimerQueue,
    arrivals: VecDeque<Arrived<P>>,
    failures: Option<VecDeque<Failure<P>>>,
}

/// What a link is made of since somebody reconfigured it.
#[derive(Debug)]
struct Changed {
    since: Nanos,
    config: DirectionConfig,
    seed: u64,
    /// What it could carry until then; `None` when unlimited.
    bits_before: Option<u64>,
}

#[derive(Debug)]
struct Route {
    alternatives: Vec<Box<[LinkIndex]>>,
    schedule: Series<usize>,
    /// What somebody chose instead of what the schedule says.
    chosen: Option<usize>,
}

/// Boxes kept for reuse.
const MAX_SPARE: usize = 64;

/// A packet on its way. Its layout is fixed for the sake of `prefetch`: a payload of about two cache lines, and the rest.
#[derive(Debug)]
#[repr(C, align(64))]
struct Transit<P> {
    /// `None` in spare boxes only.
    payload: Option<P>,
    sent: Nanos,
    route: RouteIndex,
    alternative: u32,
    /// Links already crossed.
    hop: u32,
}

/// A packet at the end of its route, still in its box.
#[derive(Debug)]
struct Arrived<P> {
    at: Nanos,
    length: u32,
    transit: Box<Transit<P>>,
}

impl<P: Frame> Frame for Transit<P> {
    fn is_ecn_capable(&self) -> bool {
        self.payload.as_ref().is_some_and(P::is_ecn_capable)
    }

    fn mark_congestion_experienced(&mut self) {
        self.payload.as_mut().map(P::mark_congestion_experienced);
    }

    fn flow(&self) -> u64 {
        self.payload.as_ref().map_or(0, P::flow)
    }

    fn corrupt(&mut self, position: u64) {
        if let Some(payload) = &mut self.payload {
            payload.corrupt(position);
        }
    }

    fn duplicate(&self) -> Self {
        Self { payload: self.payload.as_ref().map(P::duplicate), ..*self }
    }

    fn prefetch(&self, others: usize) {
        if others > 0 {
            prefetch_value(&self.payload);
            prefetch_value(&self.sent);
            prefetch_value(&self.hop);
        } else if let Some(payload) = &self.payload {
            payload.prefetch(0);
        }
    }
}

/// A packet at the end of its route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival<P> {
    /// When it arrived; not after the `now` of the call that moved it.
    pub at: Nanos,
    /// When it was sent.
    pub sent: Nanos,
    /// The route it took.
    pub route: RouteIndex,
    /// Bytes of the IP packet.
    pub length: u32,
    /// What was handed to [`Fabric::send`].
    pub payload: P,
}

/// A packet that did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure<P> {
    /// When it was dropped.
    pub at: Nanos,
    /// When it was sent.
    pub sent: Nanos,
    /// The route it was on.
    pub route: RouteIndex,
    /// The link that dropped it.
    pub link: LinkIndex,
    /// Why.
    pub cause: DropCause,
    /// Bytes of the IP packet.
    pub length: u32,
    /// What was handed to [`Fabric::send`].
    pub payload: P,
}

impl<P: Frame> Default for Fabric<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Frame> Fabric<P> {
    /// A network without links.
    pub fn new() -> Self {
        Fabric {
            configs: Vec::new(),
            changed: BTreeMap::new(),
            foresights: Vec::new(),
            links: Vec::new(),
            spare: Vec::new(),
            routes: Vec::new(),
            due: TimerQueue::default(),
            arrivals: VecDeque::new(),
            failures: None,
        }
    }

    /// Adds a link at the start of its schedule.
    pub fn add_link(&mut self, config: &DirectionConfig, seed: u64) -> LinkIndex {
        let mut link = Link::new(config, seed);
        link.keep_dropped(self.failures.is_some());
        self.links.push(link);
        self.configs.push((config.clone(), seed));
        self.foresights.push(None);
        LinkIndex((self.links.len() - 1) as u32)
    }

    /// Adds a route over these links, in this order; without links packets arrive at once.
    pub fn add_route(&mut self, links: &[LinkIndex]) -> RouteIndex {
        self.add_scheduled_route(vec![links.into()], Series::constant(0))
    }

    /// Adds a route that changes: `schedule` tells which of `alternatives` a packet sent at a time takes.
    ///
    /// # Panics
    /// When the schedule names an alternative that is not there, or a link is not of this network.
    pub fn add_scheduled_route(
        &mut self,
        alternatives: Vec<Box<[LinkIndex]>>,
        schedule: Series<usize>,
    ) -> RouteIndex {
        assert!(schedule.points().iter().all(|point| point.1 < alternatives.len()), "no such alternative");
        assert!(alternatives.iter().flatten().all(|link| link.as_usize() < self.links.len()), "no such link");
        self.routes.push(Route { alternatives, schedule, chosen: None });
        RouteIndex((self.routes.len() - 1) as u32)
    }

    /// From now on packets take this alternative of a route, whatever its schedule says. Returns whether there is one.
    pub fn choose(&mut self, route: RouteIndex, alternative: usize) -> bool {
        let route =
            self.routes.get_mut(route.as_usize()).filter(|route| alternative < route.alternatives.len());
        route.map(|route| route.chosen = Some(alternative)).is_some()
    }

    /// The future of a route, for an oracle; to be asked for before anything was sent. It follows the route's schedule, not
    /// what is [chosen](Fabric::choose).
    ///
    /// # Panics
    /// When there is no such route.
    pub fn foresee(&mut self, route: RouteIndex) -> RouteForesight {
        let Route { alternatives, schedule, .. } = &self.routes[route.as_usize()];
        let (alternatives, schedule) = (alternatives.clone(), schedule.clone());
        let mut hop = |link: &LinkIndex| {
            let index = link.as_usize();
            let (config, seed) = &self.configs[index];
            let foresight = self.foresights[index].get_or_insert_with(|| Foresight::new(config, *seed));
            self.links[index].tell(foresight.clone());
            foresight.clone()
        };
        let alternatives = alternatives.iter().map(|hops| hops.iter().map(&mut hop).collect()).collect();
        RouteForesight { alternatives, schedule }
    }

    /// Keeps packets that do not arrive for [`Fabric::poll_failure`].
    pub fn keep_failures(&mut self) {
        self.failures.get_or_insert_default();
        self.links.iter_mut().for_each(|link| link.keep_dropped(true));
    }

    /// Sends a packet along a route at `now`, which is not before that of any earlier call.
    pub fn send(&mut self, now: Nanos, route: RouteIndex, length: u32, payload: P) {
        let Some(entry) = self.routes.get(route.as_usize()) else { return };
        let alternative = entry.chosen.unwrap_or_else(|| entry.schedule.value_at(now)) as u32;
        let empty = || Box::new(Transit { payload: None, sent: now, route, alternative, hop: 0 });
        let mut transit = self.spare.pop().unwrap_or_else(empty);
        *transit = Transit { payload: Some(payload), sent: now, route, alternative, hop: 0 };
        self.forward(now, length, transit);
    }

    /// When [`Fabric::advance`] should be called next; `None`: never, nothing is on its way.
    pub fn next_event(&self) -> Option<Nanos> {
        if let Some(arrival) = self.arrivals.front() {
            return Some(arrival.at);
        }
        self.due.first().map(|(at, _)| at)
    }

    /// Moves everything to where it is at `now`, in the order of time.
    pub fn advance(&mut self, now: Nanos) {
        while let Some((at, index)) = self.due.first().filter(|(at, _)| *at <= now) {
            // Up to this link's time only: another link may have something for it in between.
            let next = loop {
                if let Some(departure) = self.links[index].dequeue(at) {
                    let mut transit = departure.payload;
                    transit.hop += 1;
                    self.forward(departure.at, departure.length, transit);
                }
                let next = self.links[index].next_departure().unwrap_or(NEVER);
                if next > at {
                    break next;
                }
            };
            self.collect_dropped(index);
            self.due.set(index, next);
        }
    }

    /// The next packet at its destination, in the order of arrival.
    pub fn poll_arrival(&mut self) -> Option<Arrival<P>> {
        let Arrived { at, length, mut transit } = self.arrivals.pop_front()?;
        let Transit { route, sent, .. } = *transit;
        let arrival = transit.payload.take().map(|payload| Arrival { at, sent, route, length, payload });
        if self.spare.len() < MAX_SPARE {
            self.spare.push(transit);
        }
        arrival
    }

    /// The next packet that did not arrive, if these are kept.
    pub fn poll_failure(&mut self) -> Option<Failure<P>> {
        self.failures.as_mut()?.pop_front()
    }

    /// Takes a link down or up, or gives it back to its schedule; see [`Link::force`].
    pub fn force(&mut self, now: Nanos, link: LinkIndex, state: Option<bool>) {
        if let Some(forced) = self.links.get_mut(link.as_usize()) {
            forced.force(now, state);
            self.schedule(link.as_usize());
        }
    }

    /// Gives a link another rate, delay, loss and other outages; see [`Link::reconfigure`]. Oracles keep what they foresaw.
    pub fn reconfigure(&mut self, now: Nanos, link: LinkIndex, config: &DirectionConfig, seed: u64) {
        let index = link.as_usize();
        let bits_before = self.capacity_bits(index, now);
        if let Some(changed) = self.links.get_mut(index) {
            changed.reconfigure(now, config, seed);
            self.collect_dropped(index);
            self.schedule(index);
            self.changed.insert(index, Changed { since: now, config: config.clone(), seed, bits_before });
        }
    }

    /// Mean rate of a link in bit/s from time zero until `until` (above zero): what it could carry with the random steps
    /// that it takes, outages counted as zero and losses not counted, and with what [`Self::reconfigure`] made of it. `None` when
    /// unlimited, and for a link that is not there. [`Self::force`] does not count.
    pub fn mean_rate(&self, link: LinkIndex, until: Nanos) -> Option<u64> {
        self.capacity_bits(link.as_usize(), until).map(|bits| mean(bits, until))
    }

    /// Bits that a link can carry until then, `None` when unlimited.
    fn capacity_bits(&self, link: usize, until: Nanos) -> Option<u64> {
        let Some(Changed { since, config, seed, bits_before }) = self.changed.get(&link) else {
            let (config, seed) = self.configs.get(link)?;
            return config.realised(*seed, until).bits_between(0, until);
        };
        Some((*bits_before)? + config.realised(*seed, until).bits_between(*since, until)?)
    }

    /// Counters of a link.
    pub fn stats(&self, link: LinkIndex) -> Option<&LinkStats> {
        self.links.get(link.as_usize()).map(Link::stats)
    }

    /// Bytes that wait in the queue of a link.
    pub fn queued_bytes(&self, link: LinkIndex) -> u64 {
        self.links.get(link.as_usize()).map_or(0, Link::queued_bytes)
    }

    /// Whether a link is up.
    pub fn is_up(&self, now: Nanos, link: LinkIndex) -> bool {
        self.links.get(link.as_usize()).is_some_and(|link| link.is_up(now))
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Hands a packet to the next link of its route, or to its destination.
    fn forward(&mut self, now: Nanos, length: u32, transit: Box<Transit<P>>) {
        let route = &self.routes[transit.route.as_usize()];
        let hops = &route.alternatives[transit.alternative as usize];
        match hops.get(transit.hop as usize) {
            Some(&link) => self.enter(now, length, link, transit),
            None => self.arrivals.push_back(Arrived { at: now, length, transit }),
        }
    }

    #[inline(never)]
    fn enter(&mut self, now: Nanos, length: u32, link: LinkIndex, transit: Box<Transit<P>>) {
        let refused = self.links[link.as_usize()].enqueue(now, length, transit);
        if let (Err(refused), Some(failures)) = (refused, &mut self.failures)
            && let Transit { route, sent, payload: Some(payload), .. } = *refused.payload
        {
            failures.push_back(Failure { at: now, sent, route, link, cause: refused.cause, length, payload });
        }
        self.collect_dropped(link.as_usize());
        self.schedule(link.as_usize());
    }

    /// Takes over what a link lost after it had taken it.
    fn collect_dropped(&mut self, index: usize) {
        let Some(failures) = &mut self.failures else { return };
        while let Some(dropped) = self.links[index].poll_dropped() {
            let Transit { route, sent, payload: Some(payload), .. } = *dropped.payload else { continue };
            let (at, cause, length) = (dropped.at, dropped.cause, dropped.length);
            failures.push_back(Failure {
                at,
                sent,
                route,
                link: LinkIndex(index as u32),
                cause,
                length,
                payload,
            });
        }
    }

    /// Notes when a link wants attention.
    fn schedule(&mut self, index: usize) {
        self.due.set(index, self.links[index].next_departure().unwrap_or(NEVER));
    }
}

#[cfg(test)]
mod tests;
