use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::testing::{millis, ms};
use super::*;

fn receive(received: &mut ReceivedPackets, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        received.on_received(number, ms(number), true, None);
    }
}

fn ranges(received: &ReceivedPackets) -> Vec<RangeInclusive<u64>> {
    received.ack_ranges().collect()
}

#[test]
fn ranges_join() {
    let mut received = ReceivedPackets::default();
    receive(&mut received, [0, 1, 5, 6, 3]);
    assert_eq!(ranges(&received), [5..=6, 3..=3, 0..=1]);
    receive(&mut received, [4, 2]);
    assert_eq!(ranges(&received), [0..=6]);
}

//= rfc9000-13.2.1-7
#[test]
fn out_of_order_is_told_for_ack_eliciting_packets_only() {
    let mut received = ReceivedPackets::default();
    let mut out_of_order =
        |number, eliciting| received.on_received(number, ms(0), eliciting, None).out_of_order;
    assert!(!out_of_order(0, true));
    assert!(!out_of_order(1, true));
    assert!(out_of_order(3, true), "2 is missing");
    assert!(!out_of_order(4, true), "that was said");
    assert!(out_of_order(2, true), "fills the gap");
    assert!(!out_of_order(6, false));
    assert!(!out_of_order(5, false));
    assert!(!out_of_order(7, true), "nothing is missing in between");
}

//= rfc9000-13.2.1-1, rfc9000-13.2.1-3
#[test]
fn the_earliest_deadline_counts_and_an_ack_clears_it() {
    let mut received = ReceivedPackets::default();
    received.on_received(0, ms(10), true, None);
    received.on_decision(AckDecision::Within(millis(100)), ms(10), millis(25));
    assert_eq!(received.deadline(), Some(ms(35)), "never longer than promised");
    received.on_received(1, ms(12), true, None);
    received.on_decision(AckDecision::Within(millis(25)), ms(12), millis(25));
    assert_eq!((received.deadline(), received.unacknowledged()), (Some(ms(35)), 2));
    assert_eq!(received.ack_delay(ms(20)), millis(8));
    received.on_ack_sent();
    assert_eq!((received.deadline(), received.unacknowledged()), (None, 0));
    received.on_received(2, ms(40), true, Some(Ecn::Ce));
    received.on_decision(AckDecision::Now, ms(40), millis(25));
    assert!(received.is_due(ms(40)));
    assert_eq!(received.ecn(), Some(EcnCounts { ect0: 0, ect1: 0, ce: 1 }));
}

//= rfc9000-13.2.3-1, rfc9000-13.2.3-2, rfc9000-13.2.3-4, rfc9000-13.2.3-5
#[test]
fn what_the_peer_knows_is_not_repeated() {
    let mut received = ReceivedPackets::default();
    receive(&mut received, [0, 2, 4, 6]);
    received.on_ack_acknowledged(4);
    assert_eq!(ranges(&received), [6..=6]);
    receive(&mut received, [8]);
    assert_eq!(ranges(&received), [8..=8, 6..=6]);
    assert!(received.on_received(2, ms(0), true, None).duplicate, "but still known");
}

#[test]
fn a_straggler_is_reported_until_an_ack_with_it_surely_arrived() {
    let mut received = ReceivedPackets::default();
    receive(&mut received, [0, 2, 4]);
    // An ACK with largest 4 leaves, then packet 1 comes, then that ACK is acknowledged.
    receive(&mut received, [1]);
    received.on_ack_acknowledged(4);
    assert_eq!(ranges(&received), [4..=4, 0..=2]);
    receive(&mut received, [6]);
    received.on_ack_acknowledged(6);
    assert_eq!(ranges(&received), [6..=6]);
}

#[test]
fn constant_reordering_does_not_keep_old_ranges_for_ever() {
    let mut received = ReceivedPackets::default();
    // Every third packet is lost, every other pair swapped; ACKs are acknowledged ten packets later.
    for number in (0..600u64).step_by(3) {
        receive(&mut received, [number + 1, number]);
        received.on_ack_acknowledged(number.saturating_sub(10));
    }
    let oldest = ranges(&received).last().map(|range| *range.start());
    assert!(oldest > Some(560), "{oldest:?}");
}

//= rfc9000-13.2.3-3
#[test]
fn the_number_of_ranges_is_limited() {
    let mut received = ReceivedPackets::default();
    receive(&mut received, (0..1000).map(|i| 2 * i));
    assert_eq!(received.ranges.len(), MAX_RANGES);
    (0..2).for_each(|_| received.on_ack_sent());
    assert_eq!(received.ack_ranges().count(), MAX_REPORTED_RANGES);
    assert_eq!(received.largest(), Some(1998));
    // Below the floor nobody can tell any more.
    assert!(received.on_received(1, ms(0), true, None).duplicate);
    assert!(!received.on_received(1997, ms(0), true, None).duplicate);
}

/// A frame has room for some of 100 ranges: those of the newest packets, of those that came late just now, and the oldest.
#[test]
fn late_packets_are_reported_where_there_are_more_ranges_than_a_frame_takes() {
    let mut received = ReceivedPackets::default();
    receive(&mut received, (0..100).map(|i| 4 * i));
    (0..2).for_each(|_| received.on_ack_sent());
    for number in [201, 102, 301] {
        receive(&mut received, [number]);
        received.on_ack_sent();
        let ranges = ranges(&received);
        assert!(ranges.iter().any(|range| range.contains(&number)), "{number} in {ranges:?}");
        assert!(ranges.len() <= MAX_REPORTED_RANGES);
        assert_eq!((ranges[0].clone(), ranges.last().cloned()), (396..=396, Some(0..=0)));
    }
}

