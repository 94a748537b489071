use crate::RadioError;
use crate::error::Check;
use crate::math::{exp, from_db, gamma_lower, lgamma, ln, sqrt};
use crate::random::{Draws as _, Random};

/// Small-scale fading of the received power around its mean, constant within a block and independent between blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Fading {
    /// None: the mean is what is received.
    None,
    /// Many paths, none dominant; the same as Nakagami with m = 1.
    Rayleigh,
    /// A dominant path.
    Rician {
        /// Power of the dominant path over that of all others, dB.
        k_db: f64,
    },
    /// Nakagami-m: below 1 harsher than Rayleigh, above 1 milder.
    Nakagami {
        /// Shape, at least 0.5.
        m: f64,
    },
}

impl Fading {
    /// P(gain < x), gain being power over mean power.
    pub fn cdf(&self, x: f64) -> f64 {
        match *self {
            Fading::None => f64::from(u8::from(x > 1.0)),
            Fading::Rayleigh => 1.0 - exp(-x.max(0.0)),
            Fading::Nakagami { m } => gamma_lower(m, m * x.max(0.0)),
            Fading::Rician { k_db } => rician_cdf(from_db(k_db), x.max(0.0)),
        }
    }

    /// Draws the power gain of one block; its mean is 1.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        match *self {
            Fading::None => 1.0,
            Fading::Rayleigh => random.exponential(1.0),
            Fading::Nakagami { m } => random.gamma(m, 1.0) / m,
            Fading::Rician { k_db } => {
                let k = from_db(k_db);
                let scale = sqrt(0.5 / (1.0 + k));
                let inphase = sqrt(k / (1.0 + k)) + scale * random.normal();
                let quadrature = scale * random.normal();
                inphase * inphase + quadrature * quadrature
            }
        }
    }

    /// The coherence time in seconds at a speed in m/s: `wavelength / (4 v)`. Infinite at rest.
    pub fn coherence_time(wavelength: f64, speed: f64) -> f64 {
        if speed > 0.0 { wavelength / (4.0 * speed) } else { f64::INFINITY }
    }

    pub(crate) fn check(&self, check: Check) -> Result<(), RadioError> {
        match *self {
            Fading::Nakagami { m } => {
                check.that(m >= 0.5 && m.is_finite(), "fading.nakagami.m", m, "a finite number, 0.5 or above")
            }
            Fading::Rician { k_db } => {
                check.that(k_db.abs() <= 30.0, "fading.rician.k_db", k_db, "-30 to 30 dB")
            }
            Fading::None | Fading::Rayleigh => Ok(()),
        }
    }
}

/// The Rician power is a Poisson mixture of gamma variables (the non-central chi-square law with two degrees).
fn rician_cdf(k: f64, x: f64) -> f64 {
    let y = (1.0 + k) * x;
    let terms = (k + 12.0 * sqrt(k) + 30.0) as u32;
    let sum: f64 = (0..terms)
        .map(|j| {
            let j = f64::from(j);
            exp(j * ln(k.max(1e-300)) - k - lgamma(j + 1.0)) * gamma_lower(j + 1.0, y)
        })
        .sum();
    sum.clamp(0.0, 1.0)
}
