use super::Orbits;
use super::frames::to_earth_fixed;
use crate::RadioError;
use crate::error::Check;
use crate::math::{PI, cos, sin, sqrt};

/// Standard gravitational parameter of the Earth, m^3/s^2.
const GRAVITY: f64 = 3.986_004_418e14;
/// Mean radius of the Earth, metres.
const EARTH_RADIUS: f64 = 6_371_000.0;

/// A Walker constellation: circular orbits, planes and satellites evenly spread, `inclination: total/planes/phasing`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Walker {
    /// Orbital planes. Default 72.
    pub planes: u32,
    /// Satellites per plane. Default 22.
    pub per_plane: u32,
    /// Phase between neighbouring planes in units of 360 degrees / total. Default 1, so that
    /// neighbours fly abreast; the operator publishes none.
    pub phasing: u32,
    /// Degrees. Default 53.
    pub inclination: f64,
    /// Metres above the mean radius of the Earth. Default 550 km.
    pub altitude: f64,
    /// Degrees over which the planes are spread: 360 (delta) or 180 (star, for polar orbits). Default 360.
    pub spread: f64,
}

impl Default for Walker {
    /// The first shell of Starlink.
    fn default() -> Self {
        Walker { planes: 72, per_plane: 22, phasing: 1, inclination: 53.0, altitude: 550e3, spread: 360.0 }
    }
}

impl Walker {
    /// OneWeb: 12 nearly polar planes of 49 at 1200 km.
    pub fn oneweb() -> Self {
        Walker { planes: 12, per_plane: 49, phasing: 1, inclination: 87.9, altitude: 1200e3, spread: 180.0 }
    }

    /// m/s along the orbit.
    pub fn speed(&self) -> f64 {
        sqrt(GRAVITY / (EARTH_RADIUS + self.altitude))
    }

    /// Seconds for one orbit.
    pub fn period(&self) -> f64 {
        2.0 * PI * (EARTH_RADIUS + self.altitude) / self.speed()
    }

    pub(crate) fn check(&self, check: Check) -> Result<(), RadioError> {
        check.that((1..=1000).contains(&self.planes), "walker.planes", self.planes, "1 to 1000")?;
        check.that((1..=1000).contains(&self.per_plane), "walker.per_plane", self.per_plane, "1 to 1000")?;
        let fits = self.phasing < self.planes.max(1);
        check.that(fits, "walker.phasing", self.phasing, "less than the number of planes")?;
        check.that(
            (0.0..=180.0).contains(&self.inclination),
            "walker.inclination",
            self.inclination,
            "0 to 180 degrees",
        )?;
        let low = (160e3..=40_000e3).contains(&self.altitude);
        check.that(low, "walker.altitude", self.altitude, "160e3 to 40000e3 metres")?;
        check.that((0.0..=360.0).contains(&self.spread), "walker.spread", self.spread, "0 to 360 degrees")
    }

    /// Metres in the inertial frame.
    fn inertial(&self, satellite: usize, unix: f64) -> [f64; 3] {
        let (plane, slot) = (satellite / self.per_plane as usize, satellite % self.per_plane as usize);
        let total = f64::from(self.planes * self.per_plane);
        let radius = EARTH_RADIUS + self.altitude;
        let node = self.spread * PI / 180.0 * plane as f64 / f64::from(self.planes);
        let phase = 2.0 * PI * slot as f64 / f64::from(self.per_plane)
            + 2.0 * PI * f64::from(self.phasing) * plane as f64 / total;
        // Whole periods are taken off before the sine, which would lose digits on seconds since 1970.
        let angle = phase + 2.0 * PI * (unix % self.period()) / self.period();
        let tilt = self.inclination * PI / 180.0;
        let (along, across) = (radius * cos(angle), radius * sin(angle));
        [
            along * cos(node) - across * cos(tilt) * sin(node),
            along * sin(node) + across * cos(tilt) * cos(node),
            across * sin(tilt),
        ]
    }
}

impl Orbits for Walker {
    fn count(&self) -> usize {
        (self.planes * self.per_plane) as usize
    }

    fn position(&self, satellite: usize, unix: f64) -> Option<[f64; 3]> {
        (satellite < self.count()).then(|| to_earth_fixed(self.inertial(satellite, unix), unix))
    }

    /// Two in the same plane, one in each neighbouring plane ("+grid"): the one that flies nearest to abreast. A star
    /// has no links over its seam, where the planes fly in opposite directions.
    fn neighbours(&self, satellite: usize, _positions: &[Option<[f64; 3]>]) -> Vec<usize> {
        let (planes, slots) = (self.planes as usize, self.per_plane as usize);
        let (plane, slot) = (satellite / slots, satellite % slots);
        let at = |plane: usize, slot: usize| plane * slots + slot % slots;
        let mut list = vec![at(plane, slot + 1), at(plane, slot + slots - 1)];
        let closed = self.spread >= 360.0;
        // The next plane is ahead by phasing / planes satellites; around the whole Earth that adds up to `phasing`.
        let ahead = (2 * self.phasing as usize + planes) / (2 * planes);
        let seam = self.phasing as usize % slots;
        let (up, down) = (slot + slots - ahead, slot + ahead);
        if plane + 1 < planes {
            list.push(at(plane + 1, up));
        } else if closed {
            list.push(at(0, up + seam));
        }
        if plane > 0 {
            list.push(at(plane - 1, down));
        } else if closed {
            list.push(at(planes - 1, down + slots - seam));
        }
        list.retain(|other| *other != satellite);
        list.sort_unstable();
        list.dedup();
        list
    }
}
