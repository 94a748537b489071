use crate::RadioError;
use crate::error::Check;
use crate::math::{exp, ln, normal_quantile};

/// A distribution of positive values given by some of its quantiles: (probability, value), both rising. Between them
/// the logarithm of the value is linear in the normal score; outside, the outermost two go on.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Quantiles(pub Vec<(f64, f64)>);

impl Quantiles {
    /// The value at a normal score.
    pub(crate) fn table(&self) -> QuantileTable {
        QuantileTable(self.0.iter().map(|&(p, value)| (normal_quantile(p), ln(value))).collect())
    }

    pub(crate) fn check(&self, check: Check, what: &'static str) -> Result<(), RadioError> {
        let rising = self.0.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let inside = self.0.iter().all(|&(p, value)| p > 0.0 && p < 1.0 && value > 0.0 && value.is_finite());
        check.that(
            self.0.len() >= 2 && rising && inside,
            what,
            format!("{:?}", self.0),
            "at least two (probability, value), both rising, probabilities inside 0..1, values above 0",
        )
    }
}

/// Quantiles as (normal score, logarithm of the value).
#[derive(Clone, Debug)]
pub(crate) struct QuantileTable(Vec<(f64, f64)>);

impl QuantileTable {
    /// The value that belongs to a standard normal draw.
    pub(crate) fn value(&self, score: f64) -> f64 {
        let next = self.0.partition_point(|knot| knot.0 <= score).clamp(1, self.0.len() - 1);
        let (low, high) = (self.0[next - 1], self.0[next]);
        exp(low.1 + (score - low.0) / (high.0 - low.0) * (high.1 - low.1))
    }

    /// The standard normal score of a value.
    pub(crate) fn score(&self, value: f64) -> f64 {
        let target = ln(value);
        let next = self.0.partition_point(|knot| knot.1 <= target).clamp(1, self.0.len() - 1);
        let (low, high) = (self.0[next - 1], self.0[next]);
        if high.1 <= low.1 {
            return low.0;
        }
        low.0 + (target - low.1) / (high.1 - low.1) * (high.0 - low.0)
    }
}
