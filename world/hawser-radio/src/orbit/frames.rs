use crate::RadioError;
use crate::error::Check;
use crate::math::{PI, asin, cos, sin, sqrt};

/// A place on the ground (WGS 84).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Place {
    /// Degrees, north positive.
    pub latitude: f64,
    /// Degrees, east positive.
    pub longitude: f64,
    /// Metres above the ellipsoid.
    #[cfg_attr(feature = "serde", serde(default))]
    pub altitude: f64,
}

impl Place {
    /// A place at sea level.
    pub const fn new(latitude: f64, longitude: f64) -> Self {
        Place { latitude, longitude, altitude: 0.0 }
    }

    /// Metres in the frame that turns with the Earth (ECEF).
    pub fn earth_fixed(&self) -> [f64; 3] {
        const EQUATOR: f64 = 6_378_137.0;
        const ECCENTRICITY_SQUARED: f64 = 6.694_379_990_141_316e-3;
        let (phi, lambda) = (self.latitude * PI / 180.0, self.longitude * PI / 180.0);
        let normal = EQUATOR / sqrt(1.0 - ECCENTRICITY_SQUARED * sin(phi) * sin(phi));
        [
            (normal + self.altitude) * cos(phi) * cos(lambda),
            (normal + self.altitude) * cos(phi) * sin(lambda),
            (normal * (1.0 - ECCENTRICITY_SQUARED) + self.altitude) * sin(phi),
        ]
    }

    pub(crate) fn check(&self, check: Check, what: &'static str) -> Result<(), RadioError> {
        let valid = self.latitude.abs() <= 90.0 && self.longitude.abs() <= 180.0 && self.altitude.is_finite();
        let got = format!("{}, {}, {}", self.latitude, self.longitude, self.altitude);
        check.that(valid, what, got, "latitude -90 to 90, longitude -180 to 180, altitude in metres")
    }
}

/// Metres between two points.
pub fn range(a: [f64; 3], b: [f64; 3]) -> f64 {
    let d = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
}

/// Elevation in degrees of a satellite above the horizon of a point, the Earth taken as a sphere for "up".
pub fn elevation(ground: [f64; 3], satellite: [f64; 3]) -> f64 {
    let away = [satellite[0] - ground[0], satellite[1] - ground[1], satellite[2] - ground[2]];
    let dot = away[0] * ground[0] + away[1] * ground[1] + away[2] * ground[2];
    let lengths = range([0.0; 3], away) * range([0.0; 3], ground);
    asin((dot / lengths).clamp(-1.0, 1.0)) * 180.0 / PI
}

/// Turns a vector of the inertial frame (TEME) into the frame of the Earth at a Unix time.
pub(super) fn to_earth_fixed(inertial: [f64; 3], unix: f64) -> [f64; 3] {
    const J2000: f64 = 946_728_000.0;
    let years = (unix - J2000) / (365.25 * 86_400.0);
    let angle = sgp4::iau_epoch_to_sidereal_time(years);
    let [x, y, z] = inertial;
    [x * cos(angle) + y * sin(angle), -x * sin(angle) + y * cos(angle), z]
}
