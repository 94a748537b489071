//! Every cell as a row of a table: CSV, JSON lines or Parquet, by the name of the file.

use std::path::Path;

use super::MatrixError;
use super::rows::{Row, Rows};
use crate::data::table::{Cell, Kind, Schema, column, create};

/// The columns with text, and those with numbers, which may be empty.
const TEXTS: [&str; 2] = ["controller", "link"];
const NUMBERS: [&str; 11] = [
    "buffer_bdp",
    "loss",
    "utilisation",
    "queue_p95_ms",
    "dropped",
    "jain_itself",
    "converged_seconds",
    "converged",
    "share_cubic",
    "jain_cubic",
    "utilisation_of_neighbours",
];

/// Writes all cells; the last column is filled where a cell stands out.
pub(super) fn write(path: &Path, rows: &Rows) -> Result<(), MatrixError> {
    let mut table = create(path, schema(&TEXTS, &NUMBERS)?)?;
    let outliers = rows.outliers();
    for row in &rows.rows {
        let stands_out = outliers.iter().find(|it| {
            it.controller == row.controller
                && it.link == row.link
                && it.buffer == row.buffer
                && it.loss == row.loss
        });
        let texts = [Cell::Text(&row.controller), Cell::Text(&row.link)];
        let numbers = numbers(row, stands_out.map(|it| it.neighbours)).map(number);
        table.row(&[&texts[..], &numbers[..]].concat())?;
    }
    table.finish()?;
    Ok(())
}

fn numbers(row: &Row, neighbours: Option<f64>) -> [Option<f64>; NUMBERS.len()] {
    [
        Some(row.buffer),
        Some(row.loss),
        row.utilisation,
        row.queue_p95_ms,
        row.dropped,
        row.jain_itself,
        row.converged_seconds,
        row.converged,
        row.share_cubic,
        row.jain_cubic,
        neighbours,
    ]
}

/// Columns with text, then numbers of which a row may lack any.
pub(crate) fn schema(texts: &[&str], numbers: &[&str]) -> Result<Schema, MatrixError> {
    let texts = texts.iter().map(|name| column(*name, Kind::Text));
    let numbers = numbers.iter().map(|name| column(*name, Kind::F64).optional());
    Ok(Schema::new(texts.chain(numbers))?)
}

/// A number with four decimals: more is noise of single runs, and makes files longer.
pub(crate) fn number(value: Option<f64>) -> Cell<'static> {
    value.map_or(Cell::Null, |value| Cell::F64((value * 1e4).round() / 1e4))
}
