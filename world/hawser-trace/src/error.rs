//! What can be wrong with a trace.

use std::io;

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// Why not.
        source: io::Error,
    },
    /// The file is no text, or larger than any trace.
    #[error("{file} is no trace: {reason}")]
    NotText {
        /// The file.
        file: String,
        /// What it is instead.
        reason: &'static str,
    },
    /// There is nothing in the file.
    #[error("{file} is empty; expected {expected}")]
    Empty {
        /// The file.
        file: String,
        /// What its format holds.
        expected: String,
    },
    /// The content looks like none of the formats.
    #[error("{file}: no known format begins like {found:?}; known are\n{known}\n(--format names one)")]
    Unrecognised {
        /// The file.
        file: String,
        /// Its first line.
        found: String,
        /// The formats, one per line.
        known: String,
    },
    /// A line is wrong.
    #[error("{file}:{line}: {message} (read as {format})")]
    Line {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What was expected and what was found.
        message: String,
        /// Name of the format it was read as.
        format: &'static str,
    },
    /// The lines are well formed, and yet it is no trace.
    #[error("{file}: {message} (read as {format})")]
    Content {
        /// The file.
        file: String,
        /// What is wrong.
        message: String,
        /// Name of the format it was read as.
        format: &'static str,
    },
    /// Two files say the same thing about the same link.
    #[error(
        "{file} gives the {what} of link `{link}`, and so does a file before it; tell links apart with LINK=FILE"
    )]
    Conflict {
        /// The link.
        link: String,
        /// What is there twice.
        what: &'static str,
        /// The later file.
        file: String,
    },
    /// What was asked for does not fit the file.
    #[error("{0}")]
    Unfitting(String),
}
