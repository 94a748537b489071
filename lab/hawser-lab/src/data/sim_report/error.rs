//! Why there is no report.

use std::io;
use std::path::PathBuf;

use crate::data::sweep::SweepError;
use crate::data::table::TableError;

/// Why a folder cannot be reported on.
#[derive(Debug, thiserror::Error)]
pub enum SimReportError {
    /// Neither a sweep nor a run.
    #[error(
        "{} holds no results: expected manifest.json of `hawser sim sweep` or outcome.json of `hawser sim run --out`",
        folder.display()
    )]
    NoResults {
        /// The folder.
        folder: PathBuf,
    },
    /// The sweep cannot be merged.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file has something else in it than it should.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}
