//! What repeated runs tell: means, medians, differences, and how sure they are.
//!
//! Runs with different seeds are taken as independent draws. A confidence interval of 95 % is given for each mean
//! (Student's t), for each median (order statistics: exact, whatever the distribution), and for each difference of
//! means: from pairs where both runs had the same seed, otherwise by Welch's method.

mod spread;
mod student;
mod summary;

pub use hawser_numbers::statistics::{deviation, mean, quantile, quantile_of};
pub use spread::Spread;
pub use student::{student_quantile, student_two_sided};
pub use summary::{Difference, Pairing, Summary, nearest_rank, summary};
pub use summary::{paired_difference, welch_difference};

/// Jain's index of what several get: 1 where all get the same; NaN where nobody gets anything.
pub(crate) fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) =
        rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    sum * sum / (rates.len() as f64 * squares)
}

/// The mean of some values; none of nothing.
pub(crate) fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    Some(mean(&values.collect::<Vec<_>>())).filter(|mean| !mean.is_nan())
}

/// A confidence interval: lower and upper end.
pub type Interval = [f64; 2];
