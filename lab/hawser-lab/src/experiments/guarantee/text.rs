//! The table for people.

use std::fmt::Write as _;

use super::{Marks, Row, Verdict};

/// Scenarios that are named one by one for what they have in common.
const MOST_NAMED: usize = 5;

/// One line per scenario, and what falls short.
pub fn table(rows: &[Row], marks: &Marks) -> String {
    let width = rows.iter().map(|row| row.scenario.len()).max().unwrap_or(0).max(18);
    let mut text = format!(
        "{:<width$} {:>12} {:>12} {:>12}  {:<8} {:>18} {:>6} {:>9} {:>9}  {:<8} {:>6} {:>6}\n",
        "scenario",
        "all",
        "best",
        "sum",
        "",
        "goodput ratio",
        "oracle",
        "p99 all",
        "p99 best",
        "",
        "ratio",
        "oracle"
    );
    rows.iter().for_each(|row| line(&mut text, row, width));
    if rows.iter().any(|row| row.goodput_ratio_interval.is_some()) {
        let _ =
            writeln!(text, "[..]: 95 % confidence interval of the ratio, from the differences seed by seed");
    }
    let _ = writeln!(
        text,
        "oracle: goodput as a share of that of a scheduler that knows the links' future; its p99 over that of the best link"
    );
    recordings(&mut text, rows);
    if rows.len() > 1 {
        reached(&mut text, rows, marks);
    }
    let named = |verdict| -> Vec<&str> {
        rows.iter().filter(|row| row.verdict == verdict).map(|row| row.scenario.as_str()).collect()
    };
    let (worse, nothing) = (named(Verdict::Worse), named(Verdict::NothingTransferred));
    text.push('\n');
    if !nothing.is_empty() {
        let names = nothing.join(", ");
        let _ = writeln!(
            text,
            "Nothing was transferred, by all links or by any alone, in one of the two: {names}"
        );
    }
    if !worse.is_empty() {
        let _ = writeln!(text, "Worse than the best single link in one of the two: {}", worse.join(", "));
    }
    if nothing.is_empty() && worse.is_empty() {
        text.push_str("Never worse than the best single link, in goodput and in p99 delay.\n");
    }
    text
}

/// Which scenarios play recordings; of many only how many.
fn recordings(text: &mut String, rows: &[Row]) {
    let playing = || rows.iter().filter(|row| !row.recorded.is_empty());
    if playing().count() > MOST_NAMED {
        let _ = writeln!(text, "{} scenarios play recordings", playing().count());
        return;
    }
    for row in playing() {
        let _ = writeln!(text, "{} plays recordings: {}", row.scenario, row.recorded.join(", "));
    }
}

/// How many scenarios reach the marks.
fn reached(text: &mut String, rows: &[Row], marks: &Marks) {
    let all = rows.len();
    let Marks { goodput_of_best: best, goodput_of_sum: sum, delay_of_best: delay } = *marks;
    let count = |reaches: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| reaches(row)).count();
    let is_quick = |ratio: Option<f64>| ratio.is_some_and(|ratio| ratio <= delay);
    let _ = writeln!(
        text,
        "goodput: {} of {all} at least {best:.2} of the best link, {} at least {sum:.2} of the sum; p99: {} at most {delay:.2} of \
         the best link's, {} of the oracle's",
        count(&|row| row.goodput_ratio.is_none_or(|ratio| ratio >= best)),
        count(&|row| row.goodput_bps >= sum * row.sum_bps),
        count(&|row| is_quick(row.p99_delay_ratio)),
        count(&|row| is_quick(row.oracle_p99_delay_ratio)),
    );
}

fn line(text: &mut String, row: &Row, width: usize) {
    let megabits = |bps: f64| format!("{:.1} Mbit/s", bps / 1e6);
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    let delay = |delay: Option<f64>| delay.map_or("-".to_owned(), |delay| format!("{delay:.0} ms"));
    let interval = row.goodput_ratio_interval;
    let _ = writeln!(
        text,
        "{:<width$} {:>12} {:>12} {:>12}  {:<8} {:>5} {:>12} {:>6} {:>9} {:>9}  {:<8} {:>6} {:>6}",
        row.scenario,
        megabits(row.goodput_bps),
        megabits(row.best_goodput_bps),
        megabits(row.sum_bps),
        row.best_goodput_link,
        ratio(row.goodput_ratio),
        interval.map_or(String::new(), |[low, high]| format!("[{low:>4.2}, {high:>4.2}]")),
        ratio(row.oracle_share),
        delay(row.p99_delay_ms),
        delay(row.best_p99_delay_ms),
        row.best_delay_link.as_deref().unwrap_or("-"),
        ratio(row.p99_delay_ratio),
        ratio(row.oracle_p99_delay_ratio),
    );
}
