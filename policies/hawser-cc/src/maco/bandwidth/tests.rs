use std::time::Duration;

use hawser_policy::{DeliverySample, LimitedBy, Parameters};

use super::*;
use crate::testing;

const RTT: Duration = Duration::from_millis(100);

fn settings() -> Settings {
    Settings::read(&Parameters::defaults(&Settings::info().parameters))
}

/// 40 Mbit/s over 20 ms of link, and as much half a second later.
fn link() -> LinkForecast {
    LinkForecast { capacity: 5e6, delay: 0.02, later: Some((0.5, 5e6)) }
}

/// With samples of 100 ms every 10 ms, the last one after a second.
fn settled(bandwidth: &mut Bandwidth) {
    for number in 0..=100 {
        bandwidth.delay.on_sample(Time::from_millis(10 * number), RTT.as_secs_f64());
    }
}

/// An acknowledgement with a delivery rate in bytes per second; 100 of the last sample's datagrams were delivered.
fn rated(number: u64, rate: f64, limited_by: LimitedBy) -> Ack {
    let sample = DeliverySample::default().with(|sample| {
        sample.rate = Some(Rate::from_bits_per_second((8.0 * rate) as u64));
        sample.delivered = 100_000;
        sample.prior_delivered = 0;
        sample.inflight_at_send = 100_000;
        sample.limited_by = limited_by;
    });
    let now = Time::from_secs(2) + RTT * number as u32;
    testing::ack(now, 1_000, RTT).with(|ack| {
        ack.delivery = Some(sample);
        ack.delivered = 100_000 * number;
    })
}

fn assert_close(actual: Option<f64>, expected: f64) {
    let actual = actual.expect("something is known");
    assert!((actual / expected - 1.0).abs() < 1e-9, "{actual} instead of {expected}");
}

#[test]
fn a_product_is_the_capacity_for_the_time_without_a_queue() {
    let mut bandwidth = Bandwidth::new(&settings());
    assert_eq!(bandwidth.product(1), None);
    bandwidth.set_link(Some(link()));
    // Nothing was measured: the round trip that the parameter says.
    assert_close(bandwidth.product(1), 500_000.0);
    bandwidth.delay.on_sample(Time::from_secs(1), 0.06);
    assert_close(bandwidth.product(1), 300_000.0);
    assert_close(bandwidth.product(2), 150_000.0);
    // The link is 10 ms longer; the rest stays.
    bandwidth.set_link(Some(LinkForecast { delay: 0.03, ..link() }));
    assert_close(bandwidth.product(1), 350_000.0);
}

/// What was measured before the link's part was known has that in it.
#[test]
fn a_link_that_becomes_known_does_not_count_twice() {
    let mut bandwidth = Bandwidth::new(&settings());
    bandwidth.delay.on_sample(Time::from_secs(1), 0.1);
    bandwidth.set_link(Some(LinkForecast { delay: 0.06, ..link() }));
    assert_close(bandwidth.product(1), 500_000.0);
    bandwidth.set_link(None);
    assert!((bandwidth.delay.without_queue() - 0.1).abs() < 1e-9);
}

/// Trap 4 of the list: a delay that took the queue in would never show one.
#[test]
fn a_standing_queue_is_no_part_of_the_delay() {
    let mut bandwidth = Bandwidth::new(&settings());
    bandwidth.set_link(Some(link()));
    settled(&mut bandwidth);
    assert!(!bandwidth.delay.has_risen());
    for number in 0..40 {
        bandwidth.delay.on_sample(Time::from_millis(1_010 + 10 * number), 0.12 + 0.002 * number as f64);
        assert!(bandwidth.delay.has_risen(), "{number}");
    }
    assert_close(bandwidth.product(1), 500_000.0);
}

/// Otherwise the smaller of both rates is the window's own, and quick start ends at once.
#[test]
fn a_rate_that_the_sender_limits_may_raise_the_estimate_but_never_lowers_it() {
    let mut bandwidth = Bandwidth::new(&settings());
    settled(&mut bandwidth);
    for number in 1..20 {
        bandwidth.on_ack(&rated(number, 1e6, LimitedBy::CongestionWindow), 1_000.0);
    }
    assert_eq!(bandwidth.measured(), None, "no queue: the window was the limit");
    bandwidth.delay.on_sample(Time::from_secs(2), 0.15);
    bandwidth.on_ack(&rated(20, 4e6, LimitedBy::CongestionWindow), 1_000.0);
    assert_close(bandwidth.measured(), 4e6);
    for number in 21..40 {
        bandwidth.on_ack(&rated(number, 1e6, LimitedBy::Application), 1_000.0);
    }
    assert_close(bandwidth.measured(), 4e6);
    bandwidth.on_ack(&rated(40, 5e6, LimitedBy::Application), 1_000.0);
    assert!(bandwidth.measured().unwrap() > 4.5e6);
    for number in 41..60 {
        bandwidth.on_ack(&rated(number, 2e6, LimitedBy::Nothing), 1_000.0);
    }
    let learned = bandwidth.measured().unwrap();
    assert!((1.9e6..2.5e6).contains(&learned), "{learned}");
}

