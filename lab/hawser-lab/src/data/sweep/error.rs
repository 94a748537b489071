//! What can go wrong with a sweep.

use std::io;
use std::path::{Path, PathBuf};

use hawser_scenario::LoadError;

use crate::data::table::TableError;

/// Why a sweep cannot be run, merged or read.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The plan cannot be read, or is wrong.
    #[error(transparent)]
    Plan(#[from] LoadError),
    /// A shard that cannot be.
    #[error("`{text}`: expected the number of a shard and how many there are, such as 1/4")]
    BadShard {
        /// What was given.
        text: String,
    },
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A table cannot be written or read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// There is no sweep in the folder.
    #[error("{} holds no sweep: there is no manifest.json in it", folder.display())]
    NotASweep {
        /// The folder.
        folder: PathBuf,
    },
    /// The manifest makes no sense.
    #[error("{} is no manifest of a sweep: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The folder has results of something else.
    #[error(
        "{} was begun with something else: {what}; results of both would be mixed, so take another folder",
        folder.display()
    )]
    Changed {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        what: String,
    },
    /// The same cell gives another result than it did.
    #[error(
        "{} was begun with another program: cell {cell} had the trace {then} and now has {now}; take another folder",
        folder.display()
    )]
    OtherProgram {
        /// The folder.
        folder: PathBuf,
        /// The cell.
        cell: usize,
        /// Trace hash in the folder.
        then: String,
        /// Trace hash now.
        now: String,
    },
    /// Two parts disagree about a cell.
    #[error(
        "{} and {} have different results of cell {cell}: they come from different programs; remove one of them",
        first.display(), second.display()
    )]
    Disagreement {
        /// The cell.
        cell: usize,
        /// A part.
        first: PathBuf,
        /// Another.
        second: PathBuf,
    },
    /// Another process is at it.
    #[error("another process is working on {}", path.display())]
    Busy {
        /// The shard's folder.
        path: PathBuf,
    },
    /// Nothing is finished.
    #[error("{} has no finished cells yet", folder.display())]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
}

impl SweepError {
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_owned(), source }
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }

    /// Whether there is no room left on the disk.
    pub fn is_disk_full(&self) -> bool {
        let full = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        };
        match self {
            Self::Table(TableError::DiskFull { .. }) => true,
            Self::Table(TableError::Write { source, .. }) | Self::Write { source, .. } => full(source),
            _ => false,
        }
    }

    /// Whether something could not be written, for whatever reason.
    pub fn is_write(&self) -> bool {
        matches!(
            self,
            Self::Write { .. } | Self::Table(TableError::Write { .. } | TableError::DiskFull { .. })
        )
    }
}
