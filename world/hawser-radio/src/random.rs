use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::math::{PI, cos, exp, ln, sqrt};

/// A seeded source of draws: one per component, derived by name, so that a new component does not disturb the others.
#[derive(Clone, Debug)]
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    /// The source of the component `name` under the scene's seed.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Random(ChaCha8Rng::seed_from_u64(derive_seed(seed, name)))
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = sqrt(-2.0 * ln(1.0 - self.unit()));
        radius * cos(2.0 * PI * self.unit())
    }

    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * ln(1.0 - self.unit())
    }

    /// Lognormal, by the median and the standard deviation of the logarithm.
    pub(crate) fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        median * exp(sigma * self.normal())
    }

    /// Gamma with unit scale (Marsaglia and Tsang 2000; the boost for shapes below 1 is theirs).
    pub(crate) fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = crate::math::pow(1.0 - self.unit(), 1.0 / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let v = 1.0 + c * x;
            if v <= 0.0 {
                continue;
            }
            let v = v * v * v;
            if ln(1.0 - self.unit()) < 0.5 * x * x + d - d * v + d * ln(v) {
                return d * v;
            }
        }
    }
}

/// The seed of the component `name`: FNV-1a over the name, then the finaliser of SplitMix64.
pub(crate) fn derive_seed(seed: u64, name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(hash.wrapping_add(seed.rotate_left(32)))
}

/// The finaliser of SplitMix64: neighbouring numbers become unrelated ones.
pub(crate) fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
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
