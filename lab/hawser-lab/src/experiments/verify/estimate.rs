//! Values and how sure they are.

use serde::Serialize;

/// A value with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Lower end; none where there is no interval: extremes, sums, single runs.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

impl Estimate {
    /// A value without an interval.
    pub fn exact(value: f64) -> Self {
        Estimate { value, low: None, high: None }
    }

    pub(super) fn with(value: f64, interval: Option<[f64; 2]>) -> Self {
        Estimate { value, low: interval.map(|ends| ends[0]), high: interval.map(|ends| ends[1]) }
    }
}
