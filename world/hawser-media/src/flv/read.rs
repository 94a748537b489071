//! Tags out of a stream of bytes.

use bytes::{Buf, Bytes, BytesMut};

use super::{MAX_TAG, Tag, TagKind};

/// Bytes of the file header, with the size of the tag before the first one.
const FILE_HEADER: usize = 13;
/// Bytes before the body of a tag.
const TAG_HEADER: usize = 11;

/// What is no FLV. Offsets are in bytes from the beginning of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlvError {
    /// Other magic bytes.
    #[error("this is no FLV: it does not begin with \"FLV\", version 1")]
    NoFlv,
    /// A tag of a type that does not exist, or encrypted.
    #[error("the tag at byte {offset} has type {found}; known are 8 (audio), 9 (video) and 18 (data)")]
    UnknownTag {
        /// Where.
        offset: u64,
        /// Its type byte.
        found: u8,
    },
    /// A tag that is larger than any frame.
    #[error("the tag at byte {offset} claims {size} bytes; the most that is taken is {MAX_TAG}")]
    TooLarge {
        /// Where.
        offset: u64,
        /// What it claims.
        size: u32,
    },
    /// The size behind a tag is not that of the tag: one of the two lies.
    #[error("the tag at byte {offset} has {size} bytes, but {found} according to the field behind it")]
    WrongSize {
        /// Where.
        offset: u64,
        /// With its header.
        size: u32,
        /// What is behind it.
        found: u32,
    },
    /// The stream ended in a tag.
    #[error("the stream ends within the tag at byte {offset}")]
    Truncated {
        /// Where the tag began.
        offset: u64,
    },
}

/// Reads an FLV stream as it comes. It keeps at most one tag, so [`MAX_TAG`] and what was given at once.
#[derive(Debug, Default)]
pub struct FlvReader {
    buffer: BytesMut,
    /// Bytes taken off the front of the stream.
    offset: u64,
    has_begun: bool,
}

impl FlvReader {
    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete tag; `None` until more bytes come.
    ///
    /// # Errors
    /// [`FlvError`]: nothing can be read beyond it, since tags tell where the next one begins.
    pub fn next_tag(&mut self) -> Result<Option<Tag>, FlvError> {
        if !self.has_begun && !self.skip_file_header()? {
            return Ok(None);
        }
        let Some(header) = self.buffer.first_chunk::<TAG_HEADER>() else { return Ok(None) };
        let offset = self.offset;
        // The upper bits are reserved, but for one that says "encrypted".
        let kind = TagKind::from_byte(header[0]);
        let kind = kind.ok_or(FlvError::UnknownTag { offset, found: header[0] })?;
        let size = u32::from_be_bytes([0, header[1], header[2], header[3]]);
        if size as usize > MAX_TAG {
            return Err(FlvError::TooLarge { offset, size });
        }
        // Its fourth byte is the most significant one.
        let timestamp = u32::from_be_bytes([header[7], header[4], header[5], header[6]]);
        let total = TAG_HEADER + size as usize;
        let Some(trailer) = self.buffer.get(total..total + 4) else { return Ok(None) };
        let found = trailer.iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
        // Some muxers leave the field empty.
        if found != total as u32 && found != 0 {
            return Err(FlvError::WrongSize { offset, size: total as u32, found });
        }
        let mut tag = self.take(total + 4);
        tag.advance(TAG_HEADER);
        tag.truncate(size as usize);
        Ok(Some(Tag { kind, timestamp, data: tag }))
    }

    /// The stream is over.
    ///
    /// # Errors
    /// When it ended within a tag or its header.
    pub fn end(&self) -> Result<(), FlvError> {
        match (self.has_begun, self.buffer.is_empty()) {
            (_, false) => Err(FlvError::Truncated { offset: self.offset }),
            (false, true) => Err(FlvError::NoFlv),
            (true, true) => Ok(()),
        }
    }

    /// Returns whether it was there.
    fn skip_file_header(&mut self) -> Result<bool, FlvError> {
        let expected = b"FLV\x01";
        if self.buffer.iter().zip(expected).any(|(found, expected)| found != expected) {
            return Err(FlvError::NoFlv);
        }
        let Some(header) = self.buffer.first_chunk::<FILE_HEADER>() else { return Ok(false) };
        if u32::from_be_bytes([header[5], header[6], header[7], header[8]]) != 9 {
            return Err(FlvError::NoFlv);
        }
        self.has_begun = true;
        self.take(FILE_HEADER);
        Ok(true)
    }

    fn take(&mut self, length: usize) -> Bytes {
        self.offset += length as u64;
        self.buffer.split_to(length).freeze()
    }
}
