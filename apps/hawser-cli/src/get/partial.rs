//! A file that is not complete yet.
//!
//! It lies next to its place as `NAME.part`, with `NAME.part.json` saying which version of which resource it is the
//! beginning of. A reader of `NAME` sees a complete and checked file.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure};

/// A file under construction.
#[derive(Debug)]
pub(crate) struct Partial {
    target: PathBuf,
    part: PathBuf,
    file: File,
    version: Version,
    /// The target is written directly: it is a device or a pipe, or it is itself the beginning of the file.
    in_place: bool,
}

/// What the beginning is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Version {
    /// Entity tag, if the server gave a strong one.
    pub(crate) etag: Option<String>,
    /// Time of the last change, if the server gave it.
    pub(crate) last_modified: Option<String>,
}

impl Version {
    /// What `If-Range` takes (RFC 9110 section 13.1.5).
    pub(crate) fn validator(&self) -> Option<&str> {
        self.etag.as_deref().or(self.last_modified.as_deref())
    }
}

impl Partial {
    /// Opens the file to begin with it or, with `resume`, to go on.
    pub(crate) fn open(target: &Path, resume: bool) -> Result<Self, Failure> {
        let special = fs::metadata(target).is_ok_and(|metadata| !metadata.is_file());
        if target.is_dir() {
            return Err(Failure::new(Exit::NotWritten, format!("{} is a folder", target.display())));
        }
        let part = with_suffix(target, ".part");
        // A file left by another program has no `.part`.
        let in_place = special || (resume && !part.exists() && target.exists());
        let path = if in_place { target } else { &part };
        if !in_place && target.exists() {
            // Better now than after the transfer.
            let writable = OpenOptions::new().write(true).open(target);
            writable.map_err(|error| Failure::write(target, &error))?;
        }
        let file = if special {
            OpenOptions::new().write(true).open(path).map_err(|error| Failure::write(path, &error))?
        } else {
            open_alone(path, if in_place { 0 } else { nix::libc::O_NOFOLLOW })?
        };
        if !resume && !special {
            file.set_len(0).map_err(|error| Failure::write(path, &error))?;
        }
        let version = if resume && !in_place { read_version(&part) } else { Version::default() };
        Ok(Partial { target: target.to_owned(), part, file, version, in_place })
    }

    /// Bytes that are there.
    pub(crate) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| if metadata.is_file() { metadata.len() } else { 0 })
    }

    /// Whether bytes can be written anywhere and read again: not so of devices and pipes.
    pub(crate) fn is_regular(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.is_file())
    }

    /// Where they are.
    pub(crate) fn path(&self) -> &Path {
        if self.in_place { &self.target } else { &self.part }
    }

    /// Which version they are of.
    pub(crate) fn version(&self) -> &Version {
        &self.version
    }

    /// The file, positioned at its end.
    pub(crate) fn writer(&self) -> Result<File, Failure> {
        self.clone_file().map_err(|error| Failure::write(self.path(), &error))
    }

    fn clone_file(&self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        if self.file.metadata()?.is_file() {
            file.seek(SeekFrom::End(0))?;
        }
        Ok(file)
    }

    /// The file, for reading and writing anywhere.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Notes which version the bytes to come are of.
    pub(crate) fn set_version(&mut self, version: Version) -> Result<(), Failure> {
        if self.in_place || version == self.version {
            return Ok(());
        }
        let note = with_suffix(&self.part, ".json");
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).custom_flags(nix::libc::O_NOFOLLOW);
            options.open(&note)?.write_all(crate::report::to_json(&version).as_bytes())
        };
        write().map_err(|error| not_written(&note, &error))?;
        self.version = version;
        Ok(())
    }

    /// Forgets all bytes from `length` on.
    pub(crate) fn truncate(&mut self, length: u64) -> Result<(), Failure> {
        if self.length() <= length {
            return Ok(());
        }
        self.file.set_len(length).map_err(|error| Failure::write(self.path(), &error))
    }

    /// Gives the file its name.
    pub(crate) fn complete(&mut self) -> Result<(), Failure> {
        if self.in_place {
            return Ok(());
        }
        fs::rename(&self.part, &self.target).map_err(|error| Failure::write(&self.target, &error))?;
        // Left behind it would only be confusing; the file is complete either way.
        let _ = fs::remove_file(with_suffix(&self.part, ".json"));
        self.in_place = true;
        Ok(())
    }

    /// Throws away what turned out to be wrong.
    pub(crate) fn discard(&mut self) {
        if !self.in_place {
            let _ = fs::remove_file(&self.part);
            let _ = fs::remove_file(with_suffix(&self.part, ".json"));
        }
    }
}

