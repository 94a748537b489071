//! Traces of simulated connections, and what became of them.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hawser::{QlogConnection, QlogFactory};
use hawser_command::exit::Failure;
use hawser_command::output::Output;
use hawser_command::units::count;
use hawser_scenario::{Flow, Scenario};
use hawser_sim::run::FlowTraces;

/// Links that the name of a trace lists; of more it has the number.
const MOST_LINKS: usize = 4;
/// Traces of one connection from runs with the same seed.
const MOST_RUNS: u32 = 10_000;

/// A folder with one trace per end of each connection: `FLOW_LINK+LINK_ID_client.sqlog`. A run with the same seed gives connections the
/// same ids: its traces are called `..._client.2.sqlog` and so on, so that those that are there stay.
///
/// A connection whose trace cannot be written goes on without it, and is gone with its simulation: the first failure is
/// noted here.
pub(super) struct QlogFolder {
    folder: PathBuf,
    runs: Arc<Mutex<Runs>>,
    /// Maximum size of each trace in bytes.
    limit: u64,
    failure: SharedFailure,
    /// Traces that ended there.
    cut: Arc<AtomicU64>,
}

/// Which of the runs with the same seed this one is, by connection: both ends have the same number.
type Runs = BTreeMap<String, u32>;

/// The first file that could not be written, and why.
type SharedFailure = Arc<Mutex<Option<(PathBuf, io::Error)>>>;

impl QlogFolder {
    /// Makes the folder.
    pub(super) fn create(folder: &Path, limit: u64) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).map_err(|error| Failure::write(folder, &error))?;
        Ok(QlogFolder {
            folder: folder.to_owned(),
            runs: Arc::default(),
            limit,
            failure: SharedFailure::default(),
            cut: Arc::default(),
        })
    }

    /// Opens the traces of the connections of each flow.
    pub(super) fn traces(&self, scenario: &Scenario) -> FlowTraces {
        let (folder, failure) = (self.folder.clone(), self.failure.clone());
        let (limit, cut, runs) = (self.limit, self.cut.clone(), self.runs.clone());
        let links: Vec<String> = scenario.links.iter().map(|link| link.name.clone()).collect();
        Arc::new(move |flow: &Flow| -> QlogFactory {
            let prefix = prefix(flow, &links);
            let (folder, failure) = (folder.clone(), failure.clone());
            let (cut, runs) = (cut.clone(), runs.clone());
            Arc::new(move |connection: &QlogConnection| {
                let side = if connection.side.is_client() { "client" } else { "server" };
                let name = format!("{prefix}_{}", connection.original_destination);
                match create(&folder, &name, side, &runs) {
                    Ok((file, path)) => {
                        let trace = Trace::new(file, path, failure.clone());
                        let limited = Limited { trace, left: limit, cut: cut.clone() };
                        Some(Box::new(limited) as Box<dyn Write + Send>)
                    }
                    Err((error, path)) => {
                        note(&failure, &path, error);
                        None
                    }
                }
            })
        })
    }

    /// Fails if a trace was cut short. To be asked when all connections are gone, and what they wrote is on the disk.
    pub(super) fn finish(self, output: Output) -> Result<(), Failure> {
        let cut = self.cut.load(Ordering::Relaxed);
        if cut > 0 {
            let verb =
                if cut == 1 { "has reached its limit and ends" } else { "have reached their limit and end" };
            output.remark(format_args!("hawser: {} {verb} there (--qlog-limit)", count(cut, "trace")));
        }
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = runs.values().max().filter(|run| **run > 1) {
            output.remark(format_args!(
                "hawser: {} has traces of an earlier run with the same seed, which stay: those of this run end with .{run}.sqlog",
                self.folder.display()
            ));
        }
        match &*self.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((path, error)) => Err(Failure::write(path, error)),
        }
    }
}

/// What the names of a flow's traces begin with: its name and those of its links.
fn prefix(flow: &Flow, links: &[String]) -> String {
    let names: Vec<&str> = flow.links.iter().filter_map(|link| Some(links.get(*link)?.as_str())).collect();
    let over = if names.len() > MOST_LINKS { format!("{}-links", names.len()) } else { names.join("+") };
    format!("{}_{over}", flow.name)
}

/// Makes the trace of one end of a connection, in a file that was not there; or says which one cannot be made.
fn create(
    folder: &Path,
    name: &str,
    side: &str,
    runs: &Mutex<Runs>,
) -> Result<(File, PathBuf), (io::Error, PathBuf)> {
    let file = |side: &str, run: u32| match run {
        1 => folder.join(format!("{name}_{side}.sqlog")),
        _ => folder.join(format!("{name}_{side}.{run}.sqlog")),
    };
    let is_free = |run: &u32| ["client", "server"].iter().all(|side| !file(side, *run).exists());
    let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
    let run = match runs.get(name) {
        Some(run) => *run,
        None => (1..MOST_RUNS).find(is_free).unwrap_or(MOST_RUNS),
    };
    runs.insert(name.to_owned(), run);
    let path = file(side, run);
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(file) => Ok((file, path)),
        Err(error) => Err((error, path)),
    }
}

/// A trace that takes whole records, one with each call, as long as they fit.
struct Limited<W: Write> {
    trace: Trace<W>,
    left: u64,
    cut: Arc<AtomicU64>,
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let Some(left) = self.left.checked_sub(record.len() as u64) else {
            self.cut.fetch_add(1, Ordering::Relaxed);
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        self.trace.write_all(record)?;
        self.left = left;
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.trace.flush()
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
    use hawser_command::exit::Exit;

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
        let qlog = QlogFolder::create(&folder.path().join("traces"), 1 << 30).unwrap();
        let mut trace = Trace::new(Full, "a.sqlog".into(), qlog.failure.clone());
        trace.write_all(b"so little that it waits in the buffer").unwrap();
        assert!(qlog.failure.lock().unwrap().is_none());
        drop(trace);
        let failure = qlog.finish(Output::default()).unwrap_err();
        assert_eq!(failure.exit, Exit::DiskFull);
        assert!(failure.message.contains("a.sqlog"), "{failure}");
    }

    #[test]
    fn a_trace_ends_with_the_last_record_that_fits_and_that_is_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let qlog = QlogFolder::create(folder.path(), 10).unwrap();
        let trace = Trace::new(Vec::new(), "a.sqlog".into(), qlog.failure.clone());
        let mut limited = Limited { trace, left: qlog.limit, cut: qlog.cut.clone() };
        limited.write_all(b"12345\n").unwrap();
        assert_eq!(limited.write_all(b"6789\n").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        drop(limited);
        assert_eq!(qlog.cut.load(Ordering::Relaxed), 1);
        qlog.finish(Output { quiet: true, ..Output::default() }).unwrap();
    }
}
