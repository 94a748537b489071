use std::collections::BTreeMap;

use hawser_core::{Connection, ConnectionError, ConnectionHandle, Event, StreamEvent};
use hawser_policy::{StreamId, Time};

/// What runs on a [`Host`](crate::Host).
pub trait Application {
    /// A connection has news.
    fn on_event(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event);
}

/// Does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Idle;

impl Application for Idle {
    fn on_event(&mut self, _: Time, _: ConnectionHandle, _: &mut Connection, _: &Event) {}
}

/// The byte that the bulk applications put at an offset of a stream; a receiver can so check every byte.
pub fn pattern(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Answers each bidirectional stream with `length` bytes of [`pattern`] once the request has ended.
#[derive(Debug)]
pub struct Serve {
    /// Bytes sent per stream.
    pub length: u64,
    sending: BTreeMap<(usize, StreamId), u64>,
    /// How connections ended.
    pub closed: Vec<ConnectionError>,
    /// Every event but those of streams, with its time.
    pub events: Vec<(Time, Event)>,
}

impl Serve {
    /// A server of `length` bytes per stream.
    pub fn new(length: u64) -> Self {
        Serve { length, sending: BTreeMap::new(), closed: Vec::new(), events: Vec::new() }
    }

    fn push(&mut self, handle: ConnectionHandle, connection: &mut Connection, id: StreamId) {
        let Some(sent) = self.sending.get_mut(&(handle.0, id)) else { return };
        let mut block = [0u8; 16 * 1024];
        while *sent < self.length {
            let size = (self.length - *sent).min(block.len() as u64) as usize;
            for (offset, byte) in (*sent..).zip(&mut block[..size]) {
                *byte = pattern(offset);
            }
            match connection.write(id, &block[..size]) {
                Ok(0) | Err(_) => return,
                Ok(written) => *sent += written as u64,
            }
        }
        let _ = connection.finish(id);
        self.sending.remove(&(handle.0, id));
    }
}

impl Application for Serve {
    fn on_event(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event) {
        match event {
            Event::Stream(StreamEvent::Opened { bidirectional: true }) => {
                while let Some(id) = connection.accept_stream(true) {
                    self.sending.insert((handle.0, id), 0);
                    // The request itself is of no interest.
                    let _ = connection.stop(id, 0);
                    self.push(handle, connection, id);
                }
            }
            Event::Stream(StreamEvent::Writable(id)) => self.push(handle, connection, *id),
            Event::Stream(_) => {}
            Event::Closed(error) => self.closed.push(error.clone()),
            other => self.events.push((now, other.clone())),
        }
    }
}

/// Opens a stream when connected and reads what comes, checking every byte against [`pattern`].
#[derive(Debug, Default)]
pub struct Download {
    stream: Option<StreamId>,
    /// Bytes received in order.
    pub received: u64,
    /// When each read happened and how far it got.
    pub progress: Vec<(Time, u64)>,
    /// When the stream had ended.
    pub finished_at: Option<Time>,
    /// Offset of the first wrong byte, if there is one.
    pub corrupt_at: Option<u64>,
    /// How the connection ended.
    pub closed: Option<ConnectionError>,
    /// Every event but those of streams, with its time.
    pub events: Vec<(Time, Event)>,
}

impl Download {
    /// Longest time without a byte delivered in order, from the first byte to the end.
    pub fn longest_stall(&self) -> std::time::Duration {
        self.progress.windows(2).map(|pair| pair[1].0.since(pair[0].0)).max().unwrap_or_default()
    }

    fn pull(&mut self, now: Time, connection: &mut Connection) {
        let Some(id) = self.stream else { return };
        loop {
            match connection.read_chunk(id, 1 << 16) {
                Ok(Some(chunk)) => {
                    for (offset, &byte) in (self.received..).zip(chunk.iter()) {
                        if byte != pattern(offset) && self.corrupt_at.is_none() {
                            self.corrupt_at = Some(offset);
                        }
                    }
                    self.received += chunk.len() as u64;
                    self.progress.push((now, self.received));
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

impl Application for Download {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        match event {
            Event::Connected => {
                self.stream = connection.open_stream(true);
                if let Some(id) = self.stream {
                    let _ = connection.write(id, b"request");
                    let _ = connection.finish(id);
                }
                self.events.push((now, event.clone()));
            }
            Event::Stream(StreamEvent::Readable(_)) => self.pull(now, connection),
            Event::Stream(_) => {}
            Event::Closed(error) => self.closed = Some(error.clone()),
            other => self.events.push((now, other.clone())),
        }
    }
}
