use super::interval::Measured;
use super::settings::Settings;

/// Utility of a path: (x + y)^0.9 - 900 x max(0, dRTT/dt) - 11.35 x L, where x is its rate, y that of the other paths, in Mbit/s, and L
/// the share that was lost.
///
/// Since the rates of all paths are in one power, what a path gains by a higher rate falls with what the others have: paths with
/// room take the load of those without. At a loss that does not depend on the rate it rises with x as long as
/// L < 0.9 / 11.35 (x + y)^-0.1: 7.9 % at 1 Mbit/s, 6.3 % at 10, 5.0 % at 100.
pub(super) fn utility(settings: &Settings, measured: &Measured, others: f64) -> f64 {
    let rate = measured.rate;
    let slope = if measured.slope < settings.least_slope { 0.0 } else { measured.slope };
    libm::pow(rate + others, settings.exponent)
        - rate * (settings.latency * slope + settings.loss * measured.loss)
}
