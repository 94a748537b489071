//! Names below one folder, and nothing else.
//!
//! The kernel enforces it: `openat2` with `RESOLVE_BENEATH` refuses `..`, absolute symbolic links and relative ones that
//! lead out, without a moment between check and use (openat2(2), Linux 5.6). Where a sandbox lacks the call, the path is
//! resolved first and compared, which a local user could race but a remote one can not.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::Mode;

use hawser_command::percent;

/// How names of unfinished uploads begin. They are neither listed nor served.
pub(super) const TEMPORARY_PREFIX: &str = ".hawser-upload-";

/// The open files of this process, by number.
const DESCRIPTORS: &str = "/proc/self/fd";

/// A path below the folder: only plain names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    names: Vec<OsString>,
    /// Whether it can only be a folder: there is a slash at its end.
    is_folder: bool,
}

/// A path in a request that names nothing below a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadPath {
    #[error("the path has a broken percent escape")]
    Escape,
    #[error("the path may not contain `..`, an encoded slash or a NUL")]
    Traversal,
}

impl Location {
    /// Reads the path of a URL.
    pub(super) fn parse(path: &str) -> Result<Self, BadPath> {
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
        Ok(Location { names, is_folder: path.ends_with('/') })
    }

    /// The location of a name in this one.
    pub(super) fn join(&self, name: &str) -> Self {
        let mut names = self.names.clone();
        names.push(name.into());
        Location { names, is_folder: false }
    }

