use super::Trajectory;
use crate::RadioError;
use crate::error::Check;
use crate::math::{PI, cos, sin};
use crate::random::{Draws as _, Random};

/// A rectangle from the origin, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Area {
    /// East.
    pub width: f64,
    /// North.
    pub height: f64,
}

/// A walk in random directions between reflecting borders (QC-MAB, W. Yang 2024, section 4.5.2).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct RandomWalk {
    /// m/s. Default 1.4, a pedestrian.
    pub speed: f64,
    /// Seconds between draws of the direction, which is uniform. Default 1.
    pub slot: f64,
    /// Where it starts, metres; `None` draws a point of the area. Default `None`.
    pub start: Option<[f64; 2]>,
    /// Its borders. Default 200 m by 200 m.
    pub area: Area,
}

impl Default for RandomWalk {
    fn default() -> Self {
        RandomWalk { speed: 1.4, slot: 1.0, start: None, area: Area { width: 200.0, height: 200.0 } }
    }
}

impl RandomWalk {
    /// The way over a time in seconds.
    pub fn trajectory(&self, duration: f64, seed: u64) -> Result<Trajectory, RadioError> {
        let check = Check("pedestrian");
        check.not_negative("walk.speed", self.speed)?;
        check.positive("walk.slot", self.slot)?;
        check.positive("walk.area.width", self.area.width)?;
        check.positive("walk.area.height", self.area.height)?;
        let size = [self.area.width, self.area.height];
        let mut random = Random::new(seed, "random walk");
        let mut place = self.start.unwrap_or([random.between(0.0, size[0]), random.between(0.0, size[1])]);
        let inside = (0..2).all(|axis| (0.0..=size[axis]).contains(&place[axis]));
        check.that(inside, "walk.start", format!("{place:?}"), "a point of the area")?;

        let (mut now, mut points) = (0.0, vec![(0.0, place)]);
        while now < duration && self.speed > 0.0 {
            let direction = random.between(0.0, 2.0 * PI);
            let mut velocity = [self.speed * cos(direction), self.speed * sin(direction)];
            let mut left = self.slot;
            while left > 1e-9 {
                let step = left.min(to_border(place, velocity, size));
                now += step;
                left -= step;
                for axis in 0..2 {
                    place[axis] += velocity[axis] * step;
                    // A nanometre counts as there: rounding may never reach the border itself.
                    let outwards = (place[axis] <= 1e-9 && velocity[axis] < 0.0)
                        || (place[axis] >= size[axis] - 1e-9 && velocity[axis] > 0.0);
                    if outwards {
                        place[axis] = if velocity[axis] < 0.0 { 0.0 } else { size[axis] };
                        velocity[axis] = -velocity[axis];
                    }
                }
                if step > 0.0 {
                    points.push((now, place));
                }
            }
        }
        Ok(Trajectory::new(points))
    }
}

/// Seconds until a border is met.
fn to_border(place: [f64; 2], velocity: [f64; 2], size: [f64; 2]) -> f64 {
    let mut time = f64::INFINITY;
    for axis in 0..2 {
        if velocity[axis] > 0.0 {
            time = time.min((size[axis] - place[axis]) / velocity[axis]);
        } else if velocity[axis] < 0.0 {
            time = time.min(place[axis] / -velocity[axis]);
        }
    }
    // A walk that starts on the border and goes outwards reflects at once.
    time.max(0.0)
}
