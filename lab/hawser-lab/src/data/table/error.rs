//! What can go wrong with a table.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use super::Kind;

/// Why a table could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// There is no room left on the disk, or in the user's share of it.
    #[error("cannot write {}: the disk is full", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be created, written or renamed.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The bytes are no (whole) Parquet file.
    #[error("{} is no complete Parquet file: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The Parquet file has a column of a type that no table here has.
    #[error(
        "column `{column}` of {} is {found}; a table has u64, i64, f64, bool and string columns", path.display()
    )]
    ForeignColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },
    /// The file name does not say which kind of file it is.
    #[error("{}: the name of a table ends in .parquet, .jsonl or .csv", path.display())]
    UnknownKind {
        /// The file.
        path: PathBuf,
    },
    /// A schema without columns, or with a name that is empty or used twice.
    #[error("the columns of a table need different names: `{name}` is empty or used twice")]
    BadColumnName {
        /// The name.
        name: String,
    },
    /// A row has more or fewer cells than there are columns.
    #[error("a row has {found} cells; the table has {expected} columns")]
    WrongWidth {
        /// Columns.
        expected: usize,
        /// Cells.
        found: usize,
    },
    /// A cell has another type than its column, or is empty where it must not be.
    #[error("column `{column}` takes {expected}, not {found}")]
    WrongCell {
        /// The column.
        column: String,
        /// Its type.
        expected: Kind,
        /// What was given.
        found: &'static str,
    },
    /// A table is asked for a column that it lacks, or has with another type.
    #[error("the table has no column `{name}` with {expected} values; it has: {present}")]
    NoColumn {
        /// The name asked for.
        name: String,
        /// The type asked for.
        expected: &'static str,
        /// The names that there are.
        present: String,
    },
    /// Tables with different columns do not go together.
    #[error("the tables have different columns: {first}; {second}")]
    DifferentSchemas {
        /// Columns of the one.
        first: String,
        /// Columns of the other.
        second: String,
    },
}

impl TableError {
    /// A failure to write.
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::Write { path, source },
        }
    }

    /// A failure of the Parquet encoder: as a rule one of the file under it.
    pub(crate) fn encode(path: &Path, error: ParquetError) -> Self {
        Self::write(path, io_error(error))
    }

    /// A failure of the Parquet decoder.
    pub(crate) fn decode(path: &Path, error: ParquetError) -> Self {
        let path = path.to_owned();
        match error {
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
                    Self::Read { path, source: *source }
                }
                Ok(source) => Self::Damaged { path, reason: source.to_string() },
                Err(cause) => Self::Damaged { path, reason: cause.to_string() },
            },
            other => Self::Damaged { path, reason: other.to_string() },
        }
    }
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}
