//! The tables of the documentation and of the terminal.

use std::fmt::Write as _;

use super::MatrixError;
use super::rows::{Contest, Row, Rows};
use crate::data::page::html::counted;
use crate::data::statistics::mean_of;
use crate::experiments::matrix::{number, share};

/// Between these lines a document has the tables.
const BEGIN: &str = "<!-- begin: hawser lab matrix schedulers -->";
const END: &str = "<!-- end -->";

/// The schedulers that the project stands for: the default in the mode for each workload, and as it is; with what they are called.
pub(super) const OURS: [(&str, &str); 2] =
    [("modes", "the default in the mode of the workload"), ("default", "the default in one mode for all")];
/// The one that they are never to be worse than.
pub(super) const PLAIN: &str = "minrtt";
/// As many cells of a list are in a document, the worst first; all are in the page and in the table of cells.
const LISTED: usize = 10;

/// The columns of the summary.
pub(super) const SUMMARY: [&str; 7] = [
    "first",
    "within 3 %",
    "share of the first",
    "worst share",
    "share of the oracle",
    "reorder peak, kB",
    "copies, %",
];

/// What the summary says of a scheduler.
pub(super) fn summary_cells(rows: &Rows, scheduler: &str) -> [String; 7] {
    let dash = || "-".to_owned();
    let own = |of: fn(&Row) -> Option<f64>| {
        let rows = rows.rows.iter().filter(|row| row.scheduler == scheduler);
        mean_of(rows.filter_map(of))
    };
    let shares: Vec<f64> = rows.contests.iter().filter_map(|contest| contest.share(scheduler)).collect();
    let firsts = rows.contests.iter().filter(|contest| contest.first == scheduler).count();
    let (near, all) = rows.near_first(scheduler);
    let worst = shares.iter().copied().reduce(f64::min);
    let of_all = |count: usize| if all > 0 { format!("{count} of {all}") } else { dash() };
    [
        of_all(firsts),
        of_all(near),
        mean_of(shares.iter().copied()).map_or_else(dash, share),
        worst.map_or_else(dash, share),
        own(|row| row.oracle_share).map_or_else(dash, share),
        own(|row| row.reordered_bytes).map_or_else(dash, |bytes| number(bytes / 1e3)),
        own(|row| row.redundancy).map_or_else(dash, |share| number(100.0 * share)),
    ]
}

/// Mean share of the first of a scheduler with a workload.
pub(super) fn of_workload(rows: &Rows, scheduler: &str, workload: &str) -> Option<f64> {
    let contests = rows.contests.iter().filter(|contest| contest.workload == workload);
    mean_of(contests.filter_map(|contest| contest.share(scheduler)))
}

/// A cell in words.
pub(super) fn place(contest: &Contest) -> String {
    format!("{}, {}, `{}`", contest.links, contest.workload, contest.controller)
}

/// One line per scheduler for a terminal.
pub(super) fn summary(rows: &Rows) -> String {
    let mut text = format!("{:<16}", "scheduler");
    SUMMARY.iter().for_each(|column| {
        let _ = write!(text, " {column:>19}");
    });
    text.push('\n');
    for scheduler in &rows.schedulers {
        let _ = write!(text, "{scheduler:<16}");
        for cell in summary_cells(rows, scheduler) {
            let _ = write!(text, " {cell:>19}");
        }
        text.push('\n');
    }
    for failed in &rows.failed {
        let _ = writeln!(text, "failed: {failed}");
    }
    text
}

/// The tables in the place that a document has for them.
pub(super) fn into_document(document: &str, rows: &Rows) -> Result<String, MatrixError> {
    let marks = || MatrixError::NoMarks { begin: BEGIN, end: END };
    let (before, rest) = document.split_once(BEGIN).ok_or_else(marks)?;
    let (_, after) = rest.split_once(END).ok_or_else(marks)?;
    Ok(format!("{before}{BEGIN}\n\n{}{END}{after}", tables(rows)))
}

fn tables(rows: &Rows) -> String {
    let seeds = if rows.seeds == 1 { "one seed".to_owned() } else { format!("{} seeds", rows.seeds) };
    let mut text = format!("### All cells\n\n{}, {seeds}.\n\n", counted(rows.contests.len(), "cell"));
    head(&mut text, &SUMMARY);
    for scheduler in &rows.schedulers {
        line(&mut text, scheduler, &summary_cells(rows, scheduler));
    }
    text.push_str("\n### By workload\n\nMean share of the first.\n\n");
    let workloads: Vec<&str> = rows.workloads.iter().map(String::as_str).collect();
    head(&mut text, &workloads);
    for scheduler in &rows.schedulers {
        let own = workloads.iter().map(|workload| of_workload(rows, scheduler, workload));
        let own: Vec<String> = own.map(|value| value.map_or("-".to_owned(), share)).collect();
        line(&mut text, scheduler, &own);
    }
    for (own, title) in OURS.into_iter().filter(|(own, _)| rows.schedulers.iter().any(|name| name == own)) {
        lost(&mut text, rows, own, title);
        let worse = rows.worse(own, PLAIN);
        let _ = write!(
            text,
            "\n### Where `{own}` is worse than `{PLAIN}` by more than 3 %\n\n{}.\n\n| cell | share of it |\n|---|---|\n",
            listed(worse.len())
        );
        for (contest, own) in worse.into_iter().take(LISTED) {
            let _ = writeln!(text, "| {} | {} |", place(contest), share(own));
        }
    }
    text.push('\n');
    text
}

/// Where one of ours is behind the first, and who that is.
fn lost(text: &mut String, rows: &Rows, scheduler: &str, title: &str) {
    let mut cells: Vec<(&Contest, f64)> =
        rows.contests.iter().filter_map(|contest| Some((contest, contest.share(scheduler)?))).collect();
    cells.retain(|(_, share)| *share < 0.97);
    cells.sort_by(|a, b| a.1.total_cmp(&b.1));
    let _ = write!(
        text,
        "\n### Where `{scheduler}`, {title}, is behind the first by more than 3 %\n\n{}.\n\n| cell | first | its share of it | of the \
         oracle |\n|---|---|---|---|\n",
        listed(cells.len())
    );
    for (contest, own) in cells.into_iter().take(LISTED) {
        let of_oracle = rows.row(contest, scheduler).and_then(|row| row.oracle_share);
        let of_oracle = of_oracle.map_or("-".to_owned(), share);
        let _ = writeln!(text, "| {} | `{}` | {} | {of_oracle} |", place(contest), contest.first, share(own));
    }
}

/// How many cells a list has, and how many of them follow.
fn listed(all: usize) -> String {
    match all {
        0 => "None".to_owned(),
        1 => "One cell".to_owned(),
        all if all <= LISTED => format!("{all} cells"),
        all => format!("{all} cells, of which the worst {LISTED}"),
    }
}

fn head(text: &mut String, columns: &[&str]) {
    let _ = writeln!(text, "| | {} |\n|---|{}", columns.join(" | "), "---|".repeat(columns.len()));
}

fn line(text: &mut String, name: &str, cells: &[String]) {
    let _ = writeln!(text, "| `{name}` | {} |", cells.join(" | "));
}
