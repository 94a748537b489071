//! LinUCB: a bandit with context.

use crate::linear::{factorise, solve_lower, solve_upper};

/// LinUCB with disjoint linear models (Li, Chu, Langford and Schapire, WWW 2010, algorithm 1).
///
/// Each arm keeps `A` (starting as the identity) and `b`; its score for context `x` is `theta x + alpha sqrt(x' A^-1 x)`
/// with `theta = A^-1 b`. The inverse is updated by Sherman and Morrison's formula. [Forgetting](Self::with_forgetting) has
/// no such formula: then `A` is kept as well, and inverted with every update.
///
/// ```
/// let mut bandit = hawser_learn::LinUcb::new(1, 2, 0.8);
/// assert!((bandit.score(0, &[1.0, 0.5]) - 0.894_427).abs() < 1e-6);
/// bandit.update(0, &[1.0, 0.5], 2.0);
/// assert!((bandit.score(0, &[1.0, 0.5]) - 1.707_396).abs() < 1e-6);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LinUcb {
    features: usize,
    alpha: f64,
    arms: Vec<Arm>,
    /// What remains of earlier observations with each update of an arm; 1 if nothing is forgotten.
    memory: f64,
    /// `A^-1 x` of the arm that is updated.
    product: Vec<f64>,
    /// The Cholesky factor of its `A`; empty if nothing is forgotten.
    factor: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
struct Arm {
    /// `A^-1`, row by row; symmetric.
    inverse: Vec<f64>,
    b: Vec<f64>,
    /// `A`; empty if nothing is forgotten.
    matrix: Vec<f64>,
}

/// What was learned of one arm, to be stored and loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct LinUcbArm {
    /// `A`, row by row: symmetric and positive definite, the square of the number of features long.
    pub matrix: Vec<f64>,
    /// `b`, one value for each feature.
    pub b: Vec<f64>,
}

impl LinUcb {
    /// A bandit with so many arms over contexts of so many features; `alpha` weighs exploration.
    pub fn new(arms: usize, features: usize, alpha: f64) -> Self {
        let arm = Arm { inverse: identity(features), b: vec![0.0; features], matrix: Vec::new() };
        let product = vec![0.0; features];
        Self { features, alpha, arms: vec![arm; arms], memory: 1.0, product, factor: Vec::new() }
    }

    /// Forgets with time: an update is `A <- memory A + (1 - memory) I + x x'` and `b <- memory b + R x`. With 1, nothing is
    /// forgotten.
    ///
    /// # Panics
    /// If `memory` is not above 0 and at most 1.
    #[must_use]
    pub fn with_forgetting(mut self, memory: f64) -> Self {
        assert!(memory > 0.0 && memory <= 1.0, "a memory above 0 and at most 1, not {memory}");
        let forgets = memory < 1.0;
        for at in 0..self.arms.len() {
            self.arms[at].matrix = if forgets { self.matrix(at) } else { Vec::new() };
        }
        self.factor = vec![0.0; if forgets { self.features * self.features } else { 0 }];
        self.memory = memory;
        self
    }

    /// What was learned of an arm; `None` if there is no such arm.
    pub fn arm(&self, arm: usize) -> Option<LinUcbArm> {
        Some(LinUcbArm { b: self.arms.get(arm)?.b.clone(), matrix: self.matrix(arm) })
    }

    /// Goes on from what was learned before. Nothing changes, and the answer is false, if there is no such arm, or if the model
    /// has another number of features, a value that is not finite, or a matrix that is not positive definite.
    pub fn load(&mut self, arm: usize, model: &LinUcbArm) -> bool {
        let features = self.features;
        let fits = model.matrix.len() == features * features && model.b.len() == features;
        let is_finite = || model.matrix.iter().chain(&model.b).all(|value| value.is_finite());
        let Some(arm) = self.arms.get_mut(arm).filter(|_| fits && is_finite()) else { return false };
        let mut inverse = vec![0.0; features * features];
        if !invert(&model.matrix, features, &mut vec![0.0; features * features], &mut inverse) {
            return false;
        }
        arm.inverse = inverse;
        arm.b.clone_from(&model.b);
        if self.memory < 1.0 {
            arm.matrix.clone_from(&model.matrix);
        }
        true
    }

