//! Files, records, events.

mod data;
mod head;
mod number;
mod record;
mod split;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

pub(crate) use data::{Acked, Metrics, Moved, Packet};
pub(crate) use head::Head;
pub(crate) use record::{Event, What};

use crate::build::Builder;
use crate::trace::Trace;
use split::{End, Sink};

/// Why a file cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("this is no qlog: it begins with {0:?}, and a qlog begins with a JSON object")]
    NotQlog(String),
    /// It has no events.
    #[error("no event of a QUIC connection is in it")]
    Empty,
}

/// Reads a file as far as it goes. What could not be read is in [`Trace::notices`].
///
/// # Errors
/// The file cannot be opened, is no qlog, or has no event.
pub fn read_file(path: &Path) -> Result<Trace, ReadError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    read(BufReader::with_capacity(1 << 18, File::open(path)?), &name)
}

/// Reads a trace as far as it goes; `name` is what it is called in messages.
///
/// # Errors
/// It cannot be read, is no qlog, or has no event.
pub fn read(input: impl BufRead, name: &str) -> Result<Trace, ReadError> {
    let mut reader = Reader::new(name);
    let end = split::split(input, &mut reader)?;
    reader.finish(end)
}

/// Makes a trace of records. Of several traces in a file the one with the most packets is kept.
struct Reader {
    name: String,
    head: head::Head,
    clock: record::Clock,
    builder: Builder,
    best: Option<Trace>,
    traces: u32,
    /// Records that were no event.
    unreadable: u64,
    first_unreadable: Option<String>,
    /// Whether the last record was no event.
    last_is_unreadable: bool,
}

impl Reader {
    fn new(name: &str) -> Self {
        Reader {
            name: name.to_owned(),
            head: head::Head::default(),
            clock: record::Clock::default(),
            builder: Builder::default(),
            best: None,
            traces: 0,
            unreadable: 0,
            first_unreadable: None,
            last_is_unreadable: false,
        }
    }

    fn keep(&mut self) {
        let trace = std::mem::take(&mut self.builder).finish(&self.head, &self.name);
        if self.best.as_ref().is_none_or(|best| trace.packets() > best.packets()) {
            self.best = Some(trace);
        }
    }

    fn finish(mut self, end: End) -> Result<Trace, ReadError> {
        self.keep();
        let mut trace = self.best.filter(|trace| trace.events > 0).ok_or(ReadError::Empty)?;
        let notices = &mut trace.notices;
        if self.traces > 1 {
            notices.push(format!(
                "{} traces are in the file; this is the one with the most packets",
                self.traces
            ));
        }
        if end == End::CutOff || (self.last_is_unreadable && self.unreadable == 1) {
            notices.push("the file is cut off; it is read up to there".to_owned());
            self.unreadable -= u64::from(self.last_is_unreadable).min(self.unreadable);
        } else if end == End::Unreadable {
            notices.push("what follows is no JSON any more; the file is read up to there".to_owned());
        }
        if self.unreadable > 0 {
            let first = self.first_unreadable.unwrap_or_default();
            notices.push(format!("{} records are left out: they are no events ({first})", self.unreadable));
        }
        Ok(trace)
    }
}

impl Sink for Reader {
    fn head(&mut self, head: &serde_json::Value) {
        if self.traces > 0 {
            self.keep();
        }
        self.traces += 1;
        self.head = head::Head::of(head);
        self.clock = record::Clock::default();
    }

    fn record(&mut self, bytes: &[u8]) -> bool {
        match record::parse(bytes, &self.head, &mut self.clock) {
            Ok(event) => {
                self.last_is_unreadable = false;
                self.builder.apply(event)
            }
            Err(error) => {
                self.unreadable += 1;
                self.last_is_unreadable = true;
                self.first_unreadable.get_or_insert(error);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests;
