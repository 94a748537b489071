//! Names that only this crate gives.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of a name that every usual file system takes (NAME_MAX).
const MAX_NAME: usize = 255;
/// Bytes that may follow a name: `.hawser-9.part` and `.json`, or `.hawser-new-15` and the dot before the name.
const ROOM: usize = 20;
/// What the names of unfinished replacements contain.
const UNFINISHED: &str = ".hawser-new-";
/// Names for drafts of one file. That many times somebody else may have been there.
const DRAFTS: u32 = 9;
/// Files with one suffix that are kept aside.
const MAX_ASIDE: u32 = 99;

/// The folder of a path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The names that a draft of the file at `path` may have, the usual one first.
pub(crate) fn of_drafts(path: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    (1..=DRAFTS).map(move |number| match number {
        1 => with_suffix(path, ".part"),
        2 => with_suffix(path, ".hawser.part"),
        _ => with_suffix(path, &format!(".hawser-{number}.part")),
    })
}

/// The name of the note about a draft.
pub(crate) fn of_note(draft: &Path) -> PathBuf {
    let mut name = draft.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

/// The name of a replacement of the file at `path` that is not whole.
pub(crate) fn of_replacement(path: &Path, number: u32) -> PathBuf {
    let named = with_suffix(path, &format!("{UNFINISHED}{number}"));
    let mut name = OsString::from(".");
    name.push(named.file_name().unwrap_or_default());
    named.with_file_name(name)
}

/// Whether a file of this name is a [`Replacement`](crate::Replacement) that is not whole: one that is being written, or
/// was when its writer was killed.
pub fn is_unfinished(name: &str) -> bool {
    let number = name.strip_prefix('.').and_then(|name| name.rsplit_once(UNFINISHED));
    number.is_some_and(|(name, number)| !name.is_empty() && number.parse::<u8>().is_ok())
}

/// The path with something behind its name. A name that becomes too long is cut, with a digest of all of it in place of
/// the rest.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let mut named = shortened(name);
    named.push(suffix);
    path.with_file_name(named)
}

fn shortened(name: &OsStr) -> OsString {
    let bytes = name.as_bytes();
    if bytes.len() + ROOM <= MAX_NAME {
        return name.to_owned();
    }
    let digest = format!("~{:016x}", fnv1a(bytes));
    let mut end = MAX_NAME - ROOM - digest.len();
    // A character stays whole.
    while end > 0 && bytes[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    let mut short = OsString::from_vec(bytes[..end].to_vec());
    short.push(digest);
    short
}

/// FNV-1a, 64 bits: names that are cut differ, nothing more. What is of which file the note says.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Creates a file that was not there, open for reading and writing. No symbolic link is followed.
pub(crate) fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path)
}

/// Opens a file that is there, for reading and writing. No symbolic link is followed.
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

/// Whether an open file still is what this name means.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(here), Ok(there)) => (here.dev(), here.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Gives a file a name that is free, and never takes that of another one.
///
/// # Errors
/// `AlreadyExists` if there is a file of this name; those of the file system.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system without hard links, where the two steps cannot be one.
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Gives the file at `path` a name with `.suffix` behind it, or `.suffix.2` and so on where that is taken. Returns its new
/// path.
///
/// # Errors
/// `AlreadyExists` if there are too many of them; those of the file system.
pub fn put_aside(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    for number in 1..=MAX_ASIDE {
        let suffix = if number == 1 { format!(".{suffix}") } else { format!(".{suffix}.{number}") };
        let aside = with_suffix(path, &suffix);
        match rename_new(path, &aside) {
            Ok(()) => return Ok(aside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_replacements_are_told_from_others() {
        let name = of_replacement(Path::new("a/x.parquet"), 3);
        assert_eq!(name, Path::new("a/.x.parquet.hawser-new-3"));
        assert!(is_unfinished(".x.parquet.hawser-new-3"));
        for other in ["x.hawser-new-3", ".hawser-new-3", ".x.hawser-new-", ".x.hawser-new-a", "x.partial"] {
            assert!(!is_unfinished(other), "{other}");
        }
    }

    #[test]
    fn long_names_are_cut_and_stay_different() {
        let of = |name: String| of_drafts(Path::new(&name)).map(|path| of_note(&path)).last().unwrap();
        let (a, b) = (of("ä".repeat(127) + "a"), of("ä".repeat(127) + "b"));
        assert_ne!(a, b);
        for name in [a, b, of("x".repeat(255)), of_replacement(Path::new(&"x".repeat(255)), 15)] {
            assert!(name.as_os_str().len() <= MAX_NAME, "{}", name.as_os_str().len());
            assert!(name.to_str().is_some(), "characters stay whole");
        }
        assert!(!of("x".repeat(235)).to_string_lossy().contains('~'), "this one fits");
    }

    #[test]
    fn what_is_put_aside_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for number in 0..3 {
            fs::write(&path, format!("{number}")).unwrap();
            put_aside(&path, "corrupt").unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!([read("x.corrupt"), read("x.corrupt.2"), read("x.corrupt.3")], ["0", "1", "2"]);
    }
}
