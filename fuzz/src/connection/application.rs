//! What an application does with a connection, and what it must be able to rely on.
//!
//! Every byte of every stream is known in advance, so a reader needs nobody to tell it what is right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use hawser_core::{Chunk, Connection, ConnectionError, Event, ReadError, ReadOutcome, StreamEvent};
use hawser_policy::{
    AckFrequency, FeatureId, MAX_MESSAGE_PAYLOAD, Message, MessageDelivery, PathId, Side, StreamId,
};

use super::setup;

/// Bytes that an application writes in all.
const MAX_WRITTEN: u64 = 400_000;
/// Bytes that it writes or reads at once.
const MAX_PIECE: usize = 4_096;
/// Bytes after which the content of a stream repeats itself: a prime, so that no misplaced piece fits.
const PERIOD: u64 = 251;
/// Streams that an application opens.
const MAX_STREAMS: usize = 64;
/// Events that one call may leave behind; more means that one brings about another.
const MAX_EVENTS: usize = 100_000;
/// The least length of a message: its number.
const MIN_MESSAGE: usize = 8;

/// The half of a stream that is written.
#[derive(Default)]
struct Outgoing {
    wanted: u64,
    written: u64,
    finish: bool,
    finished: bool,
    /// Reset, or the reader stopped.
    given_up: bool,
}

/// The half of a stream that is read.
#[derive(Default)]
struct Incoming {
    read: u64,
    /// All was read up to the end.
    finished: bool,
    given_up: bool,
}

/// What is said to the peer's policies, and how.
#[derive(Clone, Copy)]
pub enum Delivery {
    Message(MessageDelivery),
    /// Another acknowledgement frequency, and an acknowledgement at once.
    AckFrequency,
}

impl Delivery {
    pub const ALL: [Delivery; 4] = [
        Delivery::Message(MessageDelivery::Latest),
        Delivery::Message(MessageDelivery::Reliable),
        Delivery::Message(MessageDelivery::WithAcks),
        Delivery::AckFrequency,
    ];
}

/// Messages that replace each other, or keep their order.
type Channel = (u64, u8, Option<PathId>);

/// One end's application.
pub struct Application {
    side: Side,
    outgoing: BTreeMap<StreamId, Outgoing>,
    incoming: BTreeMap<StreamId, Incoming>,
    readable: BTreeSet<StreamId>,
    writable: BTreeSet<StreamId>,
    /// Whether it does not read for now.
    pub paused: bool,
    written: u64,
    next_message: u64,
    /// Messages sent and not received.
    messages: BTreeSet<u64>,
    /// Reliable messages about no path, sent to the peer's policies and received from them; without those of features that
    /// a policy set may take before the application sees them.
    reliable: [u64; 2],
    /// The newest message of each channel.
    newest: BTreeMap<Channel, u64>,
    pub confirmed: bool,
    /// The latest address token.
    pub token: Option<Vec<u8>>,
    pub closed: Option<ConnectionError>,
}

impl Application {
    pub fn new(side: Side) -> Self {
        Application {
            side,
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            readable: BTreeSet::new(),
            writable: BTreeSet::new(),
            paused: false,
            written: 0,
            next_message: 0,
            messages: BTreeSet::new(),
            reliable: [0; 2],
            newest: BTreeMap::new(),
            confirmed: false,
            token: None,
            closed: None,
        }
    }

    /// Takes all events, reads what can be read, writes what can be written. `peer` is who sent what is read, unless its
    /// packets were forged.
    pub fn service(&mut self, connection: &mut Connection, peer: Option<&mut Application>) {
        for count in 0.. {
            let Some(event) = connection.poll_event() else { break };
            assert!(count < MAX_EVENTS, "events do not come to an end");
            assert!(self.closed.is_none(), "{event:?} after the last event");
            self.on_event(connection, event);
        }
        self.write_pending(connection);
        if !self.paused {
            self.read_all(connection, peer);
        }
    }

    fn on_event(&mut self, connection: &mut Connection, event: Event) {
        match event {
            Event::HandshakeConfirmed => self.confirmed = true,
            Event::NewToken(token) => self.token = Some(token),
            Event::Closed(reason) => {
                assert!(!reason.to_string().is_empty());
                self.closed = Some(reason);
            }
            Event::Stream(StreamEvent::Opened { bidirectional }) => {
                while let Some(id) = connection.accept_stream(bidirectional) {
                    assert_eq!(id.initiator(), self.side.peer());
                    self.add(id);
                }
            }
            Event::Stream(StreamEvent::Readable(id)) => drop(self.readable.insert(id)),
            Event::Stream(StreamEvent::Writable(id)) => drop(self.writable.insert(id)),
            Event::Stream(StreamEvent::Stopped { id, code }) => {
                let _ = connection.reset(id, code);
                self.give_up_writing(id);
            }
            Event::Policy(message) => self.on_policy_message(&message),
            _ => {}
        }
    }

