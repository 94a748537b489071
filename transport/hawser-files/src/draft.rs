//! A file that is not complete, and may be gone on with by another process.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::names::{create_new, is_at, of_drafts, of_note, open_own};
use crate::note::{About, Note, text_of};
use crate::place::{Appeared, Place};

/// A file under construction next to its place, usually as `NAME.part`, with a note `NAME.part.json` that proves what it is.
/// Where one of these names is taken, both have others. It is locked as long as this lives.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    file: File,
    note_path: PathBuf,
    note_file: File,
    note: Note,
}

/// Why there is no draft.
#[derive(Debug)]
pub enum DraftError {
    /// Another process writes the draft of this file.
    Busy(PathBuf),
    /// The file system does not let us.
    Io {
        /// The draft, or its note.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl fmt::Display for DraftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DraftError::Busy(path) => write!(f, "{} is being written by another process", path.display()),
            DraftError::Io { path, source } => write!(f, "cannot write {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for DraftError {}

impl Draft {
    /// Finds the draft of this place that an earlier process left. `former` reads the notes of an earlier form, which say
    /// what is known of a draft but prove nothing of the file.
    ///
    /// # Errors
    /// Another process is writing to it; those of the file system.
    pub fn find(place: &Place, former: impl Fn(&str) -> Option<About>) -> Result<Option<Draft>, DraftError> {
        let name = place.path().file_name().unwrap_or_default();
        for path in of_drafts(place.path()) {
            let note_path = of_note(&path);
            let Some((note_file, text)) = read(&note_path) else { continue };
            let Ok(file) = open_own(&path) else { continue };
            let Ok(known) = file.metadata() else { continue };
            let note = match Note::parse(&text) {
                Some(note) if note.is_about(name) && note.proves(&known) => note,
                Some(_) => continue,
                None => match former(&text).filter(|_| known.is_file()) {
                    Some(about) => Note::of(name, &known, about),
                    None => continue,
                },
            };
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Err(DraftError::Busy(path));
            }
            // The process that had it may have completed it just now: then the name is free, and this file has another one.
            if is_at(&file, &path) {
                let draft = Draft { path, file, note_path, note_file, note };
                draft.write_note()?;
                return Ok(Some(draft));
            }
        }
        Ok(None)
    }

    /// Makes a draft of this place, under names that nobody has.
    ///
    /// # Errors
    /// Another process writes the draft of this file; those of the file system.
    pub fn create(place: &Place) -> Result<Draft, DraftError> {
        let name = place.path().file_name().unwrap_or_default();
        let mode = place.mode_of_draft();
        let mut last = place.path().to_owned();
        for path in of_drafts(place.path()) {
            last.clone_from(&path);
            let failed = |path: &Path, source| Err(DraftError::Io { path: path.to_owned(), source });
            let file = match create_new(&path, mode) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return failed(&path, error),
            };
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Err(DraftError::Busy(path));
            }
            let note_path = of_note(&path);
            // A note of Hawser whose draft is gone.
            if read(&note_path)
                .and_then(|(_, text)| Note::parse(&text))
                .is_some_and(|note| note.is_about(name))
            {
                let _ = fs::remove_file(&note_path);
            }
            let note_file = match create_new(&note_path, mode) {
                Ok(file) => file,
                Err(error) => {
                    let _ = fs::remove_file(&path);
                    match error.kind() {
                        io::ErrorKind::AlreadyExists => continue,
                        _ => return failed(&note_path, error),
                    }
                }
            };
            let known = file.metadata();
            let note = match known {
                Ok(known) => Note::of(name, &known, About::new()),
                Err(error) => return failed(&path, error),
            };
            let draft = Draft { path, file, note_path, note_file, note };
            if let Err(error) = draft.write_note() {
                draft.discard();
                return Err(error);
            }
            return Ok(draft);
        }
        let source =
            io::Error::new(io::ErrorKind::AlreadyExists, "this and all other names for a draft are taken");
        Err(DraftError::Io { path: last, source })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, for reading and writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What was noted about its content.
    pub fn about(&self) -> &About {
        &self.note.about
    }

    /// Notes what its content is.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn note(&mut self, about: About) -> Result<(), DraftError> {
        self.note.about = about;
        self.write_note()
    }

    fn write_note(&self) -> Result<(), DraftError> {
        let io = |source| DraftError::Io { path: self.note_path.clone(), source };
        self.note.write(&self.note_file).map_err(io)
    }

