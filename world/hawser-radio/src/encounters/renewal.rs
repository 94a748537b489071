use super::association::{Association, Band, Outcome};
use super::city::{City, CityStatistics, Lognormal};
use super::link::render;
use crate::error::Check;
use crate::math::{ln, normal_cdf, seconds, sqrt};
use crate::random::{Draws as _, Random};
use crate::{Profile, RadioError, Scene};

/// In-vehicle WiFi by renewal: holes and associations alternate, drawn from the statistics of a city (F. Yang 2022,
/// chapter 3). One link, `wifi`: up while there is an address.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct WifiEncounters {
    /// The statistics. Default: Bologna.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::city::named_or_table"))]
    pub city: CityStatistics,
    /// Correlation of goodput and life on the normal scale. Default 0.37.
    pub goodput_correlation: f64,
    /// Probability of a hole of 10 to 90 ms: the access point throws the client out. Default 0.01.
    pub short_holes: f64,
    /// Longest life of an association, seconds; the distribution keeps its mean. Default 600.
    pub longest_duration: f64,
    /// Longest hole, seconds; ditto. Default 3600.
    pub longest_hole: f64,
    /// Seconds between samples within an association. Default 0.1.
    pub update_interval: f64,
}

impl Default for WifiEncounters {
    fn default() -> Self {
        WifiEncounters::in_city(City::Bologna)
    }
}

impl WifiEncounters {
    /// The encounters of a city of the measurement.
    pub fn in_city(city: City) -> Self {
        WifiEncounters {
            city: city.statistics(),
            goodput_correlation: 0.37,
            short_holes: 0.01,
            longest_duration: 600.0,
            longest_hole: 3600.0,
            update_interval: 0.1,
        }
    }

    fn check(&self) -> Result<(), RadioError> {
        let check = Check("wifi-encounters");
        self.city.check(check)?;
        let correlation = self.goodput_correlation;
        check.that((-1.0..=1.0).contains(&correlation), "goodput_correlation", correlation, "-1 to 1")?;
        let short = self.short_holes;
        check.that((0.0..=0.5).contains(&short), "short_holes", short, "0 to 0.5")?;
        check.positive("longest_duration", self.longest_duration)?;
        check.positive("longest_hole", self.longest_hole)?;
        let step = self.update_interval;
        check.that(step >= 1e-3 && step.is_finite(), "update_interval", step, "0.001 s or more")
    }

    /// The associations of a drive: as many as start within `duration` seconds. The drive starts somewhere in a hole.
    ///
    /// # Errors
    ///
    /// A parameter is impossible.
    pub fn associations(&self, duration: f64, seed: u64) -> Result<Vec<Association>, RadioError> {
        self.check()?;
        let city = &self.city;
        let hole = Truncated::new(city.hole, self.longest_hole);
        let lives =
            [Band::Low, Band::High].map(|band| Truncated::new(city.duration(band), self.longest_duration));
        let mut draws = Draws::new(self, seed);
        let mut list = Vec::new();
        let mut now = draws.holes.unit() * draws.hole(&hole, self.short_holes);
        while now < duration {
            let association = draws.association(now, &lives);
            now = association.end + draws.hole(&hole, self.short_holes);
            list.push(association);
        }
        Ok(list)
    }
}

impl Scene for WifiEncounters {
    fn links(&self) -> usize {
        1
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        Check("wifi-encounters").duration(duration_ns)?;
        let associations = self.associations(seconds(duration_ns), seed)?;
        Ok(vec![render(&associations, &self.city, self.update_interval, duration_ns, seed)])
    }
}

/// A lognormal distribution without its tail beyond a limit, stretched so that the mean stays.
struct Truncated {
    base: Lognormal,
    limit: f64,
    stretch: f64,
}

impl Truncated {
    fn new(base: Lognormal, limit: f64) -> Self {
        if base.sigma == 0.0 {
            return Truncated { base, limit: f64::INFINITY, stretch: 1.0 };
        }
        let edge = ln(limit / base.median) / base.sigma;
        let kept = normal_cdf(edge).max(1e-12);
        let mean = base.mean() * normal_cdf(edge - base.sigma) / kept;
        Truncated { base, limit, stretch: base.mean() / mean.max(1e-12) }
    }

    /// The value of a normal score, drawing again while it is beyond the limit; returns the score that was used, too.
    fn draw(&self, random: &mut Random) -> (f64, f64) {
        for _ in 0..1000 {
            let score = random.normal();
            let value = self.base.value(score);
            if value <= self.limit {
                return (value * self.stretch, score);
            }
        }
        (self.limit, 0.0)
    }
}

/// The sources of draws of a drive, one per subject.
pub(super) struct Draws<'a> {
    city: &'a CityStatistics,
    correlation: f64,
    holes: Random,
    lives: Random,
    phases: Random,
    goodput: Random,
    addresses: Random,
    /// Last address per provider; 0: it gives a new one.
    known: Vec<u64>,
    next_address: u64,
}

