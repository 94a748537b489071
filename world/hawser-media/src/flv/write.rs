//! Tags as a stream of bytes.

use bytes::{BufMut, Bytes, BytesMut};

use super::{Tag, TagKind};

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
    /// The timestamp of the latest tag, and its time since the first one.
    latest: Option<(u32, i64)>,
    /// Times of the last tags: of audio, and of everything else.
    last: [i64; 2],
}

impl FlvWriter {
    /// A tag, with the size behind it; nothing if it lies before the first one of all, as sound that is sent late does when a
    /// player begins with a key frame. Its body is at most [`MAX_TAG`](super::MAX_TAG) long, as those that are read are.
    pub fn write(&mut self, tag: &Tag) -> Bytes {
        let (timestamp, latest) = *self.latest.get_or_insert((tag.timestamp, 0));
        let time = latest + i64::from(tag.timestamp.wrapping_sub(timestamp).cast_signed());
        if time > latest {
            self.latest = Some((tag.timestamp, time));
        }
        let last = &mut self.last[usize::from(tag.kind != TagKind::Audio)];
        if time < 0 && *last == 0 && !tag.role().is_header() {
            return Bytes::new();
        }
        // One that lies before the last one of its kind is shown with it.
        *last = time.max(*last);
        // Times wrap after 49 days.
        let time = *last as u32;
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