/// Every third packet is lost, and there is an acknowledgement for 300 of them. What one leaves out would be sent again.
#[test]
fn two_acknowledgements_report_each_range() {
    let mut received = ReceivedPackets::default();
    let mut reports = vec![0; 1_500];
    for numbers in 0..5 {
        receive(&mut received, (300 * numbers..300 * (numbers + 1)).filter(|number| number % 3 != 0));
        let reported = ranges(&received);
        reported.into_iter().flatten().for_each(|number| reports[number as usize] += 1);
        received.on_ack_sent();
    }
    let twice = (0..1_200).filter(|number| reports[*number] >= 2).count();
    assert_eq!(twice, 800);
    assert!(reports.iter().all(|reports| *reports <= 3), "and hardly more often");
}

/// An outage takes twenty acknowledgements, and the one after it has no room for what they reported. The peer knows that one.
#[test]
fn a_repetition_has_what_an_acknowledged_frame_left_out() {
    let mut received = ReceivedPackets::default();
    for numbers in 0..20 {
        receive(&mut received, (10 * numbers..10 * (numbers + 1)).filter(|number| number % 3 != 0));
        received.on_ack_sent();
    }
    let known = |received: &ReceivedPackets| ranges(received).into_iter().flatten().count();
    assert!(known(&received) < 100, "{}", known(&received));
    received.on_ack_sent();
    received.on_ack_acknowledged(199);
    received.repeat(ms(300));
    assert_eq!(known(&received), 133);
    received.on_ack_sent();
    assert!(known(&received) < 10, "once: {}", known(&received));
}

//= rfc9000-13.2.3-3
#[test]
fn a_packet_too_old_for_a_full_set_is_refused() {
    let mut received = ReceivedPackets::default();
    receive(&mut received, (0..MAX_RANGES as u64).map(|i| 100 + 2 * i));
    assert!(received.on_received(5, ms(0), true, None).duplicate, "it would be the range to drop");
    assert_eq!(received.ranges.len(), MAX_RANGES);
}

proptest! {
    /// Nothing is accepted twice, nothing new is refused, and an ACK frame reports what was received.
    //= rfc9000-12.3-4
    #[test]
    fn agrees_with_a_set(numbers in prop::collection::vec(0u64..90, 1..200)) {
        let mut received = ReceivedPackets::default();
        let mut model = BTreeSet::new();
        for number in numbers {
            let before = received.contains(number);
            let outcome = received.on_received(number, ms(0), true, None);
            prop_assert_eq!(outcome.duplicate, !model.insert(number));
            prop_assert_eq!(outcome.duplicate, before);
            prop_assert!(received.contains(number));
            let reported: Vec<u64> = received.ack_ranges().flat_map(|range| range.rev()).collect();
            if received.ranges.len() <= MAX_REPORTED_RANGES {
                let expected: Vec<u64> = model.iter().rev().copied().take(reported.len()).collect();
                prop_assert_eq!(&reported, &expected);
            }
            prop_assert!(reported.iter().all(|number| model.contains(number)));
            prop_assert!(reported.contains(&number));
            if received.ranges.len() <= MAX_REPORTED_RANGES {
                prop_assert_eq!(reported.len(), model.len());
            }
        }
    }
}

/// The tables of draft-ietf-quic-ack-frequency section 6.2.1: which packets are acknowledged at once.
#[test]
fn reordering_thresholds_as_in_the_draft() {
    let at_once = |threshold, numbers: &[u64]| {
        let requested = AckFrequency {
            ack_eliciting_threshold: 100,
            max_ack_delay: Duration::from_secs(1),
            reordering_threshold: threshold,
        };
        let mut received = ReceivedPackets::default();
        let mut acknowledged = Vec::new();
        for &number in numbers {
            let packet = received.on_received(number, Time::ZERO, true, None);
            if received.news(number, &packet, None, &requested).0 {
                received.on_ack_sent();
                acknowledged.push(number);
            }
        }
        acknowledged
    };
    assert_eq!(at_once(3, &[0, 1, 3, 4, 5, 8, 9, 10]), [5, 9, 10]);
    assert_eq!(at_once(5, &[0, 1, 3, 5, 6, 7, 8, 9]), [7, 9]);
    assert_eq!(at_once(0, &[0, 9, 3, 20]), [0; 0]);
    assert_eq!(at_once(1, &[0, 1, 3, 4, 2]), [3, 2]);
    assert_eq!(at_once(3, &[0, 1, 5, 6, 7, 2]), [5, 6, 7, 2], "declared lost already, and not lost");
}

#[test]
fn only_the_first_congestion_mark_is_news_to_who_wants_few_acknowledgements() {
    let news = |threshold, marks: &[Option<Ecn>]| {
        let requested = AckFrequency {
            ack_eliciting_threshold: threshold,
            max_ack_delay: Duration::from_secs(1),
            reordering_threshold: 0,
        };
        let mut received = ReceivedPackets::default();
        let is_news = |(number, mark): (usize, &Option<Ecn>)| {
            let packet = received.on_received(number as u64, Time::ZERO, true, *mark);
            received.news(number as u64, &packet, *mark, &requested).1
        };
        marks.iter().enumerate().map(is_news).collect::<Vec<_>>()
    };
    let (ce, ect) = (Some(Ecn::Ce), Some(Ecn::Ect0));
    assert_eq!(news(10, &[ect, ce, ce, ect, ce]), [false, true, false, false, true]);
    assert_eq!(news(1, &[ect, ce, ce, ect, ce]), [false, true, true, false, true]);
}
