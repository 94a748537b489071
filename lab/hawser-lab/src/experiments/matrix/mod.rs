//! Every congestion controller over every link: `hawser lab matrix controllers`.
//!
//! ```text
//!   Settings --Matrix--> cells --data::sweep--> DIR/shard-1-of-1/part-000001/{cells,timing}.parquet
//!                                   | merge
//!                                   v
//!                   DIR/merged/cells.parquet --Rows--> page, tables of docs/controller-matrix.md, JSON
//! ```
//!
//! A [`Cell`] is one simulation: a controller on a link with a buffer and a rate of random loss, alone, beside a second flow of its
//! own, beside CUBIC, or, for coupled ones, with two paths through the bottleneck beside a flow of NewReno or CUBIC. Links, buffers
//! and losses are those of a [`Plan`]; what is measured of a run is in `measure`.

pub(crate) mod cells;
mod error;
mod grid;
mod markdown;
mod measure;
mod page;
mod plan;
mod rows;
mod work;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::MatrixError;
pub(crate) use markdown::{number, share};

pub use grid::{Against, Cell};
pub use measure::Numbers;
pub use plan::{Link, Plan};
pub use rows::{Outlier, Row, Rows, Shared};
pub use work::Matrix;

use crate::data::sweep::{self, CELLS, Folder, Progress, RunSettings, RunSummary, merged_file};
use crate::data::table::read_table;

/// What to run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bottlenecks, buffers and losses.
    pub plan: Arc<Plan>,
    /// The folder of scenarios.
    pub scenarios: PathBuf,
    /// Controllers with their parameters, such as `cubic,beta=0.8`.
    pub controllers: Vec<String>,
    /// Which links of the plan; none: all.
    pub links: Vec<String>,
    /// Seeds 1 to this.
    pub seeds: u64,
    /// No run takes longer than this many simulated seconds; none: as long as the link asks for.
    pub longest: Option<u64>,
}

/// Makes the runs that a folder does not have yet, as [`sweep::run_work`] does.
///
/// # Errors
/// [`MatrixError`]. What was finished before is kept.
pub fn run(
    matrix: &Arc<Matrix>,
    settings: &RunSettings,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<RunSummary, MatrixError> {
    Ok(sweep::run_work(matrix, settings, watch)?)
}

/// The means over the seeds of the runs in a folder.
///
/// # Errors
/// [`MatrixError`]: there are no runs, or a file cannot be read.
pub fn collect(matrix: &Matrix, folder: &Path) -> Result<Rows, MatrixError> {
    sweep::merge(&Folder::open(folder)?)?;
    Ok(Rows::read(&read_table(&merged_file(folder, CELLS))?, matrix.settings())?)
}

/// Removes the runs of a folder, and nothing else in it.
///
/// # Errors
/// [`MatrixError`]: a file cannot be removed.
pub fn discard(folder: &Path) -> Result<(), MatrixError> {
    Ok(Folder::discard(folder, &[])?)
}

/// The rows as a page.
pub fn page(rows: &Rows) -> String {
    page::page(rows)
}

/// A document with the tables of these rows between the two marks, which it has to have.
///
/// # Errors
/// [`MatrixError::NoMarks`].
pub fn into_document(document: &str, rows: &Rows) -> Result<String, MatrixError> {
    markdown::into_document(document, rows)
}

/// Writes every cell as a row of a table; the name of the file says which kind: `.csv`, `.jsonl`, `.parquet`.
///
/// # Errors
/// [`MatrixError::Table`]: another ending, or a file that cannot be written.
pub fn write_cells(path: &Path, rows: &Rows) -> Result<(), MatrixError> {
    cells::write(path, rows)
}

/// One line per controller for people.
pub fn table(rows: &Rows) -> String {
    markdown::summary(rows)
}

#[cfg(test)]
mod tests;
