//! Acknowledgements: ranges and receive timestamps.

use proptest::prelude::*;

use super::strategies::{arrivals, integer, ranges};
use super::*;

/// The largest frame written with `room` bytes, and what it says it holds.
fn written(
    room: usize,
    write: impl FnOnce(&mut Writer<'_>) -> Result<AckWritten, BufferTooShort>,
) -> (Vec<u8>, AckWritten) {
    let mut buffer = vec![0; room];
    let mut w = Writer::new(&mut buffer);
    let held = write(&mut w).unwrap();
    (w.written().to_vec(), held)
}

fn only_ack(payload: &[u8]) -> Ack<'_> {
    match decoded(payload).as_deref() {
        Ok([Frame::Ack(ack)]) => *ack,
        other => panic!("expected one acknowledgment, got {other:?}"),
    }
}

/// Ranges worked out by hand after RFC 9000 section 19.3.1.
#[test]
fn ranges_count_downward() {
    // Largest 20, delay 5, two more ranges; first range 20..=18, gap of 2 (17, 16), then 15..=15, gap of 5, 9..=0.
    let Ok(Frame::Ack(ack)) = single("0214050202 0100 0409".replace(' ', "").as_str()) else { panic!() };
    assert_eq!(ack.ranges.iter().collect::<Vec<_>>(), [18..=20, 15..=15, 0..=9]);
    assert_eq!((ack.ranges.largest(), ack.ranges.count(), ack.delay), (20, 3, 5));
    assert_eq!((ack.path_id, ack.ecn, ack.receive_timestamps), (None, None, None));
}

//= rfc9000-19.3-1
#[test]
fn path_and_ecn_counts() {
    let Ok(Frame::Ack(ack)) = single("3f030a000000010203") else { panic!() };
    assert_eq!(ack.path_id, Some(3));
    assert_eq!(ack.ecn, Some(EcnCounts { ect0: 1, ect1: 2, ce: 3 }));
    assert_eq!(ack.ranges, AckRanges::single(10..=10).unwrap());
}

//= rfc9000-19.3.1-1
#[test]
fn ranges_below_zero_are_refused() {
    for bytes in ["020a00000b", "020a00010109 00", "020a000100 0900", "020a000100 0802"] {
        let bytes = bytes.replace(' ', "");
        assert_eq!(single(&bytes), Err(FrameErrorKind::AckRangeUnderflow), "{bytes}");
    }
    // The last one that is right: 10, then 1..=0.
    assert!(single("020a0001000701").is_ok());
}

#[test]
fn a_false_range_count_ends_with_the_payload() {
    assert_eq!(single("0214ffffffffffffffff05").map_err(|_| ()), Err(()));
    let payload = hex::decode("0214 00 ffffffffffffffff 02 0000 0000".replace(' ', "")).unwrap();
    assert_eq!(decoded(&payload).unwrap_err().kind, FrameErrorKind::Truncated);
}

/// The example of draft-ietf-quic-receive-ts-02 section 8.
#[test]
fn timestamps_as_in_the_draft() {
    let old = [
        (100, 380),
        (99, 370),
        (98, 360),
        (97, 355),
        (96, 350),
        (91, 330),
        (90, 320),
        (89, 310),
        (88, 305),
        (87, 300),
    ];
    let header = AckHeader { path_id: Some(1), ..AckHeader::default() };
    let limits = TimestampLimits { exponent: 0, max_count: 100 };
    let write = |arrivals: &[(u64, u64)]| {
        let arrivals = arrivals.to_vec();
        written(200, |w| write_ack_with_timestamps(w, &header, [96..=100, 87..=91], 64, limits, arrivals)).0
    };

    let frame = write(&old);
    let tail = "02 00 05 417c 0a 0a 05 05 09 05 14 0a 0a 05 05".replace(' ', "");
    assert!(hex::encode(&frame).ends_with(&tail), "{}", hex::encode(&frame));
    let timestamps = only_ack(&frame).receive_timestamps.unwrap();
    assert_eq!(timestamps.iter(0).collect::<Vec<_>>(), old);

    let late = [(95, 395), (94, 394), (93, 392), (92, 390)];
    let all = [&late[..], &old[..]].concat();
    let frame = write(&all);
    let tail = "03 05 04 418b 01 02 02 00 05 0a 0a 0a 05 05 09 05 14 0a 0a 05 05".replace(' ', "");
    assert!(hex::encode(&frame).ends_with(&tail), "{}", hex::encode(&frame));
    assert_eq!(only_ack(&frame).receive_timestamps.unwrap().iter(0).collect::<Vec<_>>(), all);
}

