//! A plot area in an SVG: scales, axes and the few shapes that the charts need.

use std::fmt::Write as _;

/// Escapes text for HTML and SVG.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A rectangle of the drawing with a scale on either side, both from zero: times as a rule to the right, values
/// upwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plot {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Value at the right edge.
    pub(crate) right: f64,
    /// Value at the upper edge.
    pub(crate) upper: f64,
}

impl Plot {
    pub(crate) fn x(&self, value: f64) -> f64 {
        self.left + (value / self.right).clamp(0.0, 1.0) * self.width
    }

    /// Values beyond the scale end at the edge.
    pub(crate) fn y(&self, value: f64) -> f64 {
        self.top + self.height - (value / self.upper).clamp(0.0, 1.0) * self.height
    }

    /// Horizontal lines with numbers.
    pub(crate) fn grid(&self, svg: &mut String, step: f64) {
        let decimals = decimals(step);
        for value in ticks(self.upper, step) {
            let (y, right, before) = (self.y(value), self.left + self.width, self.left - 8.0);
            let _ = write!(
                svg,
                r#"<line class="grid" x1="{:.1}" x2="{right:.1}" y1="{y:.1}" y2="{y:.1}"/>"#,
                self.left
            );
            let _ = write!(
                svg,
                r#"<text x="{before:.1}" y="{:.1}" text-anchor="end">{value:.decimals$}</text>"#,
                y + 4.0
            );
        }
    }

    /// Numbers under the lower edge, the unit next to the zero; about one per 100 units of the drawing.
    pub(crate) fn axis(&self, svg: &mut String, unit: &str) {
        let step = nice_step(self.right / (self.width / 104.0).max(1.0));
        let decimals = decimals(step);
        let bottom = self.top + self.height;
        for value in ticks(self.right, step) {
            let x = self.x(value);
            let unit = if value == 0.0 { format!(" {unit}") } else { String::new() };
            let _ = write!(
                svg,
                r#"<line class="axis" x1="{x:.1}" x2="{x:.1}" y1="{bottom:.1}" y2="{:.1}"/>"#,
                bottom + 4.0
            );
            let _ = write!(
                svg,
                r#"<text x="{x:.1}" y="{:.1}" text-anchor="middle">{value:.decimals$}{unit}</text>"#,
                bottom + 18.0
            );
        }
    }

    /// A shaded time with a description that appears under the pointer.
    pub(crate) fn band(&self, svg: &mut String, from: f64, to: f64, colour: &str, opacity: f64, title: &str) {
        let (left, right) = (self.x(from), self.x(to));
        if right <= left {
            return;
        }
        let _ = write!(
            svg,
            r#"<rect x="{left:.1}" y="{:.1}" width="{:.1}" height="{:.1}" style="fill:var({colour})" opacity="{opacity}"><title>{}</title></rect>"#,
            self.top,
            (right - left).max(1.0),
            self.height,
            escape(title)
        );
    }

    /// The outline of a step function: each value holds from its time until the next one, the last until `end`.
    pub(crate) fn steps(&self, points: &[(f64, f64)], end: f64) -> String {
        let mut path = String::new();
        for (index, &(time, value)) in points.iter().enumerate() {
            let until = points.get(index + 1).map_or(end, |next| next.0);
            let command = if index == 0 { 'M' } else { 'L' };
            let y = self.y(value);
            let _ = write!(path, "{command}{:.1} {y:.1}H{:.1}", self.x(time), self.x(until));
        }
        path
    }

    /// The area under a step function.
    pub(crate) fn area(&self, points: &[(f64, f64)], end: f64) -> String {
        let Some(first) = points.first() else { return String::new() };
        let bottom = self.y(0.0);
        format!("{}V{bottom:.1}H{:.1}Z", self.steps(points, end), self.x(first.0))
    }
}

/// Multiples of a step up to a limit.
fn ticks(limit: f64, step: f64) -> impl Iterator<Item = f64> {
    (0..10_000)
        .map(move |index| f64::from(index) * step)
        .take_while(move |value| *value <= limit * (1.0 + 1e-9))
}

/// Digits behind the point that multiples of a step need.
fn decimals(step: f64) -> usize {
    let is_whole = |digits: &usize| {
        let scaled = step * 10f64.powi(*digits as i32);
        (scaled - scaled.round()).abs() < 1e-6 * scaled
    };
    (0..9).find(is_whole).unwrap_or(9)
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `least`.
pub(crate) fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.max(1e-6).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|step| *step >= least * 0.999)
        .unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Plot = Plot { left: 10.0, top: 0.0, width: 100.0, height: 50.0, right: 10.0, upper: 100.0 };

    #[test]
    fn steps_hold_their_value() {
        assert_eq!(PLOT.steps(&[(0.0, 0.0), (1.0, 50.0)], 4.0), "M10.0 50.0H20.0L20.0 25.0H50.0");
        assert_eq!(PLOT.area(&[(1.0, 300.0)], 2.0), "M20.0 0.0H30.0V50.0H20.0Z", "cut at the edge");
    }

    #[test]
    fn nice_steps() {
        assert_eq!([0.9, 1.0, 1.2, 3.9, 7.0].map(nice_step), [1.0, 1.0, 2.0, 5.0, 10.0]);
        assert_eq!([20.0, 0.5, 0.25, 0.002].map(decimals), [0, 1, 2, 3]);
    }
}
