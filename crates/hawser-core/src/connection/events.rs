//! What a connection tells its driver.

use std::collections::VecDeque;

use hawser_policy::{Message, PathEvent};

use super::streams::StreamEvent;
use crate::ConnectionError;

/// Something the application or its driver should know.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// ALPN and, on a server, the server name are known.
    HandshakeDataReady,
    /// TLS has completed: streams can be used.
    Connected,
    /// The peer is known to have completed as well (RFC 9001 section 4.1.2).
    HandshakeConfirmed,
    /// A token for a later connection to the same server (RFC 9000 section 8.1.3).
    NewToken(Vec<u8>),
    /// Something happened to a stream.
    Stream(StreamEvent),
    /// A datagram can be read.
    DatagramReceived,
    /// After a refused [`send_datagram`](crate::Connection::send_datagram) there is room again.
    DatagramsUnblocked,
    /// Something happened to a path.
    Path(PathEvent),
    /// A message of the peer's policies that none of ours takes.
    Policy(Message),
    /// The connection is over; the last event.
    Closed(ConnectionError),
}

/// Events in order. Stream events live in the streams part, which merges repeats.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    queue: VecDeque<Event>,
    /// The last word, kept until all else is said.
    closed: Option<ConnectionError>,
}

impl EventQueue {
    pub(crate) fn push(&mut self, event: Event) {
        self.queue.push_back(event);
    }

    /// The connection is over. Only the first reason is told.
    pub(crate) fn close(&mut self, reason: ConnectionError) {
        self.closed.get_or_insert(reason);
    }

    pub(crate) fn path(&mut self, event: PathEvent) {
        self.queue.push_back(Event::Path(event));
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.queue.pop_front()
    }

    /// Why the connection is over; to be told when nothing else is left to tell.
    pub(crate) fn take_closed(&mut self) -> Option<ConnectionError> {
        self.closed.take()
    }

    /// Gives back memory.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink_to_fit();
    }
}
