//! A file on its way into the folder.
//!
//! It is written under a temporary name next to its place and moved there when it is complete, checked and on the disk:
//! a client that reads the old file meanwhile reads all of it, and nobody ever sees half of the new one.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use hawser::source_of;
use http::header::ETAG;
use http::{HeaderMap, StatusCode};
use nix::fcntl::{AtFlags, readlinkat, renameat};
use nix::sys::stat::{FileStat, Mode, fstatat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, linkat, unlinkat};
use sha2::{Digest as _, Sha256};

use super::Rights;
use super::leftovers;
use super::quota::{FILE_COST, Quota, Reservation};
use super::reply::{Refusal, Reply};
use super::tree::{Location, TEMPORARY_PREFIX, Tree, create_in};
use super::unfinished::Identity;
use super::validators::Validators;
use hawser_command::digest::{Digest, REPR_DIGEST};
use hawser_command::exit::is_full;
use hawser_command::http_client::content_length;
use hawser_command::units;

/// Symbolic links followed one after the other.
const MAX_LINKS: usize = 8;

/// An unfinished upload. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Upload {
    location: Location,
    folder: File,
    name: OsString,
    temporary: Temporary,
    file: File,
    hasher: Sha256,
    received: u64,
    expected_length: Option<u64>,
    expected_digest: Option<Digest>,
    max_length: Option<u64>,
    reservation: Reservation,
    quota: Quota,
    replaces: bool,
    source: IpAddr,
}

/// Removes the temporary file unless it got its final name.
#[derive(Debug)]
struct Temporary {
    folder: File,
    name: OsString,
    moved: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.moved {
            let _ = unlinkat(self.folder.as_fd(), self.name.as_os_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

impl Upload {
    /// Checks the request and creates the temporary file.
    pub(super) fn begin(
        tree: &Tree,
        source: IpAddr,
        location: &Location,
        headers: &HeaderMap,
        rights: &Rights,
    ) -> Result<Self, Refusal> {
        let max_length = rights.max_upload;
        let quota = rights.upload_quota.clone();
        // Those who have a key or a certificate have the operator's leave.
        let mut reservation = quota.reservation(Some(source).filter(|_| rights.are_open()));
        let (folder, name, replaced) = behind_links(tree, location)?;
        if replaced.is_some() && !rights.replace {
            return Err(exists().into());
        }
        let expected_digest = announced_digest(headers);
        let expected_length = content_length(headers)
            .map_err(|error| Refusal::new(Reply::text(StatusCode::BAD_REQUEST, error.to_string())))?;
        if let (Some(length), Some(most)) = (expected_length, max_length)
            && length > most
        {
            return Err(too_long(most));
        }
        let least = expected_length.unwrap_or(0).saturating_add(FILE_COST);
        if !reservation.has_room_for(least) || !reservation.take(FILE_COST) {
            return Err(beyond(&quota));
        }
        let (temporary_name, file) =
            create_temporary(&folder, replaced.is_some()).map_err(|error| Refusal::new(refused(&error)))?;
        let handle = folder.try_clone().map_err(|error| Refusal::new(refused(&error)))?;
        Ok(Upload {
            location: location.clone(),
            folder,
            name,
            temporary: Temporary { folder: handle, name: temporary_name, moved: false },
            file,
            hasher: Sha256::new(),
            received: 0,
            expected_length,
            expected_digest,
            max_length,
            reservation,
            quota,
            replaces: rights.replace,
            source,
        })
    }

    /// What tells it from others; `None` if its request did not say enough.
    pub(super) fn identity(&self) -> Option<Identity> {
        let (digest, length) = (self.expected_digest?, self.expected_length?);
        Some(Identity { location: self.location.clone(), digest, length })
    }

    /// Where it comes from.
    pub(super) fn source(&self) -> IpAddr {
        source_of(self.source)
    }

    /// Bytes that have come.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Adds bytes. Blocks.
    ///
    /// # Errors
    /// The reply that says why not.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.received += bytes.len() as u64;
        if let Some(most) = self.max_length
            && self.received > most
        {
            return Err(too_long(most));
        }
        if !self.reservation.take(bytes.len() as u64) {
            return Err(beyond(&self.quota));
        }
        self.hasher.update(bytes);
        self.file.write_all(bytes).map_err(|error| refused(&error).into())
    }

    /// Checks what came, makes it durable and gives it its name. Blocks.
    pub(crate) fn finish(mut self) -> Reply {
        if let Some(expected) = self.expected_length
            && expected != self.received
        {
            let text =
                format!("{} bytes were announced and {} came; nothing was stored", expected, self.received);
            return Reply::text(StatusCode::BAD_REQUEST, text);
        }
        let digest = Digest::of(std::mem::take(&mut self.hasher));
        if let Some(expected) = self.expected_digest
            && expected != digest
        {
            let text = format!("SHA-256 of what came is {digest}, not {expected}; nothing was stored");
            return Reply::text(StatusCode::BAD_REQUEST, text);
        }
        let replaced = match self.store() {
            Ok(replaced) => replaced,
            Err(error) => return refused(&error),
        };
        self.reservation.keep(replaced.as_ref().map_or(0, freed));
        let status = if replaced.is_some() { StatusCode::NO_CONTENT } else { StatusCode::CREATED };
        let mut reply = Reply::empty(status);
        reply.set(REPR_DIGEST, &digest.to_field());
        if let Ok(metadata) = self.file.metadata() {
            reply.set(ETAG, Validators::of(&metadata).etag());
        }
        reply
    }

    /// Returns what was in its place.
    fn store(&mut self) -> io::Result<Option<FileStat>> {
        if let Some(replaced) = stat(&self.folder, &self.name) {
            dress(&self.file, &replaced)?;
        }
        self.file.sync_all()?;
        let (from, to) = (self.temporary.name.as_os_str(), self.name.as_os_str());
        let replaced = {
            let _alone = self.quota.replace();
            if self.replaces {
                let replaced = stat(&self.folder, &self.name);
                renameat(self.folder.as_fd(), from, self.folder.as_fd(), to)?;
                self.temporary.moved = true;
                replaced
            } else {
                // A link replaces nothing; the other name goes afterwards.
                linkat(self.folder.as_fd(), from, self.folder.as_fd(), to, AtFlags::empty())?;
                None
            }
        };
        // The new name must survive a power cut, too.
        self.folder.sync_all()?;
        Ok(replaced)
    }
}

/// Bytes of the quota that come back with a file that was replaced: none if it has another name.
fn freed(replaced: &FileStat) -> u64 {
    let is_gone = replaced.st_mode & nix::libc::S_IFMT == nix::libc::S_IFREG && replaced.st_nlink <= 1;
    if is_gone { u64::try_from(replaced.st_size).unwrap_or(0).saturating_add(FILE_COST) } else { 0 }
}

/// Where a file goes, symbolic links followed as far as they stay in the folder that is served: the folder, the name in it,
/// and the file that is there.
fn behind_links(tree: &Tree, location: &Location) -> Result<(File, OsString, Option<FileStat>), Refusal> {
    let conflict = |text: &str| Refusal::new(Reply::text(StatusCode::CONFLICT, text));
    let mut location = location.clone();
    for _ in 0..=MAX_LINKS {
        let Some((parent, name)) = location.split() else {
            return Err(conflict("the URL names a folder; add the file's name"));
        };
        let folder = tree.folder(&parent).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                conflict("the folder of this file does not exist on the server")
            }
            _ => Refusal::new(super::failed(&error)),
        })?;
        let found = stat(&folder, name);
        match found.map(|found| found.st_mode & nix::libc::S_IFMT) {
            None | Some(nix::libc::S_IFREG) => return Ok((folder, name.to_owned(), found)),
            Some(nix::libc::S_IFDIR) => return Err(conflict("there is a folder of that name")),
            Some(nix::libc::S_IFLNK) => {
                let link = readlinkat(folder.as_fd(), name).map_err(|error| refused(&error.into()))?;
                let Some(behind) = location.behind(&link) else {
                    let text = "there is a symbolic link of that name that leads out of the folder";
                    return Err(Reply::text(StatusCode::FORBIDDEN, text).into());
                };
                location = behind;
            }
            Some(_) => return Err(conflict("there is something of that name that is no file")),
        }
    }
    Err(conflict("there are symbolic links of that name that lead to each other"))
}

