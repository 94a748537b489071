//! Numbers for people.

use std::fmt::Write as _;
use std::time::SystemTime;

use super::run_result::{Outcome, Run};
use super::verdict::Verdict;

/// The columns of the table of runs.
pub const COLUMNS: [&str; 6] =
    ["run", "time", "goodput", "longest stall", "slowest 100 ms (p99)", "share of the links' sum"];

/// What the columns mean.
pub const DEFINITIONS: &str = "\
goodput: bytes of the file over the time from the start of connecting to the last byte. longest stall: the longest time \
without a new byte, between the first byte and the last. slowest 100 ms (p99): the goodput that 99 % of all intervals of \
100 ms reach or exceed, from the first byte to the last. share of the links' sum: goodput over the mean rate of all links \
together during that run, outages counted as zero.";

/// A row of the table: one cell per column.
pub fn cells(run: &Run) -> [String; 6] {
    let none = || "-".to_owned();
    let label = run.label.clone();
    match &run.outcome {
        Outcome::Finished(it) => [
            label,
            format!("{:.1} s", it.seconds),
            megabits(it.goodput_bps),
            format!("{:.0} ms", it.longest_stall_ms),
            it.slowest_100ms_bps.map_or_else(none, megabits),
            it.share_of_sum.map_or_else(none, |share| format!("{:.0} %", share * 100.0)),
        ],
        Outcome::Stopped { after_seconds, .. } => [
            label,
            format!("stopped after {after_seconds:.0} s"),
            run.goodput_bps().map_or_else(none, megabits),
            none(),
            none(),
            none(),
        ],
        Outcome::Failed { .. } => [label, "failed".to_owned(), none(), none(), none(), none()],
        Outcome::LeftOut { .. } => [label, "left out".to_owned(), none(), none(), none(), none()],
    }
}

/// The whole table for a terminal.
pub fn table(runs: &[Run]) -> String {
    let mut rows: Vec<[String; 6]> = vec![COLUMNS.map(str::to_owned)];
    rows.extend(runs.iter().map(cells));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let _ = write!(text, "{:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
        if index == 0 {
            text.push_str(&"-".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1)));
            text.push('\n');
        }
    }
    text
}

/// Why rows have no numbers, one sentence each.
pub fn remarks(runs: &[Run]) -> Vec<String> {
    let remark = |run: &Run| match &run.outcome {
        Outcome::Failed { reason } => Some(format!("{} failed: {reason}", run.label)),
        Outcome::LeftOut { reason } => Some(format!("{} is left out: {reason}", run.label)),
        Outcome::Finished(it) if !it.intact => {
            Some(format!("{}: THE FILE IS DAMAGED ({})", run.label, it.sha256))
        }
        Outcome::Finished(_) if run.emulator_late_ms > 20.0 => Some(format!(
            "{}: this machine stood still for {:.0} ms, which is in the figures",
            run.label, run.emulator_late_ms
        )),
        _ => None,
    };
    runs.iter().filter_map(remark).collect()
}

/// One line on the digests.
pub fn digests(runs: &[Run], sha256: &str) -> String {
    let arrived: Vec<_> = runs.iter().filter_map(Run::transfer).collect();
    let intact = arrived.iter().filter(|transfer| transfer.intact).count();
    format!("SHA-256 on the client's disk: {intact} of {} match the original, {sha256}", arrived.len())
}

/// The verdict for a terminal.
pub fn verdict(verdict: &Verdict) -> String {
    verdict.sentences().join("\n")
}

/// `41.3 Mbit/s`.
pub fn megabits(bits_per_second: f64) -> String {
    format!("{:.1} Mbit/s", bits_per_second / 1e6)
}

/// `2026-03-21 14:05 UTC`.
pub fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Days since 1970-01-01 as a date of the Gregorian calendar.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates() {
        let at = |seconds| date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_782_400 + 3_660), "2000-02-29 01:01 UTC");
        assert_eq!(at(4_107_542_399), "2100-02-28 23:59 UTC");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}
