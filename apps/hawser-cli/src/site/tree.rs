//! Names below one folder, and nothing else.
//!
//! The kernel enforces it: `openat2` with `RESOLVE_BENEATH` refuses `..`, absolute symbolic links and relative ones that
//! lead out, without a moment between check and use (openat2(2), Linux 5.6). Where a sandbox lacks the call, the path is
//! resolved first and compared, which a local user could race but a remote one can not.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::Mode;

pub(super) use hawser_command::location::{Location, TEMPORARY_PREFIX};

/// The open files of this process, by number.
const DESCRIPTORS: &str = "/proc/self/fd";

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
        let (is_folder, is_file) = (metadata.is_dir(), metadata.is_file() && !location.is_folder());
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
