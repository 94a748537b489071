//! Figures: drawings of the kept runs. SVG that needs nothing else, alone or in a page.

use std::fmt::Write as _;

use super::estimate::Estimate;
use super::kept::Kept;
use super::metric::{Metric, Policy};
use super::units::{figure as shown, unit_of};
use super::value::Value;
use crate::data::page::chart::{Chart, Line, Scale};
use crate::data::page::html::colour;
use crate::data::page::svg::{escape, nice_step};

const STYLE: &str = include_str!("figure.css");
const WIDTH: f64 = 900.0;
/// Room for the names of runs and policies.
const LEFT: f64 = 210.0;
/// Room for the values behind the bars.
const RIGHT: f64 = 110.0;
const HEADER: f64 = 44.0;
const BAR: f64 = 16.0;
const GAP: f64 = 4.0;
/// Between the bars of different runs.
const SPACE: f64 = 16.0;
const AXIS: f64 = 40.0;
/// Of charts of lines: room for the title, size, height of a line of the legend.
const LINES_TITLE: f64 = 40.0;
const LINES_WIDTH: f64 = 720.0;
const LINES_HEIGHT: f64 = 330.0;
const LEGEND_LINE: f64 = 18.0;

/// A figure of a list.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What it is called on the command line, behind the name of the list.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How it is drawn.
    pub drawing: Drawing,
}

/// How a figure is drawn.
#[derive(Debug, Clone)]
pub enum Drawing {
    /// A bar per runs and policy: the mean over the seeds, and its 95 % interval.
    Bars {
        /// The metric, with the unit at its end.
        metric: String,
        /// The runs.
        runs: Vec<String>,
        /// The policies.
        policies: Vec<Policy>,
    },
    /// A line per policy, over the numbers of a group of runs.
    Lines(Lines),
    /// A drawing that is written in Rust.
    Plot(Plot),
}

/// A line per policy: the mean of a metric over the numbers of a group of runs.
#[derive(Debug, Clone)]
pub struct Lines {
    /// The metric.
    pub metric: String,
    /// Runs, and where on the axis they lie.
    pub points: Vec<(String, f64)>,
    /// The policies.
    pub policies: Vec<Policy>,
    /// What the horizontal axis shows.
    pub x: String,
    /// What the vertical axis shows.
    pub y: String,
    /// Returns true if the horizontal axis is logarithmic.
    pub logarithmic: bool,
    /// What values are divided by.
    pub unit: f64,
}

/// A drawing of its own; an error says what is missing.
#[derive(Debug, Clone, Copy)]
pub struct Plot {
    /// What lists call it.
    pub name: &'static str,
    /// Draws it.
    pub draw: fn(&Kept) -> Result<Drawn, String>,
}

/// The elements of an SVG, without its title, which takes the uppermost 40 units.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// The elements.
    pub body: String,
    /// Width of the drawing.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// Draws a figure as a file of its own; an error says what is missing.
pub(super) fn svg(figure: &Figure, kept: &Kept) -> Result<String, String> {
    let Drawn { body, width, height } = match &figure.drawing {
        Drawing::Bars { metric, runs, policies } => bars(kept, metric, runs, policies)?,
        Drawing::Lines(chart) => lines(kept, chart)?,
        Drawing::Plot(plot) => (plot.draw)(kept)?,
    };
    let title = escape(&figure.title);
    Ok(format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" aria-label="{title}"><title>{title}</title><style>{STYLE}</style><rect class="paper" width="{width:.0}" height="{height:.0}"/><text class="title" x="14" y="26">{title}</text>{body}</svg>
"#
    ))
}

