//! Random numbers for the models: one generator per use, all derived from one seed by name.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The seed of a component: depends on the scenario's seed and the component's name only, so that adding a
/// link changes nothing for the others. FNV-1a over the name, then the finaliser of SplitMix64.
pub fn derive_seed(seed: u64, name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// The generator of a component.
pub(crate) fn generator(seed: u64, name: &str) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(derive_seed(seed, name))
}

/// A sample of the gamma distribution with the given shape (above zero) and scale.
///
/// G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000.
pub(crate) fn gamma(random: &mut impl Rng, shape: f64, scale: f64) -> f64 {
    if shape < 1.0 {
        // Section 6 of the paper: boost the shape by one and correct with a power of a uniform.
        let boost = uniform_open(random).powf(1.0 / shape);
        return gamma(random, shape + 1.0, scale) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && uniform_open(random).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v * scale;
        }
    }
}

/// A sample of the exponential distribution.
pub(crate) fn exponential(random: &mut impl Rng, mean: f64) -> f64 {
    -uniform_open(random).ln() * mean
}

/// A standard normal sample by Marsaglia's polar method.
pub(crate) fn normal(random: &mut impl Rng) -> f64 {
    loop {
        let (u, v) = (random.random_range(-1.0..1.0_f64), random.random_range(-1.0..1.0_f64));
        let s = u * u + v * v;
        if s > 0.0 && s < 1.0 {
            return u * (-2.0 * s.ln() / s).sqrt();
        }
    }
}

/// Uniform in (0, 1]: its logarithm is finite.
fn uniform_open(random: &mut impl Rng) -> f64 {
    1.0 - random.random::<f64>()
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

    #[test]
    fn names_and_seeds_separate_generators() {
        let seeds = [derive_seed(1, "wifi0/up"), derive_seed(1, "wifi0/down"), derive_seed(2, "wifi0/up")];
        assert!(seeds[0] != seeds[1] && seeds[0] != seeds[2] && seeds[1] != seeds[2]);
    }
}
