//! A simulated connection for the traits of `h3`. Nothing here blocks: what is sent waits without bound, and what came
//! waits until it is read.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, WriteBuf};
use hawser_core::{Connection, ReadError};
use hawser_policy::StreamId;

/// Shared by the connection, its opener and its streams.
#[derive(Clone, Default)]
pub(super) struct Transport(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    streams: BTreeMap<StreamId, Pipes>,
    /// Streams of the peer that `h3` has not accepted: bidirectional, unidirectional.
    accepted: [VecDeque<StreamId>; 2],
    /// Streams of our own that it has not taken, and how many more it wants.
    opened: [VecDeque<StreamId>; 2],
    wanted: [usize; 2],
}

/// Both directions of a stream.
#[derive(Default)]
struct Pipes {
    incoming: VecDeque<Bytes>,
    has_ended: bool,
    outgoing: VecDeque<Bytes>,
    finish: bool,
    /// Something was added to `outgoing` that the connection was not offered.
    is_new: bool,
}

const BIDIRECTIONAL: usize = 0;
const UNIDIRECTIONAL: usize = 1;

impl Transport {
    /// Moves what can be moved between the connection and `h3`; says whether anything came for the latter.
    pub(super) fn exchange(&self, connection: &mut Connection) -> bool {
        let state = &mut *self.0.borrow_mut();
        let mut moved = false;
        for (kind, is_bidirectional) in [(BIDIRECTIONAL, true), (UNIDIRECTIONAL, false)] {
            while let Some(id) = connection.accept_stream(is_bidirectional) {
                state.streams.insert(id, Pipes::default());
                state.accepted[kind].push_back(id);
                moved = true;
            }
            while state.wanted[kind] > 0
                && let Some(id) = connection.open_stream(is_bidirectional)
            {
                state.wanted[kind] -= 1;
                state.streams.insert(id, Pipes::default());
                state.opened[kind].push_back(id);
                moved = true;
            }
        }
        for (id, pipes) in &mut state.streams {
            moved |= pipes.read(connection, *id);
            pipes.write(connection, *id);
        }
        moved
    }

    /// Whether `h3` has left something for the connection to do.
    pub(super) fn has_work(&self) -> bool {
        let state = self.0.borrow();
        let is_waiting = |pipes: &Pipes| pipes.is_new || pipes.finish && pipes.outgoing.is_empty();
        state.wanted.iter().any(|wanted| *wanted > 0) || state.streams.values().any(is_waiting)
    }

    fn open(&self, kind: usize) -> Poll<Result<Stream, StreamErrorIncoming>> {
        let mut state = self.0.borrow_mut();
        match state.opened[kind].pop_front() {
            Some(id) => Poll::Ready(Ok(Stream { transport: self.clone(), id })),
            None => {
                state.wanted[kind] = 1;
                Poll::Pending
            }
        }
    }

    fn accept(&self, kind: usize) -> Poll<Result<Stream, ConnectionErrorIncoming>> {
        match self.0.borrow_mut().accepted[kind].pop_front() {
            Some(id) => Poll::Ready(Ok(Stream { transport: self.clone(), id })),
            None => Poll::Pending,
        }
    }
}

impl Pipes {
    fn read(&mut self, connection: &mut Connection, id: StreamId) -> bool {
        let mut moved = false;
        while !self.has_ended {
            match connection.read_chunk(id, 1 << 16) {
                Ok(Some(chunk)) => self.incoming.push_back(chunk),
                Err(ReadError::Blocked) => break,
                Ok(None) | Err(_) => self.has_ended = true,
            }
            moved = true;
        }
        moved
    }

    fn write(&mut self, connection: &mut Connection, id: StreamId) {
        self.is_new = false;
        while let Some(front) = self.outgoing.front_mut() {
            match connection.write_bytes(id, front.clone()) {
                Ok(written) if written > 0 => front.advance(written),
                _ => return,
            }
            if front.is_empty() {
                self.outgoing.pop_front();
            }
        }
        if std::mem::take(&mut self.finish) {
            let _ = connection.finish(id);
        }
    }
}

/// A stream, in whichever directions it has.
pub(super) struct Stream {
    transport: Transport,
    id: StreamId,
}

impl Stream {
    fn with<T>(&self, act: impl FnOnce(&mut Pipes) -> T) -> T {
        act(self.transport.0.borrow_mut().streams.entry(self.id).or_default())
    }

    fn h3_id(&self) -> quic::StreamId {
        quic::StreamId::try_from(self.id.0).expect("below 2^62")
    }
}

impl quic::Connection<Bytes> for Transport {
    type RecvStream = Stream;
    type OpenStreams = Transport;

    fn poll_accept_recv(&mut self, _: &mut Context<'_>) -> Poll<Result<Stream, ConnectionErrorIncoming>> {
        self.accept(UNIDIRECTIONAL)
    }

    fn poll_accept_bidi(&mut self, _: &mut Context<'_>) -> Poll<Result<Stream, ConnectionErrorIncoming>> {
        self.accept(BIDIRECTIONAL)
    }

    fn opener(&self) -> Transport {
        self.clone()
    }
}

impl quic::OpenStreams<Bytes> for Transport {
    type BidiStream = Stream;
    type SendStream = Stream;

    fn poll_open_bidi(&mut self, _: &mut Context<'_>) -> Poll<Result<Stream, StreamErrorIncoming>> {
        self.open(BIDIRECTIONAL)
    }

    fn poll_open_send(&mut self, _: &mut Context<'_>) -> Poll<Result<Stream, StreamErrorIncoming>> {
        self.open(UNIDIRECTIONAL)
    }

    /// The case closes its connection itself.
    fn close(&mut self, _: Code, _: &[u8]) {}
}

impl quic::SendStream<Bytes> for Stream {
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        let mut data = data.into();
        let bytes = data.copy_to_bytes(data.remaining());
        self.with(|pipes| {
            pipes.outgoing.push_back(bytes);
            pipes.is_new = true;
        });
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.with(|pipes| pipes.finish = true);
        Poll::Ready(Ok(()))
    }

    fn reset(&mut self, code: u64) {
        panic!("stream {:?} was reset with {code:#x}", self.id);
    }

    fn send_id(&self) -> quic::StreamId {
        self.h3_id()
    }
}

impl quic::RecvStream for Stream {
    type Buf = Bytes;

    fn poll_data(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.with(|pipes| match pipes.incoming.pop_front() {
            Some(chunk) => Poll::Ready(Ok(Some(chunk))),
            None if pipes.has_ended => Poll::Ready(Ok(None)),
            None => Poll::Pending,
        })
    }

    /// What is not read here takes no place that anybody would miss.
    fn stop_sending(&mut self, _: u64) {}

    fn recv_id(&self) -> quic::StreamId {
        self.h3_id()
    }
}

impl quic::BidiStream<Bytes> for Stream {
    type SendStream = Stream;
    type RecvStream = Stream;

    fn split(self) -> (Stream, Stream) {
        (Stream { transport: self.transport.clone(), id: self.id }, self)
    }
}