impl<'a> Draws<'a> {
    fn new(scene: &'a WifiEncounters, seed: u64) -> Self {
        Draws::with(&scene.city, scene.goodput_correlation, seed)
    }

    pub(super) fn with(city: &'a CityStatistics, correlation: f64, seed: u64) -> Self {
        let source = |name: &str| Random::new(seed, name);
        Draws {
            city,
            correlation,
            holes: source("holes"),
            lives: source("lives"),
            phases: source("phases"),
            goodput: source("goodput"),
            addresses: source("addresses"),
            known: vec![0; city.providers.len()],
            next_address: 1,
        }
    }

    /// A gap between associations. The short ones take no part in the mean that the statistics give.
    fn hole(&mut self, hole: &Truncated, short: f64) -> f64 {
        if self.holes.chance(short) {
            return self.holes.between(0.010, 0.090);
        }
        hole.draw(&mut self.holes).0 / (1.0 - short)
    }

    pub(super) fn band(&mut self) -> Band {
        if self.lives.chance(self.city.high_band_share) { Band::High } else { Band::Low }
    }

    fn association(&mut self, start: f64, lives: &[Truncated; 2]) -> Association {
        let band = self.band();
        let (life, score) = lives[usize::from(band == Band::High)].draw(&mut self.lives);
        self.complete(start, life * self.city.success_factor, score, band)
    }

    /// Draws what an association of a given life comes to. `score`: where its life lies on the normal scale.
    pub(super) fn complete(&mut self, start: f64, life: f64, score: f64, band: Band) -> Association {
        let city = self.city;
        let association_time = city.association_time.draw(&mut self.phases);
        let address_time = city.address_time.draw(&mut self.phases);
        let transport_time = self.transport_time();
        let setup = association_time + address_time;
        let outcome = if !self.phases.chance(city.address_succeeds) {
            Outcome::NoAddress
        } else if !self.phases.chance(city.transport_succeeds) {
            Outcome::NoTransport
        } else {
            Outcome::Works
        };
        let life = match outcome {
            Outcome::NoAddress => self.phases.exponential(city.life_without_address),
            Outcome::NoTransport => setup + self.phases.exponential(city.life_without_transport),
            // One that works has lived until its first acknowledgement.
            Outcome::Works => life.max(setup + transport_time + 0.01),
        };
        let (provider, address) = self.address(outcome);
        let (goodput_up, goodput_down) = self.goodput(score, band);
        Association {
            start,
            end: start + life,
            attempts: self.attempts(),
            association_time,
            address_time,
            transport_time,
            outcome,
            band,
            provider,
            address,
            speed: city.speed,
            signal_dbm: self.goodput.between(-80.0, -50.0),
            goodput_up,
            goodput_down,
        }
    }

    /// A round-trip time, and the initial timeout of 1 s for a first packet that is lost.
    fn transport_time(&mut self) -> f64 {
        let lost = ((self.city.transport_time - self.city.rtt) / 1.0).clamp(0.0, 1.0);
        self.city.rtt + if self.phases.chance(lost) { 1.0 } else { 0.0 }
    }

    fn attempts(&mut self) -> u32 {
        let mut attempts = 1;
        while attempts < 1000 && !self.phases.chance(self.city.attempt_succeeds) {
            attempts += 1;
        }
        attempts
    }

    /// A provider remembers the address it gave, unless it forgets it at a change of access point. It may forget it while the host
    /// gets no address, too: that is seen at the next address.
    fn address(&mut self, outcome: Outcome) -> (usize, u64) {
        let mut left = self.addresses.unit();
        let mut provider = 0;
        for (index, known) in self.city.providers.iter().enumerate() {
            provider = index;
            left -= known.share;
            if left < 0.0 {
                break;
            }
        }
        if self.addresses.chance(self.city.providers[provider].new_address) {
            self.known[provider] = 0;
        }
        if outcome != Outcome::NoAddress && self.known[provider] == 0 {
            self.known[provider] = self.next_address;
            self.next_address += 1;
        }
        (provider, self.known[provider])
    }

    /// Goodput levels of both directions: correlated with the life, and with each other by half of the rest.
    fn goodput(&mut self, score: f64, band: Band) -> (f64, f64) {
        let city = self.city;
        let (up, down) = match band {
            Band::High => (city.up_high, city.down_high),
            Band::Low => (city.up_low, city.down_low),
        };
        let shared = self.goodput.normal();
        let rest = sqrt(1.0 - self.correlation * self.correlation);
        let mut level = |law: Lognormal, cap: f64| {
            let own = sqrt(0.5) * shared + sqrt(0.5) * self.goodput.normal();
            law.value(self.correlation * score + rest * own).min(cap)
        };
        (level(up, city.cap.0), level(down, city.cap.1))
    }
}
