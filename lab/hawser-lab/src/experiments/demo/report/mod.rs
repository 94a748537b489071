//! The page about a demonstration: HTML that needs nothing else, in light and dark.

mod charts;

use std::fmt::Write as _;

use hawser_emu::Scenario;

use crate::data::page::html::{facts, frame, in_sections};
use crate::data::page::svg::escape;
use crate::experiments::demo::Results;
use crate::experiments::demo::run_result::{Carrier, Run};
use crate::experiments::demo::text;
use crate::experiments::demo::trace::PAGE;
use charts::{colour, link_colour, rates, shares};

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub fn page(results: &Results, scenario: &Scenario) -> String {
    let sections = [
        headline(results),
        table(results),
        rate_section(results, scenario),
        share_section(results, scenario),
        gap_section(results),
        circumstances(results),
    ];
    frame(&format!("Hawser: {}", results.scenario), STYLE, &in_sections(&sections))
}

fn headline(results: &Results) -> String {
    let mut html = format!(
        "<h1>One file, {} ways through town</h1>\n<p>{}. A file of {} MiB, random content, fetched over each link alone, \
         and over all of them together.</p>\n<ul class=\"verdict\">\n",
        results.runs.iter().filter(|run| run.seconds() > 0.0).count(),
        escape(&results.description),
        results.bytes >> 20,
    );
    let verdict = &results.verdict;
    let wins = [&verdict.goodput, &verdict.goodput_mptcp, &verdict.stall];
    let wins: Vec<bool> = wins.into_iter().flatten().map(|comparison| comparison.won).collect();
    for (index, sentence) in verdict.sentences().iter().enumerate() {
        item(&mut html, wins.get(index).copied().unwrap_or(false), sentence);
    }
    item(&mut html, verdict.intact, &text::digests(&results.runs, &results.sha256));
    html + "</ul>\n"
}

fn item(html: &mut String, good: bool, sentence: &str) {
    let class = if good { "" } else { " class=\"lost\"" };
    let _ = writeln!(html, "<li{class}>{}</li>", escape(sentence));
}

fn table(results: &Results) -> String {
    let mut html = "<h2>Results</h2>\n<div class=\"wide\"><table>\n<thead><tr>".to_owned();
    for column in text::COLUMNS {
        let _ = write!(html, "<th>{}</th>", escape(column));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for run in &results.runs {
        let class = if run.carrier == Carrier::Hawser { " class=\"hawser\"" } else { "" };
        let _ = write!(html, "<tr{class}>");
        for (column, cell) in text::cells(run).iter().enumerate() {
            let best = if is_best(column, run, &results.runs) { " class=\"best\"" } else { "" };
            let key = if column == 0 { key(&colour(&run.carrier)) } else { String::new() };
            let _ = write!(html, "<td{best}>{key}{}</td>", escape(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    for remark in text::remarks(&results.runs) {
        let _ = writeln!(html, "<p class=\"soft\">{}</p>", escape(&remark));
    }
    let _ = writeln!(html, "<p class=\"soft\">{}</p>", escape(results.definitions));
    html
}

/// Whether a run has the best value of a column.
fn is_best(column: usize, run: &Run, runs: &[Run]) -> bool {
    let value = |run: &Run| {
        let transfer = run.transfer()?;
        match column {
            1 => Some(-transfer.seconds),
            2 => Some(transfer.goodput_bps),
            3 => Some(-transfer.longest_stall_ms),
            4 => transfer.slowest_100ms_bps,
            5 => transfer.share_of_sum,
            _ => None,
        }
    };
    let best = runs.iter().filter_map(value).fold(f64::NEG_INFINITY, f64::max);
    value(run).is_some_and(|value| value >= best)
}

fn rate_section(results: &Results, scenario: &Scenario) -> String {
    let mut html = "<h2>Goodput over time</h2>\n\
        <p class=\"soft\">Mbit/s in intervals of 100 ms; values above the scale are cut. Shaded: a link that the run uses is gone \
        (dark) or below half of its rate (light), in the link's colour. The black line is the last byte.</p>\n"
        .to_owned();
    html.push_str(&link_legend(results, false));
    let _ = writeln!(html, "<div class=\"wide\">{}</div>", rates(&results.runs, scenario));
    html
}

fn share_section(results: &Results, scenario: &Scenario) -> String {
    let together = |run: &&Run| !matches!(run.carrier, Carrier::Single { .. }) && !run.samples.is_empty();
    let runs: Vec<&Run> = results.runs.iter().filter(together).collect();
    let longest = runs.iter().map(|run| run.seconds()).fold(1.0, f64::max);
    let mut html = "<h2>What each link carried</h2>\n\
        <p class=\"soft\">Mbit/s of IP packets that reached the client, headers and repetitions included, counted by the \
        emulated links.</p>\n"
        .to_owned();
    html.push_str(&link_legend(results, true));
    for run in runs.iter().rev() {
        let _ = writeln!(html, "<div class=\"wide\">{}</div>", shares(run, scenario, longest));
    }
    html
}

/// Gaps in Hawser's run and their causes; each leads to the page of its trace.
fn gap_section(results: &Results) -> String {
    let Some(report) = &results.trace else { return String::new() };
    let mut html = format!(
        "<h2>Gaps in Hawser's run, and why</h2>\n<p class=\"soft\">Times in which no data came in order, from the traces of both \
         ends. <a href=\"{PAGE}\">The whole trace</a>: paths, sequence against time, losses, windows, the scheduler's choices.</p>\n"
    );
    if report.gaps.is_empty() {
        return html + "<p>None of 40 ms or more.</p>\n";
    }
    html.push_str(
        "<div class=\"wide\"><table class=\"gaps\">\n<thead><tr><th>at</th><th>length</th><th>because</th></tr></thead>\n<tbody>\n",
    );
    for gap in &report.gaps {
        let _ = writeln!(
            html,
            "<tr><td><a href=\"{PAGE}#gap={0:.3}\">{0:.2} s</a></td><td>{1:.0} ms</td><td>{2}</td></tr>",
            gap.from_s,
            gap.length_ms,
            escape(&gap.because)
        );
    }
    html + "</tbody></table></div>\n"
}

fn link_legend(results: &Results, with_capacity: bool) -> String {
    let mut html = "<div class=\"legend\">".to_owned();
    for (index, name) in results.links.iter().enumerate() {
        let _ = write!(html, "<span>{}{}</span>", key(&link_colour(index)), escape(name));
    }
    if with_capacity {
        html.push_str("<span><span class=\"dash\"></span>what all links could have carried</span>");
    }
    html + "</div>\n"
}

fn key(colour: &str) -> String {
    format!("<span class=\"key\" style=\"background:var({colour})\"></span>")
}

fn circumstances(results: &Results) -> String {
    let late = results.runs.iter().map(|run| run.emulator_late_ms).fold(0.0, f64::max);
    let mut rows = results.environment.rows();
    rows.extend([
        ("Links", results.stage.clone()),
        ("Scenario", results.scenario.clone()),
        ("Emulator", format!("wrote its latest packet {late:.1} ms late")),
        ("SHA-256", results.sha256.clone()),
    ]);
    format!("<h2>Circumstances</h2>\n{}", facts(&rows))
}
