//! The same learner for more than two shares.

use crate::ftrl::{radius, step_size};
use crate::linear::{factorise, solve_lower, solve_upper};

/// The most shares of a [`SimplexFtrl`].
pub const MAX_SHARES: usize = 16;

const MAX: usize = MAX_SHARES - 1;

/// No share falls below about the inverse of this, where the arithmetic still distinguishes it from none.
const STEEPEST: f64 = 1e4;

/// FTRL with ellipsoidal smoothing over shares that add up to one: [`IntervalFtrl`](crate::IntervalFtrl) for `n` shares
/// (D. Li, University of Victoria 2024, chapter 5).
///
/// With `d = n - 1` free shares `w` the barrier is `R(w) = -sum ln w_i - ln(1 - sum w_i)`; a play is `w + (r/2) M xi` with
/// `M M' = R''^-1` and `xi` on the unit sphere, the gradient `4 d Y R'' (X - w) / r^2`, and the centre `argmin a w + R(w)` by
/// Newton's method. Gradients are accumulated with the step size of their own update.
#[derive(Debug, Clone, PartialEq)]
pub struct SimplexFtrl {
    free: usize,
    center: [f64; MAX],
    /// Sum of step size times gradient, less what the starting point stands for.
    a: [f64; MAX],
    radius: f64,
    largest_radius: f64,
    updates: u32,
}

/// Shares that were played, and where from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimplexPlay {
    free: usize,
    center: [f64; MAX],
    point: [f64; MAX],
    radius: f64,
}

impl SimplexPlay {
    /// The share of the `index`-th; the last takes what the others leave.
    pub fn share(&self, index: usize) -> f64 {
        share(&self.point[..self.free], index)
    }
}

fn share(free: &[f64], index: usize) -> f64 {
    free.get(index).copied().unwrap_or_else(|| 1.0 - free.iter().sum::<f64>())
}

impl SimplexFtrl {
    /// Starts at these shares, 2 to [`MAX_SHARES`] positive numbers whose sum does not matter; explores within
    /// `largest_radius` at most, above 0 and at most 1.
    ///
    /// # Panics
    /// If there are fewer or more shares.
    pub fn new(shares: &[f64], largest_radius: f64) -> Self {
        assert!((2..=MAX_SHARES).contains(&shares.len()), "2 to {MAX_SHARES} shares, not {}", shares.len());
        let free = shares.len() - 1;
        // No share starts at the boundary, where the barrier is infinite.
        let floor = 0.01 / shares.len() as f64;
        let sum: f64 = shares.iter().map(|share| share.max(0.0)).sum::<f64>().max(f64::MIN_POSITIVE);
        let raised = |share: f64| (share.max(0.0) / sum).clamp(floor, 1.0);
        let raised_sum: f64 = shares.iter().copied().map(raised).sum();
        let mut learner = Self {
            free,
            center: [0.0; MAX],
            a: [0.0; MAX],
            radius: largest_radius,
            largest_radius,
            updates: 0,
        };
        for (center, share) in learner.center.iter_mut().zip(&shares[..free]) {
            *center = raised(*share) / raised_sum;
        }
        // The start is the minimiser of a = -R'(start).
        let gradient = barrier_gradient(&learner.center, free);
        (0..free).for_each(|at| learner.a[at] = -gradient[at]);
        learner
    }

    /// How many shares there are.
    pub fn shares(&self) -> usize {
        self.free + 1
    }

    /// The share of the `index`-th at the centre.
    pub fn center(&self, index: usize) -> f64 {
        share(&self.center[..self.free], index)
    }

    /// The shares to play in a direction: a point of the unit sphere with one coordinate less than there are shares.
    pub fn play(&self, direction: &[f64]) -> SimplexPlay {
        let mut step = [0.0; MAX];
        (0..self.free).for_each(|at| step[at] = direction.get(at).copied().unwrap_or(0.0));
        // With R'' = L L', the inverse of L' maps the sphere onto the ellipsoid.
        let mut factor = [0.0; MAX * MAX];
        curvature(&self.center, self.free, &mut factor);
        let mut point = self.center;
        if factorise(&mut factor, self.free) {
            solve_upper(&factor, self.free, &mut step);
            (0..self.free).for_each(|at| point[at] += self.radius / 2.0 * step[at]);
        }
        SimplexPlay { free: self.free, center: self.center, point, radius: self.radius }
    }

    /// Takes in the loss of a play. What is no number, and the play of a learner with other shares, is ignored.
    pub fn update(&mut self, play: &SimplexPlay, loss: f64) {
        if !loss.is_finite() || play.free != self.free {
            return;
        }
        self.updates = self.updates.saturating_add(1);
        let mut matrix = [0.0; MAX * MAX];
        curvature(&play.center, self.free, &mut matrix);
        let scale = 4.0 * self.free as f64 * loss / (play.radius * play.radius);
        for row in 0..self.free {
            let product: f64 = (0..self.free)
                .map(|column| matrix[row * self.free + column] * (play.point[column] - play.center[column]))
                .sum();
            let a = self.a[row] + step_size(self.updates) * scale * product;
            self.a[row] = a.clamp(-STEEPEST, STEEPEST);
        }
        self.minimise();
        self.radius = radius(self.updates).min(self.largest_radius);
    }

