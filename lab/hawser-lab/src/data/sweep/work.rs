//! What is run cell by cell.

use std::path::{Path, PathBuf};

use hawser_sim::run::Outcome;

use super::Manifest;
use crate::data::table::{Kind, Schema, TableError, TableWriter, column};

/// The table that any work has: one row per cell, with the columns `cell`, `message` (none unless it failed),
/// `trace_hash` and `events`.
pub const CELLS: &str = "cells";
/// The table of the real times, one row per cell, which is no part of the result.
pub const TIMING: &str = "timing";

/// Cells that depend on nothing but the work and their number: a plan of scenarios, or the runs behind an acceptance
/// list.
pub trait Work: Send + Sync + 'static {
    /// What comes of a cell.
    type Output: CellOutput;

    /// What must be the same for all who add to a folder; it names the tables, [`CELLS`] and [`TIMING`] among them.
    fn manifest(&self) -> Manifest;

    /// Name and text of a file for people that says what the work is.
    fn description(&self) -> Option<(&str, &str)> {
        None
    }

    /// Runs a cell.
    ///
    /// # Errors
    /// Says why it cannot be run. That is a result as well: the cell failed.
    fn run(&self, cell: usize) -> Result<Self::Output, String>;

    /// The columns of a table but [`TIMING`], of which the first is `cell`.
    ///
    /// # Errors
    /// Fails when they are no schema.
    fn schema(&self, table: &str) -> Result<Schema, TableError>;

    /// Writes the rows of a cell to a table but [`TIMING`].
    ///
    /// # Errors
    /// Fails when the table cannot be written.
    fn write(
        &self,
        table: &str,
        writer: &mut dyn TableWriter,
        result: &CellResult<Self::Output>,
    ) -> Result<(), TableError>;
}

/// The columns of [`TIMING`].
pub(super) fn timing_schema() -> Result<Schema, TableError> {
    Schema::new([column("cell", Kind::U64), column("wall_seconds", Kind::F64)])
}

/// What came of a cell.
#[derive(Debug, Clone)]
pub struct CellResult<O> {
    /// Its number.
    pub cell: usize,
    /// What it gave, or why it failed.
    pub outcome: Result<O, String>,
    /// Real time that it took.
    pub wall_seconds: f64,
}

/// What is asked of any outcome.
pub trait CellOutput: Send + 'static {
    /// Stands for everything that happened.
    fn trace_hash(&self) -> &str;
    /// Packets that arrived.
    fn packets(&self) -> u64;
    /// Instants at which something happened.
    fn events(&self) -> u64;
    /// Rows that it takes in all tables, about.
    fn rows(&self) -> usize;
}

impl CellOutput for Outcome {
    fn trace_hash(&self) -> &str {
        &self.trace_hash
    }

    fn packets(&self) -> u64 {
        self.packets
    }

    fn events(&self) -> u64 {
        self.events
    }

    fn rows(&self) -> usize {
        self.flows.len() + self.paths.len() + self.links.len()
    }
}

/// The file of a table in a folder.
pub(super) fn table_file(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.parquet"))
}
