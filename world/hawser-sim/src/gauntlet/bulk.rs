//! An application that sends one stream, or reads one.

use hawser_core::{Connection, ConnectionError, ConnectionHandle, Event, StreamEvent};
use hawser_policy::{StreamId, Time};

use crate::Application;
use crate::pattern::{first_mismatch, pattern_bytes};

/// Sends `length` bytes on a unidirectional stream once it is connected, and reads what the other end sends so.
#[derive(Debug, Default)]
pub(super) struct Bulk {
    pub(super) length: u64,
    sending: Option<StreamId>,
    written: u64,
    pub(super) received: u64,
    pub(super) finished_at: Option<Time>,
    pub(super) corrupt_at: Option<u64>,
    pub(super) closed: Option<ConnectionError>,
    reading: Option<StreamId>,
}

impl Bulk {
    /// Sends so many bytes.
    pub(super) fn sender(length: u64) -> Self {
        Bulk { length, ..Bulk::default() }
    }

    fn push(&mut self, connection: &mut Connection) {
        let Some(id) = self.sending else { return };
        while self.written < self.length {
            match connection.write_bytes(id, pattern_bytes(self.written, self.length - self.written)) {
                Ok(0) | Err(_) => return,
                Ok(written) => self.written += written as u64,
            }
        }
        let _ = connection.finish(id);
        self.sending = None;
    }

    fn pull(&mut self, now: Time, connection: &mut Connection) {
        let Some(id) = self.reading else { return };
        loop {
            match connection.read_chunk(id, 1 << 16) {
                Ok(Some(chunk)) => {
                    self.corrupt_at = self.corrupt_at.or_else(|| first_mismatch(self.received, &chunk));
                    self.received += chunk.len() as u64;
                }
                Ok(None) => {
                    self.finished_at.get_or_insert(now);
                    return;
                }
                Err(_) => return,
            }
        }
    }
}

impl Application for Bulk {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        match event {
            Event::HandshakeConfirmed if self.length > 0 => {
                self.sending = connection.open_stream(false);
                self.push(connection);
            }
            Event::Stream(StreamEvent::Opened { bidirectional: false }) => {
                self.reading = connection.accept_stream(false).or(self.reading);
                self.pull(now, connection);
            }
            Event::Stream(StreamEvent::Writable(_)) => self.push(connection),
            Event::Stream(StreamEvent::Readable(_)) => self.pull(now, connection),
            Event::Closed(error) => self.closed = Some(error.clone()),
            _ => {}
        }
    }
}
