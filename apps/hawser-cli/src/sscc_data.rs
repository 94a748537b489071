//! What the policy `sscc` is given from files: models, and a memory of prefixes that outlives the process.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use hawser_cc::sscc::{Models, PrefixFileError, PrefixMemory};
use hawser_policy::Time;

use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;

/// The name of models in a folder, as training writes them.
const MODELS: &str = "sscc.models";
/// Between two times that the memory is written: what a crash loses at most.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// Reads models; returns them with the text of the file.
pub(crate) fn read_models(path: &Path) -> Result<(Models, String), Failure> {
    let file = if path.is_dir() { path.join(MODELS) } else { path.to_owned() };
    let text = fs::read_to_string(&file).map_err(|error| Failure::read(&file, &error))?;
    let models = Models::read(&text)
        .map_err(|error| Failure::new(Exit::NotRead, format!("{}: {error}", file.display())))?;
    Ok((models, text))
}

/// Keeps the memory on disk: now and then, and when it is dropped.
pub(crate) struct Keeper {
    store: Arc<Store>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Store {
    file: PathBuf,
    memory: Arc<Mutex<PrefixMemory>>,
    /// The endpoints' clocks begin with the process, as this does: a second more or less is nothing in a day.
    started: Instant,
    output: Output,
}

impl Keeper {
    /// Opens the memory of a file; one that is not there is made.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub(crate) fn open(file: &Path, output: Output) -> Result<Keeper, Failure> {
        let memory = Arc::new(Mutex::new(read_memory(file, output)?));
        let store = Arc::new(Store { file: file.to_owned(), memory, started: Instant::now(), output });
        // What cannot be kept is said before anything is learned.
        store.save().map_err(|error| Failure::write(file, &error))?;
        let (stop, stopped) = mpsc::channel();
        let kept = store.clone();
        let work = move || {
            while stopped.recv_timeout(SAVE_EVERY) == Err(RecvTimeoutError::Timeout) {
                kept.save_or_say();
            }
        };
        let thread = std::thread::Builder::new().name("sscc-prefixes".to_owned()).spawn(work);
        let thread = thread.map_err(|error| Failure::new(Exit::Failure, format!("cannot start: {error}")))?;
        Ok(Keeper { store, stop: Some(stop), thread: Some(thread) })
    }

    /// The memory.
    pub(crate) fn memory(&self) -> Arc<Mutex<PrefixMemory>> {
        self.store.memory.clone()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It panics nowhere; if it did, the memory is written all the same.
            let _ = thread.join();
        }
        self.store.save_or_say();
    }
}

impl Store {
    /// Writes the memory so that a file of this name is always whole.
    fn save(&self) -> io::Result<()> {
        let mut text = Vec::new();
        let now = Time::ZERO + self.started.elapsed();
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).write(now, &mut text)?;
        hawser_files::write(&self.file, &text)
    }

    fn save_or_say(&self) {
        if let Err(error) = self.save() {
            self.output.remark(format_args!("hawser: {}: {error}", self.file.display()));
        }
    }
}

/// What an earlier process learned. A file that is not whole is kept under another name, and the memory starts empty.
fn read_memory(path: &Path, output: Output) -> Result<PrefixMemory, Failure> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PrefixMemory::default()),
        Err(error) => return Err(Failure::read(path, &error)),
    };
    // A clock that was set back since makes nothing older.
    let written = file.metadata().and_then(|data| data.modified()).unwrap_or_else(|_| SystemTime::now());
    let ago = SystemTime::now().duration_since(written).unwrap_or_default();
    match PrefixMemory::read(&mut BufReader::new(file), Time::ZERO, ago) {
        Ok(memory) => Ok(memory),
        Err(PrefixFileError::Io(error)) if error.kind() != io::ErrorKind::InvalidData => {
            Err(Failure::read(path, &error))
        }
        Err(error) => {
            let aside = hawser_files::put_aside(path, "corrupt");
            let aside = aside.map_err(|error| Failure::write(path, &error))?;
            let (path, aside) = (path.display(), aside.display());
            output.remark(format_args!(
                "hawser: {path}: {error}; kept as {aside}, and the memory starts empty"
            ));
            Ok(PrefixMemory::default())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use hawser_cc::sscc::{Candidate, PrefixKey};

    use super::*;

    const QUIET: Output = Output { json: false, verbose: 0, quiet: true, log_addresses: false };

    fn key() -> PrefixKey {
        PrefixKey::new(SocketAddr::from(([203, 0, 113, 7], 443)), None)
    }

    fn initial(keeper: &Keeper) -> Option<Candidate> {
        keeper.store.memory.lock().unwrap().initial(key(), Time::from_secs(1))
    }

    #[test]
    fn what_was_learned_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prefixes");
        let keeper = Keeper::open(&file, QUIET).unwrap();
        assert_eq!(initial(&keeper), None);
        keeper.store.memory.lock().unwrap().record(key(), Candidate::Vegas, 0.9, Time::from_secs(1));
        drop(keeper);
        assert_eq!(initial(&Keeper::open(&file, QUIET).unwrap()), Some(Candidate::Vegas));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_corrupt_file_is_kept_aside() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prefixes");
        let corrupt = [
            ("corrupt", b"hawser-sscc-prefixes 1 bbr".as_slice()),
            ("corrupt.2", b"\xff\xfe\n"),
            ("corrupt.3", b""),
        ];
        for (suffix, corrupt) in corrupt {
            fs::write(&file, corrupt).unwrap();
            let keeper = Keeper::open(&file, QUIET).unwrap();
            assert_eq!(initial(&keeper), None);
            assert_eq!(fs::read(file.with_extension(suffix)).unwrap(), corrupt);
            drop(keeper);
            assert!(read_memory(&file, QUIET).unwrap().is_empty(), "it is whole again");
        }
        let nowhere = Keeper::open(&folder.path().join("no/prefixes"), QUIET);
        assert_eq!(nowhere.err().map(|failure| failure.exit), Some(Exit::NotWritten));
    }

    #[test]
    fn models_that_are_not_whole_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(MODELS);
        let whole = Models::SHIPPED;
        fs::write(&file, whole).unwrap();
        assert!(read_models(folder.path()).is_ok(), "a folder has them under this name");
        for (text, expected) in [
            (whole[..whole.len() / 2].to_owned(), "truncated"),
            (whole.replacen("models 1", "models 9", 1), "version 9"),
            (whole.replacen("tput_share", "queue_share", 1), "for other features"),
        ] {
            fs::write(&file, text).unwrap();
            let failure = read_models(&file).unwrap_err();
            assert!(failure.message.contains(expected), "{}", failure.message);
            assert_eq!(failure.exit, Exit::NotRead);
        }
    }
}
