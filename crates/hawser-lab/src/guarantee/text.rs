//! The table for people.

use std::fmt::Write as _;

use super::Row;

/// One line per scenario, and what falls short.
pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<18} {:>10} {:>10} {:>10}  {:<8} {:>18} {:>9} {:>9}  {:<8} {:>6}\n",
        "scenario", "all", "best", "sum", "", "goodput ratio", "p99 all", "p99 best", "", "ratio"
    );
    for row in rows {
        let [low, high] = row.goodput_ratio_interval;
        let megabits = |bps: f64| format!("{:.1} Mb/s", bps / 1e6);
        let _ = writeln!(
            text,
            "{:<18} {:>10} {:>10} {:>10}  {:<8} {:>5.2} [{:>4.2}, {:>4.2}] {:>6.0} ms {:>9}  {:<8} {:>6}",
            row.scenario,
            megabits(row.goodput_bps),
            megabits(row.best_goodput_bps),
            megabits(row.sum_bps),
            row.best_goodput_link,
            row.goodput_ratio,
            low,
            high,
            row.p99_delay_ms,
            row.best_p99_delay_ms.map_or("-".to_owned(), |delay| format!("{delay:.0} ms")),
            row.best_delay_link.as_deref().unwrap_or("-"),
            row.p99_delay_ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
        );
    }
    for row in rows.iter().filter(|row| !row.recorded.is_empty()) {
        let _ = writeln!(text, "{} plays recordings: {}", row.scenario, row.recorded.join(", "));
    }
    let short: Vec<&str> = rows
        .iter()
        .filter(|row| row.goodput_ratio < 1.0 || row.p99_delay_ratio.is_some_and(|ratio| ratio > 1.0))
        .map(|row| row.scenario.as_str())
        .collect();
    let _ = match short.is_empty() {
        true => writeln!(text, "\nNever worse than the best single link, in goodput and in p99 delay."),
        false => writeln!(text, "\nWorse than the best single link in one of the two: {}", short.join(", ")),
    };
    text
}
