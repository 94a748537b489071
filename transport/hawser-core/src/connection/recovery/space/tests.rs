use super::super::testing::{ms, packet};
use super::*;

fn record(packet_number: u64, lost_at: Time) -> LostRecord {
    LostRecord { packet_number, sent_at: ms(0), lost_at, epoch: None, bytes: 1200, data: StreamData::new() }
}

fn taken(space: &mut PacketNumberSpace, range: RangeInclusive<u64>) -> Vec<u64> {
    let mut numbers = Vec::new();
    space.take_lost_records(&range, |record| numbers.push(record.packet_number));
    numbers
}

#[test]
fn lost_packets_are_recognised_once_and_forgotten_in_time() {
    let mut space = PacketNumberSpace::new(SpaceKind::Application);
    for number in [3, 4, 7, 9] {
        space.record_lost(record(number, ms(number)));
    }
    assert_eq!(taken(&mut space, 4..=8), [4, 7]);
    assert_eq!(taken(&mut space, 0..=8), [3]);
    assert!(taken(&mut space, 0..=8).is_empty());
    space.forget_lost_before(ms(10));
    assert!(taken(&mut space, 0..=20).is_empty());
}

#[test]
fn the_record_of_lost_packets_is_limited() {
    let mut space = PacketNumberSpace::new(SpaceKind::Application);
    for number in 0..2 * MAX_LOST_RECORDS as u64 {
        space.record_lost(record(number, ms(0)));
    }
    assert_eq!(space.lost_records.len(), MAX_LOST_RECORDS);
    assert_eq!(taken(&mut space, 0..=MAX_LOST_RECORDS as u64), [MAX_LOST_RECORDS as u64]);
}

#[test]
fn a_skipped_number_does_not_part_neighbours() {
    let mut space = PacketNumberSpace::new(SpaceKind::Application);
    let mut take = || {
        let number = space.next_packet_number(5);
        space.on_unrecorded_sent();
        number
    };
    let numbers: Vec<u64> = (0..100).map(|_| take()).collect();
    let gap = numbers.windows(2).find(|pair| pair[1] == pair[0] + 2).expect("a gap in 100 packets");
    assert!(space.has_none_acknowledged(gap[0], gap[1]));
    assert!(space.has_none_acknowledged(0, 1));
    assert!(!space.has_none_acknowledged(0, 2));
}

//= rfc9002-6.2.1-4
#[test]
fn only_ack_eliciting_packets_move_the_probe_timer() {
    let mut space = PacketNumberSpace::new(SpaceKind::Initial);
    space.on_packet_sent(packet(0, ms(1)));
    space.on_packet_sent(SentPacket { ack_eliciting: false, ..packet(1, ms(2)) });
    assert_eq!(space.last_ack_eliciting_sent(), Some(ms(1)));
}
