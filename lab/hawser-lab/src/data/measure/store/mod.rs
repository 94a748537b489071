//! Records on a disk: what was put stays until it is removed, whatever happens in between.
//!
//! A folder has
//!
//! * `ID.jsonl`: a record each, whole or not there (written to a temporary name, synced to the disk, renamed),
//! * `SLOT.draft`: a record that is not finished yet, as it was when last written,
//! * `state`: the next number, and how many records found no room,
//! * `NAME.corrupt`: what could not be read, kept aside.
//!
//! A record that is finished is put first, and its draft removed then; a program that is killed in between finds both and
//! puts the same id again, which changes nothing. For the same reason a program that takes records away removes one only when the
//! other side has it for certain: the worst that a crash brings about is that a record is offered twice.

mod folder;

use std::io;

use serde::{Deserialize, Serialize};

pub use self::folder::Folder;
use super::{Record, RecordId, RunId};

const RECORD: &str = ".jsonl";
const DRAFT: &str = ".draft";
const CORRUPT: &str = "corrupt";
const STATE: &str = "state";
/// Numbers from here on are not taken for those of this store when its state is lost.
const LARGE: u64 = 1_000_000_000;

/// Where files are. Names have no folders.
pub trait Disk {
    /// Name and length of every file.
    ///
    /// # Errors
    /// Those of the file system.
    fn files(&self) -> io::Result<Vec<(String, u64)>>;

    /// The content of a file.
    ///
    /// # Errors
    /// Those of the file system; `NotFound` if none has this name.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// Writes a file or replaces it: after a crash it is there as it was, or as it is to be.
    ///
    /// # Errors
    /// Those of the file system.
    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Gives a file another name.
    ///
    /// # Errors
    /// Those of the file system.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Gives a file a name with `.suffix` behind it, and a number if another file has that. Returns the name.
    ///
    /// # Errors
    /// Those of the file system.
    fn put_aside(&mut self, name: &str, suffix: &str) -> io::Result<String>;

    /// Removes a file. It may come back after a crash.
    ///
    /// # Errors
    /// Those of the file system; `NotFound` if none has this name.
    fn remove(&mut self, name: &str) -> io::Result<()>;
}

/// Bytes that a file takes besides its own.
const FILE_COST: u64 = 4 << 10;
/// Files that are looked at for each record that was refused.
const FILES_PER_REFUSAL: u64 = 16;

/// Records on a disk.
#[derive(Debug)]
pub struct Store<D> {
    disk: D,
    run: RunId,
    /// Most bytes of records, and of the files that they are.
    limit: u64,
    used: u64,
    /// Records to be refused before it is looked again whether others have made room.
    blind: u64,
    state: State,
    /// As it stands on the disk.
    written: State,
    set_aside: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    next: u64,
    dropped: u64,
}

/// A store, and what was found when it was opened.
#[derive(Debug)]
pub struct Opened<D> {
    /// The store.
    pub store: Store<D>,
    /// Records that a program which was killed had not finished, and that are there now.
    pub recovered: u64,
}

/// What became of a record.
#[derive(Debug)]
pub enum Put {
    /// It is on the disk.
    Stored,
    /// It was there.
    Known,
    /// It could not be written, but its draft is there, as it was when last written.
    OnlyDraft(io::Error),
    /// The limit is reached: it is not kept, and counted.
    NoRoom,
    /// It could not be written, and is counted.
    Failed(io::Error),
}

impl<D: Disk> Store<D> {
    /// Opens a store for a run, of at most so many bytes of records, and finishes what an earlier run could not.
    ///
    /// # Errors
    /// When the disk cannot be read at all.
    pub fn open(disk: D, limit: u64, run: RunId) -> io::Result<Opened<D>> {
        let files = disk.files()?;
        let state = State::default();
        let mut store =
            Store { disk, run, limit, used: 0, blind: 0, state, written: state, set_aside: Vec::new() };
        store.recount();
        if !store.read_state()? {
            // A client chooses the numbers of the records that it uploads: large ones are not this server's.
            let ids = files.iter().filter_map(|(name, _)| Some(record_id(name)?.number()));
            store.state.next = ids.filter(|number| *number < LARGE).max().map_or(0, |newest| newest + 1);
        }
        let mut recovered = 0;
        for (name, _) in &files {
            if name.ends_with(DRAFT) {
                recovered += u64::from(store.finish(name)?);
            } else if hawser_files::is_unfinished(name) {
                // Its writer was killed.
                let _ = store.disk.remove(name);
            }
        }
        Ok(Opened { store, recovered })
    }

    /// Looks into a store that another program may be writing: to read records and to remove those that others have.
    /// Nothing is finished, and nothing can be said of its limit.
    pub fn visit(disk: D) -> Self {
        let (run, state) = (RunId(0), State::default());
        Store { disk, run, limit: 0, used: 0, blind: 0, state, written: state, set_aside: Vec::new() }
    }

