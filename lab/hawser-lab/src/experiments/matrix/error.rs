//! What can go wrong with a matrix.

use std::path::Path;

use crate::data::sweep::SweepError;
use crate::data::table::TableError;

/// Why a matrix cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// A policy is not known, or a parameter of it is wrong.
    #[error("{reason}")]
    Controller {
        /// Says so, with what there is.
        reason: String,
    },
    /// No link of the matrix has this name.
    #[error("there is no link `{name}`; there are: {known}")]
    UnknownLink {
        /// What was asked for.
        name: String,
        /// The names of all.
        known: String,
    },
    /// No workload of the matrix has this name.
    #[error("there is no workload `{name}`; there are: {known}")]
    UnknownWorkload {
        /// What was asked for.
        name: String,
        /// The names of all.
        known: String,
    },
    /// The grid cannot be read.
    #[error("{reason}")]
    Plan {
        /// Which file, where in it, and why.
        reason: String,
    },
    /// A scenario of the matrix cannot be read.
    #[error("{reason}")]
    Scenario {
        /// Which, and why.
        reason: String,
    },
    /// The runs cannot be made, kept or read.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A table cannot be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A document has no place for the tables.
    #[error("the document has no lines `{begin}` and `{end}`, between which the tables belong")]
    NoMarks {
        /// The first.
        begin: &'static str,
        /// The last.
        end: &'static str,
    },
}

impl MatrixError {
    /// Returns the name and the text of a file with a grid.
    pub(crate) fn read_plan(file: &Path) -> Result<(String, String), MatrixError> {
        let name = file.display().to_string();
        match std::fs::read_to_string(file) {
            Ok(text) => Ok((name, text)),
            Err(error) => Err(MatrixError::Plan { reason: format!("cannot read {name}: {error}") }),
        }
    }
}
