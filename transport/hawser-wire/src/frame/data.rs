//! Frames that carry data, and functions that write only their headers: the data is then put behind them in place.

use super::FrameErrorKind;
use crate::codepoints::frame;
use crate::reader::Reader;
use crate::varint;
use crate::writer::{BufferTooShort, Sink, Writer};

/// A piece of the TLS handshake (RFC 9000 section 19.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crypto<'a> {
    /// Where the piece starts in the handshake bytes of its packet number space.
    pub offset: u64,
    /// The piece.
    pub data: &'a [u8],
}

/// A piece of a stream (RFC 9000 section 19.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream<'a> {
    /// The stream meant.
    pub stream_id: u64,
    /// Where the piece starts in the stream, in bytes.
    pub offset: u64,
    /// Whether the stream ends with this piece.
    pub fin: bool,
    /// The piece.
    pub data: &'a [u8],
}

/// An unreliable message (RFC 9221 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The message.
    pub data: &'a [u8],
}

/// What precedes the data in a STREAM frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHeader {
    /// The stream meant.
    pub stream_id: u64,
    /// Where the data starts in the stream, in bytes. The field is left out at 0.
    pub offset: u64,
    /// The length of the data in bytes; `None` leaves the field out, and the frame then reaches to the end of the packet.
    pub length: Option<u64>,
    /// Whether the stream ends with this data.
    pub fin: bool,
}

impl StreamHeader {
    /// Its exact size in bytes.
    #[inline]
    pub const fn encoded_len(&self) -> usize {
        let length = match self.length {
            Some(length) => varint::len(length),
            None => 0,
        };
        prefix_len(self.stream_id, self.offset) + length
    }

    /// The most data that a frame with these `stream_id` and `offset` can carry when header and data together take
    /// `room` bytes or less; `None` if not even an empty frame fits. `self.length` only tells whether the field is
    /// there, not its value.
    #[inline]
    pub const fn capacity(&self, room: usize) -> Option<usize> {
        let Some(room) = room.checked_sub(prefix_len(self.stream_id, self.offset)) else { return None };
        match self.length {
            Some(_) => length_prefixed_capacity(room),
            None => Some(room),
        }
    }

    /// Writes the header; the data follows from the writer's new position on.
    ///
    /// # Errors
    /// [`BufferTooShort`] if it does not fit; the writer is then as before.
    #[inline]
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), BufferTooShort> {
        if w.remaining() < self.encoded_len() {
            return Err(BufferTooShort);
        }
        self.encode_to(w)
    }

    #[inline]
    pub(super) fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        let mut frame_type = frame::STREAM;
        if self.offset != 0 {
            frame_type |= frame::STREAM_OFF;
        }
        if self.length.is_some() {
            frame_type |= frame::STREAM_LEN;
        }
        if self.fin {
            frame_type |= frame::STREAM_FIN;
        }
        sink.byte(frame_type as u8)?;
        sink.varint(self.stream_id)?;
        if self.offset != 0 {
            sink.varint(self.offset)?;
        }
        self.length.map_or(Ok(()), |length| sink.varint(length))
    }
}

const fn prefix_len(stream_id: u64, offset: u64) -> usize {
    let offset = if offset == 0 { 0 } else { varint::len(offset) };
    1 + varint::len(stream_id) + offset
}

/// The most data that fits into `room` together with its own length.
const fn length_prefixed_capacity(room: usize) -> Option<usize> {
    // The length field grows by steps with the data: take the largest data for which both fit.
    match room {
        0 => None,
        1..=64 => Some(room - 1),
        65 => Some(63),
        66..=16_385 => Some(room - 2),
        16_386..=16_387 => Some(16_383),
        16_388..=1_073_741_827 => Some(room - 4),
        1_073_741_828..=1_073_741_831 => Some(1_073_741_823),
        _ => Some(room - 8),
    }
}

impl<'a> Stream<'a> {
    /// The offset just past the data, in bytes.
    #[inline]
    pub const fn end(&self) -> u64 {
        // Checked when decoded; a value built by hand cannot hold enough data to wrap either.
        self.offset.saturating_add(self.data.len() as u64)
    }

    pub(super) const fn header(&self) -> StreamHeader {
        StreamHeader {
            stream_id: self.stream_id,
            offset: self.offset,
            length: Some(self.data.len() as u64),
            fin: self.fin,
        }
    }

