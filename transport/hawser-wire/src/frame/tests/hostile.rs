//! Input that no honest peer sends.

use proptest::collection::vec;
use proptest::prelude::*;

use super::strategies::any_frame;
use super::*;
use crate::codepoints::{error, frame};

/// Whatever comes in: no panic, an end, and what was understood means the same when written again.
fn check(payload: &[u8]) -> Result<(), TestCaseError> {
    let mut frames = Vec::new();
    for item in FrameIter::new(payload) {
        match item {
            Ok(frame) => frames.push(frame),
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                let code = error.transport_error_code();
                prop_assert!(code == error::FRAME_ENCODING_ERROR || code == error::PROTOCOL_VIOLATION);
            }
        }
    }
    for frame in &frames {
        if let Frame::Ack(ack) = frame {
            prop_assert_eq!(ack.ranges.iter().count() as u64, ack.ranges.count());
            if let Some(timestamps) = &ack.receive_timestamps {
                prop_assert_eq!(timestamps.iter(20).count() as u64, timestamps.count());
            }
        }
        let bytes = encoded(frame);
        prop_assert_eq!(decoded(&bytes), Ok(vec![*frame]));
    }
    Ok(())
}

/// Bytes that start as some frame does.
fn typed_bytes() -> impl Strategy<Value = Vec<u8>> {
    let extension = prop_oneof![
        frame::PATH_ABANDON..=frame::PATH_CIDS_BLOCKED,
        frame::ACK_RECEIVE_TIMESTAMPS..=frame::PATH_ACK_RECEIVE_TIMESTAMPS_ECN,
        frame::OBSERVED_ADDRESS_IPV4..=frame::OBSERVED_ADDRESS_IPV6,
        Just(frame::ACK_FREQUENCY),
        Just(frame::POLICY_MESSAGE),
        Just(frame::STREAM_SKIP),
        frame::PROTECTED..=frame::RECOVERED,
    ];
    // Small bytes make small integers, with which more fields fit.
    let body = vec(prop_oneof![3 => 0..8_u8, 1 => any::<u8>()], 0..60);
    (prop_oneof![2 => 0..0x40_u64, 1 => extension], body).prop_map(|(frame_type, body)| {
        let mut buffer = [0; 8];
        let mut w = Writer::new(&mut buffer);
        w.write_varint(frame_type).unwrap();
        [w.written(), &body].concat()
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes(payload in vec(any::<u8>(), 0..200)) {
        check(&payload)?;
    }

    #[test]
    fn arbitrary_bytes_behind_a_known_type(payload in typed_bytes()) {
        check(&payload)?;
    }

    #[test]
    fn damaged_frames(frames in vec(any_frame(), 1..4), at: prop::sample::Index, flip in 1_u8.., cut: prop::sample::Index) {
        let mut payload: Vec<u8> = frames.iter().flat_map(encoded).collect();
        let at = at.index(payload.len());
        payload[at] ^= flip;
        check(&payload)?;
        payload.truncate(cut.index(payload.len()));
        check(&payload)?;
    }

    /// A frame cut anywhere is an error, never a different frame.
    #[test]
    fn truncated_frames(frame in any_frame(), cut: prop::sample::Index) {
        prop_assume!(!matches!(frame, Frame::Padding(_)));
        let bytes = encoded(&frame);
        let cut = cut.index(bytes.len());
        prop_assert!(decoded(&bytes[..cut]).is_err());
    }
}

//= multipath-4.6-1, multipath-4.6-3, rfc9000-4.6-1, rfc9000-12.4-1, rfc9000-12.4-2, rfc9000-12.4-5,
//= rfc9000-19.6-1, rfc9000-19.7-2, rfc9000-19.8-2, rfc9000-19.14-2, rfc9000-19.15-1, rfc9000-19.15-5,
//= rfc9000-19.15-6
#[test]
fn faults_are_told_apart() {
    use FrameErrorKind as Kind;
    for (bytes, kind, code) in [
        ("", Kind::NoFrames, error::PROTOCOL_VIOLATION),
        ("4001", Kind::NonMinimalType, error::PROTOCOL_VIOLATION),
        ("20", Kind::UnknownType, error::FRAME_ENCODING_ERROR),
        ("0700", Kind::EmptyToken, error::FRAME_ENCODING_ERROR),
        ("1a01020304", Kind::Truncated, error::FRAME_ENCODING_ERROR),
        ("40", Kind::Truncated, error::FRAME_ENCODING_ERROR),
        ("12d000000000000001", Kind::StreamCountTooLarge((1 << 60) + 1), error::FRAME_ENCODING_ERROR),
        ("17d000000000000001", Kind::StreamCountTooLarge((1 << 60) + 1), error::FRAME_ENCODING_ERROR),
        ("18010000", Kind::ConnectionIdLength(0), error::FRAME_ENCODING_ERROR),
        ("18010015", Kind::ConnectionIdLength(21), error::FRAME_ENCODING_ERROR),
        (
            "1801020101",
            Kind::RetirePriorTo { retire_prior_to: 2, sequence_number: 1 },
            error::FRAME_ENCODING_ERROR,
        ),
        ("2404000506", Kind::ReliableSize { reliable_size: 6, final_size: 5 }, error::FRAME_ENCODING_ERROR),
        ("40af010180fa000001", Kind::AckDelayTooLong(16_384_000), error::PROTOCOL_VIOLATION),
        ("7e7ac000000100000000", Kind::PathIdTooLarge(1 << 32), error::PROTOCOL_VIOLATION),
        ("3ec00000010000000000000000", Kind::PathIdTooLarge(1 << 32), error::PROTOCOL_VIOLATION),
        (
            "0e04ffffffffffffffff0161",
            Kind::DataTooFar { offset: crate::varint::MAX, length: 1 },
            error::FRAME_ENCODING_ERROR,
        ),
        (
            "06ffffffffffffffff0161",
            Kind::DataTooFar { offset: crate::varint::MAX, length: 1 },
            error::FRAME_ENCODING_ERROR,
        ),
        ("a8a75e1001030000", Kind::MessageFlags(3), error::FRAME_ENCODING_ERROR),
        ("a8a75e1001080000", Kind::MessageFlags(8), error::FRAME_ENCODING_ERROR),
        ("a8a75e1001000002ff", Kind::Truncated, error::FRAME_ENCODING_ERROR),
        ("a8a75e100104c00000010000000000", Kind::PathIdTooLarge(1 << 32), error::PROTOCOL_VIOLATION),
        ("a8a75e30040000", Kind::EmptySkip, error::FRAME_ENCODING_ERROR),
        (
            "a8a75e3004ffffffffffffffff01",
            Kind::DataTooFar { offset: crate::varint::MAX, length: 1 },
            error::FRAME_ENCODING_ERROR,
        ),
    ] {
        let payload = hex::decode(bytes).unwrap();
        let error = decoded(&payload).unwrap_err();
        assert_eq!((error.kind, error.transport_error_code()), (kind, code), "{bytes}");
    }
}

/// Private frame numbers without a decoder are reserved, not spoken: they are unknown like any other.
#[test]
fn reserved_private_frames_are_unknown() {
    let error = decoded(&hex::decode("a8a75e50000000").unwrap()).unwrap_err();
    assert_eq!(error.frame_type, 0x28a7_5e50);
    assert_eq!(error.kind, FrameErrorKind::UnknownType);
}

#[test]
fn an_error_ends_the_walk() {
    let mut frames = FrameIter::new(&[0x01, 0x20, 0x01]);
    assert_eq!(frames.next(), Some(Ok(Frame::Ping)));
    assert!(frames.next().unwrap().is_err());
    assert_eq!(frames.next(), None);
}
