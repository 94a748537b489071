use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use hawser_core::{Connection, ConnectionError, ConnectionHandle, Event, ServerConfig, StreamEvent};
use hawser_policy::{StreamId, Time};

use crate::Sockets;
use crate::pattern::{first_mismatch, pattern_bytes};

/// What runs on a [`Host`](crate::Host).
pub trait Application {
    /// Packets of a connection may have come and gone; it has not been asked for its news yet.
    fn on_traffic(&mut self, _now: Time, _handle: ConnectionHandle, _connection: &mut Connection) {}

    /// A connection has news.
    fn on_event(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event);

    /// A connection is over and about to be forgotten: the last chance to read its counters.
    fn on_drained(&mut self, _now: Time, _handle: ConnectionHandle, _connection: &mut Connection) {}

    /// A connection has sent a batch of datagrams, the first of which has this [label](crate::Packet::label); those of
    /// the others follow.
    fn on_transmit(&mut self, _handle: ConnectionHandle, _connection: &mut Connection, _label: u64) {}

    /// How a connection from this address is to behave, if not as the endpoint's configuration says.
    fn server_config(&mut self, _remote: SocketAddr) -> Option<Arc<ServerConfig>> {
        None
    }

    /// When [`on_timeout`](Application::on_timeout) should be called.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The time asked for has come.
    fn on_timeout(&mut self, _now: Time, _sockets: &mut Sockets) {}
}

/// Does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Idle;

impl Application for Idle {
    fn on_event(&mut self, _: Time, _: ConnectionHandle, _: &mut Connection, _: &Event) {}
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
        while *sent < self.length {
            match connection.write_bytes(id, pattern_bytes(*sent, self.length - *sent)) {
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
                    self.corrupt_at = self.corrupt_at.or_else(|| first_mismatch(self.received, &chunk));
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
