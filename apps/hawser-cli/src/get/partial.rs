//! A file that is not complete yet.
//!
//! It is a [`Draft`] next to its place, with a note saying which version of which resource it is the beginning of. A reader
//! of `NAME` sees a complete and checked file. Where no draft can be made, a file that is there is written in place.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use hawser_files::{About, Draft, DraftError, Place, is_denied};
use serde::Deserialize;

use hawser_command::exit::{Exit, Failure, is_full};

/// A file under construction.
#[derive(Debug)]
pub(crate) struct Partial {
    place: Place,
    bytes: Bytes,
    /// Bytes at the beginning that count. `None` once the transfer has begun: then all do.
    have: Option<u64>,
    version: Version,
    /// A file of another program that the beginning was taken from.
    borrowed: Option<PathBuf>,
}

/// Where the bytes are.
#[derive(Debug)]
enum Bytes {
    Draft(Draft),
    /// The file of this name is written itself. It had so many bytes, of which none may be lost when the rest turns out to
    /// be of another file; `None` for devices and pipes, and for files that are to be overwritten.
    InPlace(File, Option<u64>),
    /// The file has its name.
    Complete(File),
}

/// What the beginning is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Version {
    /// Entity tag, if the server gave a strong one.
    pub(crate) etag: Option<String>,
    /// Time of the last change, if the server gave it.
    pub(crate) last_modified: Option<String>,
}

impl Version {
    /// What `If-Range` takes (RFC 9110 section 13.1.5).
    pub(crate) fn validator(&self) -> Option<&str> {
        self.etag.as_deref().or(self.last_modified.as_deref())
    }

    fn of(about: &About) -> Self {
        Version { etag: about.get("etag").cloned(), last_modified: about.get("last_modified").cloned() }
    }

    fn about(&self) -> About {
        let fields = [("etag", &self.etag), ("last_modified", &self.last_modified)];
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect()
    }

    /// Reads a note of version 0.1, which says no more than this.
    fn from_former_note(text: &str) -> Option<About> {
        let version: Version = serde_json::from_str(text).ok()?;
        version.validator()?;
        Some(version.about())
    }
}

impl Partial {
    /// Opens the file to begin with it or, with `resume`, to go on. What is there is kept until the first byte comes.
    pub(crate) fn open(target: &Path, resume: bool) -> Result<Self, Failure> {
        let place = place(target)?;
        if place.is_special() {
            let file = OpenOptions::new().write(true).open(target);
            let file = file.map_err(|error| Failure::write(target, &error))?;
            return Ok(Partial::new(place, Bytes::InPlace(file, None), 0, Version::default()));
        }
        if place.is_file() {
            // Better now than after the transfer.
            let writable = OpenOptions::new().write(true).open(target);
            writable.map_err(|error| Failure::write(target, &error))?;
        }
        let earlier = Draft::find(&place, if resume { Version::from_former_note } else { |_: &str| None });
        if let Some(draft) = earlier.map_err(|error| not_written(&error))? {
            let version = Version::of(draft.about());
            let have = if resume { length_of(draft.file()) } else { 0 };
            return Ok(Partial::new(place, Bytes::Draft(draft), have, version));
        }
        if resume && place.is_file() {
            let file = open_alone(target)?;
            let have = length_of(&file);
            return Ok(Partial::new(place, Bytes::InPlace(file, Some(have)), have, Version::default()));
        }
        let bytes = begin(&place)?;
        let mut partial = Partial::new(place, bytes, 0, Version::default());
        if resume {
            partial.borrow()?;
        }
        Ok(partial)
    }

    fn new(place: Place, bytes: Bytes, have: u64, version: Version) -> Self {
        Partial { place, bytes, have: Some(have), version, borrowed: None }
    }

    /// Begins with a copy of what another program left under the name of a draft. It stays, whatever comes of it.
    fn borrow(&mut self) -> Result<(), Failure> {
        let path = self.place.usual_draft();
        let is_file = fs::symlink_metadata(&path).is_ok_and(|known| known.is_file() && known.len() > 0);
        if !is_file || path == self.path() {
            return Ok(());
        }
        let Ok(mut beginning) = File::open(&path) else { return Ok(()) };
        let copied = io::copy(&mut beginning, &mut self.file());
        self.have = Some(copied.map_err(|error| {
            self.discard();
            Failure::write(self.path(), &error)
        })?);
        self.borrowed = Some(path);
        Ok(())
    }

    /// Bytes that are there.
    pub(crate) fn length(&self) -> u64 {
        self.have.unwrap_or_else(|| length_of(self.file()))
    }

    /// Whether bytes can be written anywhere and read again: not so of devices and pipes.
    pub(crate) fn is_regular(&self) -> bool {
        self.file().metadata().is_ok_and(|metadata| metadata.is_file())
    }

    /// Where they are.
    pub(crate) fn path(&self) -> &Path {
        match &self.bytes {
            Bytes::Draft(draft) => draft.path(),
            Bytes::InPlace(..) | Bytes::Complete(_) => self.place.named(),
        }
    }

    /// Which version they are of.
    pub(crate) fn version(&self) -> &Version {
        &self.version
    }

    /// The file, positioned at its end.
    pub(crate) fn writer(&self) -> Result<File, Failure> {
        self.clone_file().map_err(|error| Failure::write(self.path(), &error))
    }

    fn clone_file(&self) -> io::Result<File> {
        let mut file = self.file().try_clone()?;
        if self.is_regular() {
            file.seek(SeekFrom::End(0))?;
        }
        Ok(file)
    }

