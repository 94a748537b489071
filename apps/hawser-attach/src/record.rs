//! What has to be undone, on file before it is done: if this process is killed, the next one undoes it.

use std::io;
use std::marker::PhantomData;
use std::path::PathBuf;

use hawser_files::Replacement;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A file with one value.
#[derive(Debug)]
pub(super) struct Record<T> {
    file: PathBuf,
    kind: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> Record<T> {
    /// One in this file, which need not exist.
    pub(super) fn new(file: PathBuf) -> Self {
        Record { file, kind: PhantomData }
    }

    /// Returns the value on file; `None` without one, or if it is not one.
    pub(super) fn read(&self) -> Option<T> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        let read = serde_json::from_str(&text);
        if let Err(error) = &read {
            tracing::warn!(%error, file = %self.file.display(), "what an earlier process changed is not known");
        }
        read.ok()
    }

    /// Puts a value on file, in place of the one before. It survives this process, not a power cut: for what does not survive that either.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn write(&self, value: &T) -> io::Result<()> {
        self.replacement(value)?.complete_unsynchronised()
    }

    /// The same, and waits for the disk: for changes of files.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn write_through(&self, value: &T) -> io::Result<()> {
        self.replacement(value)?.complete().map(drop)
    }

    fn replacement(&self, value: &T) -> io::Result<Replacement> {
        if let Some(folder) = self.file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        let mut replacement = Replacement::create(&self.file)?;
        serde_json::to_writer(&mut replacement, value).map_err(io::Error::other)?;
        Ok(replacement)
    }

    /// There is nothing to undo.
    pub(super) fn remove(&self) {
        match std::fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, file = %self.file.display(), "a record was not removed");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_on_file_until_they_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("made/wlan0.json");
        let record = Record::<(u32, String)>::new(file.clone());
        let of_next_process = || Record::<(u32, String)>::new(file.clone()).read();
        assert_eq!(record.read(), None);
        record.remove();
        let [first, second] = [(7, "first".to_owned()), (8, "second".to_owned())];
        record.write(&first).unwrap();
        assert_eq!(of_next_process(), Some(first));
        record.write_through(&second).unwrap();
        assert_eq!(of_next_process(), Some(second));
        record.remove();
        assert_eq!(record.read(), None);
        std::fs::write(&file, "{").unwrap();
        assert_eq!(record.read(), None, "something else");
    }
}
