//! Unfinished uploads of a server that was killed.

use std::fs::{self, File, TryLockError};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::tree::TEMPORARY_PREFIX;

/// Locks the file of an upload that begins, so that no server that starts takes it for a leftover. `false` if one just has.
pub(super) fn claim(file: &File) -> bool {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => false,
        // Without locks on this file system nobody removes anything, see below.
        Err(TryLockError::Error(_)) => true,
        Ok(()) => file.metadata().is_ok_and(|metadata| metadata.nlink() > 0),
    }
}

/// Removes what nobody writes to, in this folder and all below it; returns how many files that were. Folders of other
/// file systems and symbolic links are left alone.
pub(super) fn remove(folder: &Path) -> usize {
    let Ok(top) = fs::metadata(folder) else { return 0 };
    let mut folders = vec![folder.to_owned()];
    let mut removed = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && metadata.dev() == top.dev() {
                folders.push(entry.path());
            } else if metadata.is_file()
                && entry.file_name().as_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
            {
                removed += usize::from(remove_abandoned(&entry.path()));
            }
        }
    }
    removed
}

/// Removes a file unless somebody has it locked.
fn remove_abandoned(path: &PathBuf) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok()) && fs::remove_file(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_writes_to_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        let (killed, running) = (below.join(".hawser-upload-1"), below.join(".hawser-upload-2"));
        fs::write(&killed, b"half").unwrap();
        fs::write(folder.path().join("hawser-upload-3"), b"somebody's").unwrap();
        let upload = File::create(&running).unwrap();
        assert!(claim(&upload));
        std::os::unix::fs::symlink("/", folder.path().join("a/root")).unwrap();
        assert_eq!(remove(folder.path()), 1);
        assert!(!killed.exists() && running.exists() && folder.path().join("hawser-upload-3").exists());
        drop(upload);
        assert_eq!(remove(folder.path()), 1);
    }

    #[test]
    fn a_file_that_was_removed_meanwhile_is_not_claimed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".hawser-upload-1");
        let upload = File::create(&path).unwrap();
        assert_eq!(remove(folder.path()), 1);
        assert!(!claim(&upload));
    }
}