    /// From any sender: nothing comes twice, and nothing old after something newer.
    fn on_policy_message(&mut self, message: &Message) {
        assert!(message.payload.len() <= MAX_MESSAGE_PAYLOAD);
        let channel = (message.feature.0, message.delivery as u8, message.path);
        let before = self.newest.insert(channel, message.sequence);
        assert!(before.is_none_or(|before| before < message.sequence), "{message:?} after {before:?}");
        if is_counted(message.feature, message.delivery, message.path) {
            self.reliable[1] += 1;
        }
    }

    fn add(&mut self, id: StreamId) {
        let local = id.initiator() == self.side;
        if local || id.is_bidirectional() {
            self.outgoing.insert(id, Outgoing::default());
        }
        if !local || id.is_bidirectional() {
            self.incoming.insert(id, Incoming::default());
            self.readable.insert(id);
        }
    }

    fn write_pending(&mut self, connection: &mut Connection) {
        for id in std::mem::take(&mut self.writable) {
            let Some(stream) = self.outgoing.get_mut(&id).filter(|stream| !stream.given_up) else { continue };
            while stream.written < stream.wanted {
                let length = (stream.wanted - stream.written).min(MAX_PIECE as u64);
                let data = content(self.side, id, stream.written, length as usize);
                // An event tells when there is room again.
                let Ok(taken) = connection.write(id, data) else { break };
                assert!(0 < taken && taken <= data.len());
                stream.written += taken as u64;
            }
            if stream.finish && !stream.finished && stream.written == stream.wanted {
                stream.finished = connection.finish(id).is_ok();
            }
        }
    }

    fn read_all(&mut self, connection: &mut Connection, mut peer: Option<&mut Application>) {
        let mut buffer = [0; MAX_PIECE];
        for id in std::mem::take(&mut self.readable) {
            let Some(stream) = self.incoming.get_mut(&id).filter(|stream| !stream.finished) else { continue };
            loop {
                match connection.read(id, &mut buffer) {
                    Ok(ReadOutcome::Data(length)) => {
                        assert!(0 < length, "a read without data or end");
                        if let Some(peer) = &peer {
                            peer.check(id, stream.read, &buffer[..length]);
                        }
                        stream.read += length as u64;
                    }
                    Ok(ReadOutcome::Finished) => {
                        stream.finished = true;
                        if let Some(sent) = peer.as_ref().and_then(|peer| peer.outgoing.get(&id)) {
                            assert!(sent.finished, "{id:?} ends, and nobody ended it");
                            assert_eq!(stream.read, sent.written, "{id:?} ends before its end");
                        }
                        break;
                    }
                    Err(ReadError::Blocked) => break,
                    Err(ReadError::Gap { offset, length }) => {
                        assert!(peer.is_none(), "{id:?} has a gap, and nobody gave anything up");
                        assert_eq!(connection.next_chunk(id, 1), Ok(Chunk::Gap { offset, length }));
                        stream.read += length;
                    }
                    Err(ReadError::Reset(_) | ReadError::ClosedStream) => {
                        stream.given_up = true;
                        break;
                    }
                }
            }
        }
        while let Some(message) = connection.read_datagram() {
            if let Some(peer) = &mut peer {
                peer.check_message(&message);
            }
        }
    }

    /// Somebody read this of a stream.
    fn check(&self, id: StreamId, offset: u64, data: &[u8]) {
        let sent = self.outgoing.get(&id).map_or(0, |stream| stream.written);
        assert!(offset + data.len() as u64 <= sent, "{id:?}: more was read than written");
        let right = content(self.side, id, offset, data.len());
        assert!(data == right, "{id:?}: not what was written at {offset}");
    }

    /// Somebody received this message.
    fn check_message(&mut self, message: &[u8]) {
        let number = message.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
        let number = number.expect("a message has a number");
        assert!(self.messages.remove(&number), "message {number} arrived twice, or was never sent");
        assert!(message[8..].iter().all(|found| *found == number as u8), "message {number} was changed");
    }

    /// Opens a stream and wants so much written.
    pub fn open(&mut self, connection: &mut Connection, bidirectional: bool, length: u64) {
        if self.outgoing.len() >= MAX_STREAMS {
            return;
        }
        if let Some(id) = connection.open_stream(bidirectional) {
            self.add(id);
            self.want(id, length, false);
        }
    }

    fn want(&mut self, id: StreamId, length: u64, finish: bool) {
        let length = length.min(MAX_WRITTEN - self.written);
        let Some(stream) = self.outgoing.get_mut(&id).filter(|stream| !stream.finish && !stream.given_up)
        else {
            return;
        };
        stream.wanted += length;
        stream.finish |= finish;
        self.written += length;
        self.writable.insert(id);
    }

