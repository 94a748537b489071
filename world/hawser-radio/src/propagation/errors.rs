use super::Fading;
use crate::RadioError;
use crate::error::Check;
use crate::math::{exp, from_db, gamma_lower, ln, ln_choose, log1p, log2, normal_tail, sqrt, to_db};

/// Bit error rate of square M-QAM at a symbol SNR (linear), gray coded (mams eq. 6 and 7).
pub fn bit_error_rate(m: u32, snr: f64) -> f64 {
    let levels = sqrt(f64::from(m));
    let bits = log2(levels);
    let argument = sqrt(3.0 * bits / (levels * levels - 1.0) * 2.0 * snr.max(0.0) / log2(f64::from(m)));
    (2.0 * (1.0 - 1.0 / levels) / bits * normal_tail(argument)).clamp(0.0, 1.0)
}

/// Probability that more than `repairable` of `bits` are wrong (mams eq. 8). Summed in logarithms and clamped, because
/// the plain sum ends below zero.
pub fn packet_error_rate(bit_error_rate: f64, bits: u32, repairable: u32) -> f64 {
    if bit_error_rate <= 0.0 {
        return 0.0;
    }
    if bit_error_rate >= 1.0 {
        return f64::from(u8::from(bits > repairable));
    }
    let (wrong, right) = (ln(bit_error_rate), log1p(-bit_error_rate));
    let n = f64::from(bits);
    let survives: f64 = (0..=repairable.min(bits))
        .map(|i| exp(ln_choose(n, f64::from(i)) + f64::from(i) * wrong + (n - f64::from(i)) * right))
        .sum();
    (1.0 - survives).clamp(0.0, 1.0)
}

/// Packet loss under Nakagami-m fading: the probability that the SNR is below the threshold (MAMS, ToN
/// 2024, equation (8) over the fading). Both linear.
pub fn outage_loss(m: f64, threshold: f64, mean_snr: f64) -> f64 {
    if mean_snr <= 0.0 { 1.0 } else { gamma_lower(m, m * threshold / mean_snr) }
}

/// How the loss of a packet follows from the SNR while it is on the air.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum LossModel {
    /// No loss on the air.
    None,
    /// Lost below an SNR in dB, received above: with fading, the outage formula.
    Outage {
        /// dB; about 0 for a robust coded mode, 10 to 12 for uncoded QPSK.
        threshold_db: f64,
    },
    /// Square M-QAM with a code that repairs a number of bit errors (mams eq. 6 to 8).
    Modulation {
        /// Points of the constellation: 4, 16, 64, 256.
        m: u32,
        /// Bits of a packet.
        bits: u32,
        /// Bit errors that the code repairs.
        repairable: u32,
    },
    /// `max(floor, 1 / (1 + exp((snr_db - middle_db) / slope_db)))`.
    Logistic {
        /// Where half is lost, dB.
        middle_db: f64,
        /// dB.
        slope_db: f64,
        /// What is lost at any SNR.
        floor: f64,
    },
}

impl LossModel {
    /// Loss at an SNR that holds for the whole packet, linear.
    pub fn at(&self, snr: f64) -> f64 {
        match *self {
            LossModel::None => 0.0,
            LossModel::Outage { threshold_db } => f64::from(u8::from(snr < from_db(threshold_db))),
            LossModel::Modulation { m, bits, repairable } => {
                packet_error_rate(bit_error_rate(m, snr), bits, repairable)
            }
            LossModel::Logistic { middle_db, slope_db, floor } => {
                let distance = (to_db(snr.max(1e-30)) - middle_db) / slope_db;
                (1.0 / (1.0 + exp(distance.min(700.0)))).max(floor)
            }
        }
    }

    /// Loss averaged over the fading around a mean SNR (linear): what a forecaster may know.
    pub fn mean(&self, mean_snr: f64, fading: &Fading) -> f64 {
        match (*self, fading) {
            (LossModel::None, _) => 0.0,
            (_, Fading::None) => self.at(mean_snr),
            (LossModel::Outage { threshold_db }, _) => {
                if mean_snr <= 0.0 {
                    1.0
                } else {
                    fading.cdf(from_db(threshold_db) / mean_snr)
                }
            }
            _ => self.averaged(mean_snr, fading),
        }
    }

    /// Sums the loss over the law of the gain in 400 steps of 0.1 dB; below lies nearly certain loss.
    fn averaged(&self, mean_snr: f64, fading: &Fading) -> f64 {
        let edge = |step: i32| from_db(-30.0 + 0.1 * f64::from(step));
        let mut below = fading.cdf(edge(0));
        let mut loss = below * self.at(mean_snr * edge(0));
        for step in 0..400 {
            let above = fading.cdf(edge(step + 1));
            loss += (above - below) * self.at(mean_snr * sqrt(edge(step) * edge(step + 1)));
            below = above;
        }
        loss.clamp(0.0, 1.0)
    }

    pub(crate) fn check(&self, check: Check) -> Result<(), RadioError> {
        match *self {
            LossModel::None => Ok(()),
            LossModel::Outage { threshold_db } => check.finite("loss.outage.threshold_db", threshold_db),
            LossModel::Modulation { m, bits, .. } => {
                let square = [4, 16, 64, 256, 1024].contains(&m);
                check.that(square, "loss.modulation.m", m, "4, 16, 64, 256 or 1024")?;
                check.that(bits > 0, "loss.modulation.bits", bits, "1 or more")
            }
            LossModel::Logistic { middle_db, slope_db, floor } => {
                check.finite("loss.logistic.middle_db", middle_db)?;
                check.positive("loss.logistic.slope_db", slope_db)?;
                check.share("loss.logistic.floor", floor)
            }
        }
    }
}