    #[inline]
    pub(super) fn decode(r: &mut Reader<'a>, frame_type: u64) -> Result<Self, FrameErrorKind> {
        let stream_id = r.read_varint()?;
        let offset = if frame_type & frame::STREAM_OFF != 0 { r.read_varint()? } else { 0 };
        let data =
            if frame_type & frame::STREAM_LEN != 0 { r.read_varint_prefixed()? } else { r.read_rest() };
        check_end(offset, data)?;
        Ok(Self { stream_id, offset, fin: frame_type & frame::STREAM_FIN != 0, data })
    }
}

impl<'a> Crypto<'a> {
    #[inline]
    pub(super) fn decode(r: &mut Reader<'a>) -> Result<Self, FrameErrorKind> {
        let offset = r.read_varint()?;
        let data = r.read_varint_prefixed()?;
        check_end(offset, data)?;
        Ok(Self { offset, data })
    }
}

impl<'a> Datagram<'a> {
    #[inline]
    pub(super) fn decode(r: &mut Reader<'a>, frame_type: u64) -> Result<Self, FrameErrorKind> {
        let data = if frame_type == frame::DATAGRAM_LEN { r.read_varint_prefixed()? } else { r.read_rest() };
        Ok(Self { data })
    }
}

//= rfc9000-19.6-1: CRYPTO beyond 2^62 - 1: error
//= rfc9000-19.8-2: STREAM data beyond 2^62 - 1: error
fn check_end(offset: u64, data: &[u8]) -> Result<(), FrameErrorKind> {
    let length = data.len() as u64;
    if offset + length > varint::MAX {
        return Err(FrameErrorKind::DataTooFar { offset, length });
    }
    Ok(())
}

/// The exact size of a CRYPTO frame without its data, in bytes.
#[inline]
pub const fn crypto_header_len(offset: u64, length: u64) -> usize {
    1 + varint::len(offset) + varint::len(length)
}

/// The most data that a CRYPTO frame at `offset` can carry when it takes `room` bytes or less in all; `None` if not
/// even an empty one fits.
#[inline]
pub const fn crypto_capacity(offset: u64, room: usize) -> Option<usize> {
    match room.checked_sub(1 + varint::len(offset)) {
        Some(room) => length_prefixed_capacity(room),
        None => None,
    }
}

/// Writes a CRYPTO frame without its data, `length` bytes, which follow from the writer's new position on.
///
/// # Errors
/// [`BufferTooShort`] if it does not fit; the writer is then as before.
#[inline]
pub fn write_crypto_header(w: &mut Writer<'_>, offset: u64, length: u64) -> Result<(), BufferTooShort> {
    if w.remaining() < crypto_header_len(offset, length) {
        return Err(BufferTooShort);
    }
    w.write_u8(frame::CRYPTO as u8)?;
    w.write_varint(offset)?;
    w.write_varint(length)
}

/// The exact size of a DATAGRAM frame without its data, in bytes; `length` is `None` where the field is left out.
#[inline]
pub const fn datagram_header_len(length: Option<u64>) -> usize {
    match length {
        Some(length) => 1 + varint::len(length),
        None => 1,
    }
}

/// The most data that a DATAGRAM frame with a length field can carry when it takes `room` bytes or less in all;
/// `None` if not even an empty one fits.
#[inline]
pub const fn datagram_capacity(room: usize) -> Option<usize> {
    match room.checked_sub(1) {
        Some(room) => length_prefixed_capacity(room),
        None => None,
    }
}

/// Writes a DATAGRAM frame without its data, which follows from the writer's new position on. Without `length` it
/// reaches to the end of the packet.
///
/// # Errors
/// [`BufferTooShort`] if it does not fit; the writer is then as before.
#[inline]
pub fn write_datagram_header(w: &mut Writer<'_>, length: Option<u64>) -> Result<(), BufferTooShort> {
    if w.remaining() < datagram_header_len(length) {
        return Err(BufferTooShort);
    }
    match length {
        Some(length) => {
            w.write_u8(frame::DATAGRAM_LEN as u8)?;
            w.write_varint(length)
        }
        None => w.write_u8(frame::DATAGRAM as u8),
    }
}
