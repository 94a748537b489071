//! What can go wrong with a verification.

use std::path::PathBuf;

use crate::data::sweep::SweepError;
use crate::data::table::TableError;

/// Names that an error lists.
const MOST_LISTED: usize = 60;

/// What is wrong with a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct ListError {
    /// Name of the file.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// What was found, and what is allowed there.
    pub message: String,
}

/// Why a list cannot be verified, or a figure not drawn.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// No list has this name.
    #[error("there is no list `{name}`; there are: {known}")]
    UnknownList {
        /// What was asked for.
        name: String,
        /// The names of all.
        known: String,
    },
    /// A list says something that cannot be.
    #[error(transparent)]
    List(#[from] ListError),
    /// The file of a list cannot be read.
    #[error("{}: {reason}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
    /// No figure has this name.
    #[error("there is no figure `{name}`; there are: {known}")]
    UnknownFigure {
        /// What was asked for.
        name: String,
        /// The names of all.
        known: String,
    },
    /// No item has this id.
    #[error("there is no item `{id}`; there are: {known}")]
    UnknownItem {
        /// What was asked for.
        id: String,
        /// The ids of all.
        known: String,
    },
    /// What stands in for the system is not known.
    #[error("{reason}")]
    Policy {
        /// Says so, with the names of those that are.
        reason: String,
    },
    /// A scenario of the list cannot be read.
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
    /// The runs that a figure needs are not there.
    #[error("{} has no runs of `{name}`: run `hawser lab verify {name}` first", folder.display())]
    NoRuns {
        /// The folder.
        folder: PathBuf,
        /// The list.
        name: String,
    },
    /// There is nothing to draw.
    #[error("figure `{name}`: {reason}")]
    Figure {
        /// The figure.
        name: String,
        /// Why not.
        reason: String,
    },
}

/// `no KIND "NAME"; known are ...`
pub(super) fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let more = known.len().saturating_sub(MOST_LISTED);
    let mut listed = known[..known.len().min(MOST_LISTED)].join(", ");
    if more > 0 {
        listed.push_str(&format!(" and {more} more"));
    }
    format!("no {kind} \"{name}\"; known are {listed}")
}
