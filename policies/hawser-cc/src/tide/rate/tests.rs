use hawser_policy::{LimitedBy, Rate};

use super::*;

fn sample(megabits: u64, limited_by: LimitedBy) -> DeliverySample {
    DeliverySample::default().with(|sample| {
        sample.rate = Some(Rate::from_megabits_per_second(megabits));
        sample.delivered = 0;
        sample.prior_delivered = 0;
        sample.inflight_at_send = 0;
        sample.limited_by = limited_by;
    })
}

#[test]
fn the_largest_of_two_round_trips_is_known() {
    let mut rate = RateFilter::default();
    rate.on_sample(&sample(8, LimitedBy::Nothing));
    rate.next_round(true);
    rate.on_sample(&sample(4, LimitedBy::Nothing));
    assert_eq!((rate.largest(), rate.present()), (1e6, 875_000.0));
    rate.next_round(true);
    rate.on_sample(&sample(4, LimitedBy::Nothing));
    assert_eq!(rate.largest(), 500_000.0);
}

#[test]
fn what_the_application_held_down_only_raises() {
    let mut rate = RateFilter::default();
    rate.on_sample(&sample(8, LimitedBy::Nothing));
    rate.on_sample(&sample(1, LimitedBy::Application));
    assert_eq!(rate.present(), 1e6);
    rate.on_sample(&sample(16, LimitedBy::Application));
    assert_eq!(rate.largest(), 2e6);
}

#[test]
fn a_rate_that_swings_is_not_steady() {
    let (mut calm, mut swinging) = (RateFilter::default(), RateFilter::default());
    for round in 0..40 {
        for _ in 0..20 {
            calm.on_sample(&sample(40 + round % 2, LimitedBy::Nothing));
            swinging.on_sample(&sample(if round % 4 < 2 { 80 } else { 10 }, LimitedBy::Nothing));
        }
        calm.next_round(true);
        swinging.next_round(true);
    }
    assert!(calm.is_steady() && !calm.is_wild());
    assert!(swinging.is_wild(), "{swinging:?}");
}

/// Another flow takes from it round trip by round trip: it never rises above what it was.
#[test]
fn a_rate_that_only_falls_is_pushed_aside_and_not_restless() {
    let (mut pushed, mut moving) = (RateFilter::default(), RateFilter::default());
    for round in 0..40u32 {
        for _ in 0..20 {
            pushed.on_sample(&sample(u64::from(8_000 / (round + 8)), LimitedBy::Nothing));
            moving.on_sample(&sample(if round % 4 < 2 { 80 } else { 20 }, LimitedBy::Nothing));
        }
        pushed.next_round(true);
        moving.next_round(true);
    }
    assert!(!pushed.is_restless() && !pushed.is_steady(), "{pushed:?}");
    assert!(moving.is_restless(), "{moving:?}");
}

/// Start-up finds more and more, and less when another flow was there first.
#[test]
fn the_rise_of_start_up_is_no_restlessness() {
    let mut rate = RateFilter::default();
    for round in 0..40u64 {
        let megabits = if round < 8 { 1 << round } else { 4_000 / (round + 23) };
        for _ in 0..20 {
            rate.on_sample(&sample(megabits, LimitedBy::Nothing));
        }
        rate.next_round(true);
    }
    assert!(!rate.is_restless(), "{rate:?}");
}
