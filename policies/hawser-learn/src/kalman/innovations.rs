use super::moments::Moments;
use super::{Kalman, Noise, relative};

/// Innovations that the noise is estimated from, and samples between two estimates.
const WINDOW: usize = 64;
const INTERVAL: u32 = 16;
/// At the start, and after [`InnovationKalman::doubt`], by how much the estimate may be off: these shares of it.
const FIRST_DEVIATION: f64 = 0.5;
const FIRST_MEASUREMENT: f64 = 0.2;
const FIRST_PROCESS: f64 = 0.05;
/// The noise is never estimated to be less.
const LEAST_MEASUREMENT: f64 = 0.01;
const LEAST_PROCESS: f64 = 0.005;

/// A Kalman filter that learns its noise from the autocovariance of its innovations: the adaptive filter of MACO
/// (W. Yang 2024, eqs. (3.5) to (3.10)).
///
/// A filter that assumes the right noise leaves innovations that are not correlated. Where neighbours are, it
/// follows too slowly; where they are of opposite sign, too quickly.
///
/// ```
/// let mut filter = hawser_learn::InnovationKalman::new(40.0);
/// for _ in 0..100 {
///     filter.update(20.0);
/// }
/// assert!((filter.estimate() - 20.0).abs() < 0.1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InnovationKalman {
    filter: Kalman,
    innovations: Moments<WINDOW>,
    since_estimate: u32,
}

impl InnovationKalman {
    /// A filter that begins with its first sample.
    pub fn new(sample: f64) -> Self {
        let noise = Noise {
            process: relative(FIRST_PROCESS, sample),
            measurement: relative(FIRST_MEASUREMENT, sample),
        };
        Self {
            filter: Kalman::new(sample, relative(FIRST_DEVIATION, sample), noise),
            innovations: Moments::EMPTY,
            since_estimate: 0,
        }
    }

    /// Takes a sample in and gives the new estimate.
    pub fn update(&mut self, sample: f64) -> f64 {
        let innovation = self.filter.update(sample);
        self.innovations.push(innovation);
        self.since_estimate += 1;
        if self.since_estimate >= INTERVAL && self.innovations.len() == WINDOW {
            self.since_estimate = 0;
            self.estimate_noise();
        }
        self.filter.estimate()
    }

    /// The state, as far as it is known.
    pub fn estimate(&self) -> f64 {
        self.filter.estimate()
    }

    /// The noise that it assumes now.
    pub fn noise(&self) -> Noise {
        self.filter.noise()
    }

    /// The state may have changed by anything: learns it again quickly.
    pub fn doubt(&mut self) {
        self.filter.set_variance(relative(FIRST_DEVIATION, self.filter.estimate()));
    }

    fn estimate_noise(&mut self) {
        let (variance, covariance) = self.innovations.covariances();
        let noise = noise_of(variance, covariance, self.filter.gain());
        let estimate = self.filter.estimate();
        self.filter.set_noise(Noise {
            process: noise.process.max(relative(LEAST_PROCESS, estimate)),
            measurement: noise.measurement.max(relative(LEAST_MEASUREMENT, estimate)),
        });
    }
}

/// The noise that leaves innovations of this variance and covariance of neighbours behind a filter with this gain: in the
/// steady state the covariance is Z - K c0, where Z is the variance of the prior, c0 = Z + R, and Z is what Q adds to
/// (1 - K)^2 Z + K^2 R.
pub(super) fn noise_of(variance: f64, covariance: f64, gain: f64) -> Noise {
    let prior = covariance + gain * variance;
    let measurement = variance - prior;
    let kept = (1.0 - gain) * (1.0 - gain);
    Noise { process: prior * (1.0 - kept) - gain * gain * measurement, measurement }
}
