//! Pages about simulations: what a sweep says on the whole, and what a single run did over time.
//!
//! A folder of `hawser sim sweep` or of `hawser sim run --out` becomes a [`SimReport`]: plain data, which serialises to
//! what the command prints with `--json`, and [`SimReport::html`], one page that needs nothing else (no network, no
//! script), in light and dark.
//!
//! ```text
//!   merged/flows.parquet --sweep_data--> SweepReport --sweep_page--\
//!                                                                    >-- HTML (chart: axes, lines; html: tables)
//!   flows, paths, links  --run_data----> RunReport ----run_page----/
//! ```

mod compare;
mod delays;
mod error;
mod rows;
mod run_data;
mod run_page;
mod sweep_data;
mod sweep_page;

use std::path::Path;

use serde::Serialize;

pub use delays::{DelayRow, Delays};
pub use error::SimReportError;
pub use run_data::RunReport;
pub use sweep_data::{Comparison, FailureCount, Group, Metric, SweepReport, Variant};

use crate::data::record::OUTCOME;
use crate::data::sweep::Folder;

/// What is in a folder of results.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SimReport {
    /// Of many cells.
    Sweep(SweepReport),
    /// Of one run.
    Run(RunReport),
}

impl SimReport {
    /// Reads a folder of `hawser sim sweep` (merging what has not been merged) or of `hawser sim run --out`.
    ///
    /// # Errors
    /// Fails when the folder has neither, or when a file cannot be read.
    pub fn read(folder: &Path) -> Result<Self, SimReportError> {
        if Folder::is_sweep(folder) {
            return SweepReport::read(folder).map(Self::Sweep);
        }
        if folder.join(OUTCOME).is_file() {
            return RunReport::read(folder).map(Self::Run);
        }
        Err(SimReportError::NoResults { folder: folder.to_owned() })
    }

    /// The page.
    pub fn html(&self) -> String {
        match self {
            Self::Sweep(report) => sweep_page::page(report),
            Self::Run(report) => run_page::page(report),
        }
    }
}

#[cfg(test)]
mod tests;
