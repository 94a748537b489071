//! Student's t distribution.

/// The value that a t variable with so many degrees of freedom does not exceed with this probability (0 to 1).
pub fn student_quantile(probability: f64, degrees: f64) -> f64 {
    if probability == 0.5 {
        return 0.0;
    }
    let tail = 2.0 * probability.min(1.0 - probability);
    // The probability beyond ±t falls from 1 to 0 as t grows: look for where it is `tail`.
    let (mut low, mut high) = (0.0, 1.0);
    while student_two_sided(high, degrees) > tail && high < 1e12 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if student_two_sided(middle, degrees) > tail { low = middle } else { high = middle }
    }
    let value = 0.5 * (low + high);
    if probability < 0.5 { -value } else { value }
}

/// The probability that a t variable lies beyond ±`t`.
pub fn student_two_sided(t: f64, degrees: f64) -> f64 {
    // Abramowitz and Stegun, 26.7.1 and 26.5.27: an incomplete beta function.
    incomplete_beta(degrees / (degrees + t * t), 0.5 * degrees, 0.5)
}

/// The regularised incomplete beta function I_x(a, b).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    let front = (front + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast on this side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of Abramowitz and Stegun, 26.5.8, from its head on (Lentz).
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let lift = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut numerator = 1.0;
    let mut denominator = 1.0 / lift(1.0 - (a + b) * x / (a + 1.0));
    let mut value = denominator;
    for step in 1..=500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            denominator = 1.0 / lift(1.0 + term * denominator);
            numerator = lift(1.0 + term / numerator);
            change = denominator * numerator;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

/// Logarithm of the gamma function for positive numbers: Stirling's series, after raising small arguments.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 12.0 {
        shift += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Two-sided 95 % and one-sided 99 %, as every textbook prints them.
        let table = [
            (0.975, 1.0, 12.706_205),
            (0.975, 2.0, 4.302_653),
            (0.975, 4.0, 2.776_445),
            (0.975, 9.0, 2.262_157),
            (0.975, 30.0, 2.042_272),
            (0.975, 99.0, 1.984_217),
            (0.975, 1e6, 1.959_966),
            (0.99, 5.0, 3.364_930),
            (0.025, 9.0, -2.262_157),
            (0.5, 3.0, 0.0),
        ];
        for (probability, degrees, expected) in table {
            let found = student_quantile(probability, degrees);
            assert!((found - expected).abs() < 2e-6, "{probability} {degrees}: {found}, not {expected}");
        }
    }

    #[test]
    fn the_distribution_is_exact_where_it_has_a_closed_form() {
        for t in [0.1, 0.7, 1.0, 3.0, 20.0_f64] {
            // One degree of freedom is Cauchy's distribution; two have an algebraic one.
            let cauchy = 1.0 - 2.0 / std::f64::consts::PI * t.atan();
            assert!((student_two_sided(t, 1.0) - cauchy).abs() < 1e-12);
            let two = 1.0 - t / (2.0 + t * t).sqrt();
            assert!((student_two_sided(t, 2.0) - two).abs() < 1e-12);
        }
    }
}
