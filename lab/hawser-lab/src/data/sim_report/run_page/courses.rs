//! Flows, paths and links over time.

use std::fmt::Write as _;

use super::over_time::{TimeChart, growth, over_time, per_step, state, step_name};
use super::{DIRECTIONS, line, link_colours};
use crate::data::page::chart::{Line, Shade};
use crate::data::page::html::legend;
use crate::data::page::svg::escape;
use crate::data::sim_report::run_data::{LinkCourse, PathCourse, RunReport};

/// Flows whose paths are shown open.
const OPEN_FLOWS: usize = 2;

/// A flow with less than this share of the largest rate has a chart of its own kind: it could not be seen.
const SMALL: f64 = 0.05;

pub(super) fn goodput(report: &RunReport) -> String {
    if report.flows.is_empty() {
        return String::new();
    }
    let lines = report.flows.iter().enumerate().map(|(index, flow)| {
        let samples = flow.samples.iter().map(|(time, [bytes])| (*time, *bytes));
        line(&flow.name, index, growth(samples, report.end, 8e-6), true)
    });
    let highest = |line: &Line| line.points.iter().map(|point| point.1).fold(0.0, f64::max);
    let lines: Vec<Line> = lines.collect();
    let most = lines.iter().map(highest).fold(0.0, f64::max);
    let (small, large): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| highest(line) < SMALL * most);
    let mut html = "<h2>Flows over time</h2>\n".to_owned();
    html.push_str(&legend(report.flows.iter().enumerate().map(|(index, flow)| (index, flow.name.as_str()))));
    for (title, lines) in [("Goodput", large), ("Goodput of the small flows", small)] {
        if !lines.is_empty() {
            let chart = TimeChart { title, unit: "Mbit/s", lines, shades: Vec::new() };
            html.push_str(&over_time(
                report,
                chart,
                1120.0,
                if html.contains("<svg") { 180.0 } else { 260.0 },
            ));
        }
    }
    html
}

pub(super) fn paths(report: &RunReport) -> String {
    let names = link_colours(report);
    let colour = |link: &str| names.iter().position(|name| *name == link).unwrap_or(0);
    let mut flows: Vec<&str> = Vec::new();
    for path in &report.paths {
        if !flows.contains(&path.flow.as_str()) {
            flows.push(&path.flow);
        }
    }
    let mut html = String::new();
    for (index, flow) in flows.iter().enumerate() {
        let paths: Vec<&PathCourse> = report.paths.iter().filter(|path| path.flow == *flow).collect();
        let body = path_charts(report, &paths, &colour);
        let name = escape(flow);
        let _ = match index < OPEN_FLOWS {
            true => writeln!(html, "<h3>Flow {name}</h3>\n{body}"),
            false => writeln!(html, "<details><summary>Flow {name}</summary>\n{body}</details>"),
        };
    }
    if html.is_empty() {
        return html;
    }
    let used =
        names.iter().enumerate().filter(|(_, name)| report.paths.iter().any(|path| path.link == **name));
    let names = legend(used.map(|(index, name)| (index, *name)));
    format!("<h2>Paths over time, at their sending end</h2>\n{names}{html}")
}

