use crate::math::{log2, pow};

/// Signal over interference and noise, linear, from powers in watts (mams eq. 16).
pub fn sinr(received: f64, noise: f64, interference: f64) -> f64 {
    received / (noise + interference)
}

/// `efficiency * bandwidth * log2(1 + sinr)`, bit/s (mams eq. 15, maco eq. 3.3); bandwidth in Hz, `sinr` linear.
pub fn shannon(bandwidth: f64, efficiency: f64, sinr: f64) -> f64 {
    efficiency * bandwidth * log2(1.0 + sinr.max(0.0))
}

/// The inverse of [`shannon`]: the SINR that a rate needs (MAMS, ToN 2024, equation (15) solved for it).
pub fn snr_for_rate(bandwidth: f64, efficiency: f64, rate: f64) -> f64 {
    pow(2.0, rate / (efficiency * bandwidth)) - 1.0
}
