//! Summaries of samples and of differences between them.

use serde::Serialize;

use hawser_numbers::statistics::quantile;

use super::{Interval, student_quantile};

/// What a sample says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Values.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Of the mean, 95 %; none with fewer than two values.
    pub mean_ci95: Option<Interval>,
    /// Of the values, with n - 1; none with fewer than two values.
    pub standard_deviation: Option<f64>,
    /// Median.
    pub median: f64,
    /// Of the median, at least 95 %; none with fewer than six values.
    pub median_ci95: Option<Interval>,
    /// Fifth percentile.
    pub p5: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// Where a difference comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// From pairs of runs with the same seed.
    Paired,
    /// From two independent samples.
    Welch,
}

/// How much larger the mean of one sample is than that of another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// Where it comes from.
    pub pairing: Pairing,
    /// Pairs, or values of the smaller sample.
    pub count: usize,
    /// Second minus first.
    pub mean: f64,
    /// 95 %; none with fewer than two.
    pub ci95: Option<Interval>,
    /// Mean of the first sample.
    pub baseline: f64,
    /// Pairs in which the second is larger; none without pairs.
    pub larger: Option<usize>,
    /// Pairs in which the second is smaller; none without pairs.
    pub smaller: Option<usize>,
}

impl Difference {
    /// The difference as a share of the first mean.
    pub fn relative(&self) -> Option<f64> {
        (self.baseline != 0.0).then(|| self.mean / self.baseline)
    }

    /// Whether zero lies outside the interval.
    pub fn is_clear(&self) -> bool {
        self.ci95.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }
}

/// Summarises values; `None` without any. They are sorted.
pub fn summary(values: &mut [f64]) -> Option<Summary> {
    values.sort_unstable_by(f64::total_cmp);
    let (min, max) = (*values.first()?, *values.last()?);
    let (mean, deviation) = moments(values);
    Some(Summary {
        count: values.len(),
        mean,
        mean_ci95: deviation.map(|deviation| around(mean, deviation, values.len())),
        standard_deviation: deviation,
        median: quantile(values, 0.5),
        median_ci95: median_interval(values),
        p5: quantile(values, 0.05),
        p95: quantile(values, 0.95),
        min,
        max,
    })
}

/// The least of the values that a share of them does not exceed (nearest rank), which is always one of them; for delays, whose
/// largest must not be drawn down by interpolation. They are sorted. Not a number without values.
pub fn nearest_rank(values: &mut [f64], share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let rank = (share.clamp(0.0, 1.0) * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// The difference between the values of pairs: first and second.
pub fn paired_difference(pairs: &[[f64; 2]]) -> Option<Difference> {
    let differences: Vec<f64> = pairs.iter().map(|[first, second]| second - first).collect();
    let baseline = pairs.iter().map(|[first, _]| first).sum::<f64>() / pairs.len() as f64;
    differences.first()?;
    let (mean, deviation) = moments(&differences);
    Some(Difference {
        pairing: Pairing::Paired,
        count: pairs.len(),
        mean,
        ci95: deviation.map(|deviation| around(mean, deviation, pairs.len())),
        baseline,
        larger: Some(differences.iter().filter(|difference| **difference > 0.0).count()),
        smaller: Some(differences.iter().filter(|difference| **difference < 0.0).count()),
    })
}

/// The difference between the means of two independent samples, whose variances may differ (Welch 1947).
pub fn welch_difference(first: &[f64], second: &[f64]) -> Option<Difference> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let ((baseline, first_deviation), (other, second_deviation)) = (moments(first), moments(second));
    let mean = other - baseline;
    let ci95 = first_deviation.zip(second_deviation).map(|(a, b)| {
        let (n, m) = (first.len() as f64, second.len() as f64);
        let (va, vb) = (a * a / n, b * b / m);
        let variance = va + vb;
        if variance == 0.0 {
            return [mean, mean];
        }
        let degrees = variance * variance / (va * va / (n - 1.0) + vb * vb / (m - 1.0));
        let half = student_quantile(0.975, degrees) * variance.sqrt();
        [mean - half, mean + half]
    });
    let count = first.len().min(second.len());
    Some(Difference { pairing: Pairing::Welch, count, mean, ci95, baseline, larger: None, smaller: None })
}

/// Mean and standard deviation; the latter none with fewer than two values.
fn moments(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, None);
    }
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, Some((squares / (count - 1.0)).sqrt()))
}

