//! The transport traits of `h3` over bytes in memory, with our guard where `hawser_h3::RecvStream` has it.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use hawser_h3::fuzzing::{Guard, Kind};

use super::Streams;
use crate::memory;

/// A stream of the peer.
pub struct Incoming {
    pub kind: Kind,
    pub bytes: Bytes,
    /// Bytes of each chunk.
    pub cut: usize,
    /// Whether it ends with a reset.
    pub reset: Option<u64>,
    /// Whether it ends at all.
    pub ends: bool,
}

#[derive(Default)]
struct Shared {
    streams: Streams,
    violation: Option<u64>,
    next_id: u64,
    /// Most memory in use while a stream was read.
    most: Rc<RefCell<isize>>,
}

/// A connection; clones share it.
#[derive(Clone)]
pub struct Transport(Rc<RefCell<Shared>>);

impl Transport {
    pub fn new(streams: Streams, most: Rc<RefCell<isize>>) -> Self {
        Transport(Rc::new(RefCell::new(Shared { streams, most, ..Shared::default() })))
    }

    /// For what our guard closed it.
    pub fn violation(&self) -> Option<u64> {
        self.0.borrow().violation
    }

    /// The next stream of the peer; without one, nothing more will come.
    fn accept(&self, control: bool) -> Option<Receive> {
        let mut shared = self.0.borrow_mut();
        let at = shared.streams.iter().position(|stream| (stream.kind == Kind::Control) == control)?;
        let stream = shared.streams.remove(at)?;
        shared.next_id += 1;
        let id = shared.next_id * 4 + if control { 2 } else { 0 };
        let guard = Guard::new(stream.kind);
        let kind = control.then(|| Bytes::from_static(&[0]));
        Some(Receive { stream, guard, kind, id, shared: self.0.clone() })
    }
}

fn gone() -> ConnectionErrorIncoming {
    ConnectionErrorIncoming::Timeout
}

/// The receiving end of a stream.
pub struct Receive {
    stream: Incoming,
    guard: Guard,
    /// The type of a control stream.
    kind: Option<Bytes>,
    id: u64,
    shared: Rc<RefCell<Shared>>,
}

impl Receive {
    fn close_for(&self, code: u64) -> StreamErrorIncoming {
        self.shared.borrow_mut().violation.get_or_insert(code);
        StreamErrorIncoming::ConnectionErrorIncoming { connection_error: gone() }
    }

    fn note_memory(&self) {
        let shared = self.shared.borrow();
        let mut most = shared.most.borrow_mut();
        *most = most.max(memory::live());
    }
}

impl quic::RecvStream for Receive {
    type Buf = Bytes;

    fn poll_data(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.note_memory();
        if let Some(kind) = self.kind.take() {
            return Poll::Ready(Ok(Some(kind)));
        }
        loop {
            match self.guard.next() {
                Ok(Some(piece)) => return Poll::Ready(Ok(Some(piece))),
                Ok(None) => {}
                Err(code) => return Poll::Ready(Err(self.close_for(code))),
            }
            let length = self.stream.cut.min(self.stream.bytes.len());
            if length > 0 {
                self.guard.push(self.stream.bytes.split_to(length));
                continue;
            }
            return match (self.stream.reset, self.stream.ends) {
                (Some(error_code), _) => {
                    Poll::Ready(Err(StreamErrorIncoming::StreamTerminated { error_code }))
                }
                (None, true) => {
                    Poll::Ready(self.guard.end().map(|()| None).map_err(|code| self.close_for(code)))
                }
                (None, false) => Poll::Pending,
            };
        }
    }

    fn stop_sending(&mut self, _: u64) {}

    fn recv_id(&self) -> StreamId {
        self.id.try_into().expect("small")
    }
}

/// The sending end of a stream: what is written goes nowhere.
pub struct Send(u64);

impl<B: Buf> quic::SendStream<B> for Send {
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        let mut data = data.into();
        data.advance(data.remaining());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        Poll::Ready(Ok(()))
    }

    fn reset(&mut self, _: u64) {}

    fn send_id(&self) -> StreamId {
        self.0.try_into().expect("small")
    }
}

/// A stream in both directions.
pub struct Both(Send, Receive);

impl<B: Buf> quic::SendStream<B> for Both {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        quic::SendStream::<B>::poll_ready(&mut self.0, cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.0.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        quic::SendStream::<B>::poll_finish(&mut self.0, cx)
    }

    fn reset(&mut self, code: u64) {
        quic::SendStream::<B>::reset(&mut self.0, code);
    }

    fn send_id(&self) -> StreamId {
        quic::SendStream::<B>::send_id(&self.0)
    }
}

impl quic::RecvStream for Both {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.1.poll_data(cx)
    }

    fn stop_sending(&mut self, code: u64) {
        self.1.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.1.recv_id()
    }
}

impl<B: Buf> quic::BidiStream<B> for Both {
    type SendStream = Send;
    type RecvStream = Receive;

    fn split(self) -> (Send, Receive) {
        (self.0, self.1)
    }
}

impl<B: Buf> quic::OpenStreams<B> for Transport {
    type BidiStream = Both;
    type SendStream = Send;

    /// A request of this end: the first answer of the script belongs to it.
    fn poll_open_bidi(&mut self, _: &mut Context<'_>) -> Poll<Result<Both, StreamErrorIncoming>> {
        let lost = StreamErrorIncoming::ConnectionErrorIncoming { connection_error: gone() };
        Poll::Ready(self.accept(false).map(|stream| Both(Send(0), stream)).ok_or(lost))
    }

    fn poll_open_send(&mut self, _: &mut Context<'_>) -> Poll<Result<Send, StreamErrorIncoming>> {
        Poll::Ready(Ok(Send(3)))
    }

    fn close(&mut self, _: Code, _: &[u8]) {}
}

impl<B: Buf> quic::Connection<B> for Transport {
    type RecvStream = Receive;
    type OpenStreams = Transport;

    fn poll_accept_recv(&mut self, _: &mut Context<'_>) -> Poll<Result<Receive, ConnectionErrorIncoming>> {
        self.accept(true).map_or(Poll::Pending, |stream| Poll::Ready(Ok(stream)))
    }

    fn poll_accept_bidi(&mut self, _: &mut Context<'_>) -> Poll<Result<Both, ConnectionErrorIncoming>> {
        let id = self.0.borrow().next_id * 4;
        Poll::Ready(self.accept(false).map(|stream| Both(Send(id), stream)).ok_or_else(gone))
    }

    fn opener(&self) -> Transport {
        self.clone()
    }
}