    /// Whether there is one.
    fn read_state(&mut self) -> io::Result<bool> {
        let bytes = match self.disk.read(STATE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match serde_json::from_slice(&bytes) {
            Ok(state) => {
                (self.state, self.written) = (state, state);
                Ok(true)
            }
            Err(_) => {
                self.put_aside(STATE)?;
                Ok(false)
            }
        }
    }

    /// Makes a record of a draft that was left. Returns whether it is a new one.
    fn finish(&mut self, name: &str) -> io::Result<bool> {
        let bytes = self.disk.read(name)?;
        let Ok(record) = Record::read(&bytes) else {
            self.put_aside(name)?;
            return Ok(false);
        };
        let place = format!("{}{RECORD}", record.id());
        if self.disk.read(&place).is_ok() {
            self.disk.remove(name)?;
            return Ok(false);
        }
        // The same bytes under another name: that takes no room.
        self.disk.rename(name, &place)?;
        self.used += cost(bytes.len() as u64);
        Ok(true)
    }

    fn put_aside(&mut self, name: &str) -> io::Result<()> {
        let aside = self.disk.put_aside(name, CORRUPT)?;
        self.set_aside.push(aside);
        Ok(())
    }

    /// Names of files that could not be read and are kept aside, each told once.
    pub fn take_set_aside(&mut self) -> Vec<String> {
        std::mem::take(&mut self.set_aside)
    }

    /// The first number that no record has. Numbers are given out without the disk: that they go on after a crash is a
    /// matter of order, for ids of two runs differ anyway.
    pub fn next_number(&self) -> u64 {
        self.state.next
    }

    /// Brings to the disk how far numbers are given out, and what was dropped.
    fn write_state(&mut self, id: &RecordId) {
        if id.run() == Some(self.run) {
            self.state.next = self.state.next.max(id.number() + 1);
        }
        let bytes = serde_json::to_vec(&self.state).unwrap_or_default();
        if self.state != self.written && self.disk.write(STATE, &bytes).is_ok() {
            self.written = self.state;
        }
    }

    /// Writes a record that is not finished: it is put if the program is killed before it puts it itself. A slot has one.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn draft(&mut self, slot: &str, record: &Record) -> io::Result<()> {
        self.write_state(record.id());
        self.disk.write(&format!("{slot}{DRAFT}"), &record.line())
    }

    /// Puts a record that is finished in the place of its draft. If it cannot be written, the draft becomes the record.
    pub fn finish_draft(&mut self, slot: &str, record: &Record) -> Put {
        let draft = format!("{slot}{DRAFT}");
        let mut put = self.put_new(record);
        if let Put::Failed(error) = put {
            put = match self.finish(&draft) {
                Ok(true) => Put::OnlyDraft(error),
                _ => Put::Failed(error),
            };
        } else {
            let _ = self.disk.remove(&draft);
        }
        self.note(record.id(), put)
    }

    /// Puts a record. When this returns, it is on the disk, or counted as dropped. Those that are there are kept: it is the
    /// newest that finds no room.
    pub fn put(&mut self, record: &Record) -> Put {
        let put = self.put_new(record);
        self.note(record.id(), put)
    }

    fn note(&mut self, id: &RecordId, put: Put) -> Put {
        if matches!(put, Put::NoRoom | Put::Failed(_)) {
            // On a full disk the count goes to the disk with a later record.
            self.state.dropped += 1;
            // Of those that others send again and again not every one is worth a write.
            if id.run() != Some(self.run) && !self.state.dropped.is_power_of_two() {
                return put;
            }
        }
        self.write_state(id);
        put
    }

    fn put_new(&mut self, record: &Record) -> Put {
        let name = format!("{}{RECORD}", record.id());
        match self.disk.read(&name) {
            Ok(_) => return Put::Known,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Put::Failed(error),
        }
        let line = record.line();
        let cost = cost(line.len() as u64);
        if self.used + cost > self.limit {
            match self.blind.checked_sub(1) {
                Some(left) => self.blind = left,
                // Others may have removed some.
                None => self.recount(),
            }
        }
        if self.used + cost > self.limit {
            return Put::NoRoom;
        }
        match self.disk.write(&name, &line) {
            Ok(()) => {
                self.used += cost;
                Put::Stored
            }
            Err(error) => Put::Failed(error),
        }
    }

    /// Looks what is there: others may have removed some. That costs as much as there are files, so that a full store does it
    /// by itself once for a number of refused records only.
    pub fn recount(&mut self) {
        if let Ok(files) = self.disk.files() {
            let records = files.iter().filter(|(name, _)| record_id(name).is_some());
            self.used = records.map(|(_, length)| cost(*length)).sum();
            self.blind = files.len() as u64 / FILES_PER_REFUSAL;
        }
    }

    /// Whether there is no room for another record of any size.
    pub fn is_full(&self) -> bool {
        self.used + cost(0) > self.limit
    }

    /// Records that were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.state.dropped
    }

    /// Bytes of the records, and what their files cost.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The records that are there, the oldest first.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn waiting(&self) -> io::Result<Vec<RecordId>> {
        let mut ids: Vec<RecordId> =
            self.disk.files()?.iter().filter_map(|(name, _)| record_id(name)).collect();
        ids.sort();
        Ok(ids)
    }

    /// A record as a line. `None`: it is gone, or cannot be understood and was put aside.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn read(&mut self, id: &RecordId) -> io::Result<Option<Vec<u8>>> {
        let name = format!("{id}{RECORD}");
        let bytes = match self.disk.read(&name) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if Record::read(&bytes).is_ok_and(|record| record.id() == id) {
            return Ok(Some(bytes));
        }
        self.used = self.used.saturating_sub(cost(bytes.len() as u64));
        self.put_aside(&name)?;
        Ok(None)
    }

    /// Removes a record that others have for certain.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn remove(&mut self, id: &RecordId, length: usize) -> io::Result<()> {
        match self.disk.remove(&format!("{id}{RECORD}")) {
            Ok(()) => self.used = self.used.saturating_sub(cost(length as u64)),
            // Somebody else was quicker.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// What a record of so many bytes takes: a file has a block and an entry of the file system at least.
pub(super) fn cost(length: u64) -> u64 {
    length + FILE_COST
}

/// The record that a file of this name has.
pub(super) fn record_id(name: &str) -> Option<RecordId> {
    name.strip_suffix(RECORD)?.parse().ok()
}
