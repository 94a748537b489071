use super::SpaceBudget;
use crate::error::Check;
use crate::math::{nanos, seconds};
use crate::orbit::{
    Orbits, Place, Route, TleSet, Walker, bent_pipe, flight_time, inter_satellite, range, slot_edges, visible,
};
use crate::profile::{Event, EventKind, ForecastSamples, Position, Profile, Sample, Steps, gaps, layered};
use crate::random::{Draws as _, Random};
use crate::{RadioError, Scene};

/// Where the satellites come from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum OrbitSource {
    /// Circular orbits, evenly spread.
    Walker(Walker),
    /// Two-line elements, as text.
    Tle(String),
}

/// How a packet gets from the serving satellite to the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum RouteKind {
    /// Straight down to a station that the serving satellite sees.
    BentPipe,
    /// Over laser links by the shortest way.
    InterSatellite,
}

/// A terminal under a constellation: every 15 s (at 12, 27, 42, 57 s of the minute) it may get another satellite, the
/// delay follows the geometry, the rate follows link budget and load. One link per terminal; several take
/// different satellites, in order of elevation (of the length of the way over laser links).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Constellation {
    /// Default: the first shell of Starlink.
    pub orbits: OrbitSource,
    /// Unix time of the start, seconds. Default 2022-09-14 12:00:00 UTC, near the epoch of the stored elements.
    pub start: f64,
    /// Where the terminal is. Default Victoria, Canada.
    pub user: Place,
    /// Ground stations. Default two in Washington State.
    pub gateways: Vec<Place>,
    /// Default bent pipe.
    pub route: RouteKind,
    /// How many terminals there are. Default 1.
    pub terminals: u32,
    /// Lowest usable elevation, degrees. Default 25.
    pub mask: f64,
    /// Lowest usable elevation of the stations, degrees. Default 10.
    pub gateway_mask: f64,
    /// Link budget, for both directions.
    pub budget: SpaceBudget,
    /// Rate towards the network over rate from it. Default 0.1.
    pub uplink_share: f64,
    /// What other users leave: uniform, drawn per slot. Default 0.2 to 1.
    pub load: (f64, f64),
    /// Loss probability per packet. Default 0.004.
    pub loss: f64,
    /// The same in the last second before a reconfiguration. Default 0.041.
    pub loss_before: f64,
    /// Seconds without a link when the satellite changes, uniform. Default 0.1 to 0.3.
    pub outage: (f64, f64),
    /// From the station to the server, seconds, one way. Default 0.010.
    pub terrestrial_delay: f64,
    /// Medium access and processing, seconds, one way. Default 0.008.
    pub access_delay: f64,
    /// Seconds between samples of the geometry. Default 1.
    pub update_interval: f64,
}

impl Default for Constellation {
    fn default() -> Self {
        Constellation {
            orbits: OrbitSource::Walker(Walker::default()),
            start: 1_663_156_800.0,
            user: Place::new(48.43, -123.37),
            gateways: vec![Place::new(48.20, -122.13), Place::new(47.48, -121.76)],
            route: RouteKind::BentPipe,
            terminals: 1,
            mask: 25.0,
            gateway_mask: 10.0,
            budget: SpaceBudget::default(),
            uplink_share: 0.1,
            load: (0.2, 1.0),
            loss: 0.004,
            loss_before: 0.041,
            outage: (0.1, 0.3),
            terrestrial_delay: 0.010,
            access_delay: 0.008,
            update_interval: 1.0,
        }
    }
}

/// What a terminal has during one slot.
struct Slot {
    from: u64,
    route: Option<Route>,
    load: f64,
}

