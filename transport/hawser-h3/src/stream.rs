use std::fmt;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, StreamErrorIncoming, StreamId, WriteBuf};
use hawser_net::MAX_APPLICATION_CODE;

use crate::connect_request;
use crate::error::misuse;
use crate::guard::{Frames, Rules, Violation};
use crate::transport::Transport;

/// The sending end of a stream.
pub struct SendStream<B: Buf> {
    inner: hawser_net::SendStream,
    transport: Transport,
    /// The frame that is being written.
    pending: Option<Pending<B>>,
    /// Whether the next frame is the header of a request.
    awaits_request: bool,
    is_over: bool,
}

/// A frame on its way to the transport.
enum Pending<B: Buf> {
    /// As `h3` made it.
    Frame(WriteBuf<B>),
    /// Rewritten.
    Bytes(Bytes),
}

impl<B: Buf> Pending<B> {
    fn chunk(&self) -> &[u8] {
        match self {
            Pending::Frame(frame) => frame.chunk(),
            Pending::Bytes(bytes) => bytes.chunk(),
        }
    }

    fn advance(&mut self, count: usize) {
        match self {
            Pending::Frame(frame) => frame.advance(count),
            Pending::Bytes(bytes) => bytes.advance(count),
        }
    }

    fn has_remaining(&self) -> bool {
        match self {
            Pending::Frame(frame) => frame.has_remaining(),
            Pending::Bytes(bytes) => bytes.has_remaining(),
        }
    }
}

impl<B: Buf> SendStream<B> {
    pub(crate) fn new(inner: hawser_net::SendStream, transport: Transport) -> Self {
        SendStream { inner, transport, pending: None, awaits_request: false, is_over: false }
    }

    /// A stream that begins with the header of a request.
    pub(crate) fn of_request(inner: hawser_net::SendStream, transport: Transport) -> Self {
        SendStream { inner, transport, pending: None, awaits_request: true, is_over: false }
    }
}

impl<B: Buf> quic::SendStream<B> for SendStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(frame) = &mut self.pending {
            if !frame.has_remaining() {
                self.pending = None;
                break;
            }
            match ready!(self.inner.poll_write_some(cx, frame.chunk())) {
                Ok(written) => frame.advance(written),
                Err(error) => {
                    self.pending = None;
                    self.is_over = true;
                    return Poll::Ready(Err(self.transport.write_error(error)));
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.pending.is_some() {
            return Err(misuse("send_data called before poll_ready was ready"));
        }
        let mut frame = data.into();
        self.pending = Some(if std::mem::take(&mut self.awaits_request) {
            Pending::Bytes(connect_request::rewrite(frame.copy_to_bytes(frame.remaining())))
        } else {
            Pending::Frame(frame)
        });
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(quic::SendStream::poll_ready(self, cx))?;
        self.is_over = true;
        // Finishing twice is no error for h3, and a stream that the peer stopped has no end to announce.
        let _ = self.inner.finish();
        Poll::Ready(Ok(()))
    }

    fn reset(&mut self, reset_code: u64) {
        self.is_over = true;
        let _ = self.inner.reset(reset_code.min(MAX_APPLICATION_CODE));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.inner.id())
    }
}

impl<B: Buf> Drop for SendStream<B> {
    /// A message that nobody finished must not look complete: it is cancelled (RFC 9114 section 4.1.1). Control streams,
    /// the unidirectional ones, live as long as the connection and end with it.
    //= rfc9114-4.1.1-2: cancelling a request resets the open directions of its stream
    //= rfc9114-4.1.1-5: a response that is abandoned: H3_REQUEST_CANCELLED
    //= rfc9114-4.1.1-6: a request that is abandoned: H3_REQUEST_CANCELLED
    //= rfc9114-4.1.1-7: clients do not use H3_REQUEST_REJECTED unasked
    fn drop(&mut self) {
        if !self.is_over && self.inner.id().is_bidirectional() {
            let _ = self.inner.reset(Code::H3_REQUEST_CANCELLED.value());
        }
    }
}

impl<B: Buf> fmt::Debug for SendStream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendStream").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// Chunks in a row that hold nothing for `h3` before others get their turn.
const MAX_SKIPPED_CHUNKS: usize = 64;