#[test]
fn timestamps_below_zero_are_refused() {
    // Largest 2; a range from one below 0, four deltas from packet 2, a time before its own beginning.
    for tail in ["01030105", "01000405010101", "01000205 06"] {
        let bytes = format!("83178307 02000002 {tail}").replace(' ', "");
        assert_eq!(single(&bytes), Err(FrameErrorKind::TimestampUnderflow), "{bytes}");
    }
    assert!(single("8317830702000002010003050101").is_ok());
}

#[test]
fn an_ack_without_ranges_cannot_be_written() {
    let mut buffer = [0; 100];
    let mut w = Writer::new(&mut buffer);
    assert_eq!(write_ack(&mut w, &AckHeader::default(), [], 10), Err(BufferTooShort));
    assert_eq!(w.position(), 0);
}

/// Ranges that touch, overlap or rise are a fault of the caller: what is written stays valid.
#[test]
fn disordered_ranges_end_the_frame() {
    for second in [8..=9, 9..=12, 30..=40] {
        let (frame, held) =
            written(100, |w| write_ack(w, &AckHeader::default(), [10..=20, second.clone(), 0..=1], 10));
        assert_eq!(held.ranges, 1);
        assert_eq!(only_ack(&frame).ranges, AckRanges::single(10..=20).unwrap());
    }
}

proptest! {
    #[test]
    fn as_many_ranges_as_fit(ranges in ranges(), delay in integer(), room in 30_usize..200, max in 1_usize..50) {
        let header = AckHeader { path_id: Some(7), delay, ecn: Some(EcnCounts { ect0: 1, ect1: 0, ce: 0 }) };
        let (frame, held) = written(room, |w| write_ack(w, &header, ranges.clone(), max));
        let ack = only_ack(&frame);
        prop_assert_eq!((ack.path_id, ack.delay, ack.ecn), (header.path_id, header.delay, header.ecn));
        let got: Vec<_> = ack.ranges.iter().collect();
        prop_assert_eq!(&got[..], &ranges[..held.ranges]);
        prop_assert_eq!(held.smallest, *got.last().unwrap().start());
        prop_assert_eq!(ack.ranges.count(), held.ranges as u64);
        // It stops only because one more range was not there, not wanted, or would not fit (at most 16 bytes).
        prop_assert!(held.ranges == ranges.len() || held.ranges == max || room - frame.len() < 16);
    }

    #[test]
    fn timestamps_survive_in_units(
        (largest, arrivals) in integer().prop_flat_map(|largest| (Just(largest), arrivals(largest))),
        exponent in 0_u8..=20,
        max_count in 0_u64..160,
        room in 40_usize..600,
    ) {
        let limits = TimestampLimits { exponent, max_count };
        let (frame, held) = written(room, |w| {
            write_ack_with_timestamps(w, &AckHeader::default(), [0..=largest], 1, limits, arrivals.clone())
        });
        let timestamps = only_ack(&frame).receive_timestamps.unwrap();
        prop_assert_eq!(timestamps.count(), held.timestamps);
        let expected: Vec<_> = arrivals
            .iter()
            .take(held.timestamps as usize)
            .map(|(number, time)| (*number, time >> exponent << exponent))
            .collect();
        prop_assert_eq!(timestamps.iter(exponent).collect::<Vec<_>>(), expected);
        prop_assert!(held.timestamps <= max_count);
        let all = arrivals.len() as u64;
        // 63 ranges are the most one byte can count.
        prop_assert!(held.timestamps == all.min(max_count) || held.timestamps >= 63 || room - frame.len() < 20);
    }
}
