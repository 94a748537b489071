pub(crate) use hawser_numbers::{Draws, mix};

use hawser_numbers::fnv1a;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::math::{exp, sqrt};

/// A seeded source of draws: one per component, derived by name, so that a new component does not disturb the others.
#[derive(Clone, Debug)]
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    /// The source of the component `name` under the scene's seed.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Random(ChaCha8Rng::seed_from_u64(component_seed(seed, name)))
    }
}

impl Draws for Random {
    fn unit(&mut self) -> f64 {
        self.0.random::<f64>()
    }
}

/// The seed of the component `name` of a scene. Not [`hawser_numbers::derive_seed`]: profiles have been drawn by this one from
/// the start, and a seed is to give the same profile.
pub(crate) fn component_seed(seed: u64, name: &str) -> u64 {
    mix(fnv1a(seed, name.bytes()).wrapping_add(seed.rotate_left(32)))
}

/// A stationary Gaussian process with unit variance and an exponential correlation, sampled at uneven steps.
#[derive(Clone, Debug)]
pub(crate) struct Gaussian {
    scale: f64,
    value: f64,
}

impl Gaussian {
    /// `scale`: where the correlation has fallen to 1/e, in the unit of the steps (seconds or metres).
    pub(crate) fn new(scale: f64, random: &mut Random) -> Self {
        Gaussian { scale, value: random.normal() }
    }

    /// Moves on by `step` and returns the new value.
    pub(crate) fn advance(&mut self, step: f64, random: &mut Random) -> f64 {
        let keep = if self.scale > 0.0 { exp(-step / self.scale) } else { 0.0 };
        self.value = keep * self.value + sqrt(1.0 - keep * keep) * random.normal();
        self.value
    }

    pub(crate) fn value(&self) -> f64 {
        self.value
    }
}
