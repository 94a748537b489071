//! Satellites: where they are, which ones a place sees, and how far a packet flies.

mod frames;
mod route;
mod slots;
mod tle;
mod walker;

pub use frames::{Place, elevation, range};
pub use route::{Route, bent_pipe, inter_satellite};
pub use slots::{SLOT_SECONDS, slot_edges};
pub use tle::TleSet;
pub use walker::Walker;

use crate::math::LIGHT_SPEED;

/// Satellites whose positions are known at every time.
pub trait Orbits {
    /// How many there are; they are numbered from 0.
    fn count(&self) -> usize;

    /// Position fixed to the Earth (metres, ECEF) at a Unix time in seconds; `None` where it cannot be computed.
    fn position(&self, satellite: usize, unix: f64) -> Option<[f64; 3]>;

    /// All positions at a time.
    fn positions(&self, unix: f64) -> Vec<Option<[f64; 3]>> {
        (0..self.count()).map(|satellite| self.position(satellite, unix)).collect()
    }

    /// The satellites that a satellite has laser links to. `positions` are those of the moment.
    fn neighbours(&self, satellite: usize, positions: &[Option<[f64; 3]>]) -> Vec<usize>;
}

/// Satellites above a mask (degrees of elevation) as seen from a place: (satellite, elevation), highest first.
pub fn visible(place: &Place, positions: &[Option<[f64; 3]>], mask: f64) -> Vec<(usize, f64)> {
    let ground = place.earth_fixed();
    let mut seen: Vec<(usize, f64)> = positions
        .iter()
        .enumerate()
        .filter_map(|(index, position)| Some((index, elevation(ground, (*position)?))))
        .filter(|(_, elevation)| *elevation >= mask)
        .collect();
    seen.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    seen
}

/// Seconds that light needs for a distance in metres.
pub fn flight_time(distance: f64) -> f64 {
    distance / LIGHT_SPEED
}

#[cfg(test)]
mod tests;