/// A handshake is no measurement, however its round trips differ: quick start would end at ten times its rate.
#[test]
fn a_rate_of_a_few_datagrams_is_no_measurement() {
    let mut bandwidth = Bandwidth::new(&settings());
    bandwidth.set_link(Some(link()));
    settled(&mut bandwidth);
    bandwidth.delay.on_sample(Time::from_millis(1_100), 0.15);
    let mut ack = rated(1, 3e4, LimitedBy::Nothing);
    ack.delivery = ack.delivery.map(|sample| sample.with(|sample| sample.delivered = 3_000));
    bandwidth.on_ack(&ack, 1_000.0);
    assert_eq!(bandwidth.measured(), None);
    assert_close(bandwidth.product(1), 500_000.0);
}

#[test]
fn a_forecast_beyond_all_that_was_seen_is_not_believed() {
    let mut bandwidth = Bandwidth::new(&settings());
    bandwidth.set_link(Some(LinkForecast { capacity: 1e15, ..link() }));
    settled(&mut bandwidth);
    bandwidth.delay.on_sample(Time::from_secs(2), 0.15);
    bandwidth.on_ack(&rated(1, 1e6, LimitedBy::Nothing), 1_000.0);
    assert_close(bandwidth.access(1), 1e7);
}

/// Eq. (3.14): half of the round trip with 40 Mbit/s, half with 20.
#[test]
fn the_mean_is_over_the_last_round_trip_or_the_next() {
    let mut bandwidth = Bandwidth::new(&settings());
    settled(&mut bandwidth);
    for number in 0..=10 {
        let capacity = if number < 5 { 5e6 } else { 2.5e6 };
        bandwidth.set_link(Some(LinkForecast { capacity, delay: 0.0, later: None }));
        bandwidth.note_product(Time::from_millis(2_000 + 10 * number), RTT, 1);
    }
    // Four trapezoids of 500 kB, one of 375, five of 250.
    assert_close(bandwidth.mean_product(Time::from_millis(2_100), RTT, 1), 362_500.0);

    let mut bandwidth = Bandwidth::new(&Settings { predicts: true, ..settings() });
    settled(&mut bandwidth);
    // In half a second nothing is left of it; in a round trip a fifth is gone.
    bandwidth.set_link(Some(LinkForecast { capacity: 5e6, delay: 0.0, later: Some((0.5, 0.0)) }));
    assert_close(bandwidth.mean_product(Time::from_millis(2_100), RTT, 1), 450_000.0);
}

#[test]
fn a_hand_over_makes_the_rate_be_learned_again() {
    let mut bandwidth = Bandwidth::new(&settings());
    settled(&mut bandwidth);
    bandwidth.delay.on_sample(Time::from_secs(2), 0.15);
    for number in 1..100 {
        bandwidth.on_ack(&rated(number, 4e6, LimitedBy::Nothing), 1_000.0);
    }
    bandwidth.on_hand_over(false);
    bandwidth.delay.on_sample(Time::from_secs(12), 0.08);
    bandwidth.delay.on_sample(Time::from_secs(12), 0.15);
    bandwidth.on_ack(&rated(101, 2e6, LimitedBy::Nothing), 1_000.0);
    let learned = bandwidth.measured().unwrap();
    assert!(learned < 2.5e6, "{learned}");
}

/// Algorithm 3, line 6: the load that other users put on the old satellite is no part of the new one's product.
#[test]
fn a_hand_over_takes_the_capacity_of_the_new_satellite() {
    for (takes_capacity, expected) in [(true, 5e6), (false, 1e6)] {
        let mut bandwidth = Bandwidth::new(&Settings { takes_capacity, ..settings() });
        bandwidth.set_link(Some(link()));
        settled(&mut bandwidth);
        bandwidth.delay.on_sample(Time::from_secs(2), 0.15);
        for number in 1..100 {
            bandwidth.on_ack(&rated(number, 1e6, LimitedBy::Nothing), 1_000.0);
        }
        assert_close(bandwidth.rate(1), 1e6);
        bandwidth.set_link(Some(link()));
        bandwidth.on_hand_over(true);
        assert_close(bandwidth.rate(1), expected);
        // A forecast of far more than the old one carried is not believed either.
        bandwidth.set_link(Some(LinkForecast { capacity: 1e15, ..link() }));
        assert_close(bandwidth.access(1), 1e7);
    }
}
