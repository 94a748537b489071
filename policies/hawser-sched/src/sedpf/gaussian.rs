//! The larger of two random delays.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// A random time that is taken as normally distributed; seconds from now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gaussian {
    pub(super) mean: f64,
    /// In seconds squared.
    pub(super) variance: f64,
}

/// Standard deviations of the difference beyond which the larger one is always the larger one: what is neglected is below 1e-15
/// of the deviation.
const CERTAIN: f64 = 8.0;

impl Gaussian {
    /// The expectation of the larger of two independent ones: `m1 Phi(a) + m2 Phi(-a) + t phi(a)` with `t^2 = v1 + v2` and
    /// `a = (m1 - m2) / t`.
    pub(super) fn expected_max(self, other: Gaussian) -> f64 {
        match Comparison::of(self, other) {
            Some(comparison) => comparison.first_moment(self, other),
            None => self.mean.max(other.mean),
        }
    }

    /// The larger of two independent ones, which is not normally distributed, by its mean and variance (Clark: The greatest of
    /// a finite set of random variables, Operations Research 1961).
    pub(super) fn max(self, other: Gaussian) -> Gaussian {
        let Some(comparison) = Comparison::of(self, other) else {
            return if self.mean >= other.mean { self } else { other };
        };
        // Both are moved, so that the variance is no difference of large numbers.
        let [one, two] = [self, other].map(|it| Gaussian { mean: it.mean - self.mean, ..it });
        let mean = comparison.first_moment(one, two);
        let second = comparison.second_moment(one, two);
        Gaussian { mean: self.mean + mean, variance: (second - mean * mean).max(0.0) }
    }
}

/// How two of them compare.
struct Comparison {
    /// Standard deviation of their difference.
    theta: f64,
    /// Probabilities that the first, and that the second is larger.
    first: f64,
    second: f64,
    /// Density of the standard normal distribution at the difference of the means.
    density: f64,
}

impl Comparison {
    /// `None` if it is certain which one is larger.
    fn of(one: Gaussian, two: Gaussian) -> Option<Self> {
        let theta = (one.variance + two.variance).sqrt();
        let difference = one.mean - two.mean;
        if difference.abs() >= CERTAIN * theta {
            return None;
        }
        let alpha = difference / theta;
        let below = |x: f64| 0.5 * libm::erfc(-x * FRAC_1_SQRT_2);
        let density = libm::exp(-0.5 * alpha * alpha) / (2.0 * PI).sqrt();
        Some(Comparison { theta, first: below(alpha), second: below(-alpha), density })
    }

    fn first_moment(&self, one: Gaussian, two: Gaussian) -> f64 {
        one.mean * self.first + two.mean * self.second + self.theta * self.density
    }

    fn second_moment(&self, one: Gaussian, two: Gaussian) -> f64 {
        (one.mean * one.mean + one.variance) * self.first
            + (two.mean * two.mean + two.variance) * self.second
            + (one.mean + two.mean) * self.theta * self.density
    }
}
