//! Messages out of chunks, and into them (section 5.3). Chunks of several chunk streams may alternate.

use std::collections::BTreeMap;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::RtmpError;
use crate::flv::MAX_TAG;

/// Chunk streams of one connection. Encoders use four or five.
pub const MAX_CHUNK_STREAMS: usize = 16;
/// Bytes kept of messages that are not complete, over all chunk streams.
pub const MAX_PARTIAL: usize = 2 * MAX_TAG;

/// Chunks of both directions before anybody says otherwise (section 5.4.1).
const FIRST_CHUNK_SIZE: usize = 128;
/// A timestamp that does not fit is this, and follows behind the header.
const EXTENDED: u32 = 0xff_ffff;

/// A message, without the framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) stream: u32,
    pub(super) timestamp: u32,
    pub(super) payload: Bytes,
}

/// What is known of a chunk stream by its earlier chunks.
#[derive(Debug, Default)]
struct ChunkStream {
    timestamp: u32,
    /// Timestamp field of the last chunk that had one: a time or a step.
    step: u32,
    is_extended: bool,
    length: u32,
    kind: u8,
    stream: u32,
    partial: BytesMut,
}

#[derive(Debug)]
pub(super) struct ChunkReader {
    buffer: BytesMut,
    chunk_size: usize,
    streams: BTreeMap<u32, ChunkStream>,
    partial: usize,
    /// Whether chunks without a timestamp of their own were seen that do not repeat an extended one: encoders differ in how
    /// they read section 5.3.1.3, and each is consistent.
    omits_extended: bool,
}

/// Header of a chunk, as far as it has one.
struct Header {
    length: usize,
    chunk_stream: u32,
    timestamp: Option<u32>,
    message: Option<(u32, u8)>,
    stream: Option<u32>,
    is_extended: bool,
    /// Whether the extended timestamp that belongs to it was left out.
    omits_extended: bool,
}

