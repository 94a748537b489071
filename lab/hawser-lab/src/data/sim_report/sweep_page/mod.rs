//! The page of a sweep.

mod differences;
mod distributions;
mod values;

use std::fmt::Write as _;

use super::sweep_data::{FailureCount, Group, SweepReport};
use crate::data::page::html::{self, counted, facts, marked, plain, table};
use crate::data::page::svg::escape;

/// Flows of a scenario that are shown open.
const OPEN_FLOWS: usize = 2;

/// The whole page.
pub(super) fn page(report: &SweepReport) -> String {
    let mut sections = vec![headline(report), failures(report), differences::overview(report)];
    let mut groups = report.groups.as_slice();
    while let Some(first) = groups.first() {
        let count = groups.iter().take_while(|group| group.scenario == first.scenario).count();
        let (of_scenario, rest) = groups.split_at(count);
        sections.push(scenario(of_scenario, report));
        groups = rest;
    }
    sections.push(notes(report));
    html::page(&format!("Sweep {}", report.plan), &sections)
}

fn headline(report: &SweepReport) -> String {
    let mut html = format!("<h1>Sweep {}</h1>\n", escape(&report.plan));
    if report.is_partial() {
        let _ = writeln!(
            html,
            "<p class=\"warn\">Not complete: {} of {} cells have a result.</p>",
            report.finished, report.cells
        );
    }
    let mut scenarios: Vec<&str> = report.groups.iter().map(|group| group.scenario.as_str()).collect();
    scenarios.dedup();
    let varied = report.factors.iter().map(|(key, values)| format!("{key}: {}", values.join(", ")));
    html + &facts(&[
        ("Cells", format!("{} of {}, {} failed", report.finished, report.cells, report.failed)),
        ("Scenarios", scenarios.join(", ")),
        ("Varied", varied.collect::<Vec<_>>().join("; ")),
        ("Hawser", report.hawser.clone()),
        ("Fingerprint", report.fingerprint.clone()),
    ])
}

fn failures(report: &SweepReport) -> String {
    if report.failures.is_empty() {
        return String::new();
    }
    let row = |failure: &FailureCount| {
        vec![
            marked(escape(&failure.message), "long"),
            plain(&failure.cells.to_string()),
            plain(&failure.first_cell.to_string()),
            plain(&failure.scenario),
        ]
    };
    let rows: Vec<_> = report.failures.iter().map(row).collect();
    let columns = ["Reason", "Cells", "First cell", "Its scenario"];
    format!(
        "<h2 class=\"warn\">{} failed</h2>\n{}",
        counted(report.failed, "cell"),
        table(&columns, &rows, 1, "reasons")
    )
}

fn scenario(groups: &[Group], report: &SweepReport) -> String {
    let mut html = format!("<h2>{}</h2>\n", escape(&groups[0].scenario));
    for (index, group) in groups.iter().enumerate() {
        let body = values::values(group) + &distributions::distributions(group, report);
        let name = escape(&flow_name(group));
        let _ = match (groups.len(), index < OPEN_FLOWS) {
            (1, _) => writeln!(html, "{body}"),
            (_, true) => writeln!(html, "<h3>Flow {name}</h3>\n{body}"),
            (_, false) => writeln!(html, "<details><summary>Flow {name}</summary>\n{body}</details>"),
        };
    }
    html
}

fn flow_name(group: &Group) -> String {
    if group.copies > 1 { format!("{} (mean of {})", group.flow, group.copies) } else { group.flow.clone() }
}

fn label(values: &[String]) -> String {
    if values.is_empty() { "all runs".to_owned() } else { values.join(" · ") }
}

fn notes(report: &SweepReport) -> String {
    let mut html = "<h2>What the figures mean</h2>\n<ul class=\"soft\">\n".to_owned();
    let mut notes = vec![
        "A run is one cell: a scenario with its overrides and one seed. Each gives one value per flow and metric; where a \
         flow has several copies, their mean.",
        "Goodput: bytes of the application that arrived in order, over the time from the flow's beginning to its end or that \
         of the simulation. Completion time: from a flow's beginning to its end, only of runs where it came to an end; means \
         of it leave out the others (\"97 of 100\"), and in its distribution the line then ends below one.",
        "p99 delay: 99th percentile within one run, for bulk flows of bytes from their first sending to their delivery in \
         order, for requests to the end of the answer, for datagrams from end to end. Longest gap: longest time between two \
         arrivals.",
        "Intervals of means are Student's t, those of medians order statistics (no assumption on the distribution). p5 and \
         p95 are percentiles of the runs.",
    ];
    if report.factors.is_empty() {
        notes.push("The plan varies nothing, so nothing is compared.");
    }
    for note in notes {
        let _ = writeln!(html, "<li>{}</li>", escape(note));
    }
    html + "</ul>\n"
}
