//! Values that are made of many runs.

use super::cells::{BANDWIDTHS, BY_SPACING, DELAYS, LONG_DELAYS};
use super::{
    BBR, OLIA, WITHOUT_COUPLING, WITHOUT_DELAY, WITHOUT_FILTER, WITHOUT_PRE_HANDOVER, WITHOUT_QUICK_START,
};
use crate::experiments::verify::constant::{Estimate, Kept, Metric, of, ours};

const COMPLETION: &str = "completion_seconds";

fn mean(kept: &Kept, metric: Metric) -> Option<f64> {
    let values = kept.values(&(&metric).into());
    (!values.is_empty()).then(|| values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64)
}

/// The first metric over the second, means over all seeds.
fn ratio(kept: &Kept, first: Metric, second: Metric) -> Option<f64> {
    Some(mean(kept, first)? / mean(kept, second)?)
}

/// The largest of some values; none if one is missing.
fn largest(values: impl Iterator<Item = Option<f64>>) -> Option<Estimate> {
    let all: Option<Vec<f64>> = values.collect();
    all?.into_iter().reduce(f64::max).map(Estimate::exact)
}

/// The largest ratio of completion times over the cells.
fn slowest(kept: &Kept, cells: &[&'static str], to: &'static str) -> Option<Estimate> {
    largest(cells.iter().map(|cell| ratio(kept, ours(cell, COMPLETION), of(to, cell, COMPLETION))))
}

pub(super) fn bandwidths_to_olia(kept: &Kept) -> Option<Estimate> {
    slowest(kept, BANDWIDTHS, OLIA)
}

pub(super) fn bandwidths_to_bbr(kept: &Kept) -> Option<Estimate> {
    slowest(kept, BANDWIDTHS, BBR)
}

pub(super) fn delays_to_olia(kept: &Kept) -> Option<Estimate> {
    slowest(kept, DELAYS, OLIA)
}

pub(super) fn delays_to_bbr(kept: &Kept) -> Option<Estimate> {
    slowest(kept, DELAYS, BBR)
}

/// The largest ratio of BBR's completion time to OLIA's beyond 250 ms.
pub(super) fn bbr_to_olia_beyond_250_ms(kept: &Kept) -> Option<Estimate> {
    largest(LONG_DELAYS.iter().map(|cell| ratio(kept, of(BBR, cell, COMPLETION), of(OLIA, cell, COMPLETION))))
}

/// By how much a step up in bandwidth lengthens the transfer at most.
pub(super) fn bandwidth_steps(kept: &Kept) -> Option<Estimate> {
    let steps = BY_SPACING.iter().flat_map(|cells| cells.windows(2));
    largest(steps.map(|pair| ratio(kept, ours(pair[1], COMPLETION), ours(pair[0], COMPLETION))))
}

/// Recovery times beside NewReno over those without it: MACO's over OLIA's.
pub(super) fn degradation(kept: &Kept) -> Option<Estimate> {
    const NAME: &str = "reduction_recovery_mean_ms";
    let system = ratio(kept, ours("p40", NAME), ours("p40-alone", NAME))?;
    let olia = ratio(kept, of(OLIA, "p40", NAME), of(OLIA, "p40-alone", NAME))?;
    Some(Estimate::exact(system / olia))
}

/// By which factor the metric that suffers most is worse without a part; one: nothing is worse.
fn worst(kept: &Kept, without: &'static str) -> Option<f64> {
    let worse = |name, more_is_better: bool| {
        let ratio = ratio(kept, of(without, "p40", name), ours("p40", name))?;
        Some(if more_is_better { 1.0 / ratio } else { ratio })
    };
    let factors = [
        worse("goodput_bps", true)?,
        worse("p95_delay_ms", false)?,
        worse("lost_share", false)?,
        worse("shared_tcp_bps", true)?,
        worse("hand_over_recovery_mean_ms", false)?,
    ];
    factors.into_iter().reduce(f64::max)
}

pub(super) fn without_quick_start(kept: &Kept) -> Option<Estimate> {
    worst(kept, WITHOUT_QUICK_START).map(Estimate::exact)
}

pub(super) fn without_filter(kept: &Kept) -> Option<Estimate> {
    worst(kept, WITHOUT_FILTER).map(Estimate::exact)
}

pub(super) fn without_delay(kept: &Kept) -> Option<Estimate> {
    worst(kept, WITHOUT_DELAY).map(Estimate::exact)
}

pub(super) fn without_coupling(kept: &Kept) -> Option<Estimate> {
    worst(kept, WITHOUT_COUPLING).map(Estimate::exact)
}

pub(super) fn without_pre_handover(kept: &Kept) -> Option<Estimate> {
    worst(kept, WITHOUT_PRE_HANDOVER).map(Estimate::exact)
}
