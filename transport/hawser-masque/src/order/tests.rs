use proptest::prelude::*;

use super::*;

fn numbered(class: Class, flow: u16, number: u32) -> Numbered {
    let verdict = Verdict { class, flow, number };
    Numbered { verdict, packet: Bytes::copy_from_slice(&number.to_be_bytes()) }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn taken(reorder: &mut Reorder) -> Vec<u32> {
    std::iter::from_fn(|| reorder.pop()).map(|mut packet| packet.get_u32()).collect()
}

fn push(reorder: &mut Reorder, now: u64, numbers: impl IntoIterator<Item = u32>) -> Vec<u32> {
    for number in numbers {
        reorder.push(ms(now), numbered(Class::Bulk, 1, number));
    }
    taken(reorder)
}

#[test]
fn a_packet_that_is_lost_on_one_path_holds_up_nothing() {
    let mut reorder = Reorder::default();
    assert_eq!(push(&mut reorder, 1, 0..10), (0..10).collect::<Vec<_>>());
    assert_eq!(push(&mut reorder, 2, 11..20), (11..20).collect::<Vec<_>>());
    assert_eq!((reorder.wait(ms(2)), reorder.held(), reorder.next_release(ms(2))), (Duration::ZERO, 0, None));
}

#[test]
fn packets_wait_for_as_long_as_the_slower_path_is_behind() {
    let mut reorder = Reorder::default();
    // Every third packet takes 20 ms longer, from the start.
    let mut arrivals: Vec<(u64, u32)> =
        (0..600).map(|n: u32| (u64::from(n) + if n.is_multiple_of(3) { 20 } else { 0 }, n)).collect();
    arrivals.sort_unstable();
    let (mut handed, mut now) = (Vec::new(), 0);
    for (at, number) in arrivals {
        while now < at {
            now += 1;
            reorder.release(ms(now));
        }
        handed.extend(push(&mut reorder, at, [number]));
    }
    reorder.release(ms(now + 200));
    handed.extend(taken(&mut reorder));
    assert_eq!(handed.len(), 600, "none is lost");
    // The first ones teach how long to wait.
    let disorder = handed.windows(2).skip(60).filter(|pair| pair[0] > pair[1]).count();
    assert_eq!(disorder, 0, "{handed:?}");
    let wait = reorder.wait(ms(now));
    assert!((ms(20)..ms(30)).contains(&wait), "{wait:?}");
    // Two seconds in which nothing overtakes: no waiting any more.
    assert_eq!(reorder.wait(ms(now + 2_000)), Duration::ZERO);
}

#[test]
fn what_is_missing_is_waited_for_only_so_long() {
    let mut reorder = Reorder::default();
    push(&mut reorder, 0, [0, 2]);
    // 1 came 10 ms late: 13.5 ms from now on.
    assert_eq!(push(&mut reorder, 10, [1]), [1]);
    assert_eq!(push(&mut reorder, 20, [3, 5, 6]), [3]);
    assert_eq!(reorder.next_release(ms(20)), Some(Duration::from_micros(33_500)));
    reorder.release(ms(33));
    assert_eq!(taken(&mut reorder), []);
    reorder.release(ms(34));
    assert_eq!(taken(&mut reorder), [5, 6]);
    // A second later nothing that is so late is reordered: it was an outage.
    assert_eq!(push(&mut reorder, 900, [4]), [4]);
    assert!(reorder.wait(ms(900)) < ms(20));
}

#[test]
fn the_first_packet_may_be_overtaken() {
    let mut reorder = Reorder::default();
    push(&mut reorder, 0, [0, 2]);
    push(&mut reorder, 30, [1]);
    let mut other = |now, number| {
        reorder.push(ms(now), numbered(Class::Bulk, 2, number));
        taken(&mut reorder)
    };
    assert_eq!(other(40, 1), []);
    assert_eq!(other(45, 0), [0, 1]);
}

#[test]
fn copies_are_handed_on_once_and_nothing_of_theirs_waits() {
    let mut reorder = Reorder::default();
    for number in [0, 0, 2, 1, 2, 1, 200, 3, 200, 100, 100] {
        reorder.push(ms(1), numbered(Class::RealTime, 1, number));
    }
    // 3 is further behind than is remembered.
    assert_eq!(taken(&mut reorder), [0, 2, 1, 200, 100]);
}

#[test]
fn a_flow_that_takes_the_number_of_another_begins_where_it_likes() {
    let mut reorder = Reorder::default();
    push(&mut reorder, 0, 0..50_000);
    assert_eq!(push(&mut reorder, 1, [0, 1]), [0, 1]);
    assert_eq!(push(&mut reorder, 2_000, [1_000_000, 1_000_001]), [1_000_000, 1_000_001]);
    for (now, number) in [(0, 70_000), (1, 5), (2_000, 3)] {
        reorder.push(ms(now), numbered(Class::RealTime, 1, number));
    }
    assert_eq!(taken(&mut reorder), [70_000, 5, 3]);
}

#[test]
fn numbers_wrap() {
    let mut reorder = Reorder::default();
    let start = u32::MAX - 2;
    push(&mut reorder, 0, [start, start + 2]);
    assert_eq!(push(&mut reorder, 5, [start + 1]), [start + 1]);
    assert_eq!(push(&mut reorder, 6, [1, 2]), []);
    assert_eq!(push(&mut reorder, 7, [0]), [0, 1, 2]);
}

#[test]
fn memory_is_bounded_whatever_arrives() {
    let mut reorder = Reorder::default();
    push(&mut reorder, 0, [0, 2]);
    push(&mut reorder, 100, [1]);
    for flow in 0..20_000_u32 {
        for number in [0, 2, 4] {
            reorder.push(ms(101), numbered(Class::Bulk, flow as u16, number));
            reorder.push(ms(101), numbered(Class::RealTime, flow as u16, number));
        }
        taken(&mut reorder);
    }
    assert!(reorder.held() <= MAX_HELD + 2, "{}", reorder.held());
    assert!(reorder.flows.len() <= MAX_FLOWS && reorder.once.len() <= MAX_FLOWS);
    let many = (0..40_000).map(|number| number * 2 + 10);
    push(&mut reorder, 102, many);
    assert!(reorder.held() <= MAX_HELD + 2, "{}", reorder.held());
}

#[test]
fn what_is_no_numbered_packet_is_left_alone() {
    for datagram in [&b""[..], &[0, 0x45], &[1; 20], &[2, 0, 0, 0, 0, 0], &[0x40, 2, 0, 0, 0, 0, 0, 0]] {
        assert_eq!(read(Bytes::copy_from_slice(datagram)), None);
    }
}

proptest! {
    #[test]
    fn headers_are_read_as_written(flow: u16, number: u32, is_bulk: bool, packet: Vec<u8>) {
        let verdict = Verdict { class: if is_bulk { Class::Bulk } else { Class::RealTime }, flow, number };
        let datagram = [&header(&verdict)[..], &packet].concat();
        prop_assert_eq!(read(datagram.into()), Some(Numbered { verdict, packet: packet.into() }));
    }

    #[test]
    fn each_packet_comes_out_once(order in Just((0..200_u32).collect::<Vec<_>>()).prop_shuffle(), gaps in prop::collection::vec(0..3_u64, 200)) {
        let (mut reorder, mut now, mut handed) = (Reorder::default(), 0, Vec::new());
        for (number, gap) in order.into_iter().zip(gaps) {
            now += gap;
            reorder.release(ms(now));
            handed.extend(push(&mut reorder, now, [number]));
        }
        reorder.release(ms(now + 150));
        handed.extend(taken(&mut reorder));
        prop_assert_eq!(reorder.held(), 0);
        handed.sort_unstable();
        prop_assert_eq!(handed, (0..200).collect::<Vec<_>>());
    }
}

/// From half of all numbers away a packet is as far ahead as behind (found by the fuzz target `masque`).
#[test]
fn a_number_on_the_other_side_of_all_numbers_is_far_away() {
    for class in [Class::Bulk, Class::RealTime] {
        let mut reorder = Reorder::default();
        for number in [0, 1 << 31, (1 << 31) + 1] {
            reorder.push(ms(1), numbered(class, 1, number));
        }
        assert_eq!(taken(&mut reorder), [0, 1 << 31, (1 << 31) + 1], "{class:?}");
    }
}
