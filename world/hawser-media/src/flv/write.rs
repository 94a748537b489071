//! Tags as a stream of bytes.

use bytes::{BufMut, Bytes, BytesMut};

use super::Tag;

/// The beginning of a stream: with audio and video, as far as anybody knows beforehand.
pub fn file_header() -> Bytes {
    Bytes::from_static(b"FLV\x01\x05\0\0\0\x09\0\0\0\0")
}

/// Writes tags whose times begin at 0 and never go back.
#[derive(Debug, Default)]
pub struct FlvWriter {
    origin: Option<u32>,
    last: u32,
}

impl FlvWriter {
    /// A tag, with the size behind it. Its body is at most [`MAX_TAG`](super::MAX_TAG) long, as those that are read are.
    pub fn write(&mut self, tag: &Tag) -> Bytes {
        let origin = *self.origin.get_or_insert(tag.timestamp);
        let since = tag.timestamp.wrapping_sub(origin);
        // A tag that lies before the first one, or before the last one, is shown with it.
        let is_earlier = since.wrapping_sub(self.last) > u32::MAX / 2;
        self.last = if is_earlier { self.last } else { since };
        let size = tag.data.len() as u32;
        let mut bytes = BytesMut::with_capacity(tag.data.len() + 15);
        bytes.put_u8(tag.kind.to_byte());
        bytes.put_uint(size.into(), 3);
        bytes.put_uint(u64::from(self.last & 0x00ff_ffff), 3);
        bytes.put_u8((self.last >> 24) as u8);
        // The stream id, always 0.
        bytes.put_uint(0, 3);
        bytes.put_slice(&tag.data);
        bytes.put_u32(size + 11);
        bytes.freeze()
    }
}
