//! Walking the frames of a packet.

use super::{Frame, FrameError, FrameErrorKind};
use crate::reader::Reader;
use crate::varint;

/// The frames of a decrypted packet payload, in order. Ends after the first error.
///
/// A run of PADDING is one item. An empty payload yields an error, since a packet without frames is a protocol
/// violation (RFC 9000 section 12.4).
#[derive(Clone, Debug)]
pub struct FrameIter<'a> {
    rest: Reader<'a>,
    failed: bool,
}

impl<'a> FrameIter<'a> {
    /// Walks `payload`, all bytes of a packet between its header and its authentication tag.
    #[inline]
    pub const fn new(payload: &'a [u8]) -> Self {
        Self { rest: Reader::new(payload), failed: false }
    }

    // Apart from `next`, which is then small: it is asked once more than there are frames.
    //= rfc9000-12.4-2: a packet without frames: PROTOCOL_VIOLATION
    //= rfc9000-12.4-4: an unknown frame type: FRAME_ENCODING_ERROR
    #[inline(never)]
    fn read(&mut self) -> Result<Frame<'a>, FrameError> {
        if self.rest.is_empty() {
            return Err(FrameError { frame_type: 0, kind: FrameErrorKind::NoFrames });
        }
        let frame_type = self.read_type()?;
        Frame::decode_body(frame_type, &mut self.rest)
    }

    //= rfc9000-12.4-5: frame types take the fewest bytes
    #[inline]
    fn read_type(&mut self) -> Result<u64, FrameError> {
        let before = self.rest.remaining();
        let untyped = |kind| FrameError { frame_type: 0, kind };
        let frame_type = self.rest.read_varint().map_err(|end| untyped(end.into()))?;
        if before - self.rest.remaining() != varint::len(frame_type) {
            return Err(FrameError { frame_type, kind: FrameErrorKind::NonMinimalType });
        }
        Ok(frame_type)
    }
}

impl<'a> Iterator for FrameIter<'a> {
    type Item = Result<Frame<'a>, FrameError>;

    #[inline]
    fn next(&mut self) -> Option<Result<Frame<'a>, FrameError>> {
        let at_end = self.rest.is_empty() && self.rest.position() > 0;
        if self.failed || at_end {
            return None;
        }
        let frame = self.read();
        self.failed = frame.is_err();
        Some(frame)
    }
}