impl ChunkReader {
    pub(super) fn new() -> Self {
        ChunkReader {
            buffer: BytesMut::new(),
            chunk_size: FIRST_CHUNK_SIZE,
            streams: BTreeMap::new(),
            partial: 0,
            omits_extended: false,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Chunks have this size from now on.
    pub(super) fn set_chunk_size(&mut self, size: u32) -> Result<(), RtmpError> {
        if size == 0 || size > i32::MAX.cast_unsigned() {
            return Err(RtmpError::ChunkSize(size));
        }
        self.chunk_size = size as usize;
        Ok(())
    }

    /// The rest of a message will not come.
    pub(super) fn abort(&mut self, chunk_stream: u32) {
        if let Some(stream) = self.streams.get_mut(&chunk_stream) {
            self.partial -= stream.partial.len();
            stream.partial.clear();
        }
    }

    /// The next complete message, if there is one.
    pub(super) fn next_message(&mut self) -> Result<Option<Message>, RtmpError> {
        while let Some(header) = self.header()? {
            let stream = self.streams.get(&header.chunk_stream);
            let (begun, known) = stream.map_or((0, 0), |stream| (stream.partial.len(), stream.length));
            // A new header within a message begins another one in its place.
            let begun = if header.message.is_some() { 0 } else { begun };
            let length = header.message.map_or(known, |(length, _)| length);
            if length as usize > MAX_TAG {
                return Err(RtmpError::TooLarge(length));
            }
            let size = (length as usize - begun).min(self.chunk_size);
            if self.buffer.len() < header.length + size {
                return Ok(None);
            }
            self.buffer.advance(header.length);
            let payload = self.buffer.split_to(size);
            if let Some(message) = self.take(header, &payload)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// The header of the next chunk, if all of it is there.
    fn header(&self) -> Result<Option<Header>, RtmpError> {
        let mut rest = &self.buffer[..];
        let Some(first) = rest.first().copied() else { return Ok(None) };
        let basic = match first & 0x3f {
            0 => 2,
            1 => 3,
            _ => 1,
        };
        let format = first >> 6;
        let fields = [11, 7, 3, 0][usize::from(format)];
        if rest.len() < basic + fields {
            return Ok(None);
        }
        let chunk_stream = match basic {
            2 => 64 + u32::from(rest[1]),
            3 => 64 + u32::from(rest[1]) + 256 * u32::from(rest[2]),
            _ => u32::from(first & 0x3f),
        };
        let known = self.streams.get(&chunk_stream);
        if format > 0 && known.is_none() {
            return Err(RtmpError::NoPrevious(chunk_stream));
        }
        if known.is_none() && self.streams.len() == MAX_CHUNK_STREAMS {
            return Err(RtmpError::TooManyStreams);
        }
        rest.advance(basic);
        let timestamp = (format < 3).then(|| rest.get_uint(3) as u32);
        let message = (format < 2).then(|| (rest.get_uint(3) as u32, rest.get_u8()));
        let stream = (format < 1).then(|| rest.get_u32_le());
        let is_extended = match timestamp {
            Some(timestamp) => timestamp == EXTENDED,
            None => known.is_some_and(|known| known.is_extended),
        };
        let mut omits_extended = false;
        if let Some(known) = known.filter(|_| timestamp.is_none() && is_extended) {
            omits_extended = self.omits_extended;
            // Within a message it is known what would be repeated: the step, or with some encoders the time.
            if !omits_extended && !known.partial.is_empty() {
                let Some(next) = rest.first_chunk().map(|next| u32::from_be_bytes(*next)) else {
                    return Ok(None);
                };
                omits_extended = next != known.step && next != known.timestamp;
            }
        }
        let has_extended = is_extended && !omits_extended;
        if has_extended && rest.len() < 4 {
            return Ok(None);
        }
        let length = basic + fields + if has_extended { 4 } else { 0 };
        let timestamp = if has_extended { timestamp.map(|_| rest.get_u32()) } else { timestamp };
        Ok(Some(Header { length, chunk_stream, timestamp, message, stream, is_extended, omits_extended }))
    }

    /// Takes a chunk; the message that it completes.
    fn take(&mut self, header: Header, payload: &[u8]) -> Result<Option<Message>, RtmpError> {
        self.omits_extended |= header.omits_extended;
        let stream = self.streams.entry(header.chunk_stream).or_default();
        if let Some((length, kind)) = header.message {
            (stream.length, stream.kind) = (length, kind);
            self.partial -= stream.partial.len();
            stream.partial.clear();
        }
        stream.is_extended = header.is_extended;
        stream.step = header.timestamp.unwrap_or(stream.step);
        if let Some(message_stream) = header.stream {
            (stream.stream, stream.timestamp) = (message_stream, stream.step);
        } else if stream.partial.is_empty() {
            // Only the first chunk of a message moves the clock (section 5.3.1.2.4).
            stream.timestamp = stream.timestamp.wrapping_add(stream.step);
        }
        stream.partial.extend_from_slice(payload);
        self.partial += payload.len();
        if self.partial > MAX_PARTIAL {
            return Err(RtmpError::TooMuchPartial);
        }
        if stream.partial.len() < stream.length as usize {
            return Ok(None);
        }
        self.partial -= stream.partial.len();
        Ok(Some(Message {
            kind: stream.kind,
            stream: stream.stream,
            timestamp: stream.timestamp,
            // A buffer of its own: one that small messages shared with a large one before them would be kept for as long as they are.
            payload: std::mem::take(&mut stream.partial).freeze(),
        }))
    }
}

/// Writes a message as chunks of this size, each message with a full header: we send few.
pub(super) fn write(output: &mut BytesMut, chunk_stream: u8, message: &Message, chunk_size: usize) {
    output.put_u8(chunk_stream & 0x3f);
    output.put_uint(u64::from(message.timestamp.min(EXTENDED)), 3);
    output.put_uint(message.payload.len() as u64, 3);
    output.put_u8(message.kind);
    output.put_u32_le(message.stream);
    let extended = (message.timestamp >= EXTENDED).then_some(message.timestamp);
    extended.into_iter().for_each(|timestamp| output.put_u32(timestamp));
    for (index, piece) in message.payload.chunks(chunk_size.max(1)).enumerate() {
        if index > 0 {
            output.put_u8(3 << 6 | chunk_stream & 0x3f);
            extended.into_iter().for_each(|timestamp| output.put_u32(timestamp));
        }
        output.put_slice(piece);
    }
}

/// Chunks that we send before we say otherwise.
pub(super) const OWN_CHUNK_SIZE: usize = FIRST_CHUNK_SIZE;
