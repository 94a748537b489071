//! Values that are made of several runs.

use super::{CITY, GRID, LATE, RR, SEDPF, VERSION_1};
use crate::experiments::verify::constant::{Estimate, Kept, Metric, of, ours};

const GOODPUT: &str = "goodput_bps";
const THROUGHPUT: &str = "throughput_bps";
const REORDERING: &str = "mean_reordering_ms";
const P90: &str = "p90_delay_ms";

fn mean(kept: &Kept, metric: Metric) -> Option<f64> {
    let values = kept.values(&(&metric).into());
    (!values.is_empty()).then(|| values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64)
}

/// The first metric over the second, means over all seeds.
fn ratio(kept: &Kept, first: Metric, second: Metric) -> Option<f64> {
    Some(mean(kept, first)? / mean(kept, second)?)
}

fn smallest(values: impl Iterator<Item = Option<f64>>) -> Option<Estimate> {
    let all: Option<Vec<f64>> = values.collect();
    all?.into_iter().reduce(f64::min).map(Estimate::exact)
}

/// Goodput in the city over that of another scheduler, at the speed at which this is smallest.
fn city_over(kept: &Kept, other: &'static str) -> Option<Estimate> {
    smallest(CITY.iter().map(|runs| ratio(kept, ours(runs, GOODPUT), of(other, runs, GOODPUT))))
}

pub(super) fn city_over_late(kept: &Kept) -> Option<Estimate> {
    city_over(kept, LATE)
}

pub(super) fn city_over_rr(kept: &Kept) -> Option<Estimate> {
    city_over(kept, RR)
}

/// Position of the speed with the largest goodput.
fn peak(kept: &Kept, metric: impl Fn(&'static str) -> Metric) -> Option<usize> {
    let means: Option<Vec<f64>> = CITY.iter().map(|runs| mean(kept, metric(runs))).collect();
    means?
        .into_iter()
        .enumerate()
        .max_by(|one, other| one.1.total_cmp(&other.1))
        .map(|(position, _)| position)
}

/// How many of the two orders MAMS >= LATE >= RR of these speeds are violated.
pub(super) fn peaks_out_of_order(kept: &Kept) -> Option<Estimate> {
    let system = peak(kept, |runs| ours(runs, GOODPUT))?;
    let late = peak(kept, |runs| of(LATE, runs, GOODPUT))?;
    let rr = peak(kept, |runs| of(RR, runs, GOODPUT))?;
    Some(Estimate::exact(f64::from(u8::from(system < late)) + f64::from(u8::from(late < rr))))
}

/// Reordering delay over RR's, at the best speed above 40 km/h.
pub(super) fn reordering_at_speed(kept: &Kept) -> Option<Estimate> {
    ratio(kept, ours("urban-50", REORDERING), of(RR, "urban-50", REORDERING)).map(Estimate::exact)
}

/// By how many seconds the 90th percentile of the delay grows from 20 to 40 m/s: LATE's growth less RR's.
pub(super) fn growth_of_late_over_rr(kept: &Kept) -> Option<Estimate> {
    let growth =
        |policy| Some(mean(kept, of(policy, "down-40", P90))? - mean(kept, of(policy, "down-20", P90))?);
    Some(Estimate::exact((growth(LATE)? - growth(RR)?) / 1e3))
}

/// RR's reordering delay from 2 to 4 to 8 paths: the smaller of the two ratios.
pub(super) fn reordering_of_rr_by_paths(kept: &Kept) -> Option<Estimate> {
    let steps = GRID.windows(2);
    smallest(steps.map(|pair| ratio(kept, of(RR, pair[1], REORDERING), of(RR, pair[0], REORDERING))))
}

/// Throughput over that of MMQUIC-v1 at the number of paths at which this is largest.
pub(super) fn best_over_version_1(kept: &Kept) -> Option<Estimate> {
    let all: Option<Vec<f64>> = GRID
        .iter()
        .map(|runs| ratio(kept, ours(runs, THROUGHPUT), of(VERSION_1, runs, THROUGHPUT)))
        .collect();
    all?.into_iter().reduce(f64::max).map(Estimate::exact)
}

/// What more paths do to SEDPF: its throughput over RR's with 8 paths, over the same with 2.
pub(super) fn sedpf_over_rr_by_paths(kept: &Kept) -> Option<Estimate> {
    let over_rr = |runs| ratio(kept, of(SEDPF, runs, THROUGHPUT), of(RR, runs, THROUGHPUT));
    Some(Estimate::exact(over_rr("paths-8")? / over_rr("paths-2")?))
}

/// Without reports, over what it is with them: the error of MMQUIC-v1 over that of MAMS.
pub(super) fn error_of_version_1(kept: &Kept) -> Option<Estimate> {
    let version_1 = of(VERSION_1, "accuracy-down-without-reports", "error");
    ratio(kept, ours("accuracy-down", "error"), version_1).map(Estimate::exact)
}
