//! How hosts move. Every model makes a [`Trajectory`]: positions at times, joined by straight lines.

mod city;
mod road;
mod track;
mod walk;

pub use city::CityDrive;
pub use road::StraightRoad;
pub use track::{RecordedTrack, TrackFormat};
pub use walk::{Area, RandomWalk};

use crate::profile::Position;

/// Positions at times, joined by straight lines; constant before the first and after the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// (seconds, metres east, metres north), with increasing times; never empty.
    points: Vec<(f64, [f64; 2])>,
    /// Metres travelled up to each point.
    travelled: Vec<f64>,
}

impl Trajectory {
    /// A host that stays.
    pub fn still(at: [f64; 2]) -> Self {
        Trajectory::new(vec![(0.0, at)])
    }

    pub(crate) fn new(points: Vec<(f64, [f64; 2])>) -> Self {
        let mut sum = 0.0;
        let travelled = points
            .iter()
            .enumerate()
            .map(|(index, point)| {
                let before = points[index.saturating_sub(1)];
                sum += distance(before.1, point.1);
                sum
            })
            .collect();
        Trajectory { points, travelled }
    }

    /// The same way, moved by metres east and north.
    pub(crate) fn shifted(&self, by: [f64; 2]) -> Self {
        let moved = |point: &(f64, [f64; 2])| (point.0, [point.1[0] + by[0], point.1[1] + by[1]]);
        Trajectory { points: self.points.iter().map(moved).collect(), travelled: self.travelled.clone() }
    }

    /// The position at a time in seconds.
    pub fn at(&self, time: f64) -> [f64; 2] {
        let (before, after, share) = self.segment(time);
        let (from, to) = (self.points[before].1, self.points[after].1);
        [from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])]
    }

    /// m/s at a time in seconds.
    pub fn speed(&self, time: f64) -> f64 {
        let (before, after, _) = self.segment(time);
        if before == after {
            return 0.0;
        }
        let (from, to) = (self.points[before], self.points[after]);
        distance(from.1, to.1) / (to.0 - from.0)
    }

    /// Metres travelled until a time in seconds.
    pub fn travelled(&self, time: f64) -> f64 {
        let (before, after, share) = self.segment(time);
        self.travelled[before] + share * (self.travelled[after] - self.travelled[before])
    }

    /// The points between which a time lies, and how far along.
    fn segment(&self, time: f64) -> (usize, usize, f64) {
        let next = self.points.partition_point(|point| point.0 <= time);
        if next == 0 {
            return (0, 0, 0.0);
        }
        if next == self.points.len() {
            return (next - 1, next - 1, 0.0);
        }
        let (from, to) = (self.points[next - 1].0, self.points[next].0);
        (next - 1, next, (time - from) / (to - from))
    }

    /// The points as positions of a profile, up to `duration`.
    pub(crate) fn positions(&self, duration_ns: u64) -> Vec<Position> {
        let until = crate::math::seconds(duration_ns);
        let point = |time: f64| {
            let [east, north] = self.at(time);
            Position { at: crate::math::nanos(time), metres: [east, north, 0.0] }
        };
        let mut list: Vec<Position> = vec![point(0.0)];
        for &(time, _) in self.points.iter().filter(|known| known.0 > 0.0 && known.0 < until) {
            let next = point(time);
            if list.last().is_some_and(|last| next.at > last.at) {
                list.push(next);
            }
        }
        if list.last().is_some_and(|last| last.at < duration_ns) {
            list.push(Position { at: duration_ns, ..point(until) });
        }
        list
    }
}

pub(crate) fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    let (east, north) = (a[0] - b[0], a[1] - b[1]);
    crate::math::sqrt(east * east + north * north)
}

#[cfg(test)]
mod tests;
