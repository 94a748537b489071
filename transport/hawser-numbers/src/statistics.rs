//! Mean, standard deviation and quantiles of a sample. Of an empty sample each is NaN, never 0: no bound holds for it.

/// The arithmetic mean; NaN of nothing.
///
/// ```
/// use hawser_numbers::statistics::mean;
///
/// assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
/// assert!(mean(&[]).is_nan());
/// ```
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { f64::NAN } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The standard deviation of the values that there are, which divides by their number; NaN of nothing.
pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    if values.is_empty() {
        return f64::NAN;
    }
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / values.len() as f64).sqrt()
}

/// The quantile of values in ascending order, interpolated linearly between its two neighbours (type 7 of Hyndman and Fan 1996,
/// the definition of R and NumPy); NaN of nothing. `share` is limited to 0 to 1. Infinity is a value: a quantile between a finite
/// and an infinite one is infinite.
///
/// ```
/// use hawser_numbers::statistics::quantile;
///
/// assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
/// assert!(quantile(&[], 0.5).is_nan());
/// ```
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = (position as usize).min(last);
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    let fraction = position - below as f64;
    // Infinity less itself, and times zero, is no number.
    if fraction == 0.0 || low == high { low } else { low + (high - low) * fraction }
}

/// The [`quantile`] of values in any order, of which a copy is sorted; NaN counts as larger than all others.
pub fn quantile_of(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile(&sorted, share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_statistics() {
        for value in [mean(&[]), deviation(&[]), quantile(&[], 0.5), quantile_of(&[], 0.0)] {
            assert!(value.is_nan());
        }
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        let values = [40.0, 10.0, 30.0, 20.0];
        let at = |share| quantile_of(&values, share);
        assert_eq!([0.0, 1.0 / 3.0, 0.5, 1.0, 7.0].map(at), [10.0, 20.0, 25.0, 40.0, 40.0]);
    }

    #[test]
    fn infinite_values_count() {
        let values = [1.0, 2.0, f64::INFINITY, f64::INFINITY];
        assert_eq!(quantile(&values, 1.0 / 3.0), 2.0);
        assert_eq!([0.5, 0.8, 1.0].map(|share| quantile(&values, share)), [f64::INFINITY; 3]);
    }

    #[test]
    fn the_deviation_divides_by_the_number_of_values() {
        assert_eq!(deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), 2.0);
        assert_eq!(deviation(&[3.0]), 0.0);
    }
}
