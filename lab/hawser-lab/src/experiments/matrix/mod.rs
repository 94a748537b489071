//! Every policy of a kind over every link: `hawser lab matrix`.
//!
//! ```text
//!   Grid --Matrix--> cells --data::sweep--> DIR/shard-1-of-1/part-000001/{cells,timing}.parquet
//!                                   | merge
//!                                   v
//!                   DIR/merged/cells.parquet --Rows--> page, tables of a document, JSON
//! ```
//!
//! A [`Grid`] says which simulations there are, what is measured of one and what follows from all: [`controllers`] and [`schedulers`].
//! The rest is the same for both, and stands here.

pub mod controllers;
mod plan;
mod report;
mod runs;
pub mod schedulers;
mod text;
mod work;

use std::fmt::Debug;
use std::path::Path;

use hawser_scenario::Scenario;
use hawser_sim::run::Simulation;
use serde::Serialize;

pub use plan::Links;
pub use report::Report;
pub use runs::Runs;
pub use work::{Key, Matrix};

use crate::data::sweep::{self, CELLS, Folder, Measured, merged_file};
use crate::data::table::read_table;
use crate::experiments::ExperimentError;
use crate::experiments::verify::Load;

/// What the simulations of a matrix are, and what is measured of one.
pub trait Grid: Sized + Send + Sync + 'static {
    /// One simulation.
    type Cell: Debug + Send + Sync;
    /// What follows from all.
    type Rows: Rows;
    /// What it is called in commands, documents and folders.
    const NAME: &'static str;
    /// What tells a simulation from the others, but for its seed: columns with text, the links first ...
    const TEXTS: &'static [&'static str];
    /// ... and with numbers.
    const NUMBERS: &'static [&'static str];
    /// What is measured, column by column.
    const METRICS: &'static [&'static str];

    /// The values of a simulation in the columns that tell it from the others.
    fn key(cell: &Self::Cell) -> Key<'_>;
    /// The scenario of a simulation.
    ///
    /// # Errors
    /// Says why it cannot be read.
    fn scenario(&self, cell: &Self::Cell, load: &Load<'_>) -> Result<Scenario, String>;
    /// Runs a simulation of a scenario, and measures.
    ///
    /// # Errors
    /// Says why it cannot.
    fn measure(
        &self,
        cell: &Self::Cell,
        scenario: &Scenario,
        simulation: Simulation,
    ) -> Result<Measured, String>;
    /// The means over the seeds.
    fn rows(&self, runs: &Runs<'_>) -> Self::Rows;
}

/// What follows from all simulations of a matrix.
pub trait Rows: Serialize {
    /// The same for people.
    fn report(&self) -> Report;
}

/// The means over the seeds of the runs in a folder.
///
/// # Errors
/// [`ExperimentError`]: there are no runs, or a file cannot be read.
pub fn collect<G: Grid>(matrix: &Matrix<G>, folder: &Path) -> Result<G::Rows, ExperimentError> {
    sweep::merge(&Folder::open(folder)?)?;
    let table = read_table(&merged_file(folder, CELLS))?;
    Ok(matrix.grid().rows(&Runs::read::<G>(&table, matrix.policy())?))
}

/// Removes the runs of a folder, and nothing else in it.
///
/// # Errors
/// [`ExperimentError`]: a file cannot be removed.
pub fn discard(folder: &Path) -> Result<(), ExperimentError> {
    Ok(Folder::discard(folder, &[])?)
}