fn path_charts(report: &RunReport, paths: &[&PathCourse], colour: &dyn Fn(&str) -> usize) -> String {
    let series = |which: usize, scale: f64| {
        let state_of = move |path: &&PathCourse| {
            let samples = path.course.samples.iter().map(|(time, values)| (*time, values[which] * scale));
            line(&path.course.name, colour(&path.link), state(samples, report.end), false)
        };
        paths.iter().map(state_of).collect::<Vec<Line>>()
    };
    let acked = |path: &&PathCourse| {
        let samples = path.course.samples.iter().map(|(time, values)| (*time, values[4]));
        line(&path.course.name, colour(&path.link), growth(samples, report.end, 8e-6), true)
    };
    let lost = |path: &&PathCourse| {
        let samples = path.course.samples.iter().map(|(time, values)| (*time, values[5]));
        line(&path.course.name, colour(&path.link), per_step(samples, report.end, |lost, _| lost), true)
    };
    let dashed = |mut lines: Vec<Line>, what: &str| {
        for line in &mut lines {
            line.dashed = true;
            let _ = write!(line.name, ": {what}");
        }
        lines
    };
    let with = |mut lines: Vec<Line>, more: Vec<Line>| {
        lines.extend(more);
        lines
    };
    let losses = format!("packets {}", step_name(report));
    let charts = [
        ("Bytes acknowledged", "Mbit/s", paths.iter().map(acked).collect()),
        (
            "Congestion window; dashed: bytes in flight",
            "kB",
            with(series(0, 1e-3), dashed(series(1, 1e-3), "in flight")),
        ),
        ("Smoothed RTT; dashed: least RTT", "ms", with(series(2, 1.0), dashed(series(3, 1.0), "least"))),
        ("Packets declared lost", losses.as_str(), paths.iter().map(lost).collect()),
    ];
    let charts = charts.map(|(title, unit, lines)| {
        over_time(report, TimeChart { title, unit, lines, shades: Vec::new() }, 560.0, 230.0)
    });
    format!("<div class=\"charts\">{}</div>\n", charts.concat())
}

pub(super) fn links(report: &RunReport) -> String {
    if report.links.is_empty() {
        return String::new();
    }
    let names = link_colours(report);
    let mut html = "<h2>Links over time</h2>\n".to_owned();
    html.push_str(&legend(names.iter().copied().enumerate()));
    for (direction, title) in DIRECTIONS {
        let links: Vec<&LinkCourse> =
            report.links.iter().filter(|link| link.direction == direction).collect();
        let _ = writeln!(
            html,
            "<h3>{title}</h3>\n<div class=\"charts\">{}</div>",
            link_charts(report, &links, &names)
        );
    }
    if report.links.iter().any(|link| !link.down.is_empty()) {
        html.push_str("<p class=\"soft\">Shaded in the colour of a link: it is down.</p>\n");
    }
    html
}

fn link_charts(report: &RunReport, links: &[&LinkCourse], names: &[&str]) -> String {
    let colour = |link: &LinkCourse| names.iter().position(|name| *name == link.link).unwrap_or(0);
    let lines = |points: &dyn Fn(&LinkCourse) -> Vec<(f64, f64)>, steps: bool| {
        links
            .iter()
            .map(|link| line(&link.course.name, colour(link), points(link), steps))
            .collect::<Vec<Line>>()
    };
    let shades: Vec<Shade> = links
        .iter()
        .flat_map(|link| {
            let (colour, what) = (colour(link), format!("{} is down", link.link));
            link.down.iter().map(move |(from, to)| Shade { from: *from, to: *to, colour, what: what.clone() })
        })
        .collect();
    let delivered = |link: &LinkCourse| {
        growth(link.course.samples.iter().map(|(time, values)| (*time, values[1])), report.end, 8e-6)
    };
    let queued = |link: &LinkCourse| {
        state(link.course.samples.iter().map(|(time, values)| (*time, values[0] / 1e3)), report.end)
    };
    let dropped = |link: &LinkCourse| {
        per_step(
            link.course.samples.iter().map(|(time, values)| (*time, values[2])),
            report.end,
            |count, _| count,
        )
    };
    let losses = format!("packets {}", step_name(report));
    let charts = [
        ("Delivered", "Mbit/s", lines(&delivered, true)),
        ("Waiting in the queue", "kB", lines(&queued, false)),
        ("Dropped for any reason", losses.as_str(), lines(&dropped, true)),
    ];
    let chart = |(title, unit, lines)| {
        over_time(report, TimeChart { title, unit, lines, shades: shades.clone() }, 560.0, 230.0)
    };
    charts.map(chart).concat()
}