impl Constellation {
    fn check(&self, duration_ns: u64) -> Result<(), RadioError> {
        let check = Check("constellation");
        check.duration(duration_ns)?;
        if let OrbitSource::Walker(walker) = &self.orbits {
            walker.check(check)?;
        }
        check.not_negative("start", self.start)?;
        self.user.check(check, "user")?;
        check.that(!self.gateways.is_empty(), "gateways", "an empty list", "at least one station")?;
        self.gateways.iter().try_for_each(|gateway| gateway.check(check, "gateways"))?;
        check.that((1..=16).contains(&self.terminals), "terminals", self.terminals, "1 to 16")?;
        check.that((0.0..90.0).contains(&self.mask), "mask", self.mask, "0 to 90 degrees")?;
        let mask = self.gateway_mask;
        check.that((0.0..90.0).contains(&mask), "gateway_mask", mask, "0 to 90 degrees")?;
        self.budget.check(check)?;
        check.positive("uplink_share", self.uplink_share)?;
        check.range("load", self.load)?;
        check.positive("load.0", self.load.0)?;
        check.share("loss", self.loss)?;
        check.share("loss_before", self.loss_before)?;
        check.range("outage", self.outage)?;
        check.that(self.outage.1 < 14.0, "outage.1", self.outage.1, "less than a slot")?;
        check.not_negative("terrestrial_delay", self.terrestrial_delay)?;
        check.not_negative("access_delay", self.access_delay)?;
        check.that(
            self.update_interval >= 0.01 && self.update_interval.is_finite(),
            "update_interval",
            self.update_interval,
            "0.01 s or more",
        )
    }

    /// The ways over each satellite in view: the highest first for bent pipes, the shortest way first over laser links.
    fn routes(&self, orbits: &dyn Orbits, unix: f64) -> Vec<Route> {
        let positions = orbits.positions(unix);
        let seen = visible(&self.user, &positions, self.mask).into_iter().map(|(satellite, _)| satellite);
        let (gateways, mask) = (&self.gateways, self.gateway_mask);
        match self.route {
            RouteKind::BentPipe => {
                seen.filter_map(|satellite| bent_pipe(satellite, gateways, &positions, mask)).collect()
            }
            RouteKind::InterSatellite => {
                let length =
                    |route: &Route| route.length(&self.user, gateways, orbits, unix).unwrap_or(f64::INFINITY);
                let mut routes: Vec<(f64, Route)> = seen
                    .filter_map(|satellite| inter_satellite(orbits, satellite, gateways, &positions, mask))
                    .map(|route| (length(&route), route))
                    .collect();
                routes.sort_by(|a, b| a.0.total_cmp(&b.0));
                routes.into_iter().map(|(_, route)| route).collect()
            }
        }
    }

    /// Chooses a route per terminal at the start and at each reconfiguration.
    fn slots(&self, orbits: &dyn Orbits, edges: &[u64], seed: u64) -> Vec<Vec<Slot>> {
        let mut terminals: Vec<Vec<Slot>> = (0..self.terminals).map(|_| Vec::new()).collect();
        let mut random = Random::new(seed, "load");
        for from in std::iter::once(0).chain(edges.iter().copied()) {
            let mut routes = self.routes(orbits, self.start + seconds(from)).into_iter();
            for slots in &mut terminals {
                slots.push(Slot {
                    from,
                    route: routes.next(),
                    load: random.between(self.load.0, self.load.1),
                });
            }
        }
        terminals
    }

    fn terminal(
        &self,
        index: usize,
        slots: &[Slot],
        orbits: &dyn Orbits,
        edges: &[u64],
        times: &[u64],
        seed: u64,
    ) -> Profile {
        let mut random = Random::new(seed, &format!("outage {index}"));
        let (mut real, mut mean) = (Steps::new(), Steps::new());
        let mut positions = Vec::new();
        for &at in times {
            let unix = self.start + seconds(at);
            let Slot { route, load, .. } = &slots[slots.partition_point(|slot| slot.from <= at) - 1];
            let route = route.as_ref();
            let length = route.and_then(|way| way.length(&self.user, &self.gateways, orbits, unix));
            let serving = route.and_then(|way| orbits.position(way.satellites[0], unix));
            let (Some(length), Some(satellite)) = (length, serving) else {
                let dark = Sample { at, rate: 0, delay: 0, loss: 1.0, up: false };
                real.push(dark);
                mean.push(dark);
                continue;
            };
            let clear = self.budget.capacity(range(self.user.earth_fixed(), satellite));
            let delay = nanos(flight_time(length) + self.terrestrial_delay + self.access_delay);
            let sample = |rate: f64| Sample { at, rate: rate as u64, delay, loss: self.loss, up: true };
            real.push(sample(clear * load));
            mean.push(sample(clear * 0.5 * (self.load.0 + self.load.1)));
            positions.push(Position { at, metres: satellite });
        }
        let (events, outages) = self.happenings(slots, &mut random);
        let carries = gaps(&outages);
        let bursts = self.bursts(edges);
        let real = layered(&real.finish(), &bursts, &carries);
        let mean = layered(&mean.finish(), &bursts, &carries);
        Profile {
            name: format!("terminal-{index}"),
            up: scaled(&real, self.uplink_share),
            down: real,
            events,
            forecast: ForecastSamples { up: scaled(&mean, self.uplink_share), down: mean },
            positions,
            sites: None,
        }
    }