    /// The next update has the step size and the radius of the first one again.
    pub fn restart(&mut self) {
        self.updates = 0;
    }

    /// Newton's method with the damping 1 / (1 + decrement), under which a self-concordant function never leaves its domain
    /// (Nesterov and Nemirovskii 1994).
    fn minimise(&mut self) {
        for _ in 0..100 {
            let mut step = barrier_gradient(&self.center, self.free);
            (0..self.free).for_each(|at| step[at] += self.a[at]);
            let mut factor = [0.0; MAX * MAX];
            curvature(&self.center, self.free, &mut factor);
            if !factorise(&mut factor, self.free) {
                return;
            }
            solve_lower(&factor, self.free, &mut step);
            let decrement = step[..self.free].iter().map(|value| value * value).sum::<f64>().sqrt();
            if decrement < 1e-10 {
                return;
            }
            solve_upper(&factor, self.free, &mut step);
            let damping = if decrement < 0.25 { 1.0 } else { 1.0 / (1.0 + decrement) };
            let mut next = self.center;
            (0..self.free).for_each(|at| next[at] -= damping * step[at]);
            // Rounding may lead out where the barrier is steep.
            if next[..self.free].iter().any(|share| *share <= 0.0)
                || share(&next[..self.free], self.free) <= 0.0
            {
                return;
            }
            self.center = next;
        }
    }
}

/// `R'(w)`: `-1/w_i + 1/(1 - sum w)`.
fn barrier_gradient(center: &[f64; MAX], free: usize) -> [f64; MAX] {
    let last = 1.0 - center[..free].iter().sum::<f64>();
    let mut gradient = [0.0; MAX];
    (0..free).for_each(|at| gradient[at] = -1.0 / center[at] + 1.0 / last);
    gradient
}

/// `R''(w) = diag(1/w_i^2) + 1 1' / (1 - sum w)^2`.
fn curvature(center: &[f64; MAX], free: usize, matrix: &mut [f64]) {
    let last = 1.0 - center[..free].iter().sum::<f64>();
    for row in 0..free {
        for column in 0..free {
            let own = if row == column { 1.0 / (center[row] * center[row]) } else { 0.0 };
            matrix[row * free + column] = own + 1.0 / (last * last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accumulation, IntervalFtrl, Random};

    /// Throughput of ideal paths with these ratios of the bandwidth under these shares.
    fn throughput(play: &SimplexPlay, ratios: &[f64]) -> f64 {
        ratios.iter().enumerate().map(|(at, ratio)| ratio / play.share(at)).fold(1.0, f64::min)
    }

    #[test]
    fn two_shares_are_the_interval() {
        let mut interval = IntervalFtrl::new(Accumulation::PerStep);
        let mut simplex = SimplexFtrl::new(&[1.0, 1.0], 1.0);
        for step in 1..100 {
            let above = (step / 2) % 2 == 1;
            let (one, two) = (interval.play(above), simplex.play(&[if above { 1.0 } else { -1.0 }]));
            assert!((one.point - two.share(0)).abs() < 1e-8, "{step}: {} {}", one.point, two.share(0));
            let loss = (one.point - 0.3).powi(2);
            interval.update(&one, loss);
            simplex.update(&two, loss);
        }
        assert!((interval.center() - simplex.center(0)).abs() < 1e-8);
    }

    #[test]
    fn three_shares_converge_to_the_ratio_of_bandwidths() {
        let ratios = [0.5, 0.3, 0.2];
        let mut random = Random::new(1);
        let mut mean = [0.0; 3];
        let mut simplex = SimplexFtrl::new(&[1.0, 1.0, 1.0], 0.5);
        for step in 0..3_000 {
            let mut direction = [0.0; 2];
            random.direction(&mut direction);
            let play = simplex.play(&direction);
            simplex.update(&play, (1.0 - throughput(&play, &ratios)).powi(2));
            if step >= 2_000 {
                (0..3).for_each(|at| mean[at] += simplex.center(at) / 1_000.0);
            }
        }
        assert!((0..3).all(|at| (mean[at] - ratios[at]).abs() < 0.08), "{mean:?}");
    }

    #[test]
    fn shares_stay_positive_and_add_up() {
        let mut random = Random::new(2);
        for count in 2..=MAX_SHARES {
            let start: Vec<f64> =
                (0..count).map(|at| if at == 0 { 0.0 } else { random.fraction() }).collect();
            let mut simplex = SimplexFtrl::new(&start, 1.0);
            for _ in 0..200 {
                let mut direction = [0.0; MAX];
                random.direction(&mut direction[..count - 1]);
                let play = simplex.play(&direction[..count - 1]);
                let shares = (0..count).map(|at| play.share(at));
                assert!(shares.clone().all(|share| share > 0.0 && share < 1.0), "{count}: {play:?}");
                assert!((shares.sum::<f64>() - 1.0).abs() < 1e-9);
                simplex.update(&play, random.fraction());
            }
        }
    }
}