fn around(mean: f64, deviation: f64, count: usize) -> Interval {
    let half = student_quantile(0.975, count as f64 - 1.0) * deviation / (count as f64).sqrt();
    [mean - half, mean + half]
}

/// Between which two of the sorted values the median of the population lies with at least 95 %: each value is above it
/// with probability 1/2, so their number is binomial.
fn median_interval(sorted: &[f64]) -> Option<Interval> {
    let count = sorted.len();
    // ln(1/2^n), so that large samples do not underflow.
    let mut log_probability = -(count as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut rank = 0;
    // The interval leaves out `rank` values at either end.
    while rank < count / 2 {
        below += log_probability.exp();
        if 2.0 * below > 0.05 {
            break;
        }
        log_probability += ((count - rank) as f64).ln() - ((rank + 1) as f64).ln();
        rank += 1;
    }
    let outside = rank.checked_sub(1)?;
    Some([sorted[outside], sorted[count - 1 - outside]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_summarised() {
        let mut values = [12.0, 10.0, 11.0, 14.0, 13.0];
        let summary = summary(&mut values).unwrap();
        assert_eq!((summary.count, summary.mean, summary.median), (5, 12.0, 12.0));
        let [low, high] = summary.mean_ci95.unwrap();
        // s = 1.5811, t(4) = 2.7764, so ± 1.9632.
        assert!((low - 10.0368).abs() < 1e-4 && (high - 13.9632).abs() < 1e-4, "{low} {high}");
        assert_eq!((summary.p5, summary.p95), (10.2, 13.8));
        assert!(summary.median_ci95.is_none(), "five values: 2/2^5 is more than 5 %");
        assert!(super::summary(&mut []).is_none());
        assert!(super::summary(&mut [3.0]).unwrap().mean_ci95.is_none());
    }

    #[test]
    fn nearest_ranks_are_values_of_the_sample() {
        assert!(nearest_rank(&mut [], 0.5).is_nan());
        let ranks = [0.0, 0.25, 0.26, 1.0].map(|share| nearest_rank(&mut [4.0, 1.0, 3.0, 2.0], share));
        assert_eq!(ranks, [1.0, 1.0, 2.0, 4.0]);
    }

    #[test]
    fn medians_have_the_ranks_of_the_sign_test() {
        let interval = |count: usize| {
            let values: Vec<f64> = (1..=count).map(|value| value as f64).collect();
            median_interval(&values)
        };
        assert_eq!(interval(6), Some([1.0, 6.0]));
        assert_eq!(interval(10), Some([2.0, 9.0]));
        assert_eq!(interval(20), Some([6.0, 15.0]));
        assert_eq!(interval(100), Some([40.0, 61.0]));
        let [low, high] = interval(100_000).unwrap();
        assert!((low - 49_691.0).abs() < 3.0 && (high - 50_310.0).abs() < 3.0, "{low} {high}");
    }

    #[test]
    fn pairs_see_what_samples_do_not() {
        // The seed matters more than what is compared.
        let pairs: Vec<[f64; 2]> = (0..20)
            .map(|seed| {
                let base = f64::from(seed * seed);
                [base, base + 1.0 + 0.1 * f64::from(seed % 3)]
            })
            .collect();
        let paired = paired_difference(&pairs).unwrap();
        assert!((paired.mean - 1.095).abs() < 1e-9 && paired.is_clear());
        assert_eq!((paired.larger, paired.smaller), (Some(20), Some(0)));
        let column = |index: usize| pairs.iter().map(|pair| pair[index]).collect::<Vec<f64>>();
        let welch = welch_difference(&column(0), &column(1)).unwrap();
        assert!((welch.mean - paired.mean).abs() < 1e-9 && !welch.is_clear());
    }

    #[test]
    fn intervals_are_those_of_the_sleep_data() {
        // "The probable error of a mean" (Student 1908): hours of sleep gained by ten patients on two drugs. The
        // intervals are those that statistics programs print for it.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let close = |found: Option<Interval>, expected: Interval| {
            let found = found.unwrap();
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        };
        let welch = welch_difference(&first, &second).unwrap();
        close(welch.ci95, [-0.205_483_2, 3.365_483_2]);
        let pairs: Vec<[f64; 2]> = first.into_iter().zip(second).map(|(a, b)| [a, b]).collect();
        let paired = paired_difference(&pairs).unwrap();
        close(paired.ci95, [0.700_114_2, 2.459_885_8]);
        assert!((paired.relative().unwrap() - 1.58 / 0.75).abs() < 1e-9);
    }
}