    /// Puts the file, which is complete, in its place. A file that appeared there stays.
    ///
    /// # Errors
    /// `AlreadyExists` if one did; those of the file system. The draft is then as it was.
    pub fn install(&self, place: &Place) -> io::Result<()> {
        if !is_at(&self.file, &self.path) {
            let text = format!("{} was replaced by another file", self.path.display());
            return Err(io::Error::other(text));
        }
        place.install(&self.path, &self.file, Appeared::Stays)?;
        // Left behind it would only be confusing; the file is complete either way.
        self.remove_note();
        Ok(())
    }

    /// Removes it, unless another file took its name.
    pub fn discard(&self) {
        if is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
        self.remove_note();
    }

    fn remove_note(&self) {
        if is_at(&self.note_file, &self.note_path) {
            let _ = fs::remove_file(&self.note_path);
        }
    }
}

/// Opens a note, symbolic links not followed, and reads it.
fn read(path: &Path) -> Option<(File, String)> {
    let file = open_own(path).ok()?;
    let text = text_of(&file)?;
    Some((file, text))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    fn none(_: &str) -> Option<About> {
        None
    }

    fn place(folder: &Path, name: &str) -> Place {
        Place::of(&folder.join(name)).unwrap()
    }

    fn about(version: &str) -> About {
        About::from([("version".to_owned(), version.to_owned())])
    }

    #[test]
    fn a_draft_is_found_by_its_note() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x".to_owned(), "y".repeat(255)] {
            let place = place(folder.path(), &name);
            let mut draft = Draft::create(&place).unwrap();
            draft.note(about("a long version")).unwrap();
            draft.note(about("1")).unwrap();
            draft.file().write_all(b"half").unwrap();
            drop(draft);
            let draft = Draft::find(&place, none).unwrap().unwrap();
            assert_eq!((draft.about(), draft.file().metadata().unwrap().len()), (&about("1"), 4));
            draft.install(&place).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn files_of_others_are_neither_taken_nor_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), "x");
        let others = ["x.part", "x.hawser.part.json"];
        others.iter().for_each(|name| fs::write(folder.path().join(name), "precious").unwrap());
        symlink("precious", folder.path().join("x.hawser-3.part")).unwrap();
        assert!(Draft::find(&place, none).unwrap().is_none());
        let draft = Draft::create(&place).unwrap();
        assert_eq!(draft.path(), folder.path().join("x.hawser-4.part"));
        draft.install(&place).unwrap();
        for name in others {
            assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"precious");
        }
        assert!(!folder.path().join("precious").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn a_file_that_took_the_name_of_a_draft_is_not_one() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), "x");
        drop(Draft::create(&place).unwrap());
        let part = folder.path().join("x.part");
        // Another inode for certain.
        fs::rename(&part, folder.path().join("old")).unwrap();
        fs::write(&part, "precious").unwrap();
        assert!(Draft::find(&place, none).unwrap().is_none());
        let draft = Draft::create(&place).unwrap();
        assert_eq!(draft.path(), folder.path().join("x.hawser.part"));
        draft.discard();
        assert_eq!(fs::read(&part).unwrap(), b"precious");
    }

    #[test]
    fn two_processes_do_not_write_one_draft() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), "x");
        let draft = Draft::create(&place).unwrap();
        assert!(matches!(Draft::find(&place, none), Err(DraftError::Busy(_))));
        drop(draft);
        assert!(Draft::find(&place, none).unwrap().is_some());
    }

    #[test]
    fn a_file_that_appeared_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), "x");
        let draft = Draft::create(&place).unwrap();
        draft.file().write_all(b"new").unwrap();
        fs::write(place.path(), "precious").unwrap();
        assert_eq!(draft.install(&place).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(place.path()).unwrap(), b"precious");
        assert_eq!(fs::read(draft.path()).unwrap(), b"new");
    }

    #[test]
    fn a_note_of_an_earlier_form_is_read_by_who_knows_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), "x");
        fs::write(folder.path().join("x.part"), "half").unwrap();
        fs::write(folder.path().join("x.part.json"), "former").unwrap();
        assert!(Draft::find(&place, none).unwrap().is_none());
        let former = |text: &str| (text == "former").then(|| about("1"));
        assert_eq!(Draft::find(&place, former).unwrap().unwrap().about(), &about("1"));
        assert_eq!(
            Draft::find(&place, none).unwrap().unwrap().about(),
            &about("1"),
            "now it is of today's form"
        );
    }
}
