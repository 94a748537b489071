//! Where a file goes, and what stays of the one that is there.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Seek};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Uid, fchown};

use crate::names::{folder_of, of_drafts, of_note, rename_new};

/// Symbolic links followed one after the other, as many as Linux follows (path_resolution(7)).
const MAX_LINKS: usize = 40;
/// The mode bits that stay: not set-user-id and set-group-id, which were given to another content.
const KEPT_MODE: u32 = 0o777;

/// Where a file goes: the path that the user named, and the one behind its symbolic links.
#[derive(Clone, Debug)]
pub struct Place {
    named: PathBuf,
    path: PathBuf,
    there: There,
}

/// What is there.
#[derive(Clone, Copy, Debug)]
enum There {
    Nothing,
    File(Kept),
    /// A device, a pipe, or an open file of a process: no other file may take its place.
    Special,
}

/// What stays of a file that is replaced.
#[derive(Clone, Copy, Debug)]
struct Kept {
    device: u64,
    inode: u64,
    mode: u32,
    owner: u32,
    group: u32,
    names: u64,
}

/// What is to become of a file that was not there when the writing began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appeared {
    /// It stays, and the new one keeps the name of its draft.
    Stays,
    /// It is replaced like any other.
    IsReplaced,
}

/// Tells places apart: of two with the same identity the later one would overwrite the earlier one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// A file that is there: device and inode.
    File(u64, u64),
    /// A free name in a folder, which is free of symbolic links where it is there.
    Name(PathBuf),
}

impl Place {
    /// Finds out where a file of this name goes.
    ///
    /// # Errors
    /// `IsADirectory` for a folder; those of the file system, such as a circle of symbolic links.
    pub fn of(named: &Path) -> io::Result<Place> {
        let (path, is_of_process) = behind_links(named)?;
        let there = match fs::metadata(named) {
            Ok(known) if known.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(known) if known.is_file() && !is_of_process => There::File(Kept::of(&known)),
            Ok(_) => There::Special,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_of_process => There::Nothing,
            Err(error) => return Err(error),
        };
        Ok(Place { named: named.to_owned(), path, there })
    }

    /// The path that was named.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// The path behind symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a file that may be replaced.
    pub fn is_file(&self) -> bool {
        matches!(self.there, There::File(_))
    }

    /// Whether nothing may take the place of what is there: it is a device, a pipe, or an open file of a process.
    pub fn is_special(&self) -> bool {
        matches!(self.there, There::Special)
    }

    /// What tells this place from others. `None` for devices and pipes, which several may write to.
    pub fn identity(&self) -> Option<Identity> {
        match self.there {
            There::File(Kept { device, inode, .. }) => Some(Identity::File(device, inode)),
            There::Nothing => Some(free_name(&self.path)),
            There::Special => None,
        }
    }

    /// The places that a [`Draft`](crate::Draft) of the file and its note usually take.
    pub fn draft_identities(&self) -> Vec<Identity> {
        let paths = of_drafts(&self.path).take(1).flat_map(|draft| [of_note(&draft), draft]);
        paths
            .map(|path| match Place::of(&path).ok().and_then(|place| place.identity()) {
                Some(identity) => identity,
                None => free_name(&path),
            })
            .collect()
    }

    /// The path that a [`Draft`](crate::Draft) of the file usually has.
    pub fn usual_draft(&self) -> PathBuf {
        of_drafts(&self.path).next().unwrap_or_else(|| self.path.clone())
    }

    /// The mode that a file is created with which is to take this place: for nobody else where there is a file that may be
    /// private, else as the user's mask says.
    pub(crate) fn mode_of_draft(&self) -> u32 {
        if self.is_file() { 0o600 } else { 0o666 }
    }

