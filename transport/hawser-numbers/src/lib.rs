//! Seeded random numbers and statistics of samples, the same bits on every machine.
//!
//! | item | what |
//! |---|---|
//! | [`SplitMix64`] | a small generator for exploring and for probing times |
//! | [`Draws`] | normal, exponential and gamma values from any source of uniform ones |
//! | [`derive_seed`], [`fnv1a`], [`mix`] | a seed for each component, by its name |
//! | [`statistics`] | mean, standard deviation and quantiles of a sample |
//!
//! Nothing here is good enough for keys. Real functions come from `libm`: the platform's own `ln`, `cos` and `pow` may differ in
//! the last place between C libraries, and results of a simulation must not.
//!
//! Why not `rand_distr`: its normal and gamma values come from other algorithms, so that every seed would give other numbers.

mod draws;
mod seeds;
mod split_mix;
pub mod statistics;

pub use draws::Draws;
pub use seeds::{derive_seed, fnv1a, mix};
pub use split_mix::SplitMix64;

/// 2^64 divided by the golden ratio: the increment of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
