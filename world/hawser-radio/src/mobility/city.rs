use super::Trajectory;
use crate::RadioError;
use crate::error::Check;
use crate::random::{Draws as _, Random};

/// A drive through a city of square blocks: the speed is drawn again at intervals, at each crossing the car may turn
/// (MAMS, ToN 2024, section V: urban).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct CityDrive {
    /// Mean speed, m/s. Default 30 km/h.
    pub mean_speed: f64,
    /// The speed is uniform in `mean_speed * (1 - spread)..mean_speed * (1 + spread)`. Default 0.5.
    pub speed_spread: f64,
    /// Seconds between draws of the speed. Default 10.
    pub speed_interval: f64,
    /// Metres between crossings. Default 100.
    pub block: f64,
    /// Probability of going straight on at a crossing; left and right share the rest. Default 0.5.
    pub straight: f64,
}

impl Default for CityDrive {
    fn default() -> Self {
        CityDrive {
            mean_speed: 30.0 / 3.6,
            speed_spread: 0.5,
            speed_interval: 10.0,
            block: 100.0,
            straight: 0.5,
        }
    }
}

impl CityDrive {
    /// The way over a time in seconds.
    pub fn trajectory(&self, duration: f64, seed: u64) -> Result<Trajectory, RadioError> {
        let check = Check("urban");
        check.positive("drive.mean_speed", self.mean_speed)?;
        check.that(
            (0.0..1.0).contains(&self.speed_spread),
            "drive.speed_spread",
            self.speed_spread,
            "a share from 0, below 1",
        )?;
        check.positive("drive.speed_interval", self.speed_interval)?;
        check.positive("drive.block", self.block)?;
        check.share("drive.straight", self.straight)?;

        let mut random = Random::new(seed, "city drive");
        // The grid of streets lies at random over the cells.
        let mut place = [random.between(0.0, 1000.0), random.between(0.0, 1000.0)];
        let mut heading =
            [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]][random.between(0.0, 4.0) as usize];
        let (mut now, mut points) = (0.0, vec![(0.0, place)]);
        let (mut to_crossing, mut to_draw) = (self.block * random.unit().max(1e-6), self.speed_interval);
        let mut speed = self.draw_speed(&mut random);
        while now < duration {
            let step = to_draw.min(to_crossing / speed);
            now += step;
            place = [place[0] + heading[0] * speed * step, place[1] + heading[1] * speed * step];
            points.push((now, place));
            to_crossing -= speed * step;
            to_draw -= step;
            if to_crossing <= 1e-9 {
                to_crossing = self.block;
                heading = self.turn(heading, &mut random);
            }
            if to_draw <= 1e-9 {
                to_draw = self.speed_interval;
                speed = self.draw_speed(&mut random);
            }
        }
        Ok(Trajectory::new(points))
    }

    fn draw_speed(&self, random: &mut Random) -> f64 {
        self.mean_speed * random.between(1.0 - self.speed_spread, 1.0 + self.speed_spread)
    }

    fn turn(&self, heading: [f64; 2], random: &mut Random) -> [f64; 2] {
        let draw = random.unit();
        let [east, north] = heading;
        if draw < self.straight {
            heading
        } else if draw < self.straight + 0.5 * (1.0 - self.straight) {
            [-north, east]
        } else {
            [north, -east]
        }
    }
}
