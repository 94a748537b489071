use std::f64::consts::TAU;

/// Draws of the usual distributions from a source of uniform numbers.
///
/// ```
/// use hawser_numbers::{Draws, SplitMix64};
///
/// let mut random = SplitMix64::new(1);
/// let mean = (0..10_000).map(|_| random.exponential(3.0)).sum::<f64>() / 10_000.0;
/// assert!((2.9..3.1).contains(&mean));
/// ```
pub trait Draws {
    /// Uniform from 0 to 1, 1 left out.
    fn unit(&mut self) -> f64;

    /// Uniform from 0 to 1, 0 left out: its logarithm is finite.
    fn unit_above_zero(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// Uniform from `low` to `high`, the latter left out but for rounding.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns true with this probability.
    fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A standard normal value (Box and Muller 1958), from two uniform ones.
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit_above_zero()));
        radius * libm::cos(TAU * self.unit())
    }

    /// An exponential value.
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.unit_above_zero())
    }

    /// A lognormal value, by the median and the standard deviation of the logarithm.
    fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        median * libm::exp(sigma * self.normal())
    }

    /// A gamma value with this shape, above 0, and scale: its mean is their product.
    ///
    /// G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000.
    fn gamma(&mut self, shape: f64, scale: f64) -> f64 {
        if shape < 1.0 {
            // Section 6 of the paper: boost the shape by one and correct with a power of a uniform value.
            let boost = libm::pow(self.unit_above_zero(), 1.0 / shape);
            return self.gamma(shape + 1.0, scale) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let base = 1.0 + c * x;
            let v = base * base * base;
            if v > 0.0 && libm::log(self.unit_above_zero()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v * scale;
            }
        }
    }
}

/// Any source of uniform numbers: `(|| generator.random::<f64>()).normal()`.
impl<F: FnMut() -> f64> Draws for F {
    fn unit(&mut self) -> f64 {
        self()
    }
}

#[cfg(test)]
mod tests {
    use super::Draws;
    use crate::SplitMix64;
    use crate::statistics::{deviation, mean};

    fn moments(draw: impl FnMut() -> f64) -> (f64, f64) {
        let values: Vec<f64> = std::iter::repeat_with(draw).take(100_000).collect();
        (mean(&values), deviation(&values))
    }

    #[test]
    fn normal_values_have_mean_zero_and_deviation_one() {
        let mut random = SplitMix64::new(3);
        let (mean, deviation) = moments(|| random.normal());
        assert!(mean.abs() < 0.01 && (deviation - 1.0).abs() < 0.01, "{mean} {deviation}");
    }

    #[test]
    fn exponential_values_deviate_by_their_mean() {
        let mut random = SplitMix64::new(4);
        let (mean, deviation) = moments(|| random.exponential(2.0));
        assert!((mean - 2.0).abs() < 0.03 && (deviation - 2.0).abs() < 0.03, "{mean} {deviation}");
    }

    #[test]
    fn gamma_values_have_their_mean_and_deviation() {
        for (shape, scale) in [(0.5, 2.0), (1.0, 1.0), (4.0, 0.5)] {
            let mut random = SplitMix64::new(7);
            let (mean, deviation) = moments(|| random.gamma(shape, scale));
            assert!((mean / (shape * scale) - 1.0).abs() < 0.02, "shape {shape}: mean {mean}");
            let expected = shape.sqrt() * scale;
            assert!((deviation / expected - 1.0).abs() < 0.03, "shape {shape}: deviation {deviation}");
        }
    }

    /// The same on every machine and with every C library.
    #[test]
    fn draws_have_the_same_bits_everywhere() {
        let mut random = SplitMix64::new(11);
        let mut hash = 0u64;
        for round in 1..=2_000 {
            let shape = f64::from(round) / 400.0;
            let values = [
                random.normal(),
                random.exponential(shape),
                random.lognormal(shape, 0.5),
                random.gamma(shape, 2.0),
            ];
            for value in values {
                hash = crate::mix(hash.rotate_left(7) ^ value.to_bits());
            }
        }
        assert_eq!(hash, 0x6e2a_6503_bb1a_9ced, "{hash:#018x}");
    }
}
