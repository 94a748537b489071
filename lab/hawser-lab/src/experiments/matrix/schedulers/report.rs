//! The matrix for people.

use super::grid::Settings;
use super::rows::{Row, Schedulers};
use super::{markdown, page};
use crate::experiments::matrix::{Grid, Report, Rows};

/// The columns of the table of cells.
const NUMBERS: [&str; 9] = [
    "goodput_bps",
    "completion_seconds",
    "completed",
    "p50_ms",
    "p99_ms",
    "reordered_bytes",
    "redundancy",
    "share_of_oracle",
    "share_of_first",
];

impl Rows for Schedulers {
    fn report(&self) -> Report {
        let cell = |row: &Row| {
            let contest = self.contests.iter().find(|contest| {
                contest.links == row.links
                    && contest.workload == row.workload
                    && contest.controller == row.controller
            });
            let numbers: [Option<f64>; NUMBERS.len()] = [
                row.goodput_bps,
                row.completion_seconds,
                Some(row.completed),
                row.p50_ms,
                row.p99_ms,
                row.reordered_bytes,
                row.redundancy,
                row.oracle_share,
                contest.and_then(|contest| contest.share(&row.scheduler)),
            ];
            let texts = [&row.links, &row.workload, &row.controller, &row.scheduler];
            (texts.map(String::clone).into(), numbers.into())
        };
        let summary = markdown::summary(self);
        Report {
            name: Settings::NAME,
            failed: self.failed.clone(),
            tables: markdown::tables(self, &summary),
            page: page::page(self, &summary),
            columns: (Settings::TEXTS, &NUMBERS),
            cells: self.rows.iter().map(cell).collect(),
            summary,
        }
    }
}
