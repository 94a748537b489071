use hawser_policy::{LimitedBy, LossCause, Time};

use super::super::testing::{Bench, Call, DATAGRAM, millis, ms};

/// A path with `flight` packets in flight whose probe timeout expired, and two probes after that.
fn silent(flight: u64) -> Bench {
    let mut bench = Bench::new();
    let start = bench.settle_rtt(millis(80));
    bench.send_many(start, flight);
    bench.recovery.on_pto(0);
    bench.recovery.begin_silence(&bench.space);
    for at in [ms(400), ms(600)] {
        bench.send(at);
        bench.recovery.on_pto(0);
        bench.recovery.begin_silence(&bench.space);
    }
    bench
}

fn outages(bench: &Bench) -> Vec<(u64, u64)> {
    let outage =
        |call| if let Call::Outage(outage) = call { Some((outage.packets, outage.bytes)) } else { None };
    bench.calls().into_iter().filter_map(outage).collect()
}

#[test]
fn what_a_silence_took_that_ended_with_an_answer_is_no_congestion() {
    let mut bench = silent(5);
    // Packets 1 to 5 and the first probe, 6, are lost; the second probe is answered.
    bench.ack(ms(700), &[7..=7]);
    assert_eq!(bench.lost_numbers(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(bench.losses().len(), 0, "{:?}", bench.losses());
    assert_eq!(outages(&bench), [(6, 6 * u64::from(DATAGRAM))]);
    assert_eq!(bench.recovery.totals.persistent_congestion, 0);
    assert_eq!(bench.recovery.bytes_in_flight(), 0);
    // The probe's rate is a lower bound, and what follows is not.
    let sample = bench.acks()[0].delivery.expect("the probe was measured");
    assert_eq!(sample.limited_by, LimitedBy::Application);
    assert_eq!(sample.lost, 0);
    bench.clear();
    bench.send_many(ms(700), 2);
    bench.ack(ms(780), &[8..=9]);
    let sample = bench.acks()[0].delivery.expect("measured");
    assert_eq!((sample.limited_by, sample.lost), (LimitedBy::Nothing, 0));
    assert!(sample.rate.is_some_and(|rate| rate.bits_per_second() > 200_000), "{sample:?}");
}

#[test]
fn a_loss_after_the_outage_counts() {
    let mut bench = silent(5);
    bench.ack(ms(700), &[7..=7]);
    bench.send_many(ms(700), 5);
    bench.clear();
    bench.ack(ms(780), &[9..=12]);
    assert_eq!(bench.lost_numbers(), [8]);
    assert_eq!(bench.losses().iter().map(|loss| loss.cause).collect::<Vec<_>>(), [LossCause::Loss]);
}

/// Only acknowledgements were lost: what is missing among packets that arrived is missing for another reason.
#[test]
fn what_was_lost_between_packets_that_arrived_counts() {
    let mut bench = silent(5);
    bench.ack(ms(700), &[5..=7, 1..=3]);
    assert_eq!(bench.lost_numbers(), [4]);
    assert_eq!(bench.losses().len(), 1);
    assert_eq!(outages(&bench), []);
}

/// The end of a burst overflows a queue just so.
#[test]
fn a_few_packets_whose_probe_arrives_are_lost_to_congestion() {
    let mut bench = Bench::new();
    let start = bench.settle_rtt(millis(80));
    bench.send_many(start, 5);
    bench.recovery.on_pto(0);
    bench.recovery.begin_silence(&bench.space);
    bench.send(ms(400));
    bench.ack(ms(480), &[6..=6]);
    assert_eq!(bench.lost_numbers(), [1, 2, 3, 4, 5]);
    assert_eq!(bench.losses().len(), 1);
}

#[test]
fn a_whole_flight_is_more_than_the_end_of_a_burst() {
    let mut bench = Bench::new();
    let start = bench.settle_rtt(millis(80));
    bench.send_many(start, 12);
    bench.recovery.on_pto(0);
    bench.recovery.begin_silence(&bench.space);
    bench.send(ms(400));
    bench.ack(ms(480), &[13..=13]);
    assert_eq!(bench.losses().len(), 0);
    assert_eq!(outages(&bench).iter().map(|(packets, _)| packets).sum::<u64>(), 12);
}

/// An acknowledgement of what left before the silence, by way of another path, does not end it.
#[test]
fn an_old_acknowledgement_ends_no_silence() {
    let mut bench = silent(5);
    bench.ack(ms(650), &[1..=2]);
    assert_eq!(bench.losses().len(), 0);
    bench.ack(ms(700), &[7..=7]);
    assert_eq!(bench.lost_numbers(), [3, 4, 5, 6]);
    assert_eq!(bench.losses().len(), 0);
    assert_eq!(outages(&bench).iter().map(|(packets, _)| packets).sum::<u64>(), 4);
}

/// A path carries 40 packets in a round trip of 80 ms. Then an outage begins, which is found by a probe timeout and ends with the answer to
/// a probe. Returns when.
fn after_outage(bench: &mut Bench, start: Time) -> Time {
    let sent: Vec<u64> = (0..40).map(|_| bench.send(start)).collect();
    let sent: Vec<_> = sent.into_iter().rev().map(|number| number..=number).collect();
    bench.ack(start + millis(80), &sent);
    bench.send_many(start + millis(80), 12);
    bench.recovery.on_pto(0);
    bench.recovery.begin_silence(&bench.space);
    let probe = bench.send(start + millis(400));
    bench.ack(start + millis(480), &[probe..=probe]);
    start + millis(480)
}

#[test]
fn what_may_leave_does_not_grow_in_a_silence() {
    let mut bench = Bench::new();
    let start = bench.settle_rtt(millis(80));
    let back = after_outage(&mut bench, start);
    let window = bench.recovery.window();
    bench.recovery.refresh_limits(back + millis(400));
    assert_eq!(bench.recovery.window(), window);
}

/// The second comes before what may leave has grown to all that the controller allows.
#[test]
fn after_outages_in_a_row_the_bound_grows_more_slowly() {
    let mut bench = Bench::new();
    let mut at = bench.settle_rtt(millis(80));
    let mut growth = Vec::new();
    for _ in 0..2 {
        at = after_outage(&mut bench, at);
        let (first, _) = bench.recovery.refill_bounds(at).expect("it is bounded");
        let number = bench.send(at + millis(320));
        at += millis(400);
        bench.ack(at, &[number..=number]);
        let (then, _) = bench.recovery.refill_bounds(at).expect("it is bounded still");
        growth.push(then.bits_per_second() as f64 / first.bits_per_second() as f64 - 1.0);
    }
    assert!(growth[0] > 0.2 && growth[1] < growth[0] * 0.6, "{growth:?}");
}

#[test]
fn a_window_of_which_less_may_be_used_does_not_grow() {
    let mut bench = Bench::new();
    let start = bench.settle_rtt(millis(80));
    let back = after_outage(&mut bench, start);
    bench.clear();
    let number = bench.send(back);
    bench.ack(back + millis(80), &[number..=number]);
    assert!(bench.acks()[0].limited_by.leaves_window_unused(), "{:?}", bench.acks()[0]);
}
