//! A chart of lines, with axes that say what and in which unit.

use std::fmt::Write as _;

use crate::data::page::html::colour;
use crate::data::page::svg::{escape, nice_step};

const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 40.0;

/// How values lie along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    /// Evenly, from and to.
    Linear(f64, f64),
    /// By their logarithm, from and to; both above zero.
    Log(f64, f64),
}

/// A line.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Appears under the pointer.
    pub(crate) name: String,
    /// Which colour.
    pub(crate) colour: usize,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) dashed: bool,
    /// Each value holds until the next one.
    pub(crate) steps: bool,
}

/// A chart.
#[derive(Debug, Clone)]
pub(crate) struct Chart<'a> {
    /// For those who do not see it.
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    pub(crate) y_label: &'a str,
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) lines: Vec<Line>,
    pub(crate) shades: Vec<Shade>,
}

/// A shaded part of the x axis.
#[derive(Debug, Clone)]
pub(crate) struct Shade {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) colour: usize,
    /// Appears under the pointer.
    pub(crate) what: String,
}

impl Scale {
    /// From zero to a little above the largest value.
    pub(crate) fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        Self::Linear(0.0, if most > 0.0 { most * 1.05 } else { 1.0 })
    }

    /// Around the values: from zero when they come near it, by logarithm when they are far apart.
    pub(crate) fn around(sorted: &[f64]) -> Self {
        let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else {
            return Self::Linear(0.0, 1.0);
        };
        let median = sorted[sorted.len() / 2];
        if least > 0.0 && most > 30.0 * median.max(least * 3.0) {
            return Self::Log(least / 1.1, (most * 1.1).min(f64::MAX));
        }
        let [from, to] = honest_extent(least, most);
        if least >= 0.0 && least < most * 0.4 { Self::Linear(0.0, to) } else { Self::Linear(from, to) }
    }

    /// Where a value lies, 0 to 1; values outside lie at the edge.
    pub(crate) fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear(from, to) => ((value - from) / (to - from)).clamp(0.0, 1.0),
            Self::Log(from, to) => {
                let value = value.max(from);
                ((value.ln() - from.ln()) / (to.ln() - from.ln())).clamp(0.0, 1.0)
            }
        }
    }

    fn ticks(self, about: f64) -> Vec<(f64, String)> {
        match self {
            Self::Linear(from, to) => {
                let step = nice_step((to - from) / about);
                let places = (-step.log10().floor()).max(0.0) as usize;
                let first = (from / step - 1e-6).ceil() as i64;
                let last = (to / step + 1e-6).floor() as i64;
                let tick = |index: i64| (index as f64 * step, format!("{:.places$}", index as f64 * step));
                (first..=last).map(tick).collect()
            }
            Self::Log(from, to) => {
                let decades = (to / from).log10();
                let digits: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
                let range = from.log10().floor() as i32..=to.log10().ceil() as i32;
                let value = |power: i32| digits.iter().map(move |digit| digit * 10f64.powi(power));
                let inside = |value: &f64| (from..=to).contains(value);
                range.flat_map(value).filter(inside).map(|value| (value, format!("{value}"))).collect()
            }
        }
    }
}

impl Chart<'_> {
    fn px(&self, x: f64) -> f64 {
        LEFT + self.x.place(x) * (self.width - LEFT - RIGHT)
    }

    fn py(&self, y: f64) -> f64 {
        self.height - BOTTOM - self.y.place(y) * (self.height - TOP - BOTTOM)
    }

    /// The drawing.
    pub(crate) fn svg(&self) -> String {
        let mut svg = format!(
            r#"<svg viewBox="0 0 {:.0} {:.0}" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">"#,
            self.width,
            self.height,
            escape(self.title)
        );
        self.axes(&mut svg);
        for Shade { from, to, colour: index, what } in &self.shades {
            let (left, right, height) = (self.px(*from), self.px(*to), self.height - TOP - BOTTOM);
            let _ = write!(
                svg,
                r#"<rect class="shade" x="{left:.1}" y="{TOP}" width="{:.1}" height="{height:.1}" style="fill:var({})"><title>{}</title></rect>"#,
                (right - left).max(1.0),
                colour(*index),
                escape(what)
            );
        }
        for line in &self.lines {
            self.line(&mut svg, line);
        }
        svg + "</svg>\n"
    }

    fn axes(&self, svg: &mut String) {
        let (right, bottom) = (self.width - RIGHT, self.height - BOTTOM);
        for (value, text) in self.y.ticks((bottom - TOP) / 36.0) {
            let y = self.py(value);
            let _ = write!(
                svg,
                r#"<line class="grid" x1="{LEFT}" x2="{right:.1}" y1="{y:.1}" y2="{y:.1}"/><text x="{:.1}" y="{:.1}" text-anchor="end">{text}</text>"#,
                LEFT - 7.0,
                y + 4.0
            );
        }
        for (value, text) in self.x.ticks((right - LEFT) / 70.0) {
            let x = self.px(value);
            let _ = write!(
                svg,
                r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="{TOP}" y2="{:.1}"/><text x="{x:.1}" y="{:.1}" text-anchor="middle">{text}</text>"#,
                bottom + 4.0,
                bottom + 17.0
            );
        }
        let _ = write!(
            svg,
            r#"<line class="axis" x1="{LEFT}" x2="{right:.1}" y1="{bottom:.1}" y2="{bottom:.1}"/><text x="{right:.1}" y="{:.1}" text-anchor="end">{}</text><text x="4" y="13">{}</text>"#,
            bottom + 34.0,
            escape(self.x_label),
            escape(self.y_label)
        );
    }

    fn line(&self, svg: &mut String, line: &Line) {
        let mut path = String::new();
        for (index, &(x, y)) in line.points.iter().enumerate() {
            let (x, y) = (self.px(x), self.py(y));
            let _ = match (index, line.steps) {
                (0, _) => write!(path, "M{x:.1} {y:.1}"),
                (_, true) => write!(path, "H{x:.1}V{y:.1}"),
                (_, false) => write!(path, "L{x:.1} {y:.1}"),
            };
        }
        let class = if line.dashed { "line dashed" } else { "line" };
        let _ = write!(
            svg,
            r#"<path class="{class}" d="{path}" style="stroke:var({})"><title>{}</title></path>"#,
            colour(line.colour),
            escape(&line.name)
        );
    }
}

