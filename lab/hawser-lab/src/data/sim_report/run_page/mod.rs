//! The page of a single run.

mod courses;
mod delays;
mod over_time;
mod tables;

use super::run_data::RunReport;
use crate::data::page::chart::Line;
use crate::data::page::html::{self, facts};
use crate::data::page::svg::escape;

/// Directions as they are shown.
const DIRECTIONS: [(&str, &str); 2] = [("down", "Down: to the client"), ("up", "Up: from the client")];

/// The whole page.
pub(super) fn page(report: &RunReport) -> String {
    let name = report.outcome["scenario"].as_str().unwrap_or("run");
    let sections = [
        headline(report, name),
        courses::goodput(report),
        courses::paths(report),
        courses::links(report),
        delays::delays(report),
    ];
    html::page(&format!("Run of {name}"), &sections)
}

fn headline(report: &RunReport, name: &str) -> String {
    let outcome = &report.outcome;
    let end = match outcome["end"].as_str() {
        Some("finished") => "all flows had done their work",
        Some("duration") => "the duration was over",
        Some("quiet") => "nothing was left to happen",
        Some("events") => "given up: the bound on events was reached",
        _ => "",
    };
    let mut html = format!("<h1>{}</h1>\n", escape(name));
    html.push_str(&facts(&[
        ("Simulated", format!("{:.3} s; {end}", report.end)),
        ("Goodput of all flows", tables::rate(&outcome["goodput_bps"])),
        ("Seed", outcome["seed"].to_string()),
        ("Packets, events", format!("{}, {}", outcome["packets"], outcome["events"])),
        ("Trace hash", tables::text(&outcome["trace_hash"])),
    ]));
    html.push_str(&tables::flow_table(outcome));
    html.push_str(&tables::path_table(outcome));
    html.push_str(&tables::link_table(outcome));
    if report.is_cut {
        html.push_str(
            "<p class=\"soft\">Only the first 16 flows, paths and directions of links are drawn.</p>\n",
        );
    }
    html
}

fn line(name: &str, colour: usize, points: Vec<(f64, f64)>, steps: bool) -> Line {
    Line { name: name.to_owned(), colour, points, dashed: false, steps }
}

/// A colour for each link, the same in all charts.
fn link_colours(report: &RunReport) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let of_links = report.links.iter().map(|link| link.link.as_str());
    for name in of_links.chain(report.paths.iter().map(|path| path.link.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
