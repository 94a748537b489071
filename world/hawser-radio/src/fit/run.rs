use std::collections::BTreeMap;

/// One measurement of two carriers at the same time, in one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CarrierRun {
    /// Throughput of each carrier by time: seconds, bit/s.
    pub rates: [Vec<(f64, f64)>; 2],
    /// How long each handover took, of both carriers; seconds.
    pub handovers: Vec<f64>,
    /// Seconds measured, of both carriers together.
    pub time: f64,
}

impl CarrierRun {
    /// Rates of both carriers in the same half second.
    pub(super) fn pairs(&self) -> Vec<(f64, f64)> {
        let key = |time: f64| libm::round(2.0 * time) as i64;
        let [first, second] =
            [0, 1].map(|carrier| self.rates[carrier].iter().map(|rate| (key(rate.0), rate.1)).collect());
        let (first, second): (BTreeMap<i64, f64>, BTreeMap<i64, f64>) = (first, second);
        first.into_iter().filter_map(|(time, rate)| Some((rate, *second.get(&time)?))).collect()
    }
}
