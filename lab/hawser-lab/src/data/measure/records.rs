//! Records of any folders, put together.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use super::{Record, RecordId, Run, ServerFlow, Session, Track};

/// Larger files are none of records.
const LARGEST: u64 = 4 << 30;

/// Why records could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// A file or folder.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It does not exist.
    #[error("no records in {}: expected files *.jsonl of `hawser measure`", places.join(", "))]
    None {
        /// Where they were looked for.
        places: Vec<String>,
    },
}

/// All records, each once, in the order of their runs and times.
#[derive(Debug, Default)]
pub struct Records {
    /// The runs.
    pub runs: Vec<Run>,
    /// The sessions.
    pub sessions: Vec<Session>,
    /// What servers saw, by session and number of the flow.
    pub server_flows: BTreeMap<(RecordId, u32), Vec<ServerFlow>>,
    /// Where clients were.
    pub tracks: Vec<Track>,
    /// Lines that are no records: file, and number of the line.
    pub unreadable: Vec<(PathBuf, usize)>,
}

impl Records {
    /// Reads files of JSON lines, and those of folders (`*.jsonl`); of records that are there twice the first counts.
    ///
    /// # Errors
    /// [`RecordsError`]. A malformed line is reported, and is no error.
    pub fn read(places: &[PathBuf]) -> Result<Records, RecordsError> {
        let mut records = Records::default();
        let mut known = HashSet::new();
        for place in places {
            for file in files(place)? {
                records.add_lines(&file, &bytes_of(&file)?, &mut known);
            }
        }
        if known.is_empty() {
            let places = places.iter().map(|place| place.display().to_string()).collect();
            return Err(RecordsError::None { places });
        }
        records.sort();
        Ok(records)
    }

    /// The same of the lines of one file.
    pub fn of_lines(path: &Path, lines: &[u8]) -> Records {
        let mut records = Records::default();
        records.add_lines(path, lines, &mut HashSet::new());
        records.sort();
        records
    }

    fn add_lines(&mut self, path: &Path, bytes: &[u8], known: &mut HashSet<RecordId>) {
        for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match Record::read(line) {
                Ok(record) => {
                    if known.insert(record.id().clone()) {
                        self.add(record);
                    }
                }
                Err(_) => self.unreadable.push((path.to_owned(), number)),
            }
        }
    }

    fn sort(&mut self) {
        self.sessions.sort_by(|one, other| {
            let key = |session: &Session| (session.run, session.interface.clone());
            key(one).cmp(&key(other)).then(one.run_ms.total_cmp(&other.run_ms))
        });
    }

    fn add(&mut self, record: Record) {
        match record {
            Record::Run(run) => self.runs.push(run),
            Record::Session(session) => self.sessions.push(session),
            Record::ServerFlow(flow) => {
                let key = (flow.session.clone(), flow.index);
                self.server_flows.entry(key).or_default().push(flow);
            }
            Record::Track(track) => self.tracks.push(track),
        }
    }

    /// All of them again, in an order that does not depend on files.
    pub fn into_records(self) -> Vec<Record> {
        let runs = self.runs.into_iter().map(Record::Run);
        let sessions = self.sessions.into_iter().map(Record::Session);
        let flows = self.server_flows.into_values().flatten().map(Record::ServerFlow);
        let mut all: Vec<Record> =
            runs.chain(sessions).chain(flows).chain(self.tracks.into_iter().map(Record::Track)).collect();
        all.sort_by_key(|record| (record.id().run(), record.id().clone()));
        all
    }

    /// What the server saw of a flow; of several records the first counts.
    pub fn server_flow(&self, session: &Session, index: u32) -> Option<&ServerFlow> {
        self.server_flows.get(&(session.id.clone(), index))?.first()
    }
}

/// What is in a file, unless that is too large.
fn bytes_of(path: &Path) -> Result<Vec<u8>, RecordsError> {
    let failed = |source| RecordsError::Read { path: path.to_owned(), source };
    if std::fs::metadata(path).map_err(failed)?.len() > LARGEST {
        return Err(failed(io::Error::other("it is larger than 4 GiB")));
    }
    std::fs::read(path).map_err(failed)
}

/// The files of a place: itself, or those in a folder that may have records.
fn files(place: &Path) -> Result<Vec<PathBuf>, RecordsError> {
    let failed = |source| RecordsError::Read { path: place.to_owned(), source };
    if !std::fs::metadata(place).map_err(failed)?.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(place).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
