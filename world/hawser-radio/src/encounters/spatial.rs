use super::association::Association;
use super::city::{City, CityStatistics, Lognormal};
use super::link::render;
use super::renewal::Draws;
use crate::error::Check;
use crate::math::{exp, ln, seconds};
use crate::profile::Position;
use crate::random::{Draws as _, Random};
use crate::{Profile, RadioError, Scene};

/// In-vehicle WiFi in space: access points along a road, a car that stops at lights (F. Yang 2022,
/// chapter 3). A slow car stays longer in a coverage: speed and life of an association are negatively correlated. One
/// link, `wifi`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct SpatialEncounters {
    /// The statistics. Default: Bologna.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::city::named_or_table"))]
    pub city: CityStatistics,
    /// Standard deviation of the logarithm of a coverage. Default 0.6.
    pub coverage_sigma: f64,
    /// Standard deviation of the speed over its mean. Default 0.5.
    pub speed_spread: f64,
    /// Metres between places where the car may stop. Default 200.
    pub stop_distance: f64,
    /// Probability of a stop there. Default 0.3.
    pub stop_probability: f64,
    /// Mean duration of a stop, seconds. Default 20.
    pub stop_time: f64,
    /// Seconds between samples within an association. Default 0.1.
    pub update_interval: f64,
}

impl Default for SpatialEncounters {
    fn default() -> Self {
        SpatialEncounters::in_city(City::Bologna)
    }
}

/// The way of a car: (seconds, metres) where it changes its speed.
struct Drive(Vec<(f64, f64)>);

impl Drive {
    /// When the car passes a point, and leaves it when it stands there.
    fn time_at(&self, metres: f64) -> f64 {
        let next = self.0.partition_point(|point| point.1 <= metres);
        let (Some(before), Some(after)) = (self.0.get(next.wrapping_sub(1)), self.0.get(next)) else {
            return self.0.last().map_or(0.0, |point| point.0);
        };
        before.0 + (metres - before.1) / (after.1 - before.1) * (after.0 - before.0)
    }
}

impl SpatialEncounters {
    /// The encounters of a city of the measurement.
    pub fn in_city(city: City) -> Self {
        SpatialEncounters {
            city: city.statistics(),
            coverage_sigma: 0.6,
            speed_spread: 0.5,
            stop_distance: 200.0,
            stop_probability: 0.3,
            stop_time: 20.0,
            update_interval: 0.1,
        }
    }

    fn check(&self) -> Result<(), RadioError> {
        let check = Check("spatial-encounters");
        self.city.check(check)?;
        check.not_negative("coverage_sigma", self.coverage_sigma)?;
        let spread = self.speed_spread;
        check.that((0.0..=1.0).contains(&spread), "speed_spread", spread, "0 to 1")?;
        check.positive("stop_distance", self.stop_distance)?;
        check.share("stop_probability", self.stop_probability)?;
        check.not_negative("stop_time", self.stop_time)?;
        let step = self.update_interval;
        check.that(step >= 1e-3 && step.is_finite(), "update_interval", step, "0.001 s or more")
    }

    /// Speed between two places where the car may stop; the stops are made up for, so that the mean is kept.
    fn drive(&self, duration: f64, seed: u64) -> Drive {
        let mut random = Random::new(seed, "car");
        let (mut time, mut place, mut points) = (0.0, 0.0, vec![(0.0, 0.0)]);
        let standing = self.stop_probability * self.stop_time;
        // With the stops the mean speed over time is the city's: distance / (moving + standing).
        let moving = self.stop_distance / self.city.speed - standing;
        let wanted = if moving > 0.0 { self.stop_distance / moving } else { 3.0 * self.city.speed };
        // The mean of 1 / speed counts; for this spread it is about a quarter above 1 / mean.
        let typical = wanted.min(3.0 * self.city.speed) * (1.0 + self.speed_spread * self.speed_spread);
        while time <= duration {
            let factor = loop {
                let factor = 1.0 + self.speed_spread * random.normal();
                if factor > 0.3 && factor < 2.5 {
                    break factor;
                }
            };
            place += self.stop_distance;
            time += self.stop_distance / (typical * factor);
            points.push((time, place));
            if random.chance(self.stop_probability) {
                time += random.exponential(self.stop_time);
                points.push((time, place));
            }
        }
        Drive(points)
    }

    /// The associations of a drive that start within `duration` seconds.
    ///
    /// # Errors
    ///
    /// A parameter is impossible.
    pub fn associations(&self, duration: f64, seed: u64) -> Result<Vec<Association>, RadioError> {
        self.check()?;
        Ok(self.along(&self.drive(duration, seed), duration, seed))
    }

    fn along(&self, drive: &Drive, duration: f64, seed: u64) -> Vec<Association> {
        let sigma = self.coverage_sigma;
        let coverage = Lognormal::new(self.city.coverage * exp(-0.5 * sigma * sigma), sigma);
        // Between two coverages a Poisson process leaves exponential gaps.
        let gap = self.city.hole.mean() * self.city.speed;
        let mut random = Random::new(seed, "access points");
        let mut draws = Draws::with(&self.city, 0.37, seed);
        let (mut place, mut list) = (random.exponential(gap), Vec::new());
        loop {
            let length = coverage.draw(&mut random);
            let (start, end) = (drive.time_at(place), drive.time_at(place + length));
            if start >= duration {
                return list;
            }
            let life = (end - start).max(0.01);
            let band = draws.band();
            let law = self.city.duration(band);
            let score = ln(life / law.median) / law.sigma.max(1e-9);
            let mut association = draws.complete(start, life, score.clamp(-3.0, 3.0), band);
            // Space decides when the coverage ends, whatever the outcome.
            association.end = association.end.min(start + life);
            association.speed = length / life;
            list.push(association);
            place += length + random.exponential(gap);
        }
    }
}

impl Scene for SpatialEncounters {
    fn links(&self) -> usize {
        1
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        Check("spatial-encounters").duration(duration_ns)?;
        self.check()?;
        let duration = seconds(duration_ns);
        let drive = self.drive(duration, seed);
        let associations = self.along(&drive, duration, seed);
        let mut profile = render(&associations, &self.city, self.update_interval, duration_ns, seed);
        let mut last = None;
        for &(time, place) in &drive.0 {
            let at = crate::math::nanos(time);
            if last.is_none_or(|before| at > before) {
                profile.positions.push(Position { at, metres: [place, 0.0, 0.0] });
                last = Some(at);
            }
        }
        Ok(vec![profile])
    }
}

/// Pearson's correlation of two lists.
#[cfg(test)]
pub(super) fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).sum::<f64>() / n;
    let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
    let cross = sum(&|pair| (pair.0 - a) * (pair.1 - b));
    let (one, two) = (sum(&|pair| (pair.0 - a) * (pair.0 - a)), sum(&|pair| (pair.1 - b) * (pair.1 - b)));
    cross / crate::math::sqrt(one * two)
}
