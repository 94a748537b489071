//! Every scheduler over links with several paths: `hawser lab matrix schedulers`.
//!
//! ```text
//!   Settings --Matrix--> cells --data::sweep--> DIR/shard-1-of-1/part-000001/{cells,timing}.parquet
//!                                   | merge
//!                                   v
//!                   DIR/merged/cells.parquet --Rows--> page, tables of docs/scheduler-matrix.md, JSON
//! ```
//!
//! A [`Cell`] is one simulation: a scheduler with a controller over the links of a scenario, with a workload in the place of the
//! scenario's first connection; what else the scenario has running stays as it is. Links and workloads are those of a [`Plan`]; what is
//! measured of a run is in `measure`. Among the schedulers is the one that knows the links' future
//! ([`OracleEdpf`](hawser_sim::oracle::OracleEdpf)): everybody is given as a share of it, and nobody loses against it.

mod cells;
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

pub use super::matrix::MatrixError;
pub use grid::Cell;
pub use measure::Numbers;
pub use plan::{Extent, Judged, Links, Plan, Workload};
pub use rows::{Contest, Row, Rows};
pub use work::Matrix;

use crate::data::sweep::{self, CELLS, Folder, Progress, RunSettings, RunSummary, merged_file};
use crate::data::table::read_table;

/// What to run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Links and workloads.
    pub plan: Arc<Plan>,
    /// The folder of scenarios.
    pub scenarios: PathBuf,
    /// Schedulers with their parameters, such as `ecf,beta=0.5`.
    pub schedulers: Vec<String>,
    /// Controllers with their parameters.
    pub controllers: Vec<String>,
    /// Which links of the plan; none: all.
    pub links: Vec<String>,
    /// Which workloads of the plan; none: all.
    pub workloads: Vec<String>,
    /// Seeds 1 to this.
    pub seeds: u64,
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

/// One line per scheduler for people.
pub fn table(rows: &Rows) -> String {
    markdown::summary(rows)
}

#[cfg(test)]
mod tests;
