//! What a connection tells its driver.

use std::collections::VecDeque;

use hawser_policy::{AttachRequest, Message, PathEvent};

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
    /// A policy asks that a link be attached elsewhere ([`Command::Attach`](hawser_policy::Command::Attach)); the answer
    /// goes to [`Connection::attach_report`](crate::Connection::attach_report).
    Attach(AttachRequest),
    /// A message of our policies ([`Command::Tell`](hawser_policy::Command::Tell)), or one of the peer's policies that
    /// no local one takes.
    Policy(Message),
    /// The connection is over; the last event.
    Closed(ConnectionError),
}

/// Address tokens that wait for the application. The oldest gives way: a client presents each once, and those that a server
/// issued last stay valid longest (RFC 9000 section 8.1.3).
const MAX_TOKENS: usize = 4;

/// Events of paths that wait for the driver. A peer may open and abandon paths, or let them fall silent, as often as it
/// likes; the oldest give way, and [`Connection::paths`](crate::Connection::paths) tells what became of each.
const MAX_PATH_EVENTS: usize = 256;

/// Events in order. Those that say nothing new while one of them waits are not repeated. Stream events live in the streams
/// part, which merges repeats.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    queue: VecDeque<Event>,
    /// The last word, kept until all else is said.
    closed: Option<ConnectionError>,
}

impl EventQueue {
    pub(crate) fn push(&mut self, event: Event) {
        if event.is_told_by_one_like_it() && self.queue.contains(&event) {
            return;
        }
        match event {
            Event::NewToken(_) => self.make_room(MAX_TOKENS, |event| matches!(event, Event::NewToken(_))),
            Event::Path(_) => self.make_room(MAX_PATH_EVENTS, |event| matches!(event, Event::Path(_))),
            _ => {}
        }
        self.queue.push_back(event);
    }

    /// Drops the oldest event of a kind if `max` of them wait.
    fn make_room(&mut self, max: usize, is_of_kind: impl Fn(&Event) -> bool) {
        if self.queue.iter().filter(|event| is_of_kind(event)).count() >= max
            && let Some(oldest) = self.queue.iter().position(is_of_kind)
        {
            self.queue.remove(oldest);
        }
    }

    /// The connection is over. Only the first reason is told.
    pub(crate) fn close(&mut self, reason: ConnectionError) {
        self.closed.get_or_insert(reason);
    }

    pub(crate) fn path(&mut self, event: PathEvent) {
        self.push(Event::Path(event));
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.queue.pop_front()
    }

    /// Whether nothing waits; the end of the connection does not count.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the end of the connection is to be told.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Why the connection is over; to be told when nothing else is left to tell.
    pub(crate) fn take_closed(&mut self) -> Option<ConnectionError> {
        self.closed.take()
    }

    /// Bytes that wait.
    pub(crate) fn memory(&self) -> u64 {
        let bytes = |event: &Event| match event {
            Event::NewToken(token) => token.len() + size_of::<Event>(),
            _ => size_of::<Event>(),
        };
        self.queue.iter().map(|event| bytes(event) as u64).sum()
    }

    /// Gives back memory.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink_to_fit();
    }
}

impl Event {
    /// Whether a second one tells nothing while the first waits.
    fn is_told_by_one_like_it(&self) -> bool {
        matches!(
            self,
            Event::DatagramReceived | Event::Path(PathEvent::MorePathsAllowed | PathEvent::MultipathReady)
        )
    }
}

#[cfg(test)]
mod tests {
    use hawser_policy::PathId;

    use super::*;

    fn all(queue: &mut EventQueue) -> Vec<Event> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn the_oldest_path_events_give_way_and_nothing_else() {
        let mut queue = EventQueue::default();
        queue.push(Event::Connected);
        for n in 0..1_000 {
            queue.path(PathEvent::Closed(PathId(n)));
        }
        let events = all(&mut queue);
        assert_eq!((events.len(), &events[0]), (1 + MAX_PATH_EVENTS, &Event::Connected));
        assert_eq!(events[1], Event::Path(PathEvent::Closed(PathId(1_000 - MAX_PATH_EVENTS as u32))));
        assert_eq!(events.last(), Some(&Event::Path(PathEvent::Closed(PathId(999)))));
    }

    #[test]
    fn what_waits_counts_as_memory() {
        let mut queue = EventQueue::default();
        assert_eq!(queue.memory(), 0);
        queue.push(Event::DatagramReceived);
        queue.push(Event::DatagramReceived);
        queue.push(Event::NewToken(vec![0; 100]));
        assert_eq!(queue.memory(), 2 * size_of::<Event>() as u64 + 100);
        assert_eq!(all(&mut queue).len(), 2);
        assert_eq!(queue.memory(), 0);
    }
}
