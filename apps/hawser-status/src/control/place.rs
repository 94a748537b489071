//! Where control sockets are.

use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::control::ControlError;

/// The longest path of a socket: the kernel's structure has 108 bytes, the last of which is zero.
const MAX_PATH: usize = 107;

/// The folder with the sockets of this user's programs: `hawser` in `$XDG_RUNTIME_DIR`, `/run/hawser` for root, and
/// `hawser-UID` in the folder for temporary files where there is neither.
pub fn runtime_folder() -> PathBuf {
    let user = nix::unistd::geteuid();
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty()).map(PathBuf::from) {
        Some(folder) if folder.is_absolute() => folder.join("hawser"),
        _ if user.is_root() => PathBuf::from("/run/hawser"),
        _ => std::env::temp_dir().join(format!("hawser-{user}")),
    }
}

/// Makes the folder, for its owner only, or checks that it is of this user and nobody else can write to it.
pub(super) fn prepare(folder: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let found = std::fs::symlink_metadata(folder)?;
    let is_own = found.is_dir() && found.uid() == nix::unistd::geteuid().as_raw();
    if !is_own || found.mode() & 0o022 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is not a folder of this user that only this user can write to",
        ));
    }
    Ok(())
}

/// What is at a path where a socket should be.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// A socket at which nobody listens any more: the program was killed.
    Stale,
    /// A program answers there.
    Used,
    /// Something that is no socket.
    Other,
}

fn look(path: &Path) -> io::Result<Found> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Ok(Found::Other);
    }
    match UnixStream::connect(path) {
        Ok(_) => Ok(Found::Used),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(Found::Stale),
        // One that we may not open, or whose program is too busy to listen.
        Err(_) => Ok(Found::Used),
    }
}

/// Binds a socket that only its owner can open; a stale one gives way.
pub(super) fn bind(path: &Path) -> Result<std::os::unix::net::UnixListener, ControlError> {
    let failed = |source| ControlError::Bind { path: path.to_owned(), source };
    if path.as_os_str().len() + 4 > MAX_PATH {
        return Err(ControlError::TooLong(path.to_owned()));
    }
    match look(path).map_err(failed)? {
        Found::Nothing => {}
        Found::Stale => std::fs::remove_file(path).map_err(failed)?,
        Found::Used => return Err(ControlError::Used(path.to_owned())),
        Found::Other => return Err(ControlError::NoSocket(path.to_owned())),
    }
    // Under another name until its mode is right: nobody can open it before that.
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = PathBuf::from(draft);
    let _ = std::fs::remove_file(&draft);
    let listener = std::os::unix::net::UnixListener::bind(&draft).map_err(failed)?;
    let finish = || {
        std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(&draft, path)?;
        listener.set_nonblocking(true)
    };
    finish().map_err(failed)?;
    Ok(listener)
}

/// The sockets of programs that run, the newest first. Those that programs left when they were killed are removed.
///
/// # Errors
/// When the folder cannot be read.
pub fn running(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "sock") {
            continue;
        }
        match look(&path) {
            Ok(Found::Used) => found.push((entry.metadata().and_then(|data| data.modified()).ok(), path)),
            Ok(Found::Stale) => drop(std::fs::remove_file(&path)),
            _ => {}
        }
    }
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_socket_gives_way_and_anything_else_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let listener = bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(matches!(bind(&path), Err(ControlError::Used(_))), "a program listens");
        drop(listener);
        assert_eq!(look(&path).unwrap(), Found::Stale);
        drop(bind(&path).unwrap());
        assert!(running(folder.path()).unwrap().is_empty());
        assert!(!path.exists(), "it was left over");
        std::fs::write(&path, "data").unwrap();
        assert!(matches!(bind(&path), Err(ControlError::NoSocket(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "data");
        let long = folder.path().join("x".repeat(120));
        assert!(matches!(bind(&long), Err(ControlError::TooLong(_))));
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("hawser");
        prepare(&folder).unwrap();
        assert_eq!(std::fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        prepare(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(prepare(&folder).is_err());
    }
}