/// A little more than from the least to the largest value, and at least a tenth of their size: what hardly differs must
/// not look as if it did.
pub(crate) fn honest_extent(least: f64, most: f64) -> [f64; 2] {
    let size = least.abs().max(most.abs());
    let widen = (0.1 * size - (most - least)).max(0.0) / 2.0;
    let margin = 0.04 * (most - least) + widen.max(1e-9);
    [least - margin, most + margin]
}

/// The share of all values that are at most so large; `all` may be more than there are values (of flows that did not
/// finish, say): the line then ends below one.
pub(crate) fn cumulative(sorted: &[f64], all: usize) -> Vec<(f64, f64)> {
    let Some(&first) = sorted.first() else { return Vec::new() };
    let share = |count: usize| count as f64 / all.max(1) as f64;
    // No screen shows more steps than that.
    let stride = sorted.len().div_ceil(600);
    let shown = (1..=sorted.len()).filter(|count| count % stride == 0 || *count == sorted.len());
    let mut points = vec![(first, 0.0)];
    points.extend(shown.map(|count| (sorted[count - 1], share(count))));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_do_not_exaggerate() {
        // Values that differ by a thousandth take a hundredth of the axis.
        let Scale::Linear(from, to) = Scale::around(&[92.96, 93.0, 93.06]) else { panic!("not linear") };
        assert!(to - from > 9.0 && from < 92.0, "{from} {to}");
        assert!(
            matches!(Scale::around(&[1.0, 5.0, 10.0]), Scale::Linear(from, _) if from == 0.0),
            "near zero: from zero"
        );
        assert!(matches!(Scale::around(&[1.0, 1.5, 2.0, 500.0]), Scale::Log(..)));
        assert!(matches!(Scale::around(&[]), Scale::Linear(..)));
        let Scale::Linear(from, to) = Scale::around(&[0.0, 0.0]) else { panic!("not linear") };
        assert!(to > from);
        let widest = Scale::around(&[1.0, 2.0, f64::MAX]).ticks(5.0);
        assert!((300..320).contains(&widest.len()), "{}", widest.len());
    }

    #[test]
    fn ticks_are_round_numbers() {
        let texts =
            |scale: Scale| scale.ticks(5.0).into_iter().map(|tick| tick.1).collect::<Vec<_>>().join(" ");
        assert_eq!(texts(Scale::Linear(0.0, 10.0)), "0 2 4 6 8 10");
        assert_eq!(texts(Scale::Linear(88.4, 97.7)), "90 92 94 96");
        assert_eq!(texts(Scale::Linear(0.0, 0.45)), "0.0 0.1 0.2 0.3 0.4");
        assert_eq!(texts(Scale::Log(0.9, 60.0)), "1 2 5 10 20 50");
    }

    #[test]
    fn what_did_not_finish_leaves_the_line_below_one() {
        assert_eq!(cumulative(&[1.0, 2.0], 4), [(1.0, 0.0), (1.0, 0.25), (2.0, 0.5)]);
        let many: Vec<f64> = (0..100_000).map(f64::from).collect();
        let points = cumulative(&many, many.len());
        assert!(points.len() < 700 && points.last() == Some(&(99_999.0, 1.0)));
    }
}
