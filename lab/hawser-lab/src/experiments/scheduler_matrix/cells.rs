//! Every cell as a row of a table: CSV, JSON lines or Parquet, by the name of the file.

use std::path::Path;

use super::MatrixError;
use super::rows::Rows;
use crate::data::table::{Cell, create};
use crate::experiments::matrix::cells::{number, schema};

const TEXTS: [&str; 4] = ["links", "workload", "controller", "scheduler"];
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

/// Writes all cells, each with its share of the first among the schedulers there.
pub(super) fn write(path: &Path, rows: &Rows) -> Result<(), MatrixError> {
    let mut table = create(path, schema(&TEXTS, &NUMBERS)?)?;
    for row in &rows.rows {
        let contest = rows.contests.iter().find(|contest| {
            contest.links == row.links
                && contest.workload == row.workload
                && contest.controller == row.controller
        });
        let texts = [&row.links, &row.workload, &row.controller, &row.scheduler];
        let numbers = [
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
        let cells = texts.into_iter().map(|text| Cell::Text(text)).chain(numbers.map(number));
        table.row(&cells.collect::<Vec<_>>())?;
    }
    table.finish()?;
    Ok(())
}
