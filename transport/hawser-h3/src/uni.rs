//! The peer's unidirectional streams (RFC 9114 section 6.2).
//!
//! `h3` never reads those of QPACK. They are read here, where the little that may stand in them is known: we offer no
//! dynamic table and use none.

use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use h3::error::Code;
use hawser_policy::Side;

use crate::RecvStream;
use crate::error::Failure;
use crate::guard::{Violation, varint};
use crate::transport::Transport;

/// RFC 9114 section 6.2, RFC 9204 section 4.2.
const CONTROL: u64 = 0x00;
const PUSH: u64 = 0x01;
const QPACK_ENCODER: u64 = 0x02;
const QPACK_DECODER: u64 = 0x03;

/// Streams whose type is not known yet, and those of QPACK.
#[derive(Debug, Default)]
pub(crate) struct UniStreams {
    /// As many as the transport lets the peer open, and not more.
    untyped: Vec<Untyped>,
    encoder: Option<hawser_net::RecvStream>,
    decoder: Option<(hawser_net::RecvStream, Decoder)>,
}

/// A stream with what has come of its type, eight bytes at most.
#[derive(Debug)]
struct Untyped {
    stream: hawser_net::RecvStream,
    kind: BytesMut,
}

impl UniStreams {
    /// The next stream for `h3`, if there is one.
    //= rfc9114-6.2-3: control and QPACK streams come first
    //= rfc9114-6.2-4: streams of unknown types are not read
    //= rfc9114-6.2-5: streams of unknown types are stopped with H3_STREAM_CREATION_ERROR
    //= rfc9114-6.2-6: streams of unknown types are no error of the connection
    //= rfc9114-6.2.1-3: a second control stream: H3_STREAM_CREATION_ERROR
    //= rfc9114-6.2.1-4: the control stream stays open
    //= rfc9114-6.2.3-1: reserved streams mean nothing
    //= rfc9114-6.2.3-2: reserved streams end with H3_NO_ERROR or a reserved code
    //= rfc9114-9-2: streams of unknown types are not read
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        transport: &Transport,
    ) -> Poll<Result<RecvStream, Failure>> {
        while let Poll::Ready(stream) = transport.connection.poll_accept_uni(cx) {
            self.untyped.push(Untyped { stream: stream?, kind: BytesMut::new() });
        }
        self.poll_qpack(cx)?;
        let mut index = 0;
        while let Some(untyped) = self.untyped.get_mut(index) {
            let Poll::Ready(kind) = untyped.poll_type(cx) else {
                index += 1;
                continue;
            };
            let Untyped { stream, .. } = self.untyped.swap_remove(index);
            let Some(written) = kind else { continue };
            // The same type can be written in one byte and in eight.
            match varint(&written).map(|(kind, _)| kind) {
                Some(QPACK_ENCODER) => set_once(&mut self.encoder, stream)?,
                Some(QPACK_DECODER) => set_once(&mut self.decoder, (stream, Decoder::default()))?,
                Some(PUSH) => return Poll::Ready(Err(unwanted_push(transport.connection.side()).into())),
                Some(CONTROL) => {
                    return Poll::Ready(Ok(RecvStream::control(stream, transport.clone(), written)));
                }
                _ => return Poll::Ready(Ok(RecvStream::unknown(stream, transport.clone(), written))),
            }
            self.poll_qpack(cx)?;
        }
        Poll::Pending
    }

    fn poll_qpack(&mut self, cx: &mut Context<'_>) -> Result<(), Violation> {
        if let Some(stream) = &mut self.encoder {
            while let Poll::Ready(chunk) = stream.poll_read_chunk(cx, usize::MAX) {
                check_encoder(&critical(chunk)?)?;
            }
        }
        if let Some((stream, state)) = &mut self.decoder {
            while let Poll::Ready(chunk) = stream.poll_read_chunk(cx, usize::MAX) {
                state.check(&critical(chunk)?)?;
            }
        }
        Ok(())
    }
}

impl Untyped {
    /// The type as it was written. `None` when the stream ended before, which is no error (RFC 9114 section 6.2).
    //= rfc9114-6.2-7: the type of a stream is read before the stream is abandoned
    //= rfc9114-6.2-9: streams that end before their type are tolerated
    fn poll_type(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            let length = self.kind.first().map_or(1, |first| 1 << (first >> 6));
            if self.kind.len() >= length {
                return Poll::Ready(Some(self.kind.split().freeze()));
            }
            match std::task::ready!(self.stream.poll_read_chunk(cx, length - self.kind.len())) {
                Ok(Some(chunk)) => self.kind.extend_from_slice(&chunk),
                Ok(None) | Err(_) => return Poll::Ready(None),
            }
        }
    }
}

/// Clients never push (RFC 9114 section 6.2.2), and servers were not allowed to (section 4.6). `h3` ignores their streams.
//= rfc9114-4.6-2: a push that was not allowed: H3_ID_ERROR
//= rfc9114-6.2.2-1: a push stream of a client: H3_STREAM_CREATION_ERROR
fn unwanted_push(ours: Side) -> Violation {
    match ours {
        Side::Server => Violation::new(Code::H3_STREAM_CREATION_ERROR, "a push stream of a client"),
        Side::Client => Violation::new(Code::H3_ID_ERROR, "a push stream that was not allowed"),
    }
}

/// RFC 9204 section 4.2: at most one of each.
fn set_once<T>(place: &mut Option<T>, stream: T) -> Result<(), Violation> {
    if place.replace(stream).is_some() {
        return Err(Violation::new(Code::H3_STREAM_CREATION_ERROR, "a second QPACK stream of one type"));
    }
    Ok(())
}

/// RFC 9204 section 4.2: these streams live as long as the connection.
//= rfc9114-6.2.1-5: a closed control stream: H3_CLOSED_CRITICAL_STREAM
fn critical<E>(chunk: Result<Option<Bytes>, E>) -> Result<Bytes, Violation> {
    match chunk {
        Ok(Some(chunk)) => Ok(chunk),
        _ => Err(Violation::new(Code::H3_CLOSED_CRITICAL_STREAM, "a QPACK stream was closed")),
    }
}

/// RFC 9204 section 4.3: of a table without capacity only the capacity can be set, to zero.
fn check_encoder(instructions: &[u8]) -> Result<(), Violation> {
    if instructions.iter().any(|byte| *byte != 0x20) {
        let reason = "an instruction for a dynamic table that is not there";
        return Err(Violation::new(Code::QPACK_ENCODER_STREAM_ERROR, reason));
    }
    Ok(())
}

/// RFC 9204 section 4.4: what never was inserted can not be acknowledged; streams may be cancelled.
#[derive(Debug, Default)]
struct Decoder {
    /// Bytes of a stream id that goes on.
    id_bytes: u8,
}

/// Longest stream id of a cancellation: 62 bits, six in the first byte and seven in each other.
const MAX_ID_BYTES: u8 = 10;

impl Decoder {
    fn check(&mut self, instructions: &[u8]) -> Result<(), Violation> {
        for byte in instructions {
            let is_valid = if self.id_bytes > 0 {
                self.id_bytes = if byte & 0x80 == 0 { 0 } else { self.id_bytes + 1 };
                self.id_bytes <= MAX_ID_BYTES
            } else {
                self.id_bytes = u8::from(*byte == 0x7f);
                byte & 0xc0 == 0x40
            };
            if !is_valid {
                let reason = "an acknowledgement of what was not inserted";
                return Err(Violation::new(Code::QPACK_DECODER_STREAM_ERROR, reason));
            }
        }
        Ok(())
    }
}
