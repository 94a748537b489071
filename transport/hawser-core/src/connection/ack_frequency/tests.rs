use std::time::Duration;

use hawser_policy::{AckFrequency, PathId};
use hawser_wire::frame::{AckFrequency as AckFrequencyFrame, Frame, FrameIter};
use hawser_wire::writer::Writer;

use super::{AckFrequencies, AckFrequencyUnsupported, MAX_IN_FLIGHT, MIN_ACK_DELAY};
use crate::Code;
use crate::connection::frames::{SentFrame, SentFrames};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn asking() -> AckFrequencies {
    let mut frequencies = AckFrequencies::new(millis(25));
    frequencies.negotiate(Some(millis(2)), millis(25));
    frequencies
}

fn every(ack_eliciting_threshold: u64, delay: u64) -> AckFrequency {
    AckFrequency { ack_eliciting_threshold, max_ack_delay: millis(delay), reordering_threshold: 3 }
}

/// The request that leaves, if one does.
fn sent(frequencies: &mut AckFrequencies) -> Option<AckFrequencyFrame> {
    let (mut buffer, mut frames) = (vec![0; 100], SentFrames::new());
    let mut w = Writer::new(&mut buffer);
    frequencies.write(&mut w, &mut frames);
    let frame = match FrameIter::new(w.written()).next()? {
        Ok(Frame::AckFrequency(frame)) => frame,
        _ => return None,
    };
    assert_eq!(frames[..], [SentFrame::AckFrequency(frame.sequence_number)]);
    Some(frame)
}

#[test]
fn requests_are_clamped_to_what_the_peer_takes() {
    let mut frequencies = AckFrequencies::new(millis(25));
    assert_eq!(frequencies.request(every(9, 50)), Err(AckFrequencyUnsupported));
    assert_eq!(frequencies.request_immediate(PathId::ZERO), Err(AckFrequencyUnsupported));
    let mut frequencies = asking();
    for (asked, said) in [(1, 2_000), (50, 50_000), (1_000_000, 16_383_999)] {
        frequencies.request(every(9, asked)).unwrap();
        assert_eq!(sent(&mut frequencies).unwrap().requested_max_ack_delay, said);
    }
}

#[test]
fn probe_timeouts_count_with_the_longest_delay_that_may_be_in_force() {
    let mut frequencies = asking();
    assert_eq!(frequencies.peer_max_ack_delay(), millis(25));
    frequencies.request(every(9, 5)).unwrap();
    let first = sent(&mut frequencies).unwrap().sequence_number;
    assert_eq!(frequencies.peer_max_ack_delay(), millis(25), "the peer may not know yet");
    frequencies.request(every(9, 80)).unwrap();
    let second = sent(&mut frequencies).unwrap().sequence_number;
    assert_eq!(frequencies.peer_max_ack_delay(), millis(80));
    frequencies.on_acked(first);
    assert_eq!(frequencies.peer_max_ack_delay(), millis(80));
    frequencies.request(every(9, 10)).unwrap();
    let third = sent(&mut frequencies).unwrap().sequence_number;
    frequencies.on_acked(third);
    assert_eq!(frequencies.peer_max_ack_delay(), millis(10), "what was asked before is void");
    frequencies.on_acked(second);
    assert_eq!(frequencies.peer_max_ack_delay(), millis(10));
}

#[test]
fn a_lost_request_is_repeated_unless_there_is_a_newer_one() {
    let mut frequencies = asking();
    frequencies.request(every(9, 5)).unwrap();
    let first = sent(&mut frequencies).unwrap();
    frequencies.request(every(7, 5)).unwrap();
    let second = sent(&mut frequencies).unwrap();
    frequencies.on_lost(first.sequence_number);
    assert_eq!(sent(&mut frequencies), None);
    frequencies.on_lost(second.sequence_number);
    let again = sent(&mut frequencies).unwrap();
    assert_eq!((again.sequence_number, again.ack_eliciting_threshold), (2, 7));
    for n in 0..10 {
        frequencies.request(every(n, 5)).unwrap();
        sent(&mut frequencies);
    }
    assert_eq!(frequencies.in_flight.len(), MAX_IN_FLIGHT);
}

#[test]
fn of_the_peers_requests_the_newest_counts() {
    let mut frequencies = AckFrequencies::new(millis(25));
    let frame = |sequence_number, threshold, micros| AckFrequencyFrame {
        sequence_number,
        ack_eliciting_threshold: threshold,
        requested_max_ack_delay: micros,
        reordering_threshold: 1,
    };
    frequencies.on_frame(&frame(5, 10, 40_000)).unwrap();
    frequencies.on_frame(&frame(4, 20, 40_000)).unwrap();
    frequencies.on_frame(&frame(5, 30, 40_000)).unwrap();
    let wanted = frequencies.wanted().unwrap();
    assert_eq!((wanted.ack_eliciting_threshold, wanted.max_ack_delay), (10, millis(40)));
    let too_quick = frame(6, 1, MIN_ACK_DELAY.as_micros() as u64 - 1);
    assert_eq!(frequencies.on_frame(&too_quick).unwrap_err().code, Code::PROTOCOL_VIOLATION);
}

#[test]
fn immediate_acknowledgements_are_wanted_once_per_path() {
    let mut frequencies = asking();
    for path in [1, 2, 1, 3] {
        frequencies.request_immediate(PathId(path)).unwrap();
    }
    frequencies.on_path_gone(PathId(3));
    assert_eq!(frequencies.immediate_paths(), [PathId(1), PathId(2)]);
    let mut buffer = [0; 10];
    let mut w = Writer::new(&mut buffer);
    assert!(frequencies.write_immediate(PathId(2), &mut w));
    assert!(!frequencies.write_immediate(PathId(2), &mut w));
    assert_eq!(w.written(), [0x1f]);
    assert_eq!(frequencies.immediate_paths(), [PathId(1)]);
}
