//! Follow the regularised leader, for the minimum of a function of which only values are seen.

/// How gradients are accumulated; the publication leaves it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Accumulation {
    /// Each gradient with the step size of its own update: `a += eta_k g`.
    #[default]
    PerStep,
    /// All gradients with the step size of the newest: `a = eta_k sum(g)`. A step size that is set back makes the centre
    /// jump.
    CurrentEta,
}

/// FTRL with ellipsoidal smoothing over the open interval from 0 to 1 (Lattimore, "Bandit convex optimisation", 2024,
/// chapter 6; the learner of FTRL-WRR, D. Li, University of Victoria 2024, algorithm 7).
///
/// The barrier `R(x) = -ln x - ln(1-x)` keeps the centre inside, and its curvature shapes the exploration: points on the
/// boundary of a half-scaled Dikin ellipsoid, so that nothing is ever projected. Feedback may come late: an update takes the
/// [`Play`] that it belongs to.
///
/// ```
/// use hawser_learn::{Accumulation, IntervalFtrl};
///
/// // The minimum of (x - 0.3)^2, seen one value at a time.
/// let mut learner = IntervalFtrl::new(Accumulation::PerStep);
/// for round in 0..400 {
///     let play = learner.play((round / 2) % 2 == 1);
///     learner.update(&play, (play.point - 0.3).powi(2));
/// }
/// assert!((learner.center() - 0.3).abs() < 0.03);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalFtrl {
    accumulation: Accumulation,
    center: f64,
    radius: f64,
    /// The argument of [`minimiser`].
    a: f64,
    gradients: f64,
    updates: u32,
}

/// A point that was played, and where from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Play {
    /// The centre at that time.
    pub center: f64,
    /// The exploration radius at that time.
    pub radius: f64,
    /// 1 if the point lies above the centre, -1 if below.
    pub sign: f64,
    /// The point.
    pub point: f64,
}

impl IntervalFtrl {
    /// Starts at one half with radius 1.
    pub fn new(accumulation: Accumulation) -> Self {
        Self { accumulation, center: 0.5, radius: 1.0, a: 0.0, gradients: 0.0, updates: 0 }
    }

    /// Where it stands.
    pub fn center(&self) -> f64 {
        self.center
    }

    /// Updates since the last reset.
    pub fn updates(&self) -> u32 {
        self.updates
    }

    /// The point to play, above the centre or below.
    pub fn play(&self, above: bool) -> Play {
        let sign = if above { 1.0 } else { -1.0 };
        let point = self.center + sign * self.radius / 2.0 / curvature(self.center).sqrt();
        Play { center: self.center, radius: self.radius, sign, point }
    }

    /// Takes in the loss of a play. What is no number is ignored.
    pub fn update(&mut self, play: &Play, loss: f64) {
        if !loss.is_finite() {
            return;
        }
        self.updates = self.updates.saturating_add(1);
        let gradient = 2.0 * loss * play.sign * curvature(play.center).sqrt() / play.radius;
        let step = step_size(self.updates);
        match self.accumulation {
            Accumulation::PerStep => self.a += step * gradient,
            Accumulation::CurrentEta => {
                self.gradients += gradient;
                self.a = step * self.gradients;
            }
        }
        self.center = minimiser(self.a);
        self.radius = radius(self.updates);
    }

    /// The next update has the step size and the radius of the first one again: what is learned changed.
    pub fn restart(&mut self) {
        self.updates = 0;
    }

    /// Forgets the gradients: back to one half.
    pub fn forget(&mut self) {
        (self.a, self.gradients) = (0.0, 0.0);
        self.center = minimiser(self.a);
    }
}

/// `argmin a x + R(x)` over 0 to 1: `(a + 2 - sqrt(a^2 + 4)) / 2a`, in a form that is exact also near zero.
pub fn minimiser(a: f64) -> f64 {
    let root = libm::hypot(a, 2.0);
    if a >= 0.0 { 2.0 / (a + 2.0 + root) } else { 1.0 - 2.0 / (-a + 2.0 + root) }
}

/// `R''(x) = 1/x^2 + 1/(1-x)^2`: at least 8.
pub fn curvature(x: f64) -> f64 {
    1.0 / (x * x) + 1.0 / ((1.0 - x) * (1.0 - x))
}

/// The step size of the `k`-th update since a reset, from 1: `2^(-1/2) (ln(k+1) / (k+1))^(3/4)`.
pub fn step_size(k: u32) -> f64 {
    0.5f64.sqrt() * libm::pow(log_ratio(k), 0.75)
}

/// The exploration radius after the `k`-th update since a reset, from 1: `min(1, 2^(1/2) (ln(k+1) / (k+1))^(1/4))`.
pub fn radius(k: u32) -> f64 {
    (2f64.sqrt() * libm::pow(log_ratio(k), 0.25)).min(1.0)
}

fn log_ratio(k: u32) -> f64 {
    let next = f64::from(k.max(1)) + 1.0;
    libm::log(next) / next
}

#[cfg(test)]
mod tests;