    /// Puts a whole file, which has another name in the same folder, in this place. Mode and owner of the file that is there
    /// stay. Where that file has other names, too (hard links), or an owner that we may not give files to, it gets the
    /// content, and `draft` is removed then.
    ///
    /// # Errors
    /// `AlreadyExists` if a file appeared that is to stay; those of the file system. The new file then has its name still.
    pub fn install(&self, draft: &Path, file: &File, appeared: Appeared) -> io::Result<()> {
        let now = Place::of(&self.named)?;
        if now.path != self.path {
            return Err(io::Error::other("a symbolic link was changed meanwhile"));
        }
        match (&self.there, &now.there) {
            (There::Nothing, There::Nothing) if appeared == Appeared::Stays => {
                rename_new(draft, &self.path)?;
            }
            (_, There::Nothing) => fs::rename(draft, &self.path)?,
            (There::Nothing, There::File(_)) if appeared == Appeared::Stays => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            (_, There::File(kept)) if kept.names == 1 && kept.dress(file).is_ok() => {
                // The content is on the disk before the old one loses its name.
                file.sync_all()?;
                fs::rename(draft, &self.path)?;
            }
            (_, There::File(_)) => {
                copy_into(file, &self.path)?;
                return fs::remove_file(draft);
            }
            (_, There::Special) => return Err(io::Error::other("a device or a pipe appeared there")),
        }
        sync_folder(&self.path)
    }
}

impl Kept {
    fn of(known: &Metadata) -> Kept {
        Kept {
            device: known.dev(),
            inode: known.ino(),
            mode: known.mode(),
            owner: known.uid(),
            group: known.gid(),
            names: known.nlink(),
        }
    }

    /// Gives a new file the same owner and mode.
    fn dress(&self, file: &File) -> io::Result<()> {
        let new = file.metadata()?;
        let owner = (new.uid() != self.owner).then(|| Uid::from_raw(self.owner));
        let group = (new.gid() != self.group).then(|| Gid::from_raw(self.group));
        if owner.is_some() || group.is_some() {
            fchown(file, owner, group)?;
        }
        file.set_permissions(Permissions::from_mode(self.mode & KEPT_MODE))
    }
}

/// Whether an error means that files can not be created in a folder, although one that is there may be written.
pub fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// The path that a chain of symbolic links ends at, whether anything is there or not; and whether it is an open file of a
/// process, such as `/dev/stdout`.
fn behind_links(named: &Path) -> io::Result<(PathBuf, bool)> {
    let mut path = named.to_owned();
    for _ in 0..MAX_LINKS {
        let is_of_process = path.starts_with("/proc") || path.starts_with("/dev/fd");
        match fs::read_link(&path) {
            _ if is_of_process => return Ok((path, true)),
            Ok(target) => path = folder_of(&path).join(target),
            // Not a link, or nothing.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok((path, false));
            }
            Err(error) => return Err(error),
        }
    }
    Err(nix::Error::ELOOP.into())
}

fn free_name(path: &Path) -> Identity {
    let folder = folder_of(path);
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    Identity::Name(folder.join(path.file_name().unwrap_or_default()))
}

/// Writes the content of a file into another one, which keeps everything else.
fn copy_into(mut file: &File, path: &Path) -> io::Result<()> {
    let mut old = OpenOptions::new().write(true).open(path)?;
    let (length, before) = (file.metadata()?.len(), old.metadata()?.len());
    if length > before {
        reserve(&old, length)?;
    }
    file.rewind()?;
    io::copy(&mut file, &mut old)?;
    old.set_len(length)?;
    old.sync_all()
}

/// Makes sure that the disk has room before anything is overwritten, where the file system can say so.
#[cfg(target_os = "linux")]
fn reserve(file: &File, length: u64) -> io::Result<()> {
    // Of 32 bits on some 32-bit machines, which cannot ask for more than that.
    let Ok(length) = nix::libc::off_t::try_from(length) else { return Ok(()) };
    let flags = nix::fcntl::FallocateFlags::FALLOC_FL_KEEP_SIZE;
    match nix::fcntl::fallocate(file, flags, 0, length) {
        Err(error @ (nix::Error::ENOSPC | nix::Error::EDQUOT | nix::Error::EFBIG)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Nothing can be asked for here: a disk that is full shows when it is written.
#[cfg(not(target_os = "linux"))]
fn reserve(_file: &File, _length: u64) -> io::Result<()> {
    Ok(())
}

/// Brings the names in the folder of `path` to the disk. A folder that may be written and not read is left to the kernel.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let Ok(folder) = File::open(folder_of(path)) else { return Ok(()) };
    match folder.sync_all() {
        // A file system that cannot.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}
