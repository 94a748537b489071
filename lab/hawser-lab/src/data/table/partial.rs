//! A file that gets its name when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::TableError;

const BUFFER: usize = 256 << 10;

/// A file under the name `NAME.partial`, removed unless it is completed. Devices and pipes are written to directly: a file
/// must never take their place.
#[derive(Debug)]
pub(crate) struct PartialFile {
    path: PathBuf,
    /// None where the place itself is written.
    partial: Option<PathBuf>,
    /// None once it is complete.
    file: Option<BufWriter<File>>,
    bytes: u64,
}

/// Writes a small file as a table is written: under its name only when it is complete.
///
/// # Errors
/// Fails when the file cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), TableError> {
    let mut file = PartialFile::create(path)?;
    file.write_all(bytes).map_err(|error| TableError::write(path, error))?;
    file.complete().map(|_| ())
}

impl PartialFile {
    /// Starts the file; one that an earlier, killed writer left is overwritten.
    pub(crate) fn create(path: &Path) -> Result<Self, TableError> {
        let is_special = fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir());
        let (partial, file) = if is_special {
            (None, OpenOptions::new().write(true).open(path))
        } else {
            let mut partial = path.as_os_str().to_owned();
            partial.push(".partial");
            let partial = PathBuf::from(partial);
            let file = File::create(&partial);
            (Some(partial), file)
        };
        let opened = partial.as_deref().unwrap_or(path);
        let file = file.map_err(|error| TableError::write(opened, error))?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            file: Some(BufWriter::with_capacity(BUFFER, file)),
            bytes: 0,
        })
    }

    /// The name it will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Brings all bytes to the disk and gives the file its name. Returns its size.
    pub(crate) fn complete(mut self) -> Result<u64, TableError> {
        let result = self.publish();
        result.map_err(|error| TableError::write(&self.path, error))?;
        Ok(self.bytes)
    }

    fn publish(&mut self) -> io::Result<()> {
        self.flush()?;
        let Some(file) = &self.file else { return Ok(()) };
        let Some(partial) = &self.partial else {
            self.file = None;
            return Ok(());
        };
        file.get_ref().sync_all()?;
        fs::rename(partial, &self.path)?;
        self.file = None;
        // The new name is an entry of the folder, which has to reach the disk, too.
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::WriteZero.into()) };
        let written = file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // What is buffered is not worth another attempt to write it.
            let _ = file.into_parts();
            if let Some(partial) = &self.partial {
                let _ = fs::remove_file(partial);
            }
        }
    }
}
