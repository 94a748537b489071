//! Frames: round trips, the standards' own bytes, and hostile input.

mod acks;
mod data;
mod hostile;
mod repair;
mod rules;
mod strategies;

use proptest::prelude::*;

use super::*;
use crate::writer::{BufferTooShort, Writer};
use strategies::any_frame;

/// The bytes of one frame.
fn encoded(frame: &Frame<'_>) -> Vec<u8> {
    let mut buffer = vec![0; frame.encoded_len()];
    let mut w = Writer::new(&mut buffer);
    frame.encode(&mut w).unwrap();
    assert_eq!(w.remaining(), 0, "encoded_len is exact");
    buffer
}

/// All frames of a payload, or the first error.
fn decoded(payload: &[u8]) -> Result<Vec<Frame<'_>>, FrameError> {
    FrameIter::new(payload).collect()
}

/// The only frame of a payload given in hex.
fn single(payload: &str) -> Result<Frame<'static>, FrameErrorKind> {
    let payload = hex::decode(payload).unwrap().leak();
    let frames = decoded(payload).map_err(|error| error.kind)?;
    assert_eq!(frames.len(), 1);
    Ok(frames[0])
}

proptest! {
    #[test]
    fn round_trip(frame in any_frame()) {
        let bytes = encoded(&frame);
        prop_assert_eq!(decoded(&bytes), Ok(vec![frame]));
        let frame_type = crate::Reader::new(&bytes).read_varint().unwrap();
        prop_assert_eq!(frame_type, frame.frame_type());
    }

    /// Written one after the other, frames come out the same; padding in a row is one frame.
    #[test]
    fn sequences(frames in proptest::collection::vec(any_frame(), 1..20)) {
        let mut expected: Vec<Frame<'_>> = Vec::new();
        for frame in &frames {
            match (expected.last_mut(), frame) {
                (Some(Frame::Padding(run)), Frame::Padding(more)) => *run += more,
                _ => expected.push(*frame),
            }
        }
        let payload: Vec<u8> = frames.iter().flat_map(encoded).collect();
        prop_assert_eq!(decoded(&payload), Ok(expected));
    }

    /// A frame that does not fit leaves no trace.
    #[test]
    fn short_buffers(frame in any_frame(), missing in 1_usize..100) {
        let mut buffer = vec![0; encoded(&frame).len().saturating_sub(missing)];
        let mut w = Writer::new(&mut buffer);
        prop_assert_eq!(frame.encode(&mut w), Err(BufferTooShort));
        prop_assert_eq!(w.position(), 0);
    }
}

/// Bytes worked out by hand from the drawings in the standards, one frame of each type.
#[test]
fn known_bytes() {
    for (bytes, frame) in strategies::known_frames() {
        assert_eq!(single(bytes), Ok(frame), "{bytes}");
        assert_eq!(hex::encode(encoded(&frame)), bytes);
    }
}
