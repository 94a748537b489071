//! LinUCB: a bandit with context.

/// LinUCB with disjoint linear models (Li, Chu, Langford and Schapire, WWW 2010, algorithm 1).
///
/// Each arm keeps `A` (starting as the identity) and `b`; its score for context `x` is `theta x + alpha sqrt(x' A^-1 x)`
/// with `theta = A^-1 b`. Only the inverse is kept, updated by Sherman and Morrison's formula.
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
    /// `A^-1 x` of the arm that is updated.
    product: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
struct Arm {
    /// `A^-1`, row by row; symmetric.
    inverse: Vec<f64>,
    b: Vec<f64>,
}

impl LinUcb {
    /// A bandit with so many arms over contexts of so many features; `alpha` weighs exploration.
    pub fn new(arms: usize, features: usize, alpha: f64) -> Self {
        let mut inverse = vec![0.0; features * features];
        (0..features).for_each(|at| inverse[at * features + at] = 1.0);
        let arm = Arm { inverse, b: vec![0.0; features] };
        Self { features, alpha, arms: vec![arm; arms], product: vec![0.0; features] }
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

fn dot(first: &[f64], second: &[f64]) -> f64 {
    first.iter().zip(second).map(|(first, second)| first * second).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// 4D-MAP's vector: theta = (0.888889, 0.444444) after one update with reward 2.
    #[test]
    fn one_update_gives_the_known_model() {
        let mut bandit = LinUcb::new(2, 2, 0.8);
        bandit.update(0, &[1.0, 0.5], 2.0);
        assert!((bandit.prediction(0, &[1.0, 0.0]) - 0.888_889).abs() < 1e-6);
        assert!((bandit.prediction(0, &[0.0, 1.0]) - 0.444_444).abs() < 1e-6);
        assert_eq!(bandit.choose(&[1.0, 0.5]), 0);
        assert_eq!(bandit.prediction(1, &[1.0, 0.5]), 0.0);
    }

    #[test]
    fn what_is_no_number_does_not_spoil_the_model() {
        let mut bandit = LinUcb::new(1, 2, 0.8);
        let before = bandit.clone();
        bandit.update(0, &[f64::NAN, 1.0], 1.0);
        bandit.update(0, &[1.0, 1.0], f64::INFINITY);
        bandit.update(9, &[1.0, 1.0], 1.0);
        assert_eq!(bandit, before);
    }

    /// Four arms, 13 features, noise of 0.1: in decisions 500 to 1000 the best arm at least nine times of ten.
    #[test]
    fn the_best_arm_of_a_linear_problem_is_found() {
        let mut random = Random::new(1);
        let models: Vec<Vec<f64>> =
            (0..4).map(|_| (0..13).map(|_| random.fraction() - 0.5).collect()).collect();
        let mut bandit = LinUcb::new(4, 13, 0.8);
        let mut right = 0;
        for round in 0..1_000 {
            let context: Vec<f64> = (0..13).map(|_| random.fraction()).collect();
            let means: Vec<f64> = models.iter().map(|model| dot(model, &context)).collect();
            let arm = bandit.choose(&context);
            let best = means.iter().copied().fold(f64::MIN, f64::max);
            // Arms that the noise does not tell apart are equally right.
            right += usize::from(round >= 500 && means[arm] >= best - 0.1);
            bandit.update(arm, &context, means[arm] + 0.1 * random.normal());
        }
        assert!(right >= 450, "{right} of 500");
    }
}
