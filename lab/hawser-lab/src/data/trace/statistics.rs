//! Figures about values that hold for a time.

use serde::Serialize;

use super::Piece;

/// How values are spread, weighted by the time for which they hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distribution {
    /// Mean over time.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// At most this during 5 % of the time.
    pub p5: f64,
    /// At most this during half of the time.
    pub median: f64,
    /// At most this during 95 % of the time.
    pub p95: f64,
    /// At most this during 99 % of the time.
    pub p99: f64,
    /// Most.
    pub max: f64,
}

impl Distribution {
    /// Of pieces, their values multiplied by `scale`; none if there is no time.
    pub fn of(pieces: &[Piece], scale: f64) -> Option<Self> {
        let weighted = pieces.iter().map(|piece| (piece.value * scale, piece.length() as f64)).collect();
        Self::of_weighted(weighted)
    }

    /// Of values that count the same.
    pub fn of_values(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::of_weighted(values.into_iter().map(|value| (value, 1.0)).collect())
    }

    fn of_weighted(mut values: Vec<(f64, f64)>) -> Option<Self> {
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = values.iter().map(|value| value.1).sum();
        let (first, last) = (values.first()?, values.last()?);
        if total <= 0.0 {
            return None;
        }
        let quantile = |share: f64| {
            let mut weight = 0.0;
            let reached = values.iter().find(|value| {
                weight += value.1;
                weight >= share * total
            });
            reached.unwrap_or(last).0
        };
        Some(Self {
            mean: values.iter().map(|(value, weight)| value * weight).sum::<f64>() / total,
            min: first.0,
            p5: quantile(0.05),
            median: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: last.0,
        })
    }
}

/// Share of the time in which a value is below `limit`.
pub(crate) fn share_below(pieces: &[Piece], limit: f64) -> f64 {
    let total: f64 = pieces.iter().map(|piece| piece.length() as f64).sum();
    let below = pieces.iter().filter(|piece| piece.value < limit);
    if total > 0.0 { below.fold(0.0, |sum, piece| sum + piece.length() as f64) / total } else { 0.0 }
}

/// Two step functions over the same time, as times in which neither changes: length, first and second value.
pub(crate) fn together<'a>(
    first: &'a [Piece],
    second: &'a [Piece],
) -> impl Iterator<Item = (f64, f64, f64)> + 'a {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let (a, b) = (first.get(i)?, second.get(j)?);
        let (from, to) = (a.from.max(b.from), a.to.min(b.to));
        i += usize::from(a.to <= to);
        j += usize::from(b.to <= to);
        Some((to.saturating_sub(from) as f64, a.value, b.value))
    })
}

/// Pearson's correlation over time; none if one of both never changes.
pub(crate) fn correlation(first: &[Piece], second: &[Piece]) -> Option<f64> {
    let (mut weight, mut sum_a, mut sum_b) = (0.0, 0.0, 0.0);
    for (length, a, b) in together(first, second) {
        weight += length;
        sum_a += length * a;
        sum_b += length * b;
    }
    let (mean_a, mean_b) = (sum_a / weight, sum_b / weight);
    let (mut aa, mut bb, mut ab) = (0.0, 0.0, 0.0);
    for (length, a, b) in together(first, second) {
        let (a, b) = (a - mean_a, b - mean_b);
        aa += length * a * a;
        bb += length * b * b;
        ab += length * a * b;
    }
    let spread = (aa * bb).sqrt();
    (spread > 0.0 && spread.is_finite()).then_some(ab / spread)
}