    /// The `n`-th stream that can be written.
    fn nth_outgoing(&self, n: usize) -> Option<StreamId> {
        self.outgoing.keys().nth(n % self.outgoing.len().max(1)).copied()
    }

    pub fn write_more(&mut self, n: usize, length: u64, finish: bool) {
        if let Some(id) = self.nth_outgoing(n) {
            self.want(id, length, finish);
        }
    }

    /// Gives a stream up, but for its first bytes if `reliable` says so.
    pub fn reset(&mut self, connection: &mut Connection, n: usize, reliable: Option<u64>) {
        let Some(id) = self.nth_outgoing(n) else { return };
        let done = match reliable {
            None => connection.reset(id, 11).is_ok(),
            Some(size) => connection.reset_at(id, 12, size).is_ok(),
        };
        if done {
            self.give_up_writing(id);
        }
    }

    fn give_up_writing(&mut self, id: StreamId) {
        if let Some(stream) = self.outgoing.get_mut(&id) {
            stream.given_up = true;
        }
    }

    pub fn stop(&mut self, connection: &mut Connection, n: usize) {
        let Some(id) = self.incoming.keys().nth(n % self.incoming.len().max(1)).copied() else { return };
        if connection.stop(id, 13).is_ok()
            && let Some(stream) = self.incoming.get_mut(&id)
        {
            stream.given_up = true;
        }
    }

    pub fn prioritise(&mut self, connection: &mut Connection, n: usize, priority: i32) {
        if let Some(id) = self.nth_outgoing(n) {
            let _ = connection.set_priority(id, priority);
        }
    }

    pub fn send_message(
        &mut self,
        connection: &mut Connection,
        length: usize,
        path: Option<PathId>,
        newest: bool,
    ) {
        let number = self.next_message;
        let mut message = number.to_be_bytes().to_vec();
        message.resize(length.max(MIN_MESSAGE), number as u8);
        let message = Bytes::from(message);
        let sent = if newest {
            connection.send_newest_datagram(message, path)
        } else {
            connection.send_datagram(message, path)
        };
        if sent.is_ok() {
            self.messages.insert(number);
            self.next_message += 1;
        }
    }

    /// Says something to the peer's policies.
    pub fn tell_policies(
        &mut self,
        connection: &mut Connection,
        length: usize,
        path: Option<PathId>,
        delivery: Delivery,
    ) {
        let Delivery::Message(delivery) = delivery else {
            let frequency = AckFrequency {
                ack_eliciting_threshold: length as u64 % 64,
                max_ack_delay: Duration::from_millis(length as u64),
                reordering_threshold: length as u64 % 5,
            };
            let _ = connection.request_ack_frequency(frequency);
            let _ = connection.request_immediate_ack(path.unwrap_or(PathId::ZERO));
            return;
        };
        let feature = FeatureId(1 + length as u64 % 8);
        let message = Message::latest(feature, vec![0x5a; length]).with(|message| {
            message.delivery = delivery;
            message.path = path;
        });
        if connection.send_message(message).is_ok() && is_counted(feature, delivery, path) {
            self.reliable[0] += 1;
        }
    }

    /// Reads again, also what could not be read while it did not want to.
    pub fn resume(&mut self) {
        self.paused = false;
        self.readable.extend(self.incoming.keys());
    }

    /// Asserts that all that was written arrived at `peer`, and all ends.
    pub fn assert_delivered(&self, peer: &Application) {
        for (id, sent) in self.outgoing.iter().filter(|(_, stream)| !stream.given_up) {
            let received = peer.incoming.get(id);
            if received.is_some_and(|stream| stream.given_up) {
                continue;
            }
            let (read, finished) = received.map_or((0, false), |stream| (stream.read, stream.finished));
            assert_eq!(sent.written, sent.wanted, "{id:?}: there was never room to write");
            assert_eq!(read, sent.written, "{id:?}: bytes did not arrive");
            assert_eq!(finished, sent.finished, "{id:?}: its end did not arrive");
        }
        assert_eq!(peer.reliable[1], self.reliable[0], "messages to policies did not arrive");
    }
}

/// Whether a message must reach the peer's application: reliable, about no path, and not for its policies.
fn is_counted(feature: FeatureId, delivery: MessageDelivery, path: Option<PathId>) -> bool {
    (delivery, path) == (MessageDelivery::Reliable, None) && !setup::may_be_taken(feature)
}

/// What stands at an offset of a stream; at most [`MAX_PIECE`] bytes of it.
fn content(writer: Side, id: StreamId, offset: u64, length: usize) -> &'static [u8] {
    static CONTENT: LazyLock<Vec<u8>> =
        LazyLock::new(|| (0..PERIOD as usize + MAX_PIECE).map(|at| (at % PERIOD as usize) as u8).collect());
    let shift = id.0.wrapping_mul(29) + u64::from(writer.is_server());
    let start = (offset.wrapping_add(shift) % PERIOD) as usize;
    &CONTENT[start..start + length]
}
