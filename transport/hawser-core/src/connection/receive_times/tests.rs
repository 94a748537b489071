use std::time::Duration;

use hawser_policy::Time;
use hawser_wire::frame::{AckHeader, Frame, FrameIter, TimestampLimits, write_ack_with_timestamps};
use hawser_wire::writer::Writer;

use super::{MARGIN, MAX_RANDOM_OFFSET, RECEIVE_TIMESTAMPS_EXPONENT, ReceiveTimes};
use crate::Code;

const LIMITS: TimestampLimits = TimestampLimits { exponent: RECEIVE_TIMESTAMPS_EXPONENT, max_count: 100 };

/// An acknowledgement of packets 0 to 9 that says when these arrived.
fn acknowledgement(arrivals: &[(u64, u64)]) -> Vec<u8> {
    let mut buffer = vec![0; 300];
    let mut w = Writer::new(&mut buffer);
    let header = AckHeader { path_id: Some(0), ..AckHeader::default() };
    write_ack_with_timestamps(&mut w, &header, [0..=9], 1, LIMITS, arrivals.iter().copied()).unwrap();
    w.written().to_vec()
}

fn read(times: &mut ReceiveTimes, bytes: &[u8]) -> Result<(), Code> {
    let Some(Ok(Frame::Ack(ack))) = FrameIter::new(bytes).next() else { panic!() };
    times.read(&ack).map_err(|error| error.code)
}

#[test]
fn delays_are_those_of_the_network_plus_a_constant() {
    let (here, there) = (Time::from_secs(500), Time::from_millis(3));
    let mut receiver = ReceiveTimes::new(there, None);
    receiver.on_peer_asks(LIMITS, 0x1234_5678_9abc_def0);
    let mut sender = ReceiveTimes::new(here, Some(100));
    // Sent a millisecond apart, the later ones are the slower ones.
    let sent_at = |n: u64| here + Duration::from_millis(n);
    let delay = |n: u64| Duration::from_millis(20 + 7 * n);
    let arrivals: Vec<_> =
        (0..10).rev().map(|n| (n, receiver.micros_of(there + sent_at(n).since(here) + delay(n)))).collect();
    read(&mut sender, &acknowledgement(&arrivals)).unwrap();
    let measured = |n| sender.arrivals().one_way_delay(n, sent_at(n)).unwrap();
    let constant = measured(0) - delay(0);
    assert!(constant >= MARGIN && constant <= MARGIN + MAX_RANDOM_OFFSET, "{constant:?}");
    for n in 1..10 {
        let error = measured(n).abs_diff(delay(n) + constant);
        assert!(error <= Duration::from_micros(1 << RECEIVE_TIMESTAMPS_EXPONENT), "{n}: {error:?}");
    }
    assert_eq!(sender.arrivals().one_way_delay(10, here), None, "nothing was said of it");
}

#[test]
fn a_clock_that_runs_slow_gives_no_negative_delay() {
    let mut sender = ReceiveTimes::new(Time::ZERO, Some(1));
    read(&mut sender, &acknowledgement(&[(9, 0)])).unwrap();
    let after = |seconds| sender.arrivals().one_way_delay(9, Time::from_secs(seconds));
    assert_eq!(after(59), Some(Duration::from_secs(1)));
    assert_eq!(after(1_000), Some(Duration::ZERO));
}

#[test]
fn only_what_was_asked_for_is_taken() {
    let two = acknowledgement(&[(9, 900), (8, 800)]);
    let outcome = |asked| read(&mut ReceiveTimes::new(Time::ZERO, asked), &two);
    assert_eq!(outcome(None), Err(Code::PROTOCOL_VIOLATION));
    assert_eq!(outcome(Some(1)), Err(Code::PROTOCOL_VIOLATION));
    assert_eq!(outcome(Some(2)), Ok(()));
    assert_eq!(outcome(Some(0)).err(), Some(Code::PROTOCOL_VIOLATION));
}
