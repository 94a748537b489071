//! Real functions that give the same bits on every machine: the platform's own `ln`, `sin` and so on may differ in
//! the last place between C libraries, and a profile is part of a run that must be reproducible.

pub(crate) use libm::{asin, cos, erfc, exp, lgamma, log as ln, log1p, log2, log10, pow, sin};
pub(crate) use std::f64::consts::PI;

/// Speed of light in vacuum, m/s.
pub const LIGHT_SPEED: f64 = 299_792_458.0;

pub(crate) fn sqrt(x: f64) -> f64 {
    libm::sqrt(x)
}

/// A power ratio as decibels.
pub fn to_db(ratio: f64) -> f64 {
    10.0 * log10(ratio)
}

/// Decibels as a power ratio.
pub fn from_db(db: f64) -> f64 {
    pow(10.0, db / 10.0)
}

/// Watts as dBm.
pub fn watts_to_dbm(watts: f64) -> f64 {
    to_db(watts) + 30.0
}

/// dBm as watts.
pub fn dbm_to_watts(dbm: f64) -> f64 {
    from_db(dbm - 30.0)
}

/// The tail of the standard normal distribution, Q(x) (mams eq. 7).
pub fn normal_tail(x: f64) -> f64 {
    0.5 * erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The standard normal distribution function.
pub fn normal_cdf(x: f64) -> f64 {
    normal_tail(-x)
}

/// The inverse of [`normal_cdf`], by bisection: used for tables only, where exactness matters more than speed.
pub fn normal_quantile(p: f64) -> f64 {
    let p = p.clamp(1e-15, 1.0 - 1e-15);
    let (mut low, mut high) = (-8.5, 8.5);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if normal_cdf(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// P(X < a and Y < b) of two standard normal variables with correlation `rho` (Plackett's integral).
pub fn bivariate_normal(a: f64, b: f64, rho: f64) -> f64 {
    let steps = 400;
    let density = |r: f64| {
        let rest = 1.0 - r * r;
        exp(-(a * a - 2.0 * r * a * b + b * b) / (2.0 * rest)) / (2.0 * PI * sqrt(rest))
    };
    let width = rho / f64::from(steps);
    let sum: f64 = (0..steps).map(|i| density((f64::from(i) + 0.5) * width)).sum();
    normal_cdf(a) * normal_cdf(b) + sum * width
}

/// The regularised lower incomplete gamma function P(a, x): the series below a + 1, the continued fraction above.
pub fn gamma_lower(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let scale = exp(a * ln(x) - x - lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..500 {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        return (sum * scale).clamp(0.0, 1.0);
    }
    (1.0 - scale * upper_fraction(a, x)).clamp(0.0, 1.0)
}

/// The continued fraction of the upper incomplete gamma function, evaluated from the front (Lentz).
fn upper_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut value = d;
    for i in 1..500 {
        let i = f64::from(i);
        let numerator = -i * (i - a);
        b += 2.0;
        let below = numerator * d + b;
        d = 1.0 / if below.abs() < TINY { TINY } else { below };
        let above = b + numerator / c;
        c = if above.abs() < TINY { TINY } else { above };
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The logarithm of "n choose k".
pub(crate) fn ln_choose(n: f64, k: f64) -> f64 {
    lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)
}

/// Seconds as whole nanoseconds; negative becomes 0.
pub(crate) fn nanos(seconds: f64) -> u64 {
    libm::round(seconds * 1e9).max(0.0) as u64
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests;
