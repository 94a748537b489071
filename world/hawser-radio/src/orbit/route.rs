use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Orbits, Place, elevation, range};

/// A way from a place over satellites to a ground station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The satellites in order; the first serves the user.
    pub satellites: Vec<usize>,
    /// The ground station, by its index.
    pub gateway: usize,
}

impl Route {
    /// Metres from the user to the ground station at a Unix time; `None` when a satellite of the route is not known.
    pub fn length(&self, user: &Place, gateways: &[Place], orbits: &dyn Orbits, unix: f64) -> Option<f64> {
        let mut here = user.earth_fixed();
        let mut length = 0.0;
        for &satellite in &self.satellites {
            let next = orbits.position(satellite, unix)?;
            length += range(here, next);
            here = next;
        }
        Some(length + range(here, gateways.get(self.gateway)?.earth_fixed()))
    }
}

/// The shortest way up to one satellite and down again, for a serving satellite: the nearest station it sees.
pub fn bent_pipe(
    satellite: usize,
    gateways: &[Place],
    positions: &[Option<[f64; 3]>],
    mask: f64,
) -> Option<Route> {
    let here = (*positions.get(satellite)?)?;
    let gateway = nearest_gateway(here, gateways, mask)?.1;
    Some(Route { satellites: vec![satellite], gateway })
}

/// The shortest way from a serving satellite over laser links to any station (Dijkstra over metres).
pub fn inter_satellite(
    orbits: &dyn Orbits,
    satellite: usize,
    gateways: &[Place],
    positions: &[Option<[f64; 3]>],
    mask: f64,
) -> Option<Route> {
    let mut best: Vec<f64> = vec![f64::INFINITY; positions.len()];
    let mut before: Vec<Option<usize>> = vec![None; positions.len()];
    let mut queue = BinaryHeap::new();
    *best.get_mut(satellite)? = 0.0;
    queue.push(Reverse((Metres(0.0), satellite)));
    // (whole length, last satellite, station)
    let mut found: Option<(f64, usize, usize)> = None;
    while let Some(Reverse((Metres(length), here))) = queue.pop() {
        if found.is_some_and(|known| known.0 <= length) {
            break;
        }
        if length > best[here] {
            continue;
        }
        let Some(position) = positions[here] else { continue };
        if let Some((down, gateway)) = nearest_gateway(position, gateways, mask)
            && found.is_none_or(|known| length + down < known.0)
        {
            found = Some((length + down, here, gateway));
        }
        for next in orbits.neighbours(here, positions) {
            let Some(there) = positions[next] else { continue };
            let longer = length + range(position, there);
            if longer < best[next] {
                best[next] = longer;
                before[next] = Some(here);
                queue.push(Reverse((Metres(longer), next)));
            }
        }
    }
    let (_, last, gateway) = found?;
    let mut satellites = vec![last];
    while let Some(earlier) = satellites.last().and_then(|known| before[*known]) {
        satellites.push(earlier);
    }
    satellites.reverse();
    Some(Route { satellites, gateway })
}

/// (metres, index) of the nearest ground station that sees the satellite.
fn nearest_gateway(satellite: [f64; 3], gateways: &[Place], mask: f64) -> Option<(f64, usize)> {
    gateways
        .iter()
        .enumerate()
        .map(|(index, gateway)| (gateway.earth_fixed(), index))
        .filter(|(ground, _)| elevation(*ground, satellite) >= mask)
        .map(|(ground, index)| (range(ground, satellite), index))
        .min_by(|a, b| a.0.total_cmp(&b.0))
}

/// A length with a total order, for the queue.
#[derive(PartialEq)]
struct Metres(f64);

impl Eq for Metres {}

impl PartialOrd for Metres {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Metres {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
