//! Where records go: one JSON text each, in the order of time.

use std::io::{self, Write};
use std::sync::Arc;

use hawser_policy::{PathId, Time};

use super::addresses::tuple_id;
use super::json::Json;
use super::notes::{WaitingNotes, write_note};

/// Writes the records of one trace.
pub(super) struct Records {
    /// `None` since the first failure.
    writer: Option<Box<dyn Write + Send>>,
    error: Option<io::ErrorKind>,
    json: Json,
    began: Time,
    /// Time of the last record. Packets that waited for keys are older than what happened meanwhile, and records must
    /// be in order.
    latest: Time,
    /// Of policies, since the last record.
    notes: Arc<WaitingNotes>,
}

impl Records {
    pub(super) fn new(writer: Box<dyn Write + Send>, now: Time) -> Self {
        let (json, notes) = (Json::default(), Arc::default());
        Records { writer: Some(writer), error: None, json, began: now, latest: now, notes }
    }

    /// Where policies note what is to be recorded.
    pub(super) fn notes(&self) -> Arc<WaitingNotes> {
        self.notes.clone()
    }

    /// What ended the trace, if it could not be written.
    pub(super) fn error(&self) -> Option<io::ErrorKind> {
        self.error
    }

    /// An event that concerns no path in particular.
    pub(super) fn event(&mut self, now: Time, name: &str, data: impl FnOnce(&mut Json)) {
        self.event_on(now, PathId::ZERO, name, data);
    }

    /// An event on a path. The tuple of path 0 is the one that is meant where none is named.
    pub(super) fn event_on(&mut self, now: Time, path: PathId, name: &str, data: impl FnOnce(&mut Json)) {
        for note in self.notes.take() {
            let path = note.path.unwrap_or(PathId::ZERO);
            self.write_event(note.at, path, "hawser:policy", |json| write_note(json, &note));
        }
        self.write_event(now, path, name, data);
    }

    fn write_event(&mut self, now: Time, path: PathId, name: &str, data: impl FnOnce(&mut Json)) {
        self.latest = self.latest.max(now);
        let time = self.latest.since(self.began);
        self.record(|json| {
            json.object(|json| {
                json.millis("time", time);
                json.text("name", name);
                if path != PathId::ZERO {
                    tuple_id(json, "tuple", path);
                }
                json.member("data", data);
            });
        });
    }

    /// One record of a JSON text sequence (RFC 7464 section 2.2).
    pub(super) fn record(&mut self, text: impl FnOnce(&mut Json)) {
        let Some(writer) = &mut self.writer else { return };
        self.json.clear();
        self.json.verbatim("\x1e");
        text(&mut self.json);
        self.json.verbatim("\n");
        let written = writer.write_all(self.json.as_str().as_bytes());
        self.note(written);
    }

    /// A trace that cannot be written ends; the connection does not.
    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error = Some(error.kind());
            self.writer = None;
        }
    }

    /// Hands everything to where it goes.
    pub(super) fn flush(&mut self) {
        let flushed = self.writer.as_mut().map_or(Ok(()), |writer| writer.flush());
        self.note(flushed);
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        self.flush();
    }
}
