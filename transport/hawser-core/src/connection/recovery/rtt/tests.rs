use super::super::testing::{millis, ms};
use super::*;

const OWN: PathId = PathId(1);
const OTHER: PathId = PathId(0);

//= rfc9002-5.2-1
#[test]
fn the_first_sample_replaces_the_assumption() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    assert_eq!((rtt.smoothed(), rtt.has_sample()), (millis(333), false));
    rtt.on_sample(ms(5), millis(40), millis(30), OWN);
    assert_eq!((rtt.smoothed(), rtt.variance(), rtt.min()), (millis(40), millis(20), millis(40)));
    assert_eq!(rtt.round_trip_bound(), millis(120));
}

#[test]
fn the_formula_of_section_5_3() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    rtt.on_sample(ms(0), millis(40), Duration::ZERO, OWN);
    let adjusted = rtt.on_sample(ms(1), millis(72), millis(16), OWN);
    assert_eq!((adjusted, rtt.latest()), (millis(56), millis(72)));
    // variance = (3 * 20 + |40 - 56|) / 4, smoothed = (7 * 40 + 56) / 8
    assert_eq!((rtt.variance(), rtt.smoothed()), (millis(19), millis(42)));
}

//= rfc9002-5.3-4
#[test]
fn an_unbelievable_ack_delay_is_ignored() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    rtt.on_sample(ms(0), millis(40), Duration::ZERO, OWN);
    assert_eq!(rtt.on_sample(ms(1), millis(50), millis(11), OWN), millis(50));
    assert_eq!(rtt.on_sample(ms(2), millis(50), millis(10), OWN), millis(40));
}

//= rfc9002-5.2-1, rfc9002-5.2-2
#[test]
fn the_minimum_ignores_ack_delay_and_can_be_restarted() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    rtt.on_sample(ms(0), millis(40), Duration::ZERO, OWN);
    rtt.on_sample(ms(1), millis(90), millis(25), OWN);
    assert_eq!((rtt.min(), rtt.min_at()), (millis(40), ms(0)));
    rtt.restart_minimum(ms(2));
    assert_eq!((rtt.min(), rtt.min_at()), (millis(90), ms(2)));
}

#[test]
fn a_path_without_delay_divides_nothing_by_zero() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    rtt.on_sample(ms(0), Duration::ZERO, Duration::ZERO, OWN);
    assert!(rtt.smoothed() > Duration::ZERO && rtt.round_trip_bound() >= GRANULARITY);
}

/// The way back over a slower path is no queue: a controller that takes over would believe that the pipe is full.
#[test]
fn a_queue_is_what_makes_round_trips_of_one_return_path_longer() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    assert!(!rtt.has_queue(), "nothing is known");
    for n in 0..50 {
        rtt.on_sample(ms(n * 20), millis(360), Duration::ZERO, OWN);
        rtt.on_sample(ms(n * 20 + 10), millis(266), Duration::ZERO, OTHER);
    }
    assert_eq!((rtt.smoothed(), rtt.min()), (millis(360), millis(266)));
    assert!(!rtt.has_queue());
    for n in 50..100 {
        rtt.on_sample(ms(n * 20), millis(460), Duration::ZERO, OWN);
    }
    assert!(rtt.has_queue());
    rtt.restart_minimum(ms(3_000));
    assert!(!rtt.has_queue());
}

/// A slow path of 30 ms one way next to a quick one of 10: acknowledgements return on either.
#[test]
fn return_paths_do_not_mix() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    for n in 0..100 {
        rtt.on_sample(ms(n * 20), millis(60), Duration::ZERO, OWN);
        rtt.on_sample(ms(n * 20 + 10), millis(40), Duration::ZERO, OTHER);
    }
    assert_eq!((rtt.smoothed(), rtt.min(), rtt.latest()), (millis(60), millis(40), millis(40)));
    assert!(rtt.variance() < millis(1), "{:?}", rtt.variance());
    let bound = rtt.round_trip_bound();
    assert!(bound >= millis(60) && bound < millis(63), "{bound:?}");
}

