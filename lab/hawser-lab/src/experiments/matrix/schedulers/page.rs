//! The page: a summary, where the default loses, and the tables of all links.

use std::fmt::Write as _;

use super::markdown::{PLAIN, of_workload, ours};
use super::rows::{Contest, Row, Schedulers};
use crate::data::page::html::{self, TableCell, counted, plain, table};
use crate::data::page::svg::escape;
use crate::experiments::matrix::text::{
    Summary, by_policy, heading, none, number, seeds, shaded, share, strong,
};

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
pub(super) fn page(rows: &Schedulers, summary: &Summary) -> String {
    let mut sections = vec![head(rows), all(rows, summary)];
    sections.extend(ours(rows).map(|(own, title)| lost(rows, own, title)));
    let mut links: Vec<&str> = rows.rows.iter().map(|row| row.links.as_str()).collect();
    links.dedup();
    sections.extend(links.into_iter().map(|links| of_links(rows, links)));
    html::page("Matrix of schedulers", &sections)
}

fn head(rows: &Schedulers) -> String {
    let words = format!(
        "{} in {} of links, workload and controller; {}. Files are judged by goodput, the page by the time until it is complete, requests, \
         frames and datagrams by the 99th percentile of the delay, the tunnel mix by the geometric mean of the goodput of its download, of its \
         pages per second, and of the inverse of the 99th percentile of its call. The oracle knows the links' future and takes part in no \
         comparison but its own. In virtual time, over the whole stack.",
        counted(rows.schedulers.len(), "scheduler"),
        counted(rows.contests.len(), "cell"),
        seeds(rows.seeds),
    );
    heading("Matrix of schedulers", &words, &rows.failed)
}

/// A share of the first, or nothing.
fn of_first(share_of_it: Option<f64>) -> TableCell {
    share_of_it.map_or_else(none, |value| shaded(&share(value), 2.0 * value - 1.0))
}

fn all(rows: &Schedulers, summary: &Summary) -> String {
    let cells = |scheduler: &str| {
        let shares = rows.workloads.iter().map(|workload| of_first(of_workload(rows, scheduler, workload)));
        summary.cells(scheduler).into_iter().chain(shares).collect()
    };
    let columns = [&summary.columns[..], &rows.workloads].concat();
    format!(
        "<h2>All cells</h2>\n<p class=\"soft\">On the right the mean share of the first by workload.</p>\n{}",
        by_policy(summary.of, &columns, &rows.schedulers, cells)
    )
}

fn lost(rows: &Schedulers, scheduler: &str, title: &str) -> String {
    let line = |(contest, own, than): (&Contest, f64, &str)| {
        vec![
            plain(&contest.links),
            plain(&contest.workload),
            plain(&contest.controller),
            strong(than),
            plain(&share(own)),
        ]
    };
    let behind = rows.behind(scheduler).into_iter();
    let behind = behind.map(|(contest, own)| (contest, own, contest.first.as_str()));
    let worse = rows.worse(scheduler, PLAIN).into_iter().map(|(contest, own)| (contest, own, PLAIN));
    let (behind, worse): (Vec<Vec<TableCell>>, Vec<Vec<TableCell>>) =
        (behind.map(line).collect(), worse.map(line).collect());
    let columns = ["Links", "Workload", "Controller", "Behind", "Share"];
    format!(
        "<h2>Where {scheduler}, {title}, is behind the first by more than 3 %</h2>\n{}<h2>Where it is worse than {PLAIN} by more than 3 \
         %</h2>\n{}",
        table(&columns, &behind, 4, "cells"),
        table(&columns, &worse, 4, "cells")
    )
}

fn of_links(rows: &Schedulers, links: &str) -> String {
    let own: Vec<&Contest> = rows.contests.iter().filter(|contest| contest.links == links).collect();
    let columns: Vec<String> =
        own.iter().map(|contest| format!("{}, {}", contest.workload, contest.controller)).collect();
    let grid = |cell: &dyn Fn(&Contest, &str) -> TableCell| {
        let cells = |scheduler: &str| own.iter().map(|contest| cell(contest, scheduler)).collect();
        by_policy("scheduler", &columns, &rows.schedulers, cells)
    };
    let judged = grid(&|contest, scheduler| of_first(contest.share(scheduler)));
    let mut html = format!("<h2>{}</h2>\n<h3>Share of the first</h3>\n{judged}", escape(links));
    for metric in &METRICS {
        let cell = |contest: &Contest, scheduler: &str| {
            let value = rows.row(contest, scheduler).and_then(metric.write);
            value.map_or_else(none, |text| plain(&text))
        };
        let _ = write!(html, "<h3>{}</h3>\n{}", escape(metric.title), grid(&cell));
    }
    html
}
