//! The report as a page.

use std::fmt::Write as _;

use super::report::{Figures, Group, Report};
use crate::data::page::distribution;
use crate::data::page::html::{self, TableCell, counted, facts, figure, legend, marked, plain, table};
use crate::data::statistics::Spread;

/// A measure of a group: how it is called, and which it is.
type Measure = (&'static str, fn(&Group) -> Option<&Spread>);

const DURATIONS: [Measure; 5] = [
    ("Until the first answer, s", |group| group.first_answer_s.as_ref()),
    ("Life of an address, s", |group| group.address_s.as_ref()),
    ("Session, s", |group| group.session_s.as_ref()),
    ("Hole between addresses, s", |group| group.address_hole_s.as_ref()),
    ("Hole between sessions, s", |group| group.session_hole_s.as_ref()),
];
const VOLUMES: [Measure; 3] = [
    ("Uploaded per session, MB", |group| group.uploaded_mb.as_ref()),
    ("Downloaded per session, MB", |group| group.downloaded_mb.as_ref()),
    ("Coverage of an access point, m", |group| group.coverage_m.as_ref()),
];
const TOOL: [Measure; 2] = [
    ("From the address to the first packet, ms", |group| group.start_ms.as_ref()),
    ("From its end to the last packet, ms", |group| group.stop_ms.as_ref()),
];
const SPREAD: [&str; 8] = ["", "Measure", "Values", "Mean", "Deviation", "Median", "90 %", "Largest"];

/// The whole page.
pub(super) fn page(report: &Report) -> String {
    let sections = [
        heading(report),
        spreads(report, "Connectivity", &DURATIONS),
        charts(report),
        volumes(report),
        goodput(&report.goodput),
        fractions(&report.groups),
        correlations(&report.groups),
        spreads(report, "How exactly sessions follow addresses", &TOOL),
    ];
    html::page("Measurements", &sections)
}

fn heading(report: &Report) -> String {
    let number = |value: f64, unit: &str| format!("{} {unit}", figure(value));
    let optional =
        |value: Option<f64>, unit: &str| value.map_or_else(String::new, |value| number(value, unit));
    let mut html = "<h1>Measurements</h1>\n".to_owned();
    html += &facts(&[
        ("Runs", report.runs.to_string()),
        ("Time", number(report.hours, "h")),
        ("Distance", optional(report.kilometres, "km")),
        ("Mean speed", optional(report.speed_kmh, "km/h")),
    ]);
    if report.dropped > 0 {
        let _ =
            writeln!(html, "<p class=\"warn\">{} records were dropped for want of room.</p>", report.dropped);
    }
    if report.interfaces_left_out > 0 {
        let left_out = counted(report.interfaces_left_out, "further interface");
        let _ = writeln!(html, "<p class=\"warn\">{left_out} with fewer sessions: only in `all`.</p>");
    }
    if report.unreadable > 0 {
        let _ = writeln!(html, "<p class=\"warn\">{} lines are no records.</p>", report.unreadable);
    }
    let columns = [
        "Interface",
        "Associations",
        "Per hour",
        "Sessions",
        "Connected",
        "Access points",
        "Uploaded, GB",
        "Downloaded, GB",
    ];
    let line = |group: &Group| {
        vec![
            marked(crate::data::page::svg::escape(&group.name), "strong"),
            plain(&group.associations.to_string()),
            cell(group.associations_per_hour),
            plain(&group.sessions.to_string()),
            plain(&group.connected.to_string()),
            plain(&group.access_points.to_string()),
            cell(Some(group.uploaded_gb)),
            cell(Some(group.downloaded_gb)),
        ]
    };
    let rows: Vec<Vec<TableCell>> = report.groups.iter().map(line).collect();
    html + &table(&columns, &rows, 1, "interfaces")
}

fn cell(value: Option<f64>) -> TableCell {
    value.map_or_else(|| marked("–", "none"), |value| plain(&figure(value)))
}

fn share(value: Option<f64>) -> TableCell {
    value.map_or_else(|| marked("–", "none"), |value| plain(&format!("{:.0} %", 100.0 * value)))
}

fn spread_cells(spread: &Spread) -> Vec<TableCell> {
    vec![
        plain(&spread.count.to_string()),
        cell(Some(spread.mean)),
        cell(spread.deviation),
        cell(Some(spread.median)),
        cell(Some(spread.p90)),
        cell(Some(spread.max)),
    ]
}

fn spreads(report: &Report, title: &str, measures: &[Measure]) -> String {
    let mut rows = Vec::new();
    for group in &report.groups {
        for (name, of) in measures {
            let Some(spread) = of(group) else { continue };
            let mut row = vec![marked(crate::data::page::svg::escape(&group.name), "strong"), plain(name)];
            row.extend(spread_cells(spread));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    format!("<h2>{title}</h2>\n{}", table(&SPREAD, &rows, 2, "measures"))
}

fn volumes(report: &Report) -> String {
    let mut html = spreads(report, "Volumes", &VOLUMES);
    for group in &report.groups {
        if let Some(differ) = group.volumes_differ {
            let _ = writeln!(
                html,
                "<p class=\"soft\">{}: the receivers' applications got {:+.2} % more than was acknowledged to the senders.</p>",
                crate::data::page::svg::escape(&group.name),
                100.0 * differ
            );
        }
    }
    html
}

fn goodput(figures: &[Figures]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let columns =
        ["Direction", "Controller", "Flows", "Sessions", "Mean", "Deviation", "Median", "90 %", "Largest"];
    let line = |figures: &Figures| {
        let direction = if figures.direction == hawser_link::Direction::Up { "up" } else { "down" };
        let mut row = vec![plain(direction), plain(&figures.controller), plain(&figures.flows.to_string())];
        row.extend(spread_cells(&figures.mbps));
        row
    };
    let rows: Vec<Vec<TableCell>> = figures.iter().map(line).collect();
    format!(
        "<h2>Goodput, Mbit/s</h2>\n<p class=\"soft\">Acknowledged payload of all flows, from the first connect call to the end of \
         the session; without the server's records what a client received.</p>\n{}",
        table(&columns, &rows, 2, "configurations")
    )
}

fn fractions(groups: &[Group]) -> String {
    let columns = [
        "Interface",
        "Flows",
        "Round trips: deviation above half the mean",
        "Loss above 5 %",
        "Throughput: deviation above half the mean",
    ];
    let line = |group: &Group| {
        let fractions = &group.fractions;
        vec![
            marked(crate::data::page::svg::escape(&group.name), "strong"),
            plain(&fractions.flows.to_string()),
            share(fractions.rtt_varies),
            share(fractions.loss_above_5_percent),
            share(fractions.throughput_varies),
        ]
    };
    let rows: Vec<Vec<TableCell>> = groups.iter().map(line).collect();
    format!(
        "<h2>Flows that vary much</h2>\n<p class=\"soft\">Seen from the sender, which for downloads is the server: without its \
         records those flows are missing.</p>\n{}",
        table(&columns, &rows, 1, "interfaces")
    )
}

fn correlations(groups: &[Group]) -> String {
    let columns = [
        "Interface",
        "Speed and life of the address",
        "Speed and goodput",
        "First signal and life",
        "First signal and goodput",
    ];
    if groups.iter().all(|group| group.correlations.iter().all(Option::is_none)) {
        return String::new();
    }
    let line = |group: &Group| {
        let numbers = group.correlations.iter().map(|value| match value {
            Some(value) => plain(&format!("{value:.2}")),
            None => marked("–", "none"),
        });
        std::iter::once(marked(crate::data::page::svg::escape(&group.name), "strong"))
            .chain(numbers)
            .collect()
    };
    let rows: Vec<Vec<TableCell>> = groups.iter().map(line).collect();
    format!("<h2>Pearson's R</h2>\n{}", table(&columns, &rows, 1, "interfaces"))
}

fn charts(report: &Report) -> String {
    let groups: Vec<(usize, &Group)> =
        (0..).zip(&report.groups).filter(|(_, group)| group.name != "all").collect();
    let mut html = String::new();
    for (name, of) in DURATIONS {
        let spreads: Vec<(usize, &str, &Spread)> = groups
            .iter()
            .filter_map(|(colour, group)| Some((*colour, group.name.as_str(), of(group)?)))
            .collect();
        if let Some(chart) = distribution::distribution(name, name, &spreads, [460.0, 240.0]) {
            let _ = writeln!(html, "<div>{chart}</div>");
        }
    }
    if html.is_empty() {
        return html;
    }
    let names = legend(groups.iter().map(|(colour, group)| (*colour, group.name.as_str())));
    format!("<h2>Distributions</h2>\n{names}<div class=\"charts\">{html}</div>\n")
}
