//! Intervals of expressions: the runs are drawn again and again with replacement (percentile bootstrap).

use std::collections::BTreeMap;

use hawser_numbers::SplitMix64;

use super::expression::{Expression, Values};
use super::metric::Metric;
use crate::data::statistics::quantile_of;

/// How often the runs are drawn.
const DRAWS: usize = 1_000;
/// Evaluations of metrics that an interval may cost; larger expressions are drawn less often.
const MOST_WORK: usize = 20_000_000;
/// Draws that make an interval at least.
const LEAST_DRAWS: usize = 100;
/// Of the draws, so that judging the same runs gives the same interval.
const SEED: u64 = 0x1979_0b01;

/// The 95 % interval of what an expression comes to. None: a single run, extremes and sums, which drawing again says nothing
/// about, or an expression too large to compute a hundred times.
///
/// Runs of one seed belong together: where runs are compared seed by seed, the same seeds are drawn for both.
pub(super) fn interval(expression: &Expression, kept: &dyn Values) -> Option<[f64; 2]> {
    if expression.has_extremes() {
        return None;
    }
    let metrics = expression.metrics();
    let mut drawn = Drawn { values: BTreeMap::new(), seeds: BTreeMap::new() };
    let mut work = 0;
    for metric in metrics {
        let seeds = kept.seeds(metric);
        work += seeds.len();
        let values: Option<Vec<f64>> = seeds.iter().map(|seed| kept.value(metric, *seed)).collect();
        drawn.seeds.insert(seeds.len(), Vec::new());
        drawn.values.insert(metric.clone(), values?);
    }
    let draws = (MOST_WORK / work.max(1)).min(DRAWS);
    let most = drawn.seeds.keys().next_back().copied().unwrap_or(0);
    if most < 2 || draws < LEAST_DRAWS {
        return None;
    }
    let mut random = SplitMix64::new(SEED);
    let mut found = Vec::with_capacity(draws);
    for _ in 0..draws {
        for (count, seeds) in &mut drawn.seeds {
            *seeds = (0..*count).map(|_| random.below(*count as u64)).collect();
        }
        found.extend(expression.evaluate(&drawn).filter(|value| value.is_finite()));
    }
    let ends = [quantile_of(&found, 0.025), quantile_of(&found, 0.975)];
    ends.iter().all(|end| end.is_finite()).then_some(ends)
}

/// The runs as they were drawn once.
struct Drawn {
    /// By metric, in the order of the seeds.
    values: BTreeMap<Metric, Vec<f64>>,
    /// By how many seeds there are: the positions that were drawn.
    seeds: BTreeMap<usize, Vec<u64>>,
}

impl Values for Drawn {
    fn seeds(&self, metric: &Metric) -> Vec<u64> {
        (0..self.values.get(metric).map_or(0, Vec::len) as u64).collect()
    }

    fn value(&self, metric: &Metric, seed: u64) -> Option<f64> {
        let values = self.values.get(metric)?;
        let position = self.seeds.get(&values.len())?.get(usize::try_from(seed).ok()?)?;
        values.get(usize::try_from(*position).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::expression::{Estimator, Operator};
    use super::super::metric::Policy;
    use super::*;

    struct Runs(BTreeMap<String, Vec<f64>>);

    impl Values for Runs {
        fn seeds(&self, metric: &Metric) -> Vec<u64> {
            (1..=self.0[&metric.runs].len() as u64).collect()
        }

        fn value(&self, metric: &Metric, seed: u64) -> Option<f64> {
            self.0[&metric.runs].get(seed as usize - 1).copied()
        }
    }

    fn mean_of(runs: &str) -> Expression {
        estimate(Estimator::Mean, runs)
    }

    fn estimate(estimator: Estimator, runs: &str) -> Expression {
        let metric = Metric { runs: runs.to_owned(), policy: Policy::System, name: "x".to_owned() };
        Expression::Estimate(estimator, Box::new(Expression::Metric(metric)))
    }

    fn ratio(first: &str, second: &str) -> Expression {
        Expression::Binary(Operator::Divide, Box::new(mean_of(first)), Box::new(mean_of(second)))
    }

    fn runs(lists: &[(&str, &[f64])]) -> Runs {
        Runs(lists.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect())
    }

    #[test]
    fn interval_of_a_mean_is_near_that_of_normal_values() {
        let mut random = SplitMix64::new(7);
        let values: Vec<f64> = (0..100).map(|_| 10.0 + 2.0 * random.normal()).collect();
        let [low, high] = interval(&mean_of("a"), &runs(&[("a", &values)])).unwrap();
        // 1.96 * 2 / sqrt(100) to either side.
        assert!((high - low - 0.784).abs() < 0.12, "{low} to {high}");
    }

    #[test]
    fn runs_of_one_seed_are_drawn_together() {
        let (fast, slow) = ([1.0, 5.0, 9.0, 2.0], [2.0, 10.0, 18.0, 4.0]);
        let [low, high] = interval(&ratio("a", "b"), &runs(&[("a", &fast), ("b", &slow)])).unwrap();
        assert!((low - 0.5).abs() < 1e-12 && (high - 0.5).abs() < 1e-12, "{low} to {high}");
    }

    #[test]
    fn single_runs_and_extremes_have_no_interval() {
        let kept = runs(&[("a", &[1.0]), ("b", &[1.0, 2.0])]);
        assert_eq!(interval(&mean_of("a"), &kept), None);
        assert_eq!(interval(&estimate(Estimator::Largest, "b"), &kept), None);
        assert!(interval(&mean_of("b"), &kept).is_some());
    }

    #[test]
    fn same_runs_give_the_same_interval() {
        let kept = runs(&[("a", &[1.0, 2.0, 4.0]), ("b", &[3.0, 1.0, 2.0])]);
        assert_eq!(interval(&ratio("a", "b"), &kept), interval(&ratio("a", "b"), &kept));
    }
}
