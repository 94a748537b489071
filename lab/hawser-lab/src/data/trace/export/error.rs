//! Why a trace could not be written.

use crate::data::table::TableError;

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The trace does not have what the format needs.
    #[error("{0}")]
    Unfitting(String),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] TableError),
}
