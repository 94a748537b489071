//! The tables of the documentation and of the terminal.

use std::fmt::Write as _;

use super::rows::{Contest, Row, Schedulers};
use crate::data::page::html::counted;
use crate::data::statistics::mean_of;
use crate::experiments::matrix::text::{self, Summary, number, or_dash, share};

/// The schedulers that the project stands for: the default in the mode for each workload, and as it is; with what they are called.
pub(super) const OURS: [(&str, &str); 2] =
    [("modes", "the default in the mode of the workload"), ("default", "the default in one mode for all")];
/// The one that they are never to be worse than.
pub(super) const PLAIN: &str = "minrtt";
/// As many cells of a list are in a document, the worst first; all are in the page and in the table of cells.
const LISTED: usize = 10;

/// The columns of the summary.
const SUMMARY: [&str; 7] = [
    "first",
    "within 3 %",
    "share of the first",
    "worst share",
    "share of the oracle",
    "reorder peak, kB",
    "copies, %",
];

/// What the summary says of a scheduler.
fn summary_cells(rows: &Schedulers, scheduler: &str) -> Vec<String> {
    let own = |of: fn(&Row) -> Option<f64>| {
        let rows = rows.rows.iter().filter(|row| row.scheduler == scheduler);
        mean_of(rows.filter_map(of))
    };
    let shares: Vec<f64> = rows.contests.iter().filter_map(|contest| contest.share(scheduler)).collect();
    let firsts = rows.contests.iter().filter(|contest| contest.first == scheduler).count();
    let (near, all) = rows.near_first(scheduler);
    let worst = shares.iter().copied().reduce(f64::min);
    let of_all = |count: usize| if all > 0 { format!("{count} of {all}") } else { "-".to_owned() };
    vec![
        of_all(firsts),
        of_all(near),
        or_dash(mean_of(shares.iter().copied()), share),
        or_dash(worst, share),
        or_dash(own(|row| row.oracle_share), share),
        or_dash(own(|row| row.reordered_bytes), |bytes| number(bytes / 1e3)),
        or_dash(own(|row| row.redundancy), |share| number(100.0 * share)),
    ]
}

/// Mean share of the first of a scheduler with a workload.
pub(super) fn of_workload(rows: &Schedulers, scheduler: &str, workload: &str) -> Option<f64> {
    let contests = rows.contests.iter().filter(|contest| contest.workload == workload);
    mean_of(contests.filter_map(|contest| contest.share(scheduler)))
}

/// A cell in words.
fn place(contest: &Contest) -> String {
    format!("{}, {}, `{}`", contest.links, contest.workload, contest.controller)
}

/// One line per scheduler.
pub(super) fn summary(rows: &Schedulers) -> Summary {
    let line = |scheduler: &String| (scheduler.clone(), summary_cells(rows, scheduler));
    let columns = SUMMARY.map(str::to_owned).into();
    Summary { of: "scheduler", widths: [16, 19], columns, lines: rows.schedulers.iter().map(line).collect() }
}

/// Those that the project stands for, as far as they take part.
pub(super) fn ours(rows: &Schedulers) -> impl Iterator<Item = (&'static str, &'static str)> {
    OURS.into_iter().filter(|(own, _)| rows.schedulers.iter().any(|name| name == own))
}

/// The tables of a document.
pub(super) fn tables(rows: &Schedulers, summary: &Summary) -> String {
    let seeds = if rows.seeds == 1 { "one seed".to_owned() } else { format!("{} seeds", rows.seeds) };
    let mut text = format!("### All cells\n\n{}, {seeds}.\n\n", counted(rows.contests.len(), "cell"));
    text.push_str(&summary.as_markdown());
    text.push_str("\n### By workload\n\nMean share of the first.\n\n");
    let line = |scheduler: &String| {
        let own = rows.workloads.iter().map(|workload| of_workload(rows, scheduler, workload));
        (scheduler.clone(), own.map(|value| or_dash(value, share)).collect())
    };
    text.push_str(&text::markdown(&rows.workloads, &rows.schedulers.iter().map(line).collect::<Vec<_>>()));
    for (own, title) in ours(rows) {
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
fn lost(text: &mut String, rows: &Schedulers, scheduler: &str, title: &str) {
    let cells = rows.behind(scheduler);
    let _ = write!(
        text,
        "\n### Where `{scheduler}`, {title}, is behind the first by more than 3 %\n\n{}.\n\n| cell | first | its share of it | of the \
         oracle |\n|---|---|---|---|\n",
        listed(cells.len())
    );
    for (contest, own) in cells.into_iter().take(LISTED) {
        let of_oracle = or_dash(rows.row(contest, scheduler).and_then(|row| row.oracle_share), share);
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
