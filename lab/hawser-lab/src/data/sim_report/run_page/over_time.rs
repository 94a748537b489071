//! From samples to lines that a screen can show.

use crate::data::page::chart::{Chart, Line, Scale, Shade};
use crate::data::page::svg::{escape, nice_step};
use crate::data::sim_report::run_data::RunReport;

/// Points of a line: about as many as a screen has columns.
const MOST_POINTS: f64 = 450.0;

/// What a chart over time shows.
pub(super) struct TimeChart<'a> {
    pub(super) title: &'a str,
    pub(super) unit: &'a str,
    pub(super) lines: Vec<Line>,
    pub(super) shades: Vec<Shade>,
}

pub(super) fn over_time(report: &RunReport, chart: TimeChart<'_>, width: f64, height: f64) -> String {
    let y = Scale::from_zero(chart.lines.iter().flat_map(|line| line.points.iter().map(|point| point.1)));
    let drawing = Chart {
        title: chart.title,
        x_label: "seconds",
        y_label: chart.unit,
        x: Scale::Linear(0.0, report.end.max(1e-3)),
        y,
        width,
        height,
        lines: chart.lines,
        shades: chart.shades,
    };
    format!("<div><h4>{}</h4>{}</div>", escape(chart.title), drawing.svg())
}

/// How much a counter grew per second, in steps as fine as can be seen.
pub(super) fn growth(samples: impl Iterator<Item = (f64, f64)>, end: f64, scale: f64) -> Vec<(f64, f64)> {
    per_step(samples, end, |grown, seconds| grown * scale / seconds)
}

/// How much a counter grew in each step.
pub(super) fn per_step(
    samples: impl Iterator<Item = (f64, f64)>,
    end: f64,
    value: impl Fn(f64, f64) -> f64,
) -> Vec<(f64, f64)> {
    let step = step_of(end);
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for (time, count) in samples {
        let Some((since, at_first)) = before else {
            before = Some((time, count));
            continue;
        };
        // A step too short would make a large rate of a small difference.
        if time - since >= step * 0.999 {
            points.push((since, value(count - at_first, time - since)));
            before = Some((time, count));
        }
    }
    if let (Some((_, last)), Some((until, _))) = (points.last().copied(), before) {
        points.push((until, last));
    }
    points
}

/// A quantity at each moment, thinned to what can be seen with its extremes kept.
pub(super) fn state(samples: impl Iterator<Item = (f64, f64)>, end: f64) -> Vec<(f64, f64)> {
    let samples: Vec<(f64, f64)> = samples.collect();
    if samples.len() as f64 <= 2.0 * MOST_POINTS {
        return samples;
    }
    let mut points: Vec<(f64, f64)> = Vec::new();
    let bucket = |time: f64| (time / end.max(1e-9) * MOST_POINTS) as u64;
    for group in samples.chunk_by(|a, b| bucket(a.0) == bucket(b.0)) {
        let least = group.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let most = group.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let (Some(least), Some(most)) = (least, most) else { continue };
        points.extend(if least.0 <= most.0 { [least, most] } else { [most, least] });
    }
    points
}

/// The least length of a step.
fn step_of(end: f64) -> f64 {
    nice_step(end / MOST_POINTS)
}

/// A step in words: what can be seen, or the time between samples.
pub(super) fn step_name(report: &RunReport) -> String {
    let first = report.links.first().map_or(&[][..], |link| &link.course.samples);
    let interval = first.windows(2).next().map_or(0.0, |pair| pair[1].0 - pair[0].0);
    let step = step_of(report.end).max((interval * 1e6).round() / 1e6);
    format!("in {step} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: f64 = 100.0;

    fn samples(value: impl Fn(u32) -> f64) -> impl Iterator<Item = (f64, f64)> {
        (0..=10_000).map(move |index| (f64::from(index) / 100.0, value(index)))
    }

    #[test]
    fn growth_is_a_rate_in_steps_that_can_be_seen() {
        // 1250 bytes in 10 ms are 1 Mbit/s.
        let points = growth(samples(|index| f64::from(index) * 1250.0), END, 8e-6);
        assert!((100..500).contains(&points.len()), "{}", points.len());
        assert!(points.iter().all(|point| (point.1 - 1.0).abs() < 1e-9));
        assert_eq!(points.last().map(|point| point.0), Some(END), "the last step reaches the end");
    }

    #[test]
    fn thinned_states_keep_their_extremes() {
        let points = state(samples(|index| if index == 4321 { 9.0 } else { f64::from(index % 7) }), END);
        assert!(points.len() < 1000, "{}", points.len());
        assert!(points.contains(&(43.21, 9.0)));
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0));
    }
}