    /// The file, for reading and writing anywhere.
    pub(crate) fn file(&self) -> &File {
        match &self.bytes {
            Bytes::Draft(draft) => draft.file(),
            Bytes::InPlace(file, _) | Bytes::Complete(file) => file,
        }
    }

    /// Notes which version the bytes to come are of.
    pub(crate) fn set_version(&mut self, version: Version) -> Result<(), Failure> {
        if version == self.version {
            return Ok(());
        }
        if let Bytes::Draft(draft) = &mut self.bytes {
            draft.note(version.about()).map_err(|error| not_written(&error))?;
        }
        self.version = version;
        Ok(())
    }

    /// Forgets all bytes from `length` on: the transfer goes on there.
    pub(crate) fn truncate(&mut self, length: u64) -> Result<(), Failure> {
        self.have = None;
        if let Bytes::InPlace(_, Some(before)) = self.bytes
            && length < before
        {
            // What is there is no beginning of this file, and stays until the file is complete.
            return self.move_to_draft(length);
        }
        if length_of(self.file()) <= length {
            return Ok(());
        }
        self.file().set_len(length).map_err(|error| Failure::write(self.path(), &error))
    }

    fn move_to_draft(&mut self, length: u64) -> Result<(), Failure> {
        let bytes = begin(&self.place)?;
        let old = std::mem::replace(&mut self.bytes, bytes);
        let Bytes::InPlace(old, _) = old else { return Ok(()) };
        let failed = |error: &io::Error| Failure::write(self.place.named(), error);
        if let Bytes::InPlace(file, _) = &self.bytes {
            return file.set_len(length).map_err(|error| failed(&error));
        }
        (&old).rewind().map_err(|error| failed(&error))?;
        let copied = io::copy(&mut (&old).take(length), &mut self.file());
        copied.map(|_| ()).map_err(|error| failed(&error))
    }

    /// Gives the file its name. `verified`: its digest is the one that the server gave.
    pub(crate) fn complete(&mut self, verified: bool) -> Result<(), Failure> {
        if let (Some(borrowed), false) = (&self.borrowed, verified) {
            let text = format!(
                "{}, where the file was to go on, was made by another program, and the server gives no digest to check it \
                 with; get the file without -C",
                borrowed.display()
            );
            self.discard();
            return Err(Failure::new(Exit::NotResumable, text));
        }
        let Bytes::Draft(draft) = &self.bytes else { return Ok(()) };
        draft.install(&self.place).map_err(|error| {
            let (named, path) = (self.place.named().display(), draft.path().display());
            let why = match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    "it appeared during the transfer and stays as it is".to_owned()
                }
                _ => error.to_string(),
            };
            let exit = if is_full(&error) { Exit::DiskFull } else { Exit::NotWritten };
            Failure::new(exit, format!("cannot write {named}: {why}; the whole file is {path}"))
        })?;
        let file = draft.file().try_clone().map_err(|error| Failure::write(self.path(), &error))?;
        self.bytes = Bytes::Complete(file);
        Ok(())
    }

    /// Throws away what turned out to be wrong.
    pub(crate) fn discard(&mut self) {
        match &self.bytes {
            Bytes::Draft(draft) => draft.discard(),
            // Whatever it is, it is not the beginning of this file.
            Bytes::InPlace(file, Some(before)) => drop(file.set_len(*before)),
            Bytes::InPlace(_, None) | Bytes::Complete(_) => {}
        }
        self.have = Some(0);
    }

    /// What to say of a file with the wrong digest, if it is not the server's fault.
    pub(crate) fn beginning_of_others(&self) -> Option<&Path> {
        match &self.bytes {
            Bytes::InPlace(_, Some(_)) => Some(self.place.named()),
            _ => self.borrowed.as_deref(),
        }
    }
}

impl Drop for Partial {
    /// An attempt that never got a byte leaves nothing.
    fn drop(&mut self) {
        if let Bytes::Draft(draft) = &self.bytes
            && length_of(draft.file()) == 0
        {
            draft.discard();
        }
    }
}

/// A draft, or the file itself where the folder takes none.
fn begin(place: &Place) -> Result<Bytes, Failure> {
    match Draft::create(place) {
        Ok(draft) => Ok(Bytes::Draft(draft)),
        Err(DraftError::Io { source, .. }) if is_denied(&source) && place.is_file() => {
            Ok(Bytes::InPlace(open_alone(place.named())?, None))
        }
        Err(DraftError::Io { source, .. }) if is_denied(&source) => {
            Err(Failure::write(place.named(), &source))
        }
        Err(error) => Err(not_written(&error)),
    }
}

/// Where a file goes.
pub(crate) fn place(target: &Path) -> Result<Place, Failure> {
    Place::of(target).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => {
            Failure::new(Exit::NotWritten, format!("{} is a folder", target.display()))
        }
        _ => Failure::write(target, &error),
    })
}

fn length_of(file: &File) -> u64 {
    file.metadata().map_or(0, |metadata| if metadata.is_file() { metadata.len() } else { 0 })
}

fn not_written(error: &DraftError) -> Failure {
    let exit = match error {
        DraftError::Io { source, .. } if is_full(source) => Exit::DiskFull,
        _ => Exit::NotWritten,
    };
    Failure::new(exit, error.to_string())
}

/// Opens a file that is there and that no other `hawser` writes to, nor will until it is closed here.
fn open_alone(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).open(path);
    // A file that may be written and not read can be overwritten, if not gone on with.
    let opened = opened.or_else(|_| OpenOptions::new().write(true).open(path));
    let file = opened.map_err(|error| Failure::write(path, &error))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let text = format!("{} is being written by another process", path.display());
            Err(Failure::new(Exit::NotWritten, text))
        }
        // Or a file system without locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

#[cfg(test)]
mod tests;
