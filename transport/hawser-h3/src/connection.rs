use std::task::{Context, Poll, ready};

use bytes::Buf;
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming};

use crate::Datagrams;
use crate::guard::Rules;
use crate::transport::Transport;
use crate::uni::UniStreams;
use crate::{BidiStream, RecvStream, SendStream};

/// A connection for `h3::client` and `h3::server`.
///
/// Keep a clone of the [`hawser_net::Connection`] for what HTTP does not know of: paths, statistics, events.
//= rfc9114-3.2-3: SETTINGS is the first frame of the control stream
//= rfc9114-6.2.1-1: each side opens a control stream with SETTINGS
//= rfc9114-7.2.4-1: one SETTINGS, first on the control stream
//= rfc9114-7.2.4-3: no SETTINGS on other streams than the control stream
//= rfc9114-7.2.4.1-1: a reserved setting is sent
//= rfc9114-7.2.4.2-1: the peer's settings are kept to
//= rfc9114-7.2.4.2-3: SETTINGS waits for nothing
#[derive(Debug)]
pub struct Connection {
    inner: Transport,
    uni: UniStreams,
}

impl Connection {
    /// Hands a connection to HTTP/3, which takes all its streams from now on.
    pub fn new(inner: hawser_net::Connection) -> Self {
        Connection { inner: Transport::new(inner), uni: UniStreams::default() }
    }

    /// Its HTTP Datagrams, for which both ends have to be built by [`tunnel_client_builder`](crate::tunnel_client_builder) and
    /// [`tunnel_server_builder`](crate::tunnel_server_builder), or their like.
    pub fn datagrams(&self) -> Datagrams {
        Datagrams::new(self.inner.clone())
    }

    /// What the peer says of itself, which comes while the connection runs.
    pub fn peer(&self) -> Peer {
        Peer { inner: self.inner.clone() }
    }
}

/// What the other end of a connection takes.
#[derive(Clone, Debug)]
pub struct Peer {
    inner: Transport,
}

impl Peer {
    /// Whether it has said anything: its SETTINGS frame may come behind its first answers.
    pub fn is_known(&self) -> bool {
        self.inner.is_peer_known()
    }

    /// Whether it has said that it takes CONNECT requests with `:protocol` (RFC 9220 section 3).
    pub fn takes_extended_connect(&self) -> bool {
        self.inner.peer_takes_extended_connect()
    }

    /// Whether it has said that it takes HTTP Datagrams (RFC 9297 section 2.1.1).
    pub fn takes_datagrams(&self) -> bool {
        self.inner.peer_takes_datagrams()
    }
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = OpenStreams;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let accepted = ready!(self.uni.poll(cx, &self.inner));
        Poll::Ready(accepted.map_err(|failure| self.inner.on_failure(failure)))
    }

    //= rfc9114-6.1-3: a bidirectional stream of the server: H3_STREAM_CREATION_ERROR
    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, ConnectionErrorIncoming>> {
        let accepted = ready!(self.inner.connection.poll_accept_bi(cx));
        let stream = accepted.map_err(|error| self.inner.connection_error(error))?;
        Poll::Ready(Ok(BidiStream::new(stream, self.inner.clone(), Rules::Request)))
    }

    fn opener(&self) -> OpenStreams {
        OpenStreams { inner: self.inner.clone() }
    }
}

impl<B: Buf> quic::OpenStreams<B> for Connection {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        open_bidi(&self.inner, cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
        open_send(&self.inner, cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.inner.connection.close(code.value(), reason);
    }
}

/// Opens streams on a connection that `h3` holds elsewhere.
#[derive(Clone, Debug)]
pub struct OpenStreams {
    inner: Transport,
}

impl<B: Buf> quic::OpenStreams<B> for OpenStreams {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        open_bidi(&self.inner, cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
        open_send(&self.inner, cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.inner.connection.close(code.value(), reason);
    }
}

fn open_bidi<B: Buf>(
    transport: &Transport,
    cx: &mut Context<'_>,
) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
    let opened = ready!(transport.connection.poll_open_bi(cx));
    let stream = opened.map_err(|error| transport.stream_error(error))?;
    Poll::Ready(Ok(BidiStream::new(stream, transport.clone(), Rules::Response)))
}

fn open_send<B: Buf>(
    transport: &Transport,
    cx: &mut Context<'_>,
) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
    let opened = ready!(transport.connection.poll_open_uni(cx));
    let stream = opened.map_err(|error| transport.stream_error(error))?;
    Poll::Ready(Ok(SendStream::new(stream, transport.clone())))
}
