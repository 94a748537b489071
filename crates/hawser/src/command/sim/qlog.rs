//! Traces of simulated connections, and what became of them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::command::exit::Failure;
use crate::{QlogConnection, QlogFactory};

/// A folder with one trace per end of each connection, named as the command for real sockets names them.
///
/// A connection whose trace cannot be written goes on without it, and is gone with its simulation: the first failure is
/// noted here.
pub(super) struct QlogFolder {
    folder: PathBuf,
    failure: SharedFailure,
}

/// The first file that could not be written, and why.
type SharedFailure = Arc<Mutex<Option<(PathBuf, io::Error)>>>;

impl QlogFolder {
    /// Makes the folder.
    pub(super) fn create(folder: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).map_err(|error| Failure::write(folder, &error))?;
        Ok(QlogFolder { folder: folder.to_owned(), failure: SharedFailure::default() })
    }

    /// Opens the traces of connections.
    pub(super) fn factory(&self) -> QlogFactory {
        let (folder, failure) = (self.folder.clone(), self.failure.clone());
        Arc::new(move |connection: &QlogConnection| {
            let side = if connection.side.is_client() { "client" } else { "server" };
            let path = folder.join(format!("{}_{side}.sqlog", connection.original_destination));
            match File::create(&path) {
                Ok(file) => Some(Box::new(Trace::new(file, path, failure.clone())) as Box<dyn Write + Send>),
                Err(error) => {
                    note(&failure, &path, error);
                    None
                }
            }
        })
    }

    /// Fails if a trace was cut short. To be asked when all connections are gone, and what they wrote is on the disk.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match &*self.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((path, error)) => Err(Failure::write(path, error)),
        }
    }
}

/// The file of one trace.
struct Trace<W: Write> {
    file: BufWriter<W>,
    path: PathBuf,
    failure: SharedFailure,
}

impl<W: Write> Trace<W> {
    fn new(file: W, path: PathBuf, failure: SharedFailure) -> Self {
        Trace { file: BufWriter::new(file), path, failure }
    }

    /// Notes a failure, and hands on what kind it is.
    fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            note(&self.failure, &self.path, error);
            kind.into()
        })
    }
}

fn note(failure: &SharedFailure, path: &Path, error: io::Error) {
    let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
    first.get_or_insert_with(|| (path.to_owned(), error));
}

impl<W: Write> Write for Trace<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.file.write(bytes);
        self.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.file.flush();
        self.noted(result)
    }
}

impl<W: Write> Drop for Trace<W> {
    fn drop(&mut self) {
        let result = self.file.flush();
        let _ = self.noted(result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::exit::Exit;

    /// A disk without room.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_trace_that_is_cut_short_fails_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let qlog = QlogFolder::create(&folder.path().join("traces")).unwrap();
        let mut trace = Trace::new(Full, "a.sqlog".into(), qlog.failure.clone());
        trace.write_all(b"so little that it waits in the buffer").unwrap();
        assert!(qlog.failure.lock().unwrap().is_none());
        drop(trace);
        let failure = qlog.finish().unwrap_err();
        assert_eq!(failure.exit, Exit::DiskFull);
        assert!(failure.message.contains("a.sqlog"), "{failure}");
    }
}