/// A chart under the title, with its legend.
pub(crate) fn line_chart(x_label: &str, y_label: &str, x: Scale, lines: Vec<Line>) -> Drawn {
    let y = Scale::from_zero(lines.iter().flat_map(|line| line.points.iter().map(|point| point.1)));
    let mut body = String::from("<style>.line { fill: none; stroke-width: 1.8; }</style>");
    for (index, line) in lines.iter().enumerate() {
        let _ = write!(
            body,
            r#"<text x="{:.0}" y="{:.0}" style="fill:var({})">{}</text>"#,
            60 + 160 * (index % 4),
            LINES_TITLE + LEGEND_LINE * (index / 4) as f64 + 8.0,
            colour(line.colour),
            escape(&line.name)
        );
    }
    let top = LINES_TITLE + LEGEND_LINE * lines.len().div_ceil(4) as f64;
    let (width, height) = (LINES_WIDTH, LINES_HEIGHT);
    let chart = Chart { title: y_label, x_label, y_label, x, y, width, height, lines, shades: Vec::new() };
    // The chart fills what it is put into: a viewport of its size, or it would be scaled to the whole drawing and be cut off below.
    let _ =
        write!(body, r#"<svg y="{top:.0}" width="{width:.0}" height="{height:.0}">{}</svg>"#, chart.svg());
    Drawn { body, width: LINES_WIDTH, height: top + LINES_HEIGHT }
}

/// A line per policy.
fn lines(kept: &Kept, chart: &Lines) -> Result<Drawn, String> {
    let mut lines = Vec::new();
    for (index, policy) in chart.policies.iter().enumerate() {
        let metric =
            |runs: &String| Metric { runs: runs.clone(), policy: policy.clone(), name: chart.metric.clone() };
        let mut points = Vec::new();
        for (runs, x) in &chart.points {
            points.push((*x, kept.estimate(&Value::Mean(metric(runs)))?.value / chart.unit));
        }
        let name = chart.points.first().map(|(runs, _)| kept.policy(&metric(runs)).to_owned());
        let name = name.unwrap_or_default();
        lines.push(Line { name, colour: index, points, dashed: false, steps: false });
    }
    let ends = chart.points.iter().map(|point| point.1);
    let low = ends.clone().fold(f64::INFINITY, f64::min);
    let high = ends.fold(f64::NEG_INFINITY, f64::max);
    let scale = if chart.logarithmic { Scale::Log(low, high) } else { Scale::Linear(low.min(0.0), high) };
    Ok(line_chart(&chart.x, &chart.y, scale, lines))
}

fn bars(kept: &Kept, metric: &str, runs: &[String], policies: &[Policy]) -> Result<Drawn, String> {
    let unit = unit_of(metric);
    let mut groups: Vec<(&str, Vec<(String, Estimate)>)> = Vec::new();
    for runs in runs {
        let mut group: Vec<(String, Estimate)> = Vec::new();
        for policy in policies {
            let metric = Metric { runs: runs.clone(), policy: policy.clone(), name: metric.to_owned() };
            let name = kept.policy(&metric).to_owned();
            // A substitute may be one of the others.
            if group.iter().all(|(other, _)| *other != name) {
                group.push((name, kept.estimate(&Value::Mean(metric))?));
            }
        }
        groups.push((runs.as_str(), group));
    }
    let ends =
        groups.iter().flat_map(|(_, group)| group).map(|(_, it)| it.high.unwrap_or(it.value).max(it.value));
    let most = unit.of(ends.fold(0.0, f64::max)).max(1e-9) * 1.02;
    let place = |value: f64| LEFT + (unit.of(value) / most).clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
    let mut svg = String::new();
    let bars: usize = groups.iter().map(|(_, group)| group.len()).sum();
    let bottom = HEADER + bars as f64 * (BAR + GAP) + groups.len() as f64 * SPACE;
    let step = nice_step(most / 6.0);
    for index in 0..=(most / step) as u32 {
        let value = f64::from(index) * step;
        let x = LEFT + value / most * (WIDTH - LEFT - RIGHT);
        let text = format!("{value:.*}", (-step.log10().floor()).max(0.0) as usize);
        let (from, below) = (HEADER - 4.0, bottom + 16.0);
        let _ = write!(
            svg,
            r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="{from:.1}" y2="{bottom:.1}"/><text x="{x:.1}" y="{below:.1}" text-anchor="middle">{text}</text>"#
        );
    }
    let _ = write!(
        svg,
        r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{} {}, mean and 95 % interval</text>"#,
        WIDTH - RIGHT,
        bottom + 33.0,
        escape(metric.trim_end_matches("_bps").trim_end_matches("_ms").trim_end_matches("_seconds")),
        unit.name()
    );
    let mut y = HEADER;
    for (name, group) in &groups {
        let _ = write!(svg, r#"<text class="label" x="14" y="{:.1}">{}</text>"#, y + 12.0, escape(name));
        for (index, (policy, estimate)) in group.iter().enumerate() {
            bar(&mut svg, y, index, policy, *estimate, &place);
            let _ = write!(
                svg,
                r#"<text class="value" x="{:.1}" y="{:.1}">{}</text>"#,
                place(estimate.high.unwrap_or(estimate.value).max(estimate.value)) + 6.0,
                y + 12.0,
                shown(estimate.value, unit)
            );
            y += BAR + GAP;
        }
        y += SPACE;
    }
    Ok(Drawn { body: svg, width: WIDTH, height: bottom + AXIS })
}

fn bar(svg: &mut String, y: f64, colour: usize, policy: &str, it: Estimate, place: &impl Fn(f64) -> f64) {
    let middle = y + BAR / 2.0;
    let _ = write!(
        svg,
        r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{}</text><rect class="bar" x="{LEFT}" y="{y:.1}" width="{:.1}" height="{BAR}" style="fill:var(--c{})"/>"#,
        LEFT - 8.0,
        y + 12.0,
        escape(policy),
        place(it.value) - LEFT,
        colour % 8
    );
    if let (Some(low), Some(high)) = (it.low, it.high) {
        let (low, high) = (place(low), place(high));
        let _ = write!(
            svg,
            r#"<path class="interval" d="M{low:.1} {middle:.1}H{high:.1}M{low:.1} {:.1}v8M{high:.1} {:.1}v8"/>"#,
            middle - 4.0,
            middle - 4.0
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chart lies within the drawing: below the legend, in a viewport that ends where the drawing does.
    #[test]
    fn a_chart_of_lines_is_not_cut_off() {
        let line = |name: &str| Line {
            name: name.to_owned(),
            colour: 0,
            points: vec![(0.0, 1.0), (1.0, 2.0)],
            dashed: false,
            steps: false,
        };
        let drawn = line_chart("x", "y", Scale::Linear(0.0, 1.0), vec![line("one"), line("other")]);
        let top = LINES_TITLE + LEGEND_LINE;
        let viewport = format!(r#"<svg y="{top}" width="{LINES_WIDTH}" height="{LINES_HEIGHT}">"#);
        assert!(drawn.body.contains(&viewport), "{}", drawn.body);
        assert_eq!(drawn.height, top + LINES_HEIGHT);
    }
}
