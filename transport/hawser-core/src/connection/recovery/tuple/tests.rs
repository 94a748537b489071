use super::super::testing::{Bench, Call, DATAGRAM, WINDOW, millis, ms};
use super::*;

/// Smoothed RTT 80 ms after this.
fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.settle_rtt(millis(80));
    bench
}

fn follow(bench: &mut Bench, at: Time, current: u32, previous: Option<u32>) {
    bench.recovery.follow_tuple(at, TupleGenerations { current, previous });
}

//= rfc9000-9.4-1
#[test]
fn after_a_change_of_address_old_packets_give_no_signal() {
    let mut bench = bench();
    bench.send_many(ms(100), 5);
    follow(&mut bench, ms(110), 1, Some(0));
    bench.send(ms(110));
    assert_eq!(bench.recovery.bytes_in_flight(), 1200);
    assert!(!bench.recovery.rtt.has_sample());
    bench.clear();
    let outcome = bench.ack(ms(180), &[5..=5]);
    assert!(outcome.newly_acked && !outcome.rtt_updated);
    assert_eq!(bench.lost_numbers(), [1, 2]);
    assert!(bench.calls().is_empty(), "{:?}", bench.calls());
    assert!(bench.ack(ms(190), &[6..=6]).rtt_updated);
    assert_eq!(bench.recovery.rtt.smoothed(), millis(80));
    assert_eq!((bench.recovery.bytes_in_flight(), bench.recovery.window_left()), (0, WINDOW));
}

//= rfc9000-9.4-2
#[test]
fn the_first_packet_on_new_addresses_counts() {
    let mut bench = bench();
    bench.send_many(ms(100), 5);
    follow(&mut bench, ms(150), 1, Some(0));
    assert!(matches!(bench.calls().last(), Some(Call::Reset)), "{:?}", bench.calls());
    let first = bench.send(ms(150));
    assert_eq!(bench.recovery.bytes_in_flight(), u64::from(DATAGRAM), "not those of the old addresses");
    assert!(bench.ack(ms(200), &[first..=first]).rtt_updated);
    assert_eq!(bench.recovery.rtt.smoothed(), millis(50), "the first sample of another path");
    assert!(bench.recovery.delivery_rate().is_some());
}

#[test]
fn nothing_changes_where_nothing_changed() {
    let mut bench = bench();
    bench.send_many(ms(100), 5);
    bench.clear();
    follow(&mut bench, ms(150), 0, None);
    follow(&mut bench, ms(150), 0, Some(0));
    assert_eq!(bench.recovery.bytes_in_flight(), 5 * u64::from(DATAGRAM));
    assert_eq!(bench.recovery.rtt.smoothed(), millis(80));
    assert!(bench.calls().is_empty(), "{:?}", bench.calls());
    assert!(bench.ack(ms(200), &[1..=5]).rtt_updated);
}

#[test]
fn a_return_brings_back_what_was_known() {
    let mut bench = bench();
    bench.send_many(ms(100), 5);
    follow(&mut bench, ms(150), 1, Some(0));
    bench.send(ms(150));
    bench.clear();
    follow(&mut bench, ms(160), 0, None);
    assert_eq!(bench.recovery.rtt.smoothed(), millis(80));
    assert_eq!(bench.recovery.bytes_in_flight(), 5 * u64::from(DATAGRAM), "they are still out");
    let calls = bench.calls();
    let [Call::Reset, Call::Return(before)] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((before.smoothed_rtt, before.bytes_in_flight), (millis(80), 5 * u64::from(DATAGRAM)));
    // What was acknowledged or lost in the meantime is not.
    follow(&mut bench, ms(165), 1, Some(0));
    bench.ack(ms(170), &[1..=2]);
    follow(&mut bench, ms(175), 0, None);
    assert_eq!(bench.recovery.bytes_in_flight(), 3 * u64::from(DATAGRAM));
    bench.clear();
    // What was delivered before counts on: the sample covers what was acknowledged since then.
    let outcome = bench.ack(ms(200), &[3..=5]);
    assert!(outcome.rtt_updated);
    assert_eq!(bench.acks()[0].delivered, 4 * u64::from(DATAGRAM));
}

#[test]
fn what_cannot_be_returned_to_is_forgotten() {
    let mut bench = bench();
    follow(&mut bench, ms(100), 1, Some(0));
    follow(&mut bench, ms(110), 2, Some(0));
    assert!(
        bench.recovery.former.as_ref().is_some_and(|former| former.generation == 0),
        "1 was not validated"
    );
    follow(&mut bench, ms(120), 2, None);
    assert!(bench.recovery.former.is_none());
    follow(&mut bench, ms(130), 3, None);
    assert!(bench.recovery.former.is_none());
}
