//! Tags as a stream of bytes.

use bytes::{BufMut, Bytes, BytesMut};

use super::Tag;
use super::times::PlayerTimes;

/// The beginning of a stream: with audio, and with video unless the source is known to have audio alone.
pub fn file_header(has_video: bool) -> Bytes {
    Bytes::from_static(if has_video {
        b"FLV\x01\x05\0\0\0\x09\0\0\0\0"
    } else {
        b"FLV\x01\x04\0\0\0\x09\0\0\0\0"
    })
}

/// Writes tags whose times begin at 0 and, of each kind, never go back.
#[derive(Debug, Default)]
pub struct FlvWriter {
    times: PlayerTimes,
}

impl FlvWriter {
    /// A tag, with the size behind it; nothing if it lies before the first one of all, as sound that is sent late does when a
    /// player begins with a key frame. Its body is at most [`MAX_TAG`](super::MAX_TAG) long, as those that are read are.
    pub fn write(&mut self, tag: &Tag) -> Bytes {
        let Some(time) = self.times.next(tag) else { return Bytes::new() };
        // Times wrap after 49 days.
        let time = time as u32;
        let size = tag.data.len() as u32;
        let mut bytes = BytesMut::with_capacity(tag.data.len() + 15);
        bytes.put_u8(tag.kind.to_byte());
        bytes.put_uint(size.into(), 3);
        bytes.put_uint(u64::from(time & 0x00ff_ffff), 3);
        bytes.put_u8((time >> 24) as u8);
        // The stream id, always 0.
        bytes.put_uint(0, 3);
        bytes.put_slice(&tag.data);
        bytes.put_u32(size + 11);
        bytes.freeze()
    }
}
