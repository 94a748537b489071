//! Interruptions over the distance between access points (figure 4.8).

use super::{DISTANCES, INTERRUPTION, LEAP, LEAP_DISTANCES, PEEKABOO};
use crate::experiments::verify::constant::Value::Mean;
use crate::experiments::verify::constant::{Estimate, Kept, Metric, of, ours};

/// The means at all distances.
fn means(
    kept: &Kept,
    distances: &[&'static str],
    metric: impl Fn(&'static str) -> Metric,
) -> Option<Vec<f64>> {
    distances.iter().map(|runs| Some(kept.estimate(&(&Mean(metric(runs))).into()).ok()?.value)).collect()
}

/// The lesser of both ends over the least in between: above 1 there is a minimum inside.
pub(super) fn depth(kept: &Kept) -> Option<Estimate> {
    let means = means(kept, DISTANCES, |runs| ours(runs, INTERRUPTION))?;
    let (first, last) = (*means.first()?, *means.last()?);
    let inside = means.get(1..means.len() - 1)?.iter().copied().fold(f64::INFINITY, f64::min);
    Some(Estimate::exact(first.min(last) / inside))
}

/// By how much Peekaboo's vary.
pub(super) fn peekaboo_range(kept: &Kept) -> Option<Estimate> {
    range(&means(kept, DISTANCES, |runs| of(PEEKABOO, runs, INTERRUPTION))?)
}

/// By how much LEAP's vary.
pub(super) fn leap_range(kept: &Kept) -> Option<Estimate> {
    range(&means(kept, LEAP_DISTANCES, |runs| of(LEAP, runs, INTERRUPTION))?)
}

fn range(means: &[f64]) -> Option<Estimate> {
    let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Estimate::exact(most - means.iter().copied().fold(f64::INFINITY, f64::min)))
}
