//! Rows of a table of results, Parquet or JSON lines, one after the other.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::SimReportError;
use crate::data::record::table_path;
use crate::data::table::{Cell, TableError, TableReader};

/// The file of a table in a folder, whichever kind it is.
pub(super) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    [false, true]
        .map(|json_lines| table_path(folder, name, json_lines))
        .into_iter()
        .find(|path| path.is_file())
}

/// Calls `each` with these columns of every row. Memory does not grow with the table: one row group is held.
pub(super) fn each<const N: usize>(
    path: &Path,
    columns: [&str; N],
    mut each: impl FnMut([Cell<'_>; N]),
) -> Result<(), SimReportError> {
    if path.extension().is_some_and(|ending| ending == "parquet") {
        return each_of_parquet(path, columns, each);
    }
    let read = |source| SimReportError::Read { path: path.to_owned(), source };
    let file = BufReader::new(File::open(path).map_err(read)?);
    for (index, line) in file.lines().enumerate() {
        let line = line.map_err(read)?;
        let value: Value = serde_json::from_str(&line).map_err(|error| SimReportError::Malformed {
            path: path.to_owned(),
            reason: format!("line {} is no JSON: {error}", index + 1),
        })?;
        each(columns.map(|column| value.get(column).map_or(Cell::Null, json_cell)));
    }
    Ok(())
}

fn each_of_parquet<const N: usize>(
    path: &Path,
    columns: [&str; N],
    mut each: impl FnMut([Cell<'_>; N]),
) -> Result<(), SimReportError> {
    let reader = TableReader::open(path)?;
    let mut positions = [0; N];
    for (position, name) in positions.iter_mut().zip(columns) {
        *position = reader.schema().position(name).ok_or_else(|| TableError::NoColumn {
            name: name.to_owned(),
            expected: "any",
            present: reader.schema().to_string(),
        })?;
    }
    for group in 0..reader.groups() {
        let table = reader.read_group(group)?;
        for row in 0..table.rows() {
            each(positions.map(|column| table.cell(row, column)));
        }
    }
    Ok(())
}

fn json_cell(value: &Value) -> Cell<'_> {
    match value {
        Value::Bool(value) => Cell::Bool(*value),
        Value::String(text) => Cell::Text(text),
        Value::Number(number) => match number.as_u64() {
            Some(value) => Cell::U64(value),
            None => number.as_f64().map_or(Cell::Null, Cell::F64),
        },
        _ => Cell::Null,
    }
}

/// A cell as a number.
pub(super) fn number(cell: Cell<'_>) -> Option<f64> {
    match cell {
        Cell::U64(value) => Some(value as f64),
        Cell::I64(value) => Some(value as f64),
        Cell::F64(value) => Some(value),
        _ => None,
    }
}

/// A cell as text.
pub(super) fn text<'a>(cell: Cell<'a>) -> &'a str {
    match cell {
        Cell::Text(text) => text,
        _ => "",
    }
}
