use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::testing::{ms, packet};
use super::*;

#[test]
fn a_packet_is_small() {
    assert!(size_of::<SentPacket>() <= 168, "{} bytes", size_of::<SentPacket>());
    assert_eq!(size_of::<Option<SentPacket>>(), size_of::<SentPacket>());
}

#[test]
fn ack_only_packets_are_forgotten_beyond_the_cap() {
    let mut sent = SentPackets::default();
    for number in 0..3 * MAX_ACK_ONLY as u64 {
        sent.insert(SentPacket { in_flight: false, ack_eliciting: false, ..packet(number, ms(0)) });
    }
    let mut found = Vec::new();
    sent.take_range(&(0..=u64::MAX), &mut found);
    assert_eq!(found.len(), MAX_ACK_ONLY);
    assert!(sent.pages.is_empty(), "packets that are not in flight use no slot");
}

#[test]
fn an_old_packet_in_flight_does_not_make_ack_only_packets_cost_memory() {
    let mut sent = SentPackets::default();
    sent.insert(packet(0, ms(0)));
    for number in 1..1_000_000 {
        sent.insert(SentPacket { in_flight: false, ack_eliciting: false, ..packet(number, ms(0)) });
    }
    sent.insert(packet(1_000_000, ms(0)));
    assert_eq!(sent.capacity(), PAGE);
    assert_eq!(sent.oldest().map(|packet| packet.packet_number), Some(0));
}

#[test]
fn a_window_that_is_acknowledged_at_once_leaves_its_pages_to_the_next() {
    const WINDOW: u64 = 1000;
    let (mut sent, mut taken) = (SentPackets::default(), Vec::new());
    let mut spare = Vec::new();
    for round in 0..4 {
        for number in round * WINDOW..(round + 1) * WINDOW {
            sent.insert(packet(number, ms(0)));
        }
        sent.take_range(&(0..=u64::MAX), &mut taken);
        spare.push(sent.spare.len());
    }
    // The head may stand within a page of its own, so that there is one more.
    assert!(
        spare.iter().all(|pages| pages.abs_diff(WINDOW.div_ceil(PAGE as u64) as usize) <= 1),
        "{spare:?}"
    );
    sent.shrink();
    assert_eq!((sent.spare.len(), sent.capacity()), (0, 0));
}

#[derive(Clone, Debug)]
enum Step {
    Insert { gap: u64, in_flight: bool, ack_eliciting: bool },
    Take { from: u64, length: u64 },
    PopOldest,
    Shrink,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u64..3, prop::bool::weighted(0.9), any::<bool>())
            .prop_map(|(gap, in_flight, ack_eliciting)| Step::Insert { gap, in_flight, ack_eliciting }),
        3 => (0u64..120, 0u64..30).prop_map(|(from, length)| Step::Take { from, length }),
        1 => Just(Step::PopOldest),
        1 => Just(Step::Shrink),
    ]
}

proptest! {
    /// The ring behaves as an ordered map does.
    #[test]
    fn agrees_with_an_ordered_map(steps in prop::collection::vec(step(), 1..400)) {
        let mut sent = SentPackets::default();
        let mut model: BTreeMap<u64, bool> = BTreeMap::new();
        let mut unimportant: BTreeMap<u64, ()> = BTreeMap::new();
        let mut next = 0;
        for step in steps {
            match step {
                Step::Insert { gap, in_flight, ack_eliciting } => {
                    next += gap;
                    let ack_eliciting = ack_eliciting && in_flight;
                    sent.insert(SentPacket { in_flight, ack_eliciting, ..packet(next, ms(next)) });
                    if in_flight { model.insert(next, ack_eliciting); } else { unimportant.insert(next, ()); }
                    next += 1;
                }
                Step::Take { from, length } => {
                    // Ranges near the newest packets, some beyond them.
                    let start = next.saturating_sub(from);
                    let range = start..=start + length;
                    let mut taken = Vec::new();
                    sent.take_range(&range, &mut taken);
                    let taken: Vec<u64> = taken.iter().map(|packet| packet.packet_number).collect();
                    let mut expected: Vec<u64> = unimportant.range(range.clone()).map(|(&n, ())| n).collect();
                    expected.extend(model.range(range.clone()).map(|(&n, _)| n));
                    prop_assert_eq!(taken, expected);
                    model.retain(|number, _| !range.contains(number));
                    unimportant.retain(|number, ()| !range.contains(number));
                }
                Step::PopOldest => {
                    let popped = sent.pop_oldest().map(|packet| packet.packet_number);
                    prop_assert_eq!(popped, model.pop_first().map(|(number, _)| number));
                }
                Step::Shrink => {
                    while unimportant.len() > PAGE { unimportant.pop_first(); }
                    sent.shrink();
                }
            }
            let numbers: Vec<u64> = sent.iter().map(|packet| packet.packet_number).collect();
            prop_assert_eq!(numbers, model.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(sent.len(), model.len());
            prop_assert_eq!(sent.ack_eliciting(), model.values().filter(|&&eliciting| eliciting).count());
            prop_assert_eq!(sent.oldest().map(|p| p.packet_number), model.keys().next().copied());
            for number in [next.saturating_sub(40), next / 2, next, u64::MAX] {
                let below = sent.newest_below(number).map(|p| p.packet_number);
                prop_assert_eq!(below, model.range(..number).next_back().map(|(&n, _)| n));
                let from = sent.oldest_from(number).map(|p| p.packet_number);
                prop_assert_eq!(from, model.range(number..).next().map(|(&n, _)| n));
            }
        }
    }
}
