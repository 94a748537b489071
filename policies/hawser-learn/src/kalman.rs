//! Kalman filters of a scalar random walk: the state stays as it is but for noise of variance Q, and is measured with noise of
//! variance R.
//!
//! Q and R are seldom known and drift. Two estimators learn them from the data, by the moments that the noise leaves in it
//! (the scalar case of Rajamani and Rawlings, Automatica 2009):
//!
//! | estimator | learns from | for |
//! |---|---|---|
//! | [`InnovationKalman`] | the autocovariance of the innovations | samples that come often |
//! | [`DifferenceKalman`] | that of the differences of successive samples | few samples, at even intervals |

mod differences;
mod innovations;
mod moments;

pub use differences::DifferenceKalman;
pub use innovations::InnovationKalman;

/// A Kalman filter with given noise.
///
/// ```
/// let mut filter = hawser_learn::Kalman::new(10.0, 1.0, hawser_learn::Noise { process: 0.04, measurement: 1.0 });
/// filter.update(12.0);
/// assert!((filter.gain() - 0.5098).abs() < 1e-4 && (filter.estimate() - 11.0196).abs() < 1e-4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kalman {
    estimate: f64,
    variance: f64,
    noise: Noise,
    gain: f64,
}

/// Variances of the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Q: by how much the state moves from sample to sample.
    pub process: f64,
    /// R: by how much a sample is off.
    pub measurement: f64,
}

impl Kalman {
    /// A filter that takes the state to be `estimate` with a `variance`.
    pub fn new(estimate: f64, variance: f64, noise: Noise) -> Self {
        Self { estimate, variance, noise, gain: 0.0 }
    }

    /// Takes a sample in; the innovation: how far it was from what was expected.
    pub fn update(&mut self, sample: f64) -> f64 {
        // W. Yang 2024, eqs. (3.5) to (3.10). The mean of the process noise is zero: the prior is the last estimate.
        let prior = self.variance + self.noise.process;
        let total = prior + self.noise.measurement;
        // Without any noise at all a sample says it all.
        self.gain = if total > 0.0 { prior / total } else { 1.0 };
        let innovation = sample - self.estimate;
        self.estimate += self.gain * innovation;
        self.variance = prior - self.gain * prior;
        innovation
    }

    /// The state, as far as it is known.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    /// Variance of its error.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// The share of the last innovation that the estimate followed; zero before the first.
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// The noise that it assumes.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Assumes other noise from now on.
    pub fn set_noise(&mut self, noise: Noise) {
        self.noise = noise;
    }

    /// Trusts the estimate less, or more.
    pub fn set_variance(&mut self, variance: f64) {
        self.variance = variance;
    }
}

/// Variance of something that is off by this share of an estimate.
fn relative(share: f64, estimate: f64) -> f64 {
    (share * estimate) * (share * estimate)
}

#[cfg(test)]
mod tests;
