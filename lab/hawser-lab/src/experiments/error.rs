//! Why an experiment gives nothing.

use std::path::Path;

use hawser_scenario::LoadError;

use crate::data::sweep::SweepError;
use crate::data::table::TableError;

/// Why an experiment gives nothing: in words, and of what kind it is.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// What was asked for is not there, or cannot be: a policy, links, a list, an item, a figure. Says what there is.
    #[error("{0}")]
    Usage(String),
    /// A scenario cannot be read, put together or simulated.
    #[error("{0}")]
    Scenario(String),
    /// A file or folder cannot be read, is wrong, or is not there.
    #[error("{0}")]
    NotRead(String),
    /// There is nothing to draw.
    #[error("{0}")]
    NotDrawn(String),
    /// A scenario cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The runs cannot be made, kept or read.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A table cannot be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl ExperimentError {
    /// Nothing of a kind has this name.
    pub(super) fn unknown<'a>(kind: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        Self::Usage(format!("there is no {kind} `{name}`; there are: {}", known.join(", ")))
    }

    /// A folder has no runs of a list.
    pub(super) fn no_runs(folder: &Path, list: &str) -> Self {
        let folder = folder.display();
        Self::NotRead(format!("{folder} has no runs of `{list}`: run `hawser lab verify {list}` first"))
    }
}
