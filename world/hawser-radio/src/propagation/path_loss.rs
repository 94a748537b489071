use crate::RadioError;
use crate::error::Check;
use crate::math::{PI, log10};

/// Log-distance path loss: `reference_db + 10 * exponent * log10(distance / reference_distance)`.
///
/// Free space is exponent 2 with the reference loss of [`PathLoss::free_space`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct PathLoss {
    /// How fast the signal falls: 2 in free space, up to 4 near the ground.
    pub exponent: f64,
    /// Loss at the reference distance, dB. 0 gives the bare `distance^-exponent` of the papers.
    pub reference_db: f64,
    /// Metres.
    pub reference_distance: f64,
}

impl PathLoss {
    /// Free space at a wavelength in metres.
    pub fn free_space(wavelength: f64) -> Self {
        PathLoss { exponent: 2.0, reference_db: 20.0 * log10(4.0 * PI / wavelength), reference_distance: 1.0 }
    }

    /// The bare power law `distance^-exponent` (mams eq. 16).
    pub fn power_law(exponent: f64) -> Self {
        PathLoss { exponent, reference_db: 0.0, reference_distance: 1.0 }
    }

    /// Loss in dB at a distance in metres.
    pub fn db(&self, distance: f64) -> f64 {
        let ratio = distance.max(1e-3) / self.reference_distance;
        self.reference_db + 10.0 * self.exponent * log10(ratio)
    }

    pub(crate) fn check(&self, check: Check) -> Result<(), RadioError> {
        check.positive("path_loss.exponent", self.exponent)?;
        check.finite("path_loss.reference_db", self.reference_db)?;
        check.positive("path_loss.reference_distance", self.reference_distance)
    }
}

/// The power gain of free space, `(wavelength / (4 pi distance))^2`, linear (maco eq. 3.2).
pub fn free_space_gain(wavelength: f64, distance: f64) -> f64 {
    let ratio = wavelength / (4.0 * PI * distance);
    ratio * ratio
}
