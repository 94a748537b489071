//! A disk that is a folder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::Disk;
use crate::data::table::{TableError, write_file};

/// A folder, of which its holder is the only writer.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Locked while this lives.
    _lock: Option<File>,
}

impl Folder {
    /// Takes a folder for its own, made if needed.
    ///
    /// # Errors
    /// Those of the file system; `WouldBlock` if another program has it.
    pub fn take(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        // Locked and not emptied: somebody may keep something under this name.
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(path.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Folder { path: path.to_owned(), _lock: Some(lock) }),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Looks into a folder that another program may hold.
    pub fn visit(path: &Path) -> Self {
        Folder { path: path.to_owned(), _lock: None }
    }
}

impl Disk for Folder {
    fn files(&self) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let (Ok(name), metadata) = (entry.file_name().into_string(), entry.metadata()) else { continue };
            // One that has just gone is none.
            if let Some(metadata) = metadata.ok().filter(fs::Metadata::is_file) {
                files.push((name, metadata.len()));
            }
        }
        Ok(files)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path.join(name))
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write_file(&self.path.join(name), bytes).map_err(|error| match error {
            TableError::Write { source, .. } => source,
            full @ TableError::DiskFull { .. } => {
                io::Error::new(io::ErrorKind::StorageFull, full.to_string())
            }
            other => io::Error::other(other.to_string()),
        })
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn put_aside(&mut self, name: &str, suffix: &str) -> io::Result<String> {
        let aside = hawser_files::put_aside(&self.path.join(name), suffix)?;
        Ok(aside.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }
}
