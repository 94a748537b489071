//! Fewer points that look the same.

use crate::gaps::Gap;
use crate::trace::Series;

/// Of each of so many intervals the smallest and the largest value.
pub(crate) fn extremes(series: &Series, intervals: usize) -> Series {
    let (Some(first), Some(last)) = (series.first(), series.last()) else { return Vec::new() };
    if series.len() <= 2 * intervals {
        return series.clone();
    }
    let width = ((last.0 - first.0) / intervals as u64).max(1);
    let mut thin = Series::new();
    for chunk in series.chunk_by(|a, b| (a.0 - first.0) / width == (b.0 - first.0) / width) {
        let by_value = |a: &&(u64, f64), b: &&(u64, f64)| a.1.total_cmp(&b.1);
        let (Some(least), Some(most)) = (chunk.iter().min_by(by_value), chunk.iter().max_by(by_value)) else {
            continue;
        };
        thin.push(*least.min_by_time(most));
        if least.0 != most.0 {
            thin.push(*least.max_by_time(most));
        }
    }
    thin
}

trait ByTime {
    fn min_by_time<'a>(&'a self, other: &'a Self) -> &'a Self;
    fn max_by_time<'a>(&'a self, other: &'a Self) -> &'a Self;
}

impl ByTime for (u64, f64) {
    fn min_by_time<'a>(&'a self, other: &'a Self) -> &'a Self {
        if self.0 <= other.0 { self } else { other }
    }

    fn max_by_time<'a>(&'a self, other: &'a Self) -> &'a Self {
        if self.0 > other.0 { self } else { other }
    }
}

/// Around a gap all points are kept: so long before and after it, in seconds.
const AROUND: f64 = 0.3;
/// Points that are kept of one such time.
const MAX_OF_GAP: usize = 3_000;
/// Gaps around which all points are kept: the longest ones.
const MAX_GAPS: usize = 20;

/// Which points of a picture are drawn.
pub(crate) struct Keeper {
    every: usize,
    seen: usize,
    /// Times around gaps, and points that were kept of each.
    around: Vec<(f64, f64, usize)>,
}

impl Keeper {
    /// Keeps about `most` of `all` points, and those around gaps.
    pub(crate) fn new(all: usize, most: usize, gaps: &[Gap]) -> Self {
        let mut longest: Vec<&Gap> = gaps.iter().collect();
        longest.sort_by(|a, b| b.length_ms.total_cmp(&a.length_ms));
        let around = longest.iter().take(MAX_GAPS).map(|gap| (gap.from_s - AROUND, gap.to_s + AROUND, 0));
        Keeper { every: all.div_ceil(most.max(1)).max(1), seen: 0, around: around.collect() }
    }

    /// Whether the next point is drawn.
    pub(crate) fn keeps(&mut self, at_s: f64) -> bool {
        self.seen += 1;
        if self.seen.is_multiple_of(self.every) {
            return true;
        }
        let inside = self.around.iter_mut().find(|(from, to, _)| (*from..=*to).contains(&at_s));
        inside.is_some_and(|(_, _, count)| {
            *count += 1;
            *count <= MAX_OF_GAP
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_of_a_million_values_stays() {
        let mut series: Series = (0..1_000_000).map(|at| (at, 5.0)).collect();
        series[123_456].1 = 900.0;
        series[654_321].1 = -1.0;
        let thin = extremes(&series, 500);
        assert!(thin.len() <= 1_004, "{}", thin.len());
        assert!(thin.contains(&(123_456, 900.0)) && thin.contains(&(654_321, -1.0)));
        assert!(thin.is_sorted_by_key(|(at, _)| *at));
    }
}