    /// The location that a symbolic link here means, `..` in it left to the kernel. `None`: it is not relative, or names no
    /// file.
    pub(super) fn behind(&self, link: &OsStr) -> Option<Self> {
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
    pub(super) fn split(&self) -> Option<(Location, &OsStr)> {
        let (name, parents) = self.names.split_last()?;
        Some((Location { names: parents.to_vec(), is_folder: true }, name))
    }

    /// The last name; empty at the top.
    pub(super) fn name(&self) -> &Path {
        self.names.last().map_or(Path::new(""), Path::new)
    }

    /// The names from the top.
    pub(super) fn names(&self) -> &[OsString] {
        &self.names
    }

    /// Returns true if a terminal can show the names as they are: without control characters, be it of UTF-8 or, where a name
    /// is none, of a terminal with eight bits (C1: 0x80 to 0x9f).
    pub(super) fn is_plain_text(&self) -> bool {
        self.names.iter().flat_map(|name| name.as_bytes().utf8_chunks()).all(|chunk| {
            !chunk.valid().chars().any(char::is_control) && chunk.invalid().iter().all(|byte| *byte >= 0xa0)
        })
    }

    /// Whether a name in it begins with a dot.
    pub(super) fn is_hidden(&self) -> bool {
        self.names.iter().any(|name| name.as_bytes().starts_with(b"."))
    }

    /// Whether it belongs to an unfinished upload.
    pub(super) fn is_temporary(&self) -> bool {
        self.names.iter().any(|name| name.as_bytes().starts_with(TEMPORARY_PREFIX.as_bytes()))
    }

    fn to_path(&self) -> PathBuf {
        if self.names.is_empty() { PathBuf::from(".") } else { self.names.iter().collect() }
    }
}

/// Something that can be read.
#[derive(Debug)]
pub(super) enum Entry {
    /// A regular file, opened.
    File(File, Metadata),
    /// A folder, opened.
    Folder(File),
}

/// The folder.
#[derive(Debug)]
pub(super) struct Tree {
    root: OwnedFd,
    path: PathBuf,
}

impl Tree {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        // What was found is opened by its descriptor, which only /proc can do ([`reopen`]): without it each request would be told 404.
        if !Path::new(DESCRIPTORS).exists() {
            return Err(io::Error::other(
                "there is no /proc here, which files are opened by: mount -t proc proc /proc",
            ));
        }
        let path = folder.canonicalize()?;
        let root = open(&path, OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Tree { root, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens what is there.
    pub(super) fn entry(&self, location: &Location) -> io::Result<Entry> {
        // O_PATH: what is neither a file nor a folder is looked at and not opened. A pipe would have a reader for a moment,
        // of which its writer dies, and devices do what they like.
        let found = self.open_below(location, OFlag::O_PATH)?;
        let metadata = found.metadata()?;
        let (is_folder, is_file) = (metadata.is_dir(), metadata.is_file() && !location.is_folder);
        if !is_folder && !is_file {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = reopen(&found)?;
        Ok(if is_folder { Entry::Folder(file) } else { Entry::File(file, metadata) })
    }

    /// Opens a folder to create files in.
    pub(super) fn folder(&self, location: &Location) -> io::Result<File> {
        self.open_below(location, OFlag::O_RDONLY | OFlag::O_DIRECTORY)
    }

    fn open_below(&self, location: &Location, flags: OFlag) -> io::Result<File> {
        let flags = flags | OFlag::O_CLOEXEC;
        let how = OpenHow::new()
            .flags(flags)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        match openat2(self.root.as_fd(), &location.to_path(), how) {
            Ok(descriptor) => Ok(descriptor.into()),
            Err(Errno::ENOSYS | Errno::EPERM) => self.open_checked(location, flags),
            // The kernel asks to try again when somebody renames folders just now.
            Err(Errno::EAGAIN) => Ok(openat2(self.root.as_fd(), &location.to_path(), how)?.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// For sandboxes without `openat2`.
    fn open_checked(&self, location: &Location, flags: OFlag) -> io::Result<File> {
        let resolved = self.path.join(location.to_path()).canonicalize()?;
        if !resolved.starts_with(&self.path) {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        let descriptor = open(&resolved, flags | OFlag::O_NOFOLLOW, Mode::empty())?;
        Ok(descriptor.into())
    }
}

/// Opens for reading what an `O_PATH` descriptor stands for.
fn reopen(found: &File) -> io::Result<File> {
    let path = format!("{DESCRIPTORS}/{}", found.as_raw_fd());
    let descriptor =
        open(path.as_str(), OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK, Mode::empty())?;
    Ok(descriptor.into())
}

/// Creates a file that must not exist, in an open folder.
pub(super) fn create_in(folder: &File, name: &OsStr, mode: Mode) -> io::Result<File> {
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let descriptor = openat(folder.as_fd(), name, flags, mode)?;
    Ok(descriptor.into())
}

/// The names in an open folder.
pub(super) fn read_folder(folder: &File) -> io::Result<std::fs::ReadDir> {
    std::fs::read_dir(format!("{DESCRIPTORS}/{}", folder.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    /// A writer that does not wait gets ENXIO from a pipe that nobody has open: so it is afterwards.
    #[test]
    fn pipes_and_devices_are_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::from_bits_truncate(0o600)).unwrap();
        std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        std::fs::write(folder.path().join("file"), "content").unwrap();
        let tree = Tree::open(folder.path()).unwrap();
        let entry = |path: &str| tree.entry(&Location::parse(path).unwrap());
        // The writer waits in open() until somebody reads.
        let waiting = std::thread::spawn({
            let pipe = pipe.clone();
            move || OpenOptions::new().write(true).open(pipe).map(drop)
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        for path in ["/pipe", "/socket", "/none", "/file/"] {
            assert_eq!(entry(path).unwrap_err().kind(), io::ErrorKind::NotFound, "{path}");
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!waiting.is_finished(), "nobody has opened the pipe");
        let _reader = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(&pipe).unwrap();
        waiting.join().unwrap().unwrap();
        let Entry::File(file, metadata) = entry("/file").unwrap() else { panic!("a file") };
        assert_eq!((std::io::read_to_string(file).unwrap(), metadata.len()), ("content".to_owned(), 7));
        assert!(matches!(entry("/").unwrap(), Entry::Folder(_)));
    }
}
