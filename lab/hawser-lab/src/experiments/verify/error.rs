//! What can be wrong with a list.

use crate::experiments::ExperimentError;

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

impl From<ListError> for ExperimentError {
    fn from(error: ListError) -> Self {
        ExperimentError::Usage(error.to_string())
    }
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
