//! Where the files come from that a scenario names.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The files that a scenario names. Their names are relative to the folder of the scenario, with `/` between folders.
///
/// A function that returns the text of a file is one, too; it finds a pattern only if it is the name of a file.
pub trait Files {
    /// The text of a file.
    ///
    /// # Errors
    /// A sentence that says why it cannot be read.
    fn read(&mut self, name: &str) -> Result<String, String>;

    /// The names of the files that match a pattern: a name whose last part may have `*` for any characters. No folder
    /// and no file is no mistake; the order does not matter.
    ///
    /// # Errors
    /// A sentence that says why a folder that is there cannot be listed.
    fn matching(&mut self, pattern: &str) -> Result<Vec<String>, String>;
}

impl<F: FnMut(&str) -> Result<String, String>> Files for F {
    fn read(&mut self, name: &str) -> Result<String, String> {
        self(name)
    }

    fn matching(&mut self, pattern: &str) -> Result<Vec<String>, String> {
        let found = !pattern.contains('*') && self(pattern).is_ok();
        Ok(if found { vec![pattern.to_owned()] } else { Vec::new() })
    }
}

/// The files of a folder on disk: those of [`load`](crate::load), for a scenario whose text comes from elsewhere.
pub struct Folder(pub PathBuf);

impl Folder {
    /// The path of a file. An empty name is the folder itself, and the folder where we are has a name, too.
    fn path(&self, name: &str) -> PathBuf {
        let path = if name.is_empty() { self.0.clone() } else { self.0.join(name) };
        if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
    }
}

impl Files for Folder {
    fn read(&mut self, name: &str) -> Result<String, String> {
        let path = self.path(name);
        if path.is_dir() {
            return Err(format!("cannot read {}: it is a folder", path.display()));
        }
        read_text(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    }

    fn matching(&mut self, pattern: &str) -> Result<Vec<String>, String> {
        let cannot = |error| format!("cannot list {}: {error}", self.0.join(pattern).display());
        files_matching(&self.0, pattern).map_err(cannot)
    }
}

/// Most bytes of a file that is read: more than the longest recording that is known.
const MAX_FILE: u64 = 256 << 20;

/// The text of a file, which may be a pipe, but ends.
///
/// # Errors
/// Those of the system, and for a file of more than 256 MiB.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    read_at_most(File::open(path)?, MAX_FILE)
}

fn read_at_most(file: impl Read, most: u64) -> io::Result<String> {
    let mut text = String::new();
    if file.take(most + 1).read_to_string(&mut text)? as u64 > most {
        let words = format!("it is longer than {most} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, words));
    }
    Ok(text)
}

/// [`Files::matching`] for the files on disk, names relative to `base`. Folders and names that are not Unicode are
/// passed over.
///
/// # Errors
/// A folder that is there cannot be listed.
pub fn files_matching(base: &Path, pattern: &str) -> io::Result<Vec<String>> {
    let (folder, wanted) = pattern.rsplit_once('/').map_or(("", pattern), |(_, last)| {
        // With the stroke, so that the root is a folder, too.
        pattern.split_at(pattern.len() - last.len())
    });
    if !wanted.contains('*') {
        let is_there = base.join(pattern).is_file();
        return Ok(if is_there { vec![pattern.to_owned()] } else { Vec::new() });
    }
    let path = if folder.is_empty() && base.as_os_str().is_empty() { ".".into() } else { base.join(folder) };
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_str()
            && matches(wanted, name)
            && entry.path().is_file()
        {
            names.push(format!("{folder}{name}"));
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether a name is what the pattern says, `*` standing for any characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The leftmost place is the best for each part but the last one, which stands at the end.
    for part in middle.split('*') {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, expected) in [
            ("DL_*.csv", "DL_1.csv", true),
            ("DL_*.csv", "DL_.csv", true),
            ("DL_*.csv", "UL_1.csv", false),
            ("DL_*.csv", "DL_1.csv.bak", false),
            ("*", "anything", true),
            ("a*a", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a*bc*bc", "abc", false),
            ("**x", "x", true),
            ("plain", "plain", true),
            ("plain", "plain2", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{name:?} by {pattern:?}");
        }
    }

    #[test]
    fn what_does_not_end_is_read_to_a_limit() {
        let error = read_at_most(io::repeat(0), 1 << 20).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::FileTooLarge, "it is longer than 1048576 bytes")
        );
        assert_eq!(read_at_most(io::repeat(b'a').take(1 << 20), 1 << 20).unwrap().len(), 1 << 20);
    }

    #[test]
    fn a_folder_is_named_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let shown = folder.path().display();
        let read = |base: &Path, name: &str| Folder(base.to_owned()).read(name).unwrap_err();
        assert_eq!(read(Path::new(""), ""), "cannot read .: it is a folder");
        assert_eq!(read(folder.path(), ""), format!("cannot read {shown}: it is a folder"));
        assert_eq!(read(Path::new(""), ".."), "cannot read ..: it is a folder");
        assert!(read(folder.path(), "none").starts_with(&format!("cannot read {shown}/none: ")));
    }

    #[test]
    fn only_files_are_found_and_no_folder_is_no_mistake() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("data/b.csv")).unwrap();
        for name in ["c.csv", "a.csv", "a.txt"] {
            fs::write(folder.path().join("data").join(name), "").unwrap();
        }
        let base = folder.path().join("scenarios");
        fs::create_dir(&base).unwrap();
        let found = |pattern: &str| files_matching(&base, pattern);
        assert_eq!(found("../data/*.csv").unwrap(), ["../data/a.csv", "../data/c.csv"]);
        assert_eq!(found("../data/a.txt").unwrap(), ["../data/a.txt"]);
        let absolute = format!("{}/data/*.txt", folder.path().display());
        assert_eq!(found(&absolute).unwrap(), [absolute.replace('*', "a")]);
        for nothing in ["../none/*.csv", "../data/b.csv", "../data/x*", "none.csv"] {
            assert_eq!(found(nothing).unwrap(), [""; 0], "{nothing}");
        }
        assert_eq!(found("../data/a.csv/*").unwrap_err().kind(), ErrorKind::NotADirectory);
    }
}