#[test]
fn a_rare_return_path_moves_nothing_but_the_probe_timeout() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    let mut bounds = Vec::new();
    for n in 0..400 {
        let (sample, path) = if n % 10 == 5 { (52, OTHER) } else { (20, OWN) };
        rtt.on_sample(ms(n * 10), millis(sample), Duration::ZERO, path);
        if n > 100 {
            assert_eq!(rtt.smoothed(), millis(20));
            bounds.push(rtt.round_trip_bound());
        }
    }
    assert!(bounds.iter().all(|bound| (millis(52)..millis(56)).contains(bound)), "{bounds:?}");
    // When no acknowledgement has come that way for half a second, none is waited for.
    for n in 0..60 {
        rtt.on_sample(ms(4_000 + n * 10), millis(20), Duration::ZERO, OWN);
    }
    assert!(rtt.round_trip_bound() < millis(22), "{:?}", rtt.round_trip_bound());
}

/// With a queue, acknowledgements by way of another path took 200 ms; when they come that way again, now and then, the queue is empty.
#[test]
fn a_return_path_that_was_left_for_long_begins_again() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    for n in 0..100 {
        let path = if n % 2 == 0 { OWN } else { OTHER };
        rtt.on_sample(ms(n * 10), millis(if path == OWN { 40 } else { 200 }), Duration::ZERO, path);
    }
    for n in 200..300 {
        rtt.on_sample(ms(n * 10), millis(40), Duration::ZERO, OWN);
    }
    rtt.on_sample(ms(3_000), millis(45), Duration::ZERO, OTHER);
    assert!(rtt.round_trip_bound() < millis(50), "{:?}", rtt.round_trip_bound());
}

/// The one estimator of RFC 9002 would take about as many to follow.
#[test]
fn another_return_path_takes_over_within_nine_samples() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    for n in 0..100 {
        rtt.on_sample(ms(n * 10), millis(60), Duration::ZERO, OWN);
    }
    let mut taken = 0;
    while rtt.smoothed() == millis(60) {
        taken += 1;
        rtt.on_sample(ms(1_000 + taken * 10), millis(40), Duration::ZERO, OTHER);
    }
    assert_eq!(rtt.smoothed(), millis(40));
    assert!((2..=9).contains(&taken), "{taken}");
}

/// Acknowledgements of a sparse stream return on two paths in turn, and now and then three times in a row on one of them: neither
/// way is more usual, and what counts is that the smoothed time stays.
#[test]
fn where_acknowledgements_take_turns_the_smoothed_time_is_that_of_their_own_path() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    rtt.on_sample(ms(0), millis(20), Duration::ZERO, OWN);
    let turns = [OWN, OTHER, OWN, OTHER, OTHER, OTHER, OWN, OTHER, OWN, OWN, OWN, OTHER];
    for (n, path) in (1..).zip(turns.into_iter().cycle().take(600)) {
        rtt.on_sample(ms(n * 10), millis(if path == OWN { 20 } else { 40 }), Duration::ZERO, path);
        assert_eq!(rtt.smoothed(), millis(20), "sample {n}");
    }
}

/// After a while in which nearly all came the other way.
#[test]
fn their_own_path_takes_over_again_when_it_has_half_of_the_samples() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    rtt.on_sample(ms(0), millis(20), Duration::ZERO, OWN);
    for n in 1..40 {
        rtt.on_sample(ms(n * 10), millis(40), Duration::ZERO, OTHER);
    }
    assert_eq!(rtt.smoothed(), millis(40));
    for n in 20..40 {
        rtt.on_sample(ms(n * 20), millis(20), Duration::ZERO, OWN);
        rtt.on_sample(ms(n * 20 + 10), millis(40), Duration::ZERO, OTHER);
    }
    assert_eq!(rtt.smoothed(), millis(20));
}

#[test]
fn the_number_of_return_paths_is_bounded() {
    let mut rtt = RttEstimator::new(OWN, millis(333), millis(25));
    for n in 0..1_000 {
        rtt.on_sample(ms(n), millis(40 + n % 7), Duration::ZERO, PathId(n as u32));
    }
    assert!((millis(40)..=millis(46)).contains(&rtt.smoothed()));
}
