//! Where a request leads below a folder: names, and nothing that could lead out of it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::percent;

/// How names of unfinished uploads begin. They are neither listed nor served.
pub const TEMPORARY_PREFIX: &str = ".hawser-upload-";

/// A path below the folder: only plain names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    names: Vec<OsString>,
    /// Whether it can only be a folder: there is a slash at its end, or it is the top.
    is_folder: bool,
}

/// A path in a request that names nothing below a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// An escape is none.
    #[error("the path has a broken percent escape")]
    Escape,
    /// It could lead elsewhere.
    #[error("the path may not contain `..`, an encoded slash or a NUL")]
    Traversal,
}

impl Location {
    /// Reads the path of a URL.
    ///
    /// # Errors
    /// [`BadPath`].
    pub fn parse(path: &str) -> Result<Self, BadPath> {
        let mut names = Vec::new();
        for segment in path.split('/') {
            let name = percent::decode(segment).ok_or(BadPath::Escape)?;
            match name.as_slice() {
                b"" | b"." => {}
                b".." => return Err(BadPath::Traversal),
                other if other.contains(&b'/') || other.contains(&0) => return Err(BadPath::Traversal),
                _ => names.push(OsString::from_vec(name)),
            }
        }
        let is_folder = path.ends_with('/') || names.is_empty();
        Ok(Location { names, is_folder })
    }

    /// Whether it can only be a folder.
    pub fn is_folder(&self) -> bool {
        self.is_folder
    }

    /// The location of a name in this one.
    pub fn join(&self, name: &str) -> Self {
        let mut names = self.names.clone();
        names.push(name.into());
        Location { names, is_folder: false }
    }

    /// The location that a symbolic link here means, `..` in it left to the kernel. `None`: it is not relative, or names no
    /// file.
    pub fn behind(&self, link: &OsStr) -> Option<Self> {
        let mut names = self.split()?.0.names;
        let link = link.as_bytes();
        names.extend(
            link.split(|byte| *byte == b'/')
                .filter(|name| !matches!(*name, b"" | b"."))
                .map(|name| OsString::from_vec(name.to_vec())),
        );
        let names_file = !link.starts_with(b"/") && names.last().is_some_and(|name| name != "..");
        names_file.then_some(Location { names, is_folder: false })
    }

    /// The folder this is in, and its name there; `None` for the top.
    pub fn split(&self) -> Option<(Location, &OsStr)> {
        let (name, parents) = self.names.split_last()?;
        Some((Location { names: parents.to_vec(), is_folder: true }, name))
    }

    /// The last name; empty at the top.
    pub fn name(&self) -> &Path {
        self.names.last().map_or(Path::new(""), Path::new)
    }

    /// The names from the top.
    pub fn names(&self) -> &[OsString] {
        &self.names
    }

    /// Returns true if a terminal can show the names as they are: without control characters, be it of UTF-8 or, where a name
    /// is none, of a terminal with eight bits (C1: 0x80 to 0x9f).
    pub fn is_plain_text(&self) -> bool {
        self.names.iter().flat_map(|name| name.as_bytes().utf8_chunks()).all(|chunk| {
            !chunk.valid().chars().any(char::is_control) && chunk.invalid().iter().all(|byte| *byte >= 0xa0)
        })
    }

    /// Whether a name in it begins with a dot.
    pub fn is_hidden(&self) -> bool {
        self.names.iter().any(|name| name.as_bytes().starts_with(b"."))
    }

    /// Whether it belongs to an unfinished upload.
    pub fn is_temporary(&self) -> bool {
        self.names.iter().any(|name| name.as_bytes().starts_with(TEMPORARY_PREFIX.as_bytes()))
    }

    /// Relative to the folder.
    pub fn to_path(&self) -> PathBuf {
        if self.names.is_empty() { PathBuf::from(".") } else { self.names.iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_names_and_nothing_else() {
        let location = Location::parse("/a//./b%20c/").unwrap();
        assert_eq!(location.names(), [OsString::from("a"), OsString::from("b c")]);
        assert!(location.is_folder());
        assert_eq!(location.to_path(), Path::new("a/b c"));
        for path in ["/..", "/a/%2e%2e/b", "/a%2fb", "/%00"] {
            assert_eq!(Location::parse(path), Err(BadPath::Traversal), "{path}");
        }
        assert_eq!(Location::parse("/%zz"), Err(BadPath::Escape));
        let top = Location::parse("/.").unwrap();
        assert!(top.is_folder());
        assert_eq!((top.split(), top.name(), top.to_path()), (None, Path::new(""), PathBuf::from(".")));
    }

    #[test]
    fn names_that_are_not_shown_are_known() {
        let is = |path: &str| {
            let location = Location::parse(path).unwrap();
            (location.is_plain_text(), location.is_hidden(), location.is_temporary())
        };
        assert_eq!(is("/a/%C3%A9"), (true, false, false));
        assert_eq!(is("/a%1b/b"), (false, false, false));
        assert_eq!(is("/%9b"), (false, false, false));
        assert_eq!(is("/.git/config"), (true, true, false));
        assert_eq!(is("/.hawser-upload-7"), (true, true, true));
    }
}
