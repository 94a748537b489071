//! Tables on disk: what a run or a sweep measured, in columns.
//!
//! A [`Schema`] names the columns, a [`TableWriter`] takes rows, [`read_table`] gives the columns back.
//! There are three kinds of file, chosen by the name: Parquet (`.parquet`) for everything large, JSON lines
//! (`.jsonl`) for people and small programs, CSV (`.csv`) for spreadsheets.
//!
//! Two promises hold for all:
//!
//! * **Memory is bounded.** A Parquet writer holds one row group ([`Options::rows_per_group`] rows, or
//!   [`Options::bytes_per_group`]), the others one buffer, however long the table becomes.
//! * **No half-written file carries the final name.** Rows go to a file of another name ([`hawser_files::Replacement`]);
//!   [`TableWriter::finish`] writes it to the disk and puts it in its place. A writer dropped before that removes its file;
//!   one that was killed leaves it, and the next writer of the same name removes it.
//!
//! The same rows give the same bytes: nothing of the time, the machine or the order of threads enters a file.
//!
//! ```no_run
//! use hawser_lab::data::table::{self, Cell, Kind, Schema};
//!
//! # fn main() -> Result<(), table::TableError> {
//! let schema = Schema::new([
//!     table::column("path", Kind::Text),
//!     table::column("sent_ns", Kind::U64),
//!     table::column("delivered_ns", Kind::U64).optional(),
//! ])?;
//! let mut packets = table::create("packets.parquet".as_ref(), schema)?;
//! packets.row(&[Cell::Text("wifi"), Cell::U64(0), Cell::Null])?;
//! packets.finish()?;
//! let table = table::read_table("packets.parquet".as_ref())?;
//! assert_eq!(table.rows(), 1);
//! # Ok(())
//! # }
//! ```

mod csv;
mod error;
mod json_lines;
mod parquet_read;
mod parquet_write;
pub(crate) mod partial;
mod schema;
mod values;

use std::path::Path;

pub use csv::CsvWriter;
pub use error::TableError;
pub use json_lines::JsonLinesWriter;
pub use parquet_read::{TableReader, read_table};
pub use parquet_write::ParquetWriter;
pub(crate) use partial::PartialFile;
pub use partial::write_file;
pub use schema::{Cell, Column, Kind, Schema, column};
pub use values::{Table, TextColumn, Values};

/// Takes the rows of a table, one after the other.
pub trait TableWriter: Send {
    /// The columns of every row.
    fn schema(&self) -> &Schema;

    /// Adds a row: one cell per column of the schema, in its order.
    ///
    /// # Errors
    /// Fails when the cells do not fit the schema (nothing is added then), or when the file cannot be written;
    /// after the latter the writer is of no further use.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), TableError>;

    /// Rows added so far.
    fn rows(&self) -> u64;

    /// Writes what is left and gives the file its name.
    ///
    /// # Errors
    /// Fails when the file cannot be written; the file of that name, if there is one, is then as before.
    fn finish(self: Box<Self>) -> Result<Finished, TableError>;
}

/// What a finished table has become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// Rows in it.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// How a table is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Rows held in memory and written as one group (Parquet); at least 1.
    pub rows_per_group: usize,
    /// Bytes held in memory after which a group is written even if it has fewer rows (Parquet).
    pub bytes_per_group: usize,
    /// Facts about the whole table (Parquet); the other kinds have no place for them.
    pub metadata: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self { rows_per_group: 1 << 16, bytes_per_group: 16 << 20, metadata: Vec::new() }
    }
}

/// The kinds of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Apache Parquet, compressed with Snappy.
    Parquet,
    /// One JSON object per line.
    JsonLines,
    /// Values between commas.
    Csv,
}

impl FileKind {
    /// The kind that a file name asks for.
    ///
    /// # Errors
    /// Fails for any ending but `.parquet`, `.jsonl`, `.ndjson` and `.csv`.
    pub fn of(path: &Path) -> Result<Self, TableError> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("parquet") => Ok(Self::Parquet),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            Some("csv") => Ok(Self::Csv),
            _ => Err(TableError::UnknownKind { path: path.to_owned() }),
        }
    }
}

/// A writer for the kind of file that the name asks for, with the default options.
///
/// # Errors
/// Fails for an unknown ending, or when the file cannot be created.
pub fn create(path: &Path, schema: Schema) -> Result<Box<dyn TableWriter>, TableError> {
    create_with(path, schema, Options::default())
}

/// A writer for the kind of file that the name asks for.
///
/// # Errors
/// Fails for an unknown ending, or when the file cannot be created.
pub fn create_with(
    path: &Path,
    schema: Schema,
    options: Options,
) -> Result<Box<dyn TableWriter>, TableError> {
    Ok(match FileKind::of(path)? {
        FileKind::Parquet => Box::new(ParquetWriter::create(path, schema, options)?),
        FileKind::JsonLines => Box::new(JsonLinesWriter::create(path, schema)?),
        FileKind::Csv => Box::new(CsvWriter::create(path, schema)?),
    })
}

#[cfg(test)]
mod tests;
