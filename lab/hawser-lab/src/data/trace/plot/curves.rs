//! From pieces to points of curves.

use std::fmt::Write as _;

use hawser_link::Nanos;

use super::super::Piece;
use crate::data::page::svg::Plot;

/// More steps than this cannot be told apart in the drawing.
const MOST_STEPS: u64 = 900;
/// Points of a cumulative distribution.
const MOST_POINTS: usize = 300;

/// A time and what the values in it were.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    pub(super) from: Nanos,
    pub(super) mean: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

/// The highest value.
pub(super) fn highest(pieces: &[Piece]) -> f64 {
    pieces.iter().map(|piece| piece.value).fold(0.0, f64::max)
}

/// The pieces as they are, or taken together where there are too many.
pub(super) fn thinned(pieces: &[Piece], duration: Nanos) -> Vec<Step> {
    if pieces.len() as u64 <= 2 * MOST_STEPS {
        let step = |piece: &Piece| {
            let value = piece.value;
            Step { from: piece.from, mean: value, least: value, most: value }
        };
        return pieces.iter().map(step).collect();
    }
    let width = duration.div_ceil(MOST_STEPS).max(1);
    let mut steps: Vec<(Step, f64)> = Vec::new();
    for piece in pieces {
        let mut from = piece.from;
        while from < piece.to {
            let bin = from / width * width;
            let to = (bin + width).min(piece.to);
            if steps.last().is_none_or(|last| last.0.from != bin) {
                steps.push((Step { from: bin, mean: 0.0, least: piece.value, most: piece.value }, 0.0));
            }
            if let Some((step, length)) = steps.last_mut() {
                let added = (to - from) as f64;
                step.mean = (step.mean * *length + piece.value * added) / (*length + added);
                *length += added;
                step.least = step.least.min(piece.value);
                step.most = step.most.max(piece.value);
            }
            from = to;
        }
    }
    steps.into_iter().map(|(step, _)| step).collect()
}

/// The outline of what lies between two step functions with the same times.
pub(super) fn range(plot: &Plot, least: &[(f64, f64)], most: &[(f64, f64)], end: f64) -> String {
    let mut path = plot.steps(most, end);
    for (index, &(time, value)) in least.iter().enumerate().rev() {
        let until = least.get(index + 1).map_or(end, |next| next.0);
        let _ = write!(path, "L{:.1} {:.1}H{:.1}", plot.x(until), plot.y(value), plot.x(time));
    }
    path + "Z"
}

/// Values and how long they held, sorted.
pub(super) fn spread(pieces: &[Piece]) -> Vec<(f64, f64)> {
    let mut values: Vec<(f64, f64)> =
        pieces.iter().map(|piece| (piece.value, piece.length() as f64)).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    values
}

/// Share of the time at or below each value, as a step function.
pub(super) fn cumulative(sorted: &[(f64, f64)], scale: f64) -> Vec<(f64, f64)> {
    let total: f64 = sorted.iter().map(|value| value.1).sum();
    let mut points: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    let mut weight = 0.0;
    for (index, (value, length)) in sorted.iter().enumerate() {
        weight += length;
        let share = weight / total.max(1e-9);
        let is_last = index + 1 == sorted.len();
        let grown = points.last().is_none_or(|last| share - last.1 >= 1.0 / MOST_POINTS as f64);
        match points.last_mut() {
            Some(last) if last.0 == value * scale => last.1 = share,
            _ if grown || is_last => points.push((value * scale, share)),
            _ => {}
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(from: Nanos, to: Nanos, value: f64) -> Piece {
        Piece { from, to, value }
    }

    #[test]
    fn thinning_keeps_the_mean_and_the_extremes() {
        let pieces: Vec<Piece> =
            (0..9000).map(|index| piece(index * 10, index * 10 + 10, (index % 10) as f64)).collect();
        let steps = thinned(&pieces, 90_000);
        assert_eq!(steps.len(), 900);
        for step in steps {
            assert!((step.mean - 4.5).abs() < 1e-9 && step.least == 0.0 && step.most == 9.0, "{step:?}");
        }
    }

    #[test]
    fn distributions_end_at_one() {
        let sorted = spread(&[piece(0, 30, 5.0), piece(30, 40, 1.0)]);
        assert_eq!(cumulative(&sorted, 1.0), [(0.0, 0.0), (1.0, 0.25), (5.0, 1.0)]);
    }
}
