//! The page: a summary, where the default loses, and the tables of all links.

use std::fmt::Write as _;

use super::markdown::{OURS, PLAIN, SUMMARY, of_workload, summary_cells};
use super::rows::{Contest, Row, Rows};
use crate::data::page::html::{self, TableCell, counted, marked, plain, table};
use crate::data::page::svg::escape;
use crate::experiments::matrix::{number, share};

/// A number of a cell: how it is called and how it is written.
struct Metric {
    title: &'static str,
    write: fn(&Row) -> Option<String>,
}

const METRICS: [Metric; 7] = [
    Metric { title: "Goodput, Mbit/s", write: |row| row.goodput_bps.map(|bps| number(bps / 1e6)) },
    Metric { title: "Completion, or mean of a page, s", write: |row| row.completion_seconds.map(number) },
    Metric { title: "Delay, median, ms", write: |row| row.p50_ms.map(number) },
    Metric { title: "Delay, 99th percentile, ms", write: |row| row.p99_ms.map(number) },
    Metric {
        title: "Most that waited for earlier bytes, kB",
        write: |row| row.reordered_bytes.map(|bytes| number(bytes / 1e3)),
    },
    Metric {
        title: "Copies, % of what arrived",
        write: |row| row.redundancy.map(|share| number(100.0 * share)),
    },
    Metric { title: "Share of the oracle", write: |row| row.oracle_share.map(share) },
];

/// The whole page.
pub(super) fn page(rows: &Rows) -> String {
    let mut sections = vec![heading(rows), summary(rows)];
    let ours = OURS.into_iter().filter(|(own, _)| rows.schedulers.iter().any(|name| name == own));
    sections.extend(ours.map(|(own, title)| lost(rows, own, title)));
    let mut links: Vec<&str> = rows.rows.iter().map(|row| row.links.as_str()).collect();
    links.dedup();
    sections.extend(links.into_iter().map(|links| of_links(rows, links)));
    html::page("Matrix of schedulers", &sections)
}

fn heading(rows: &Rows) -> String {
    let mut html = format!(
        "<h1>Matrix of schedulers</h1>\n<p>{} in {} of links, workload and controller; {}. Files are judged by goodput, the \
         page by the time until it is complete, requests, frames and datagrams by the 99th percentile of the delay, the tunnel mix by the \
         geometric mean of the goodput of its download, of its pages per second, and of the inverse of the 99th percentile of its call. The oracle knows \
         the links' future and takes part in no comparison but its own. In virtual time, over the whole stack.</p>\n",
        counted(rows.schedulers.len(), "scheduler"),
        counted(rows.contests.len(), "cell"),
        if rows.seeds == 1 { "one seed".to_owned() } else { format!("means of {} seeds", rows.seeds) },
    );
    for failed in &rows.failed {
        let _ = writeln!(html, "<p class=\"warn\">Failed: {}</p>", escape(failed));
    }
    html
}

fn summary(rows: &Rows) -> String {
    let line = |scheduler: &String| {
        let name = marked(escape(scheduler), "strong");
        let shares = rows.workloads.iter().map(|workload| of_workload(rows, scheduler, workload));
        let shares = shares.map(|value| value.map_or_else(|| marked("–", "none"), shaded));
        std::iter::once(name)
            .chain(summary_cells(rows, scheduler).map(|text| plain(&text)))
            .chain(shares)
            .collect()
    };
    let body: Vec<Vec<TableCell>> = rows.schedulers.iter().map(line).collect();
    let columns: Vec<&str> = std::iter::once("Scheduler")
        .chain(SUMMARY)
        .chain(rows.workloads.iter().map(String::as_str))
        .collect();
    format!(
        "<h2>All cells</h2>\n<p class=\"soft\">On the right the mean share of the first by workload.</p>\n{}",
        table(&columns, &body, 1, "schedulers")
    )
}

fn lost(rows: &Rows, scheduler: &str, title: &str) -> String {
    let line = |(contest, own, than): (&Contest, f64, &str)| {
        vec![
            plain(&contest.links),
            plain(&contest.workload),
            plain(&contest.controller),
            marked(escape(than), "strong"),
            plain(&share(own)),
        ]
    };
    let firsts = rows.contests.iter().filter_map(|contest| {
        let own = contest.share(scheduler).filter(|own| *own < 0.97)?;
        Some((contest, own, contest.first.as_str()))
    });
    let mut behind: Vec<_> = firsts.collect();
    behind.sort_by(|a, b| a.1.total_cmp(&b.1));
    let worse = rows.worse(scheduler, PLAIN).into_iter().map(|(contest, own)| (contest, own, PLAIN));
    let (behind, worse): (Vec<Vec<TableCell>>, Vec<Vec<TableCell>>) =
        (behind.into_iter().map(line).collect(), worse.map(line).collect());
    let columns = ["Links", "Workload", "Controller", "Behind", "Share"];
    format!(
        "<h2>Where {scheduler}, {title}, is behind the first by more than 3 %</h2>\n{}<h2>Where it is worse than {PLAIN} by more than 3 \
         %</h2>\n{}",
        table(&columns, &behind, 4, "cells"),
        table(&columns, &worse, 4, "cells")
    )
}

fn of_links(rows: &Rows, links: &str) -> String {
    let own: Vec<&Contest> = rows.contests.iter().filter(|contest| contest.links == links).collect();
    let names: Vec<String> =
        own.iter().map(|contest| format!("{}, {}", contest.workload, contest.controller)).collect();
    let columns: Vec<&str> = std::iter::once("Scheduler").chain(names.iter().map(String::as_str)).collect();
    let grid = |write: &dyn Fn(&Contest, &str) -> Option<TableCell>| {
        let line = |scheduler: &String| {
            let cells =
                own.iter().map(|contest| write(contest, scheduler).unwrap_or_else(|| marked("–", "none")));
            std::iter::once(marked(escape(scheduler), "strong")).chain(cells).collect()
        };
        let body: Vec<Vec<TableCell>> = rows.schedulers.iter().map(line).collect();
        table(&columns, &body, 1, "schedulers")
    };
    let judged = grid(&|contest, scheduler| contest.share(scheduler).map(shaded));
    let mut html = format!("<h2>{}</h2>\n<h3>Share of the first</h3>\n{judged}", escape(links));
    for metric in &METRICS {
        let cell = |contest: &Contest, scheduler: &str| {
            rows.row(contest, scheduler).and_then(metric.write).map(|text| plain(&text))
        };
        let _ = write!(html, "<h3>{}</h3>\n{}", escape(metric.title), grid(&cell));
    }
    html
}

fn shaded(value: f64) -> TableCell {
    let shade = 60.0 * (2.0 * value - 1.0).clamp(0.0, 1.0);
    let text = share(value);
    marked(format!("<span class=\"shaded\" style=\"--shade:{shade:.0}%\">{}</span>", escape(&text)), "")
}
