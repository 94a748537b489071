//! A file that gets its name when it is whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::names::{create_new, is_at, of_replacement, open_own};
use crate::place::{Appeared, Place, is_denied};

const BUFFER: usize = 256 << 10;
/// Replacements of one file that may be written at the same time.
const AT_A_TIME: u32 = 16;

/// A file that is written under a name of its own (`.NAME.hawser-new-0`), which is removed unless it becomes whole. Devices
/// and pipes are written directly, and so is a file in a folder where none can be created.
#[derive(Debug)]
pub struct Replacement {
    place: Place,
    /// `None` where the place itself is written.
    own: Option<PathBuf>,
    /// `None` once it is complete.
    file: Option<BufWriter<File>>,
    bytes: u64,
}

/// Replaces a file, or makes it: after a crash it is as it was, or has these bytes.
///
/// # Errors
/// Those of the file system; the file is then as before, unless it is a device or in a folder where no file can be created.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::create(path)?;
    replacement.write_all(bytes)?;
    replacement.complete().map(|_| ())
}

impl Replacement {
    /// Begins a file. What an earlier writer of the same file left that was killed is removed.
    ///
    /// # Errors
    /// `IsADirectory` for a folder; those of the file system.
    pub fn create(path: &Path) -> io::Result<Replacement> {
        Replacement::begin(Place::of(path)?, None)
    }

    /// The same for a file that is for its owner alone (mode 0600), whatever mode it had.
    ///
    /// # Errors
    /// As of [`Replacement::create`].
    pub fn create_private(path: &Path) -> io::Result<Replacement> {
        Replacement::begin(Place::of(path)?, Some(0o600))
    }

    fn begin(place: Place, mode: Option<u32>) -> io::Result<Replacement> {
        let (own, file) = if place.is_special() {
            (None, OpenOptions::new().write(true).open(place.named())?)
        } else {
            match claim(&place, mode.unwrap_or_else(|| place.mode_of_draft())) {
                Ok((own, file)) => (Some(own), file),
                Err(error) if is_denied(&error) && place.is_file() => {
                    let file = OpenOptions::new().write(true).truncate(true).open(place.path());
                    // What is wrong is the folder, if the file cannot be written either.
                    (None, file.map_err(|_| error)?)
                }
                Err(error) => return Err(error),
            }
        };
        Ok(Replacement { place, own, file: Some(BufWriter::with_capacity(BUFFER, file)), bytes: 0 })
    }

    /// The path that was named.
    pub fn path(&self) -> &Path {
        self.place.named()
    }

    /// Brings all bytes to the disk and puts the file in its place. Returns its length in bytes.
    ///
    /// # Errors
    /// Those of the file system; what was there is then as before.
    pub fn complete(mut self) -> io::Result<u64> {
        self.flush()?;
        let Some(file) = &self.file else { return Ok(self.bytes) };
        if let Some(own) = &self.own {
            file.get_ref().sync_all()?;
            self.place.install(own, file.get_ref(), Appeared::IsReplaced)?;
        }
        self.file = None;
        Ok(self.bytes)
    }

    /// The same without waiting for the disk: after a power cut the file may be empty.
    ///
    /// # Errors
    /// Those of the file system; what was there is then as before.
    pub fn complete_unsynchronised(mut self) -> io::Result<()> {
        self.flush()?;
        if let Some(own) = &self.own {
            fs::rename(own, self.place.path())?;
        }
        self.file = None;
        Ok(())
    }
}

impl Write for Replacement {
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

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // What is buffered is not worth another attempt to write it.
            let _ = file.into_parts();
            if let Some(own) = &self.own {
                let _ = fs::remove_file(own);
            }
        }
    }
}

/// Creates the file, locked as long as it is open, under the first name that nobody writes to.
fn claim(place: &Place, mode: u32) -> io::Result<(PathBuf, File)> {
    for number in 0..AT_A_TIME {
        let own = of_replacement(place.path(), number);
        let created = match create_new(&own, mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && remove_abandoned(&own) => {
                create_new(&own, mode)
            }
            created => created,
        };
        match created {
            Ok(file) => {
                // Somebody may have taken it for abandoned just before it was locked. Without locks nobody does.
                let is_locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
                if is_locked && is_at(&file, &own) {
                    return Ok((own, file));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!(
            "{AT_A_TIME} processes write it, or were killed; see {}",
            of_replacement(place.path(), 0).display()
        ),
    ))
}

/// Removes what a killed writer left: a file that has the name of one and that nobody has locked. The process that holds the lock is
/// the only one that may remove it.
fn remove_abandoned(own: &Path) -> bool {
    open_own(own).is_ok_and(|file| {
        let is_file = file.metadata().is_ok_and(|known| known.is_file());
        is_file && file.try_lock().is_ok() && is_at(&file, own) && fs::remove_file(own).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn mode_and_symbolic_link_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real", &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path()), ["link", "real"]);
    }

    #[test]
    fn hard_links_stay_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        for new in ["longer than before", "short"] {
            fs::write(&a, "old content").unwrap();
            let _ = fs::remove_file(&b);
            fs::hard_link(&a, &b).unwrap();
            write(&a, new.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&b).unwrap(), new);
            assert_eq!(names(folder.path()), ["a", "b"]);
        }
    }

    #[test]
    fn a_link_to_a_file_that_is_missing_makes_it() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("missing", &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read(folder.path().join("missing")).unwrap(), b"new");
        symlink("circle", folder.path().join("circle")).unwrap();
        assert!(write(&folder.path().join("circle"), b"").is_err());
        symlink("no/folder", folder.path().join("nowhere")).unwrap();
        let error = write(&folder.path().join("nowhere"), b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn files_of_others_with_the_names_of_drafts_stay() {
        let folder = tempfile::tempdir().unwrap();
        let others = ["x.partial", "x.part", "x.part.json", "x.tmp", "x.new", "x~"];
        others.iter().for_each(|name| fs::write(folder.path().join(name), *name).unwrap());
        write(&folder.path().join("x"), b"new").unwrap();
        for name in others {
            assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), name);
        }
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_and_what_another_one_writes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(folder.path().join(".x.hawser-new-0"), "half").unwrap();
        let mut first = Replacement::create(&path).unwrap();
        let mut second = Replacement::create(&path).unwrap();
        assert_eq!(names(folder.path()), [".x.hawser-new-0", ".x.hawser-new-1"]);
        first.write_all(b"first").unwrap();
        second.write_all(b"second").unwrap();
        second.complete().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        first.complete().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        drop(Replacement::create(&path).unwrap());
        assert_eq!(names(folder.path()), ["x"]);
    }

    #[test]
    fn a_planted_link_is_neither_followed_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        symlink(&precious, folder.path().join(".x.hawser-new-0")).unwrap();
        write(&folder.path().join("x"), b"new").unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
    }

    #[test]
    fn names_as_long_as_the_file_system_takes_work() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x".repeat(255));
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn devices_are_written_and_folders_refused() {
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert_eq!(write(Path::new("/"), b"").unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
