//! How values are spread, for tables and for drawing.

use serde::Serialize;

use super::{quantile, summary};

/// How values are spread. The unit is that of the values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Values.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation; absent with one value.
    pub deviation: Option<f64>,
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub p90: f64,
    /// Largest.
    pub max: f64,
    /// All of them, the least first.
    #[serde(skip)]
    pub(crate) sorted: Vec<f64>,
}

impl Spread {
    /// Of these values; those that are not finite are left out. `None` without any.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let found = summary(&mut values)?;
        Some(Spread {
            count: found.count,
            mean: found.mean,
            deviation: found.standard_deviation,
            median: found.median,
            p90: quantile(&values, 0.9),
            max: found.max,
            sorted: values,
        })
    }
}