    fn happenings(&self, slots: &[Slot], random: &mut Random) -> (Vec<Event>, Vec<(u64, u64)>) {
        let (mut events, mut outages) = (Vec::new(), Vec::new());
        let serving = |slot: &Slot| slot.route.as_ref().map(|way| way.satellites[0] as u64);
        let mut before: Option<u64> = None;
        for slot in slots {
            let (at, cell) = (slot.from, serving(slot));
            if at > 0 {
                events.push(Event { at, kind: EventKind::Reconfiguration, cell });
            }
            match (before, cell) {
                (None, Some(_)) => events.push(Event { at, kind: EventKind::Attach, cell }),
                (Some(_), None) => events.push(Event { at, kind: EventKind::Detach, cell: before }),
                (Some(old), Some(new)) if old != new => {
                    let end = at + nanos(random.between(self.outage.0, self.outage.1));
                    events.push(Event { at, kind: EventKind::HandOverStart, cell });
                    events.push(Event { at: end, kind: EventKind::HandOverEnd, cell });
                    outages.push((at, end));
                }
                _ => {}
            }
            before = cell;
        }
        (events, outages)
    }

    /// More loss in the last second before each reconfiguration.
    fn bursts(&self, edges: &[u64]) -> Vec<(u64, f64)> {
        let extra = 1.0 - (1.0 - self.loss_before) / (1.0 - self.loss.min(0.999_999));
        let burst = |edge: &u64| [(edge.saturating_sub(1_000_000_000), extra.max(0.0)), (*edge, 0.0)];
        edges.iter().flat_map(burst).collect()
    }
}

fn scaled(samples: &[Sample], share: f64) -> Vec<Sample> {
    samples.iter().map(|sample| Sample { rate: (sample.rate as f64 * share) as u64, ..*sample }).collect()
}

impl Scene for Constellation {
    fn links(&self) -> usize {
        self.terminals as usize
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        self.check(duration_ns)?;
        let orbits: Box<dyn Orbits> = match &self.orbits {
            OrbitSource::Walker(walker) => Box::new(*walker),
            OrbitSource::Tle(text) => Box::new(TleSet::parse(text)?),
        };
        let edges = slot_edges(self.start.rem_euclid(60.0), duration_ns);
        let terminals = self.slots(orbits.as_ref(), &edges, seed);
        if terminals[0].iter().all(|slot| slot.route.is_none()) {
            let Place { latitude, longitude, .. } = self.user;
            let reason = format!(
                "no satellite above {} degrees at {latitude}, {longitude} reaches a station at any time",
                self.mask
            );
            return Err(RadioError::NoCoverage { model: "constellation", reason });
        }
        let step = nanos(self.update_interval);
        let mut times: Vec<u64> = (0..).map(|i| i * step).take_while(|at| *at < duration_ns).collect();
        times.extend(&edges);
        times.sort_unstable();
        times.dedup();
        Ok(terminals
            .iter()
            .enumerate()
            .map(|(index, slots)| self.terminal(index, slots, orbits.as_ref(), &edges, &times, seed))
            .collect())
    }
}