impl Drop for Partial {
    /// An attempt that never got a byte leaves nothing.
    fn drop(&mut self) {
        if !self.in_place && self.length() == 0 {
            self.discard();
        }
    }
}

/// Why one of our own files could not be written. In a folder that others may write to, a link in its place would have us
/// overwrite what they can not.
fn not_written(path: &Path, error: &io::Error) -> Failure {
    if error.raw_os_error() == Some(nix::libc::ELOOP) {
        let text = format!("{} is a symbolic link, which is not followed; remove it", path.display());
        return Failure::new(Exit::NotWritten, text);
    }
    Failure::write(path, error)
}

/// Opens a file that no other `hawser` writes to, nor will until it is closed here.
fn open_alone(path: &Path, flags: i32) -> Result<File, Failure> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).custom_flags(flags);
        let file = options.open(path).map_err(|error| not_written(path, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let text = format!("{} is being written by another process", path.display());
                return Err(Failure::new(Exit::NotWritten, text));
            }
            // A file system without locks.
            Err(TryLockError::Error(_)) => return Ok(file),
        }
        // The process that had it may have completed it just now: then the name is free, and this file has another one.
        let same = |there: &Metadata, here: &Metadata| (there.dev(), there.ino()) == (here.dev(), here.ino());
        match (fs::metadata(path), file.metadata()) {
            (Ok(there), Ok(here)) if !same(&there, &here) => {}
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {}
            _ => return Ok(file),
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Without the note, or with an unreadable one, resuming still works: the digest at the end tells whether it was right.
fn read_version(part: &Path) -> Version {
    let text = fs::read_to_string(with_suffix(part, ".json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_kept_and_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x");
        let version = Version { etag: Some("\"1\"".into()), last_modified: None };
        let mut first = Partial::open(&target, false).unwrap();
        first.set_version(version.clone()).unwrap();
        first.writer().unwrap().write_all(b"half").unwrap();
        drop(first);
        assert!(!target.exists());
        let mut second = Partial::open(&target, true).unwrap();
        assert_eq!((second.length(), second.version()), (4, &version));
        second.writer().unwrap().write_all(b" done").unwrap();
        second.complete().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"half done");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_one_writes_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x");
        let first = Partial::open(&target, false).unwrap();
        first.writer().unwrap().write_all(b"half").unwrap();
        let refused = Partial::open(&target, false).unwrap_err();
        assert!(refused.message.contains("another process"), "{refused}");
        drop(first);
        assert_eq!(Partial::open(&target, true).unwrap().length(), 4, "the other one spoiled nothing");
    }

    #[test]
    fn nothing_is_left_of_nothing() {
        let folder = tempfile::tempdir().unwrap();
        drop(Partial::open(&folder.path().join("x"), false).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_of_another_program_is_gone_on_with_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x");
        fs::write(&target, b"beginning").unwrap();
        let partial = Partial::open(&target, true).unwrap();
        assert_eq!((partial.length(), partial.path()), (9, target.as_path()));
    }

    #[test]
    fn links_in_the_place_of_our_own_files_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, precious) = (folder.path().join("x"), folder.path().join("precious"));
        fs::write(&precious, b"precious").unwrap();
        let link = folder.path().join("x.part");
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        for resume in [false, true] {
            let refused = Partial::open(&target, resume).unwrap_err();
            assert!(refused.message.contains("symbolic link"), "{refused}");
        }
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&precious, folder.path().join("x.part.json")).unwrap();
        let mut partial = Partial::open(&target, false).unwrap();
        let version = Version { etag: Some("\"1\"".into()), last_modified: None };
        assert!(partial.set_version(version).is_err());
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
    }
}