/// The receiving end of a stream.
#[derive(Debug)]
pub struct RecvStream {
    inner: hawser_net::RecvStream,
    transport: Transport,
    /// The type of a unidirectional stream, which was read before.
    kind: Option<Bytes>,
    /// Cuts the stream into frames, if it is made of them.
    frames: Option<Frames>,
}

impl RecvStream {
    pub(crate) fn control(inner: hawser_net::RecvStream, transport: Transport, kind: Bytes) -> Self {
        RecvStream { inner, transport, kind: Some(kind), frames: Some(Frames::new(Rules::Control)) }
    }

    /// A stream of a type that is `h3`'s to refuse.
    pub(crate) fn unknown(inner: hawser_net::RecvStream, transport: Transport, kind: Bytes) -> Self {
        RecvStream { inner, transport, kind: Some(kind), frames: None }
    }

    fn close_for(&self, violation: Violation) -> StreamErrorIncoming {
        StreamErrorIncoming::ConnectionErrorIncoming { connection_error: self.transport.close_for(violation) }
    }
}

impl Drop for RecvStream {
    /// However a request ends that has no header (the client ends or resets it, or nobody waits any longer), it ends here.
    fn drop(&mut self) {
        if self.frames.as_ref().is_some_and(Frames::is_before_request) {
            self.transport.count_headerless();
        }
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    //= rfc9114-4.1-10: a request that ends early: H3_REQUEST_INCOMPLETE
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        if let Some(kind) = self.kind.take() {
            return Poll::Ready(Ok(Some(kind)));
        }
        let Some(frames) = &mut self.frames else {
            return self
                .inner
                .poll_read_chunk(cx, usize::MAX)
                .map_err(|error| self.transport.read_error(error));
        };
        for _ in 0..MAX_SKIPPED_CHUNKS {
            let is_request = frames.is_before_request();
            match frames.next() {
                Ok(Some(piece)) => {
                    let piece = if is_request { connect_request::translate(piece) } else { piece };
                    let settings = frames.take_settings();
                    let checked = settings.map_or(Ok(()), |settings| self.transport.on_settings(&settings));
                    return Poll::Ready(
                        checked.map(|()| Some(piece)).map_err(|violation| self.close_for(violation)),
                    );
                }
                Ok(None) => {}
                Err(violation) => return Poll::Ready(Err(self.close_for(violation))),
            }
            let chunk = ready!(self.inner.poll_read_chunk(cx, usize::MAX));
            match chunk.map_err(|error| self.transport.read_error(error))? {
                Some(chunk) => frames.push(chunk),
                None => {
                    let end = frames.end().map(|()| None);
                    return Poll::Ready(end.map_err(|violation| self.close_for(violation)));
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn stop_sending(&mut self, error_code: u64) {
        // Nothing to stop when the stream has ended.
        let _ = self.inner.stop(error_code.min(MAX_APPLICATION_CODE));
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.inner.id())
    }
}

/// A stream in both directions.
#[derive(Debug)]
pub struct BidiStream<B: Buf> {
    send: SendStream<B>,
    recv: RecvStream,
}

impl<B: Buf> BidiStream<B> {
    pub(crate) fn new(
        (send, inner): (hawser_net::SendStream, hawser_net::RecvStream),
        transport: Transport,
        rules: Rules,
    ) -> Self {
        let send = match rules {
            Rules::Response => SendStream::of_request(send, transport.clone()),
            Rules::Request | Rules::Control => SendStream::new(send, transport.clone()),
        };
        BidiStream {
            send,
            recv: RecvStream { inner, transport, kind: None, frames: Some(Frames::new(rules)) },
        }
    }
}

impl<B: Buf> quic::BidiStream<B> for BidiStream<B> {
    type SendStream = SendStream<B>;
    type RecvStream = RecvStream;

    fn split(self) -> (SendStream<B>, RecvStream) {
        (self.send, self.recv)
    }
}

impl<B: Buf> quic::SendStream<B> for BidiStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl<B: Buf> quic::RecvStream for BidiStream<B> {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.recv.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.recv.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}

fn stream_id(id: hawser_policy::StreamId) -> StreamId {
    // Ids come from the transport, which has none of 2^62 and beyond.
    StreamId::try_from(id.0).unwrap_or_else(|_| unreachable!("stream ids are below 2^62"))
}
