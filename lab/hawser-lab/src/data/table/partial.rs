//! A file that gets its name when it is complete.

use std::io::{self, Write};
use std::path::Path;

use hawser_files::Replacement;

use super::TableError;

/// A file under a name of its own, removed unless it is completed; see [`Replacement`].
#[derive(Debug)]
pub(crate) struct PartialFile(Replacement);

/// Writes a small file as a table is written: under its name only when it is complete.
///
/// # Errors
/// Fails when the file cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), TableError> {
    hawser_files::write(path, bytes).map_err(|error| TableError::write(path, error))
}

impl PartialFile {
    /// Starts the file.
    pub(crate) fn create(path: &Path) -> Result<Self, TableError> {
        Replacement::create(path).map(PartialFile).map_err(|error| TableError::write(path, error))
    }

    /// The name it will have.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Brings all bytes to the disk and gives the file its name. Returns its size.
    pub(crate) fn complete(self) -> Result<u64, TableError> {
        let path = self.0.path().to_owned();
        self.0.complete().map_err(|error| TableError::write(&path, error))
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
