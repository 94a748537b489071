//! Claims: values that are made of metrics, and where they have to lie.

use super::estimate::Estimate;
use super::expression::Expression;
use super::metric::Metric;

/// A value of the runs, and where it has to lie.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The value.
    pub value: Value,
    /// Where it has to lie.
    pub bound: Bound,
    /// Where the file states it, counted from 1.
    pub line: usize,
}

/// A value made of the metrics of runs.
#[derive(Debug, Clone)]
pub enum Value {
    /// Mean over the seeds; Student's t gives the interval.
    Mean(Metric),
    /// Median over the seeds; order statistics give the interval. A run that did not end within its scenario counts as longer
    /// than all that did, where the metric is a time.
    Median(Metric),
    /// The first mean over the second; the interval comes from the differences seed by seed.
    Ratio(Metric, Metric),
    /// The first mean less the second; the interval likewise.
    Difference(Metric, Metric),
    /// The largest of all seeds: for what no run may exceed.
    Largest(Metric),
    /// The smallest of all seeds.
    Smallest(Metric),
    /// The sum over all seeds: for counts.
    Sum(Metric),
    /// Anything else that can be computed from metrics.
    Computed {
        /// As the file has it.
        text: String,
        /// What is computed.
        expression: Expression,
    },
}

/// Where a value has to lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Its whole interval is larger: an ordering that chance does not explain.
    Above(f64),
    /// Its whole interval is smaller.
    Below(f64),
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Between the two, ends included.
    Within(f64, f64),
    /// Its whole interval lies between the two: a test of equivalence with a margin. What has no interval is not met.
    Inside(f64, f64),
}

impl Value {
    /// Returns true if it compares policies, so that putting another one in the system's place must make it fall short.
    pub fn is_ordering(&self) -> bool {
        match self {
            Self::Ratio(first, second) | Self::Difference(first, second) => first.policy != second.policy,
            _ => false,
        }
    }

    /// All metrics that it is made of.
    pub fn metrics(&self) -> Vec<&Metric> {
        match self {
            Self::Mean(metric)
            | Self::Median(metric)
            | Self::Largest(metric)
            | Self::Smallest(metric)
            | Self::Sum(metric) => vec![metric],
            Self::Ratio(first, second) | Self::Difference(first, second) => vec![first, second],
            Self::Computed { expression, .. } => expression.metrics(),
        }
    }

    /// Returns true if it is made of one or two metrics by an estimator whose interval is known.
    pub fn is_estimator(&self) -> bool {
        !matches!(self, Self::Computed { .. })
    }

    /// The names of the runs that it is made of.
    pub fn runs(&self) -> Vec<&str> {
        self.metrics().into_iter().map(|metric| metric.runs.as_str()).collect()
    }

    /// What it is called in results: an estimator, or the text of an expression.
    pub fn name(&self) -> &str {
        match self {
            Self::Mean(_) => "mean",
            Self::Median(_) => "median",
            Self::Ratio(..) => "ratio",
            Self::Difference(..) => "difference",
            Self::Largest(_) => "largest",
            Self::Smallest(_) => "smallest",
            Self::Sum(_) => "sum",
            Self::Computed { text, .. } => text,
        }
    }
}

impl Bound {
    /// Returns true if a value lies there.
    pub fn admits(self, estimate: &Estimate) -> bool {
        let value = estimate.value;
        match self {
            Self::Above(bound) => estimate.low.unwrap_or(value) > bound,
            Self::Below(bound) => estimate.high.unwrap_or(value) < bound,
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
            Self::Within(low, high) => (low..=high).contains(&value),
            Self::Inside(low, high) => {
                let ends = estimate.low.zip(estimate.high);
                ends.is_some_and(|(lower, upper)| low <= lower && upper <= high)
            }
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Above(bound) => write!(f, "> {bound}"),
            Self::Below(bound) => write!(f, "< {bound}"),
            Self::AtLeast(bound) => write!(f, ">= {bound}"),
            Self::AtMost(bound) => write!(f, "<= {bound}"),
            Self::Within(low, high) => write!(f, "{low} to {high}"),
            Self::Inside(low, high) => write!(f, "inside {low} to {high}"),
        }
    }
}
