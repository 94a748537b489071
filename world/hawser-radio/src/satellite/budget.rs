use crate::RadioError;
use crate::error::Check;
use crate::math::{dbm_to_watts, from_db};
use crate::propagation::{free_space_gain, shannon};

/// The link budget between a dish and a satellite (W. Yang 2024, equations (3.2) and (3.3)).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct SpaceBudget {
    /// Transmit power, dBm. Default 35.12.
    pub power_dbm: f64,
    /// Antenna gain of one end, dBi. Default 37.7.
    pub gain_one_db: f64,
    /// Antenna gain of the other end, dBi. Default 37.1.
    pub gain_two_db: f64,
    /// Metres. Default 0.086 (3.49 GHz).
    pub wavelength: f64,
    /// W/Hz. Default 1.6e-20.
    pub noise_density: f64,
    /// Width of the spot beam, Hz. Default 12.5 MHz.
    pub bandwidth: f64,
    /// Share of the Shannon capacity that is reached. Default 0.98.
    pub efficiency: f64,
}

impl Default for SpaceBudget {
    fn default() -> Self {
        SpaceBudget {
            power_dbm: 35.12,
            gain_one_db: 37.7,
            gain_two_db: 37.1,
            wavelength: 0.086,
            noise_density: 1.6e-20,
            bandwidth: 12.5e6,
            efficiency: 0.98,
        }
    }
}

impl SpaceBudget {
    /// SNR at a distance in metres, linear (maco eq. 3.2).
    pub fn snr(&self, distance: f64) -> f64 {
        let gain = from_db(self.gain_one_db + self.gain_two_db) * free_space_gain(self.wavelength, distance);
        dbm_to_watts(self.power_dbm) * gain / (self.noise_density * self.bandwidth)
    }

    /// bit/s at a distance in metres (maco eq. 3.3).
    pub fn capacity(&self, distance: f64) -> f64 {
        shannon(self.bandwidth, self.efficiency, self.snr(distance))
    }

    pub(crate) fn check(&self, check: Check) -> Result<(), RadioError> {
        check.finite("budget.power_dbm", self.power_dbm)?;
        check.finite("budget.gain_one_db", self.gain_one_db)?;
        check.finite("budget.gain_two_db", self.gain_two_db)?;
        check.positive("budget.wavelength", self.wavelength)?;
        check.positive("budget.noise_density", self.noise_density)?;
        check.positive("budget.bandwidth", self.bandwidth)?;
        check.positive("budget.efficiency", self.efficiency)
    }
}