    /// `A` of an arm that exists.
    fn matrix(&self, arm: usize) -> Vec<f64> {
        let arm = &self.arms[arm];
        if !arm.matrix.is_empty() {
            return arm.matrix.clone();
        }
        let size = arm.inverse.len();
        let mut matrix = vec![0.0; size];
        if invert(&arm.inverse, self.features, &mut vec![0.0; size], &mut matrix) {
            matrix
        } else {
            identity(self.features)
        }
    }

    /// How many features a context has. Missing ones count as zero, further ones are ignored.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The score of an arm in this context; no number below it for an arm that does not exist.
    pub fn score(&self, arm: usize, context: &[f64]) -> f64 {
        let Some((mean, square)) = self.estimate(arm, context) else { return f64::NEG_INFINITY };
        mean + self.alpha * square.max(0.0).sqrt()
    }

    /// The reward that the model of an arm predicts, without the bonus for exploration.
    pub fn prediction(&self, arm: usize, context: &[f64]) -> f64 {
        self.estimate(arm, context).map_or(0.0, |(mean, _)| mean)
    }

    /// The arm with the largest score; the first of equals.
    pub fn choose(&self, context: &[f64]) -> usize {
        let mut best = (0, f64::NEG_INFINITY);
        for arm in 0..self.arms.len() {
            let score = self.score(arm, context);
            if score > best.1 {
                best = (arm, score);
            }
        }
        best.0
    }

    /// Takes in the reward that an arm gave in a context. What is not finite is ignored: it would spoil the model for good.
    pub fn update(&mut self, arm: usize, context: &[f64], reward: f64) {
        let features = self.features;
        let Some(arm) = self.arms.get_mut(arm) else { return };
        if !reward.is_finite() || context.iter().any(|value| !value.is_finite()) {
            return;
        }
        if self.memory < 1.0 {
            return arm.forget_and_update(context, reward, self.memory, &mut self.factor);
        }
        let mut square = 1.0;
        for (row, product) in self.product.iter_mut().enumerate() {
            let line = &arm.inverse[row * features..(row + 1) * features];
            *product = dot(line, context);
            square += context.get(row).copied().unwrap_or(0.0) * *product;
        }
        for row in 0..features {
            for column in 0..features {
                arm.inverse[row * features + column] -= self.product[row] * self.product[column] / square;
            }
            arm.b[row] += reward * context.get(row).copied().unwrap_or(0.0);
        }
    }

    /// `theta x` and `x' A^-1 x`; `A^-1` is symmetric, so that `theta x = b' (A^-1 x)`.
    fn estimate(&self, arm: usize, context: &[f64]) -> Option<(f64, f64)> {
        let arm = self.arms.get(arm)?;
        let mut estimate = (0.0, 0.0);
        for (row, (line, b)) in arm.inverse.chunks_exact(self.features.max(1)).zip(&arm.b).enumerate() {
            let product = dot(line, context);
            estimate.0 += b * product;
            estimate.1 += context.get(row).copied().unwrap_or(0.0) * product;
        }
        Some(estimate)
    }
}

impl Arm {
    fn forget_and_update(&mut self, context: &[f64], reward: f64, memory: f64, factor: &mut [f64]) {
        let features = self.b.len();
        let value = |at: usize| context.get(at).copied().unwrap_or(0.0);
        for row in 0..features {
            for column in 0..features {
                let ridge = if row == column { 1.0 - memory } else { 0.0 };
                let cell = &mut self.matrix[row * features + column];
                *cell = memory * *cell + ridge + value(row) * value(column);
            }
            self.b[row] = memory * self.b[row] + reward * value(row);
        }
        // The ridge keeps the matrix positive definite.
        invert(&self.matrix, features, factor, &mut self.inverse);
    }
}

fn identity(size: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; size * size];
    (0..size).for_each(|at| matrix[at * size + at] = 1.0);
    matrix
}

/// Writes the inverse of a symmetric matrix; false, and nothing written, if it is not positive definite. `factor` is
/// scratch.
fn invert(matrix: &[f64], size: usize, factor: &mut [f64], inverse: &mut [f64]) -> bool {
    factor.copy_from_slice(matrix);
    if !factorise(factor, size) {
        return false;
    }
    for (row, line) in inverse.chunks_exact_mut(size.max(1)).enumerate() {
        line.fill(0.0);
        line[row] = 1.0;
        solve_lower(factor, size, line);
        solve_upper(factor, size, line);
    }
    true
}

fn dot(first: &[f64], second: &[f64]) -> f64 {
    first.iter().zip(second).map(|(first, second)| first * second).sum()
}

#[cfg(test)]
mod tests;