/// Gives a new file mode and owner of the one that it replaces, as far as that is permitted.
fn dress(file: &File, replaced: &FileStat) -> io::Result<()> {
    let new = file.metadata()?;
    let mut mode = replaced.st_mode & 0o777;
    let group = Some(Gid::from_raw(replaced.st_gid)).filter(|_| new.gid() != replaced.st_gid);
    if group.is_some() && fchown(file, None, group).is_err() {
        // The rights were given to another group.
        mode &= !0o070;
    }
    if new.uid() != replaced.st_uid {
        // Only root may; then it stays a file of the server's.
        let _ = fchown(file, Some(Uid::from_raw(replaced.st_uid)), None);
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// A file for an upload, under a name of its own. Where it is to replace one, nobody else may read it yet.
fn create_temporary(folder: &File, replaces: bool) -> io::Result<(OsString, File)> {
    let mode = Mode::from_bits_truncate(if replaces { 0o600 } else { 0o644 });
    loop {
        let name = OsString::from(format!("{TEMPORARY_PREFIX}{:016x}", rand::random::<u64>()));
        let file = create_in(folder, &name, mode)?;
        if leftovers::claim(&file) {
            return Ok((name, file));
        }
    }
}

fn too_long(most: u64) -> Refusal {
    let text = format!("the server stores files of at most {} (--max-upload)", units::bytes(most));
    Reply::text(StatusCode::PAYLOAD_TOO_LARGE, text).into()
}

fn beyond(quota: &Quota) -> Refusal {
    let most = units::bytes(quota.most().unwrap_or(u64::MAX));
    let text = format!(
        "the server takes {most} of uploads in all, and a share of them from one address, and they are used up \
         (--upload-quota, --upload-share)"
    );
    Reply::text(StatusCode::INSUFFICIENT_STORAGE, text).into()
}

/// What is at a name in a folder, symbolic links not followed.
fn stat(folder: &File, name: &OsStr) -> Option<FileStat> {
    fstatat(folder.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW).ok()
}

/// The digest of the whole file, if a request says it.
pub(super) fn announced_digest(headers: &HeaderMap) -> Option<Digest> {
    field(headers, REPR_DIGEST.as_str()).and_then(Digest::from_field)
}

fn field<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn exists() -> Reply {
    Reply::text(
        StatusCode::CONFLICT,
        "there is a file of that name, and this server replaces none (--no-replace)",
    )
}

/// The reply to a failed write.
fn refused(error: &io::Error) -> Reply {
    if is_full(error) {
        return Reply::text(
            StatusCode::INSUFFICIENT_STORAGE,
            "the server's disk is full; nothing was stored",
        );
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Reply::text(StatusCode::FORBIDDEN, "the server may not write into this folder")
        }
        io::ErrorKind::AlreadyExists => exists(),
        io::ErrorKind::InvalidFilename => Reply::text(StatusCode::BAD_REQUEST, "the file's name is too long"),
        _ => Reply::text(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot store the file: {error}")),
    }
}
