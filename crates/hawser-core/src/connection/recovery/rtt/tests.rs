use super::super::testing::{millis, ms};
use super::*;

#[test]
fn the_first_sample_replaces_the_assumption() {
    let mut rtt = RttEstimator::new(millis(333), millis(25));
    assert_eq!((rtt.smoothed(), rtt.has_sample()), (millis(333), false));
    rtt.on_sample(ms(5), millis(40), millis(30));
    assert_eq!((rtt.smoothed(), rtt.variance(), rtt.min()), (millis(40), millis(20), millis(40)));
    assert_eq!(rtt.round_trip_bound(), millis(120));
}

#[test]
fn the_formula_of_section_5_3() {
    let mut rtt = RttEstimator::new(millis(333), millis(25));
    rtt.on_sample(ms(0), millis(40), Duration::ZERO);
    let adjusted = rtt.on_sample(ms(1), millis(72), millis(16));
    assert_eq!((adjusted, rtt.latest()), (millis(56), millis(72)));
    // variance = (3 * 20 + |40 - 56|) / 4, smoothed = (7 * 40 + 56) / 8
    assert_eq!((rtt.variance(), rtt.smoothed()), (millis(19), millis(42)));
}

#[test]
fn an_unbelievable_ack_delay_is_ignored() {
    let mut rtt = RttEstimator::new(millis(333), millis(25));
    rtt.on_sample(ms(0), millis(40), Duration::ZERO);
    assert_eq!(rtt.on_sample(ms(1), millis(50), millis(11)), millis(50));
    assert_eq!(rtt.on_sample(ms(2), millis(50), millis(10)), millis(40));
}

#[test]
fn the_minimum_ignores_ack_delay_and_can_be_restarted() {
    let mut rtt = RttEstimator::new(millis(333), millis(25));
    rtt.on_sample(ms(0), millis(40), Duration::ZERO);
    rtt.on_sample(ms(1), millis(90), millis(25));
    assert_eq!((rtt.min(), rtt.min_at()), (millis(40), ms(0)));
    rtt.restart_minimum(ms(2));
    assert_eq!((rtt.min(), rtt.min_at()), (millis(90), ms(2)));
}

#[test]
fn a_path_without_delay_divides_nothing_by_zero() {
    let mut rtt = RttEstimator::new(millis(333), millis(25));
    rtt.on_sample(ms(0), Duration::ZERO, Duration::ZERO);
    assert!(rtt.smoothed() > Duration::ZERO && rtt.round_trip_bound() >= GRANULARITY);
}
