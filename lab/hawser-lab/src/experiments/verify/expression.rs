//! Values that are computed from the metrics of several runs, and what they come to.

use std::collections::BTreeSet;

use super::metric::Metric;
use crate::data::statistics::{mean_of, quantile_of};

/// Where the values of metrics are.
pub(super) trait Values {
    /// The seeds that have a metric.
    fn seeds(&self, metric: &Metric) -> Vec<u64>;

    /// The value of a metric with one seed.
    fn value(&self, metric: &Metric, seed: u64) -> Option<f64>;
}

/// What claims compute. Names are resolved: groups are written out.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// The value of a metric with one seed: only inside of an estimate.
    Metric(Metric),
    /// Something over all seeds.
    Estimate(Estimator, Box<Expression>),
    /// Two values: combined, or compared, which gives 1 or 0.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// The largest of some values.
    Largest(Vec<Expression>),
    /// The smallest.
    Smallest(Vec<Expression>),
    /// Their mean.
    Mean(Vec<Expression>),
    /// The median: the one in the middle, or what lies between the two.
    Median(Vec<Expression>),
    /// The number of the member of a group whose value is largest; of equal ones the last.
    Best(Vec<(f64, Expression)>),
}

/// What is made of the values of all seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimator {
    /// Their mean.
    Mean,
    /// Their median.
    Median,
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
    /// Their sum.
    Sum,
}

/// What is made of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
    /// 1 if the first is smaller, else 0.
    Less,
    /// 1 if the first is not larger, else 0.
    AtMost,
    /// 1 if the first is larger, else 0.
    Greater,
    /// 1 if the first is not smaller, else 0.
    AtLeast,
}

impl Operator {
    fn apply(self, first: f64, second: f64) -> f64 {
        let truth = |it: bool| f64::from(u8::from(it));
        match self {
            Self::Add => first + second,
            Self::Subtract => first - second,
            Self::Multiply => first * second,
            Self::Divide => first / second,
            Self::Less => truth(first < second),
            Self::AtMost => truth(first <= second),
            Self::Greater => truth(first > second),
            Self::AtLeast => truth(first >= second),
        }
    }
}

impl Estimator {
    fn apply(self, values: &[f64]) -> Option<f64> {
        let all = values.iter().copied();
        match self {
            Self::Mean => mean_of(values.iter().copied()),
            Self::Median => (!values.is_empty()).then(|| quantile_of(values, 0.5)),
            Self::Largest => all.reduce(f64::max),
            Self::Smallest => all.reduce(f64::min),
            Self::Sum => (!values.is_empty()).then(|| all.sum()),
        }
    }
}

impl Expression {
    /// All metrics in it.
    pub fn metrics(&self) -> Vec<&Metric> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    /// Returns true if an extreme or a sum over seeds is in it: what resampled runs say nothing about.
    pub(super) fn has_extremes(&self) -> bool {
        match self {
            Self::Number(_) | Self::Metric(_) => false,
            Self::Estimate(estimator, _) => {
                matches!(estimator, Estimator::Largest | Estimator::Smallest | Estimator::Sum)
            }
            Self::Binary(_, first, second) => first.has_extremes() || second.has_extremes(),
            Self::Largest(all) | Self::Smallest(all) | Self::Mean(all) | Self::Median(all) => {
                all.iter().any(Self::has_extremes)
            }
            Self::Best(all) => all.iter().any(|(_, each)| each.has_extremes()),
        }
    }

    fn collect<'a>(&'a self, found: &mut Vec<&'a Metric>) {
        match self {
            Self::Number(_) => {}
            Self::Metric(metric) => found.push(metric),
            Self::Estimate(_, inner) => inner.collect(found),
            Self::Binary(_, first, second) => {
                first.collect(found);
                second.collect(found);
            }
            Self::Largest(all) | Self::Smallest(all) | Self::Mean(all) | Self::Median(all) => {
                all.iter().for_each(|each| each.collect(found));
            }
            Self::Best(all) => all.iter().for_each(|(_, each)| each.collect(found)),
        }
    }

    /// What it comes to without any run; none: it is made of metrics.
    pub(super) fn constant(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Binary(operator, first, second) => {
                Some(operator.apply(first.constant()?, second.constant()?))
            }
            _ => None,
        }
    }

    /// What it comes to; none: something is missing.
    pub(super) fn evaluate(&self, kept: &dyn Values) -> Option<f64> {
        self.at(kept, None)
    }

    /// The same with the metrics of one seed.
    fn at(&self, kept: &dyn Values, seed: Option<u64>) -> Option<f64> {
        let each =
            |all: &[Expression]| all.iter().map(|each| each.at(kept, seed)).collect::<Option<Vec<f64>>>();
        match self {
            Self::Number(number) => Some(*number),
            Self::Metric(metric) => kept.value(metric, seed?),
            Self::Estimate(estimator, inner) => {
                let metrics = inner.metrics();
                let seeds: BTreeSet<u64> =
                    metrics.into_iter().flat_map(|metric| kept.seeds(metric)).collect();
                let values: Option<Vec<f64>> =
                    seeds.into_iter().map(|seed| inner.at(kept, Some(seed))).collect();
                estimator.apply(&values?)
            }
            Self::Binary(operator, first, second) => {
                Some(operator.apply(first.at(kept, seed)?, second.at(kept, seed)?))
            }
            Self::Largest(all) => each(all)?.into_iter().reduce(f64::max),
            Self::Smallest(all) => each(all)?.into_iter().reduce(f64::min),
            Self::Mean(all) => mean_of(each(all)?.into_iter()),
            Self::Median(all) => Estimator::Median.apply(&each(all)?),
            Self::Best(all) => {
                let values = all.iter().map(|(number, each)| Some((*number, each.at(kept, seed)?)));
                let values: Vec<(f64, f64)> = values.collect::<Option<_>>()?;
                values.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).map(|best| best.0)
            }
        }
    }
}
