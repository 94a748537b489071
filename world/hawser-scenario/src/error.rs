//! Errors of a scenario file: file, line, field, and what was expected.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What is wrong with a scenario file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// Name of the file as given by the caller, or `--set KEY=VALUE` when an override is meant.
    pub file: String,
    /// Line, counted from 1; `None` when the file could not be read at all, and for an override.
    pub line: Option<usize>,
    /// Path of the field, such as `link.wifi0.up.rate`; empty when the file as a whole is meant.
    pub field: String,
    /// What was found and what was expected.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(formatter, ": {}", self.field)?;
        }
        write!(formatter, ": {}", self.message)
    }
}

/// Why a scenario or a plan could not be loaded from a file.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file itself cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It can be read, but makes no sense.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}
