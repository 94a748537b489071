use super::Trajectory;

/// A straight road along the first axis, at constant speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StraightRoad {
    /// m/s.
    pub speed: f64,
    /// Where the host starts, metres along the road.
    pub start: f64,
}

impl StraightRoad {
    /// The way over a time in seconds.
    pub fn trajectory(&self, duration: f64) -> Trajectory {
        if self.speed == 0.0 || duration <= 0.0 {
            return Trajectory::still([self.start, 0.0]);
        }
        Trajectory::new(vec![(0.0, [self.start, 0.0]), (duration, [self.start + self.speed * duration, 0.0])])
    }
}
