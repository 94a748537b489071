//! Random numbers for the models: one generator per use, all derived from one seed by name.

pub use hawser_numbers::derive_seed;

use hawser_numbers::Draws;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The generator of a component.
pub(crate) fn generator(seed: u64, name: &str) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(derive_seed(seed, name))
}

/// Draws of a generator, with normal values by Marsaglia's polar method: links have been drawn like this from the start, and a
/// seed is to give the same link.
struct Polar<'a, R>(&'a mut R);

impl<R: Rng> Draws for Polar<'_, R> {
    fn unit(&mut self) -> f64 {
        self.0.random()
    }

    fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (self.0.random_range(-1.0..1.0_f64), self.0.random_range(-1.0..1.0_f64));
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * libm::sqrt(-2.0 * libm::log(s) / s);
            }
        }
    }
}

/// A gamma value with the given shape (above zero) and scale.
pub(crate) fn gamma(random: &mut impl Rng, shape: f64, scale: f64) -> f64 {
    Polar(random).gamma(shape, scale)
}

/// An exponential value.
pub(crate) fn exponential(random: &mut impl Rng, mean: f64) -> f64 {
    Polar(random).exponential(mean)
}

/// A standard normal value.
pub(crate) fn normal(random: &mut impl Rng) -> f64 {
    Polar(random).normal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_has_its_mean_and_variance() {
        for (shape, scale) in [(0.5, 2.0), (1.0, 1.0), (4.0, 0.5)] {
            let mut random = generator(7, "gamma");
            let samples: Vec<f64> = (0..200_000).map(|_| gamma(&mut random, shape, scale)).collect();
            let mean = samples.iter().sum::<f64>() / samples.len() as f64;
            let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / samples.len() as f64;
            assert!((mean / (shape * scale) - 1.0).abs() < 0.02, "shape {shape}: mean {mean}");
            assert!(
                (variance / (shape * scale * scale) - 1.0).abs() < 0.05,
                "shape {shape}: variance {variance}"
            );
        }
    }
}
