//! Pairing observations that were made in like circumstances.

use crate::linear::{factorise, solve_lower};

/// Added to the variance of each feature, so that a feature which never varies does no harm.
const RIDGE: f64 = 1e-6;

/// Distances in units of the spread of the data (Mahalanobis 1936): `sqrt((x - y)' S^-1 (x - y))` with the covariance `S` of
/// all observations.
#[derive(Debug, Clone, PartialEq)]
pub struct Mahalanobis<const FEATURES: usize> {
    /// Cholesky factor of the covariance.
    factor: Vec<f64>,
}

impl<const FEATURES: usize> Mahalanobis<FEATURES> {
    /// Measures by the covariance of these observations; without two of them, and if they are no numbers, by plain distance.
    pub fn of<'a>(observations: impl Iterator<Item = &'a [f64; FEATURES]> + Clone) -> Self {
        let count = observations.clone().count() as f64;
        let mut mean = [0.0; FEATURES];
        for observation in observations.clone() {
            (0..FEATURES).for_each(|at| mean[at] += observation[at] / count);
        }
        let mut factor = vec![0.0; FEATURES * FEATURES];
        for observation in observations {
            for row in 0..FEATURES {
                for column in 0..FEATURES {
                    factor[row * FEATURES + column] += (observation[row] - mean[row])
                        * (observation[column] - mean[column])
                        / (count - 1.0).max(1.0);
                }
            }
        }
        (0..FEATURES).for_each(|at| factor[at * FEATURES + at] += RIDGE);
        if !factorise(&mut factor, FEATURES) {
            factor.fill(0.0);
            (0..FEATURES).for_each(|at| factor[at * FEATURES + at] = 1.0);
        }
        Self { factor }
    }

    /// The square of the distance between two observations.
    pub fn square(&self, first: &[f64; FEATURES], second: &[f64; FEATURES]) -> f64 {
        let mut difference = [0.0; FEATURES];
        (0..FEATURES).for_each(|at| difference[at] = first[at] - second[at]);
        solve_lower(&self.factor, FEATURES, &mut difference);
        difference.iter().map(|value| value * value).sum()
    }
}

/// Pairs each of `first`, in order, with the nearest of `second` that is not taken yet, by [`Mahalanobis`] distance over both;
/// positions in the two. As many pairs as the shorter list has entries.
pub fn nearest_pairs<const FEATURES: usize>(
    first: &[[f64; FEATURES]],
    second: &[[f64; FEATURES]],
) -> Vec<(usize, usize)> {
    let distance = Mahalanobis::of(first.iter().chain(second));
    let mut taken = vec![false; second.len()];
    let mut pairs = Vec::with_capacity(first.len().min(second.len()));
    for (at, observation) in first.iter().enumerate() {
        let free = second.iter().enumerate().filter(|(other, _)| !taken[*other]);
        let nearest = free
            .map(|(other, found)| (other, distance.square(observation, found)))
            .min_by(|one, two| one.1.total_cmp(&two.1));
        if let Some((other, _)) = nearest {
            taken[other] = true;
            pairs.push((at, other));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four points with variances 4/3 and 400/3 and no covariance: a step of 1 in the first feature is as far as one of 10 in
    /// the second.
    #[test]
    fn distance_is_measured_in_deviations() {
        let points = [[0.0, 0.0], [2.0, 0.0], [0.0, 20.0], [2.0, 20.0]];
        let distance = Mahalanobis::of(points.iter());
        let (one, ten) =
            (distance.square(&[0.0, 0.0], &[1.0, 0.0]), distance.square(&[0.0, 0.0], &[0.0, 10.0]));
        assert!((one - 0.75).abs() < 1e-5 && (ten - 0.75).abs() < 1e-5, "{one} {ten}");
    }

    #[test]
    fn the_nearest_that_is_free_is_taken() {
        let first = [[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 20.0]];
        let second = [[4.0, 21.0], [0.0, 1.0], [4.0, 1.0], [0.0, 20.0]];
        // (0, 1) is nearest to the second as well, but taken; 18 in the feature that varies more is less than 4 in the other.
        assert_eq!(nearest_pairs(&first, &second), [(0, 1), (1, 3), (2, 2), (3, 0)]);
        assert_eq!(nearest_pairs(&first, &second[1..2]), [(0, 0)]);
        assert_eq!(nearest_pairs::<2>(&[], &second), []);
    }

    #[test]
    fn features_that_never_vary_do_no_harm() {
        let distance = Mahalanobis::of([[1.0, 7.0], [2.0, 7.0]].iter());
        assert!(distance.square(&[1.0, 7.0], &[2.0, 7.0]).is_finite());
    }
}
