//! Cumulative distributions of spreads, one line each.

use super::chart::{Chart, Line, Scale, cumulative};
use crate::data::statistics::Spread;

/// A chart of this size, in pixels; colours are those of a legend next to it. Nothing where there are fewer than two values.
pub(crate) fn distribution(
    title: &str,
    label: &str,
    spreads: &[(usize, &str, &Spread)],
    [width, height]: [f64; 2],
) -> Option<String> {
    let mut all: Vec<f64> = spreads.iter().flat_map(|(_, _, spread)| &spread.sorted).copied().collect();
    if all.len() < 2 {
        return None;
    }
    all.sort_by(f64::total_cmp);
    let line = |&(colour, name, spread): &(usize, &str, &Spread)| Line {
        name: name.to_owned(),
        colour,
        points: cumulative(&spread.sorted, spread.count),
        dashed: false,
        steps: true,
    };
    let chart = Chart {
        title,
        x_label: label,
        y_label: "share",
        x: Scale::around(&all),
        y: Scale::Linear(0.0, 1.0),
        width,
        height,
        lines: spreads.iter().map(line).collect(),
        shades: Vec::new(),
    };
    Some(chart.svg())
}
