use std::time::Duration;

use hawser_policy::Time;

use super::*;
use crate::testing::bottleneck::{BDP, Link, alone, measure};
use crate::testing::{ack, init};

/// RTTmax 90 ms, RTT 40 ms, 100 datagrams: sqrt(2.25 * 100) = 15 datagrams per round trip.
#[test]
fn growth_is_the_root_of_window_and_free_queue() {
    let parameters = hawser_policy::Parameters::defaults(&ElasticRule::info().parameters);
    let mut start = init(100_000);
    start.snapshot = Some(crate::testing::snapshot().with(|snapshot| {
        snapshot.bytes_in_flight = 100_000;
        snapshot.congestion_window = 100_000;
    }));
    let mut controller = ElasticRule::build(&start, &parameters);
    for rtt in [90, 40] {
        let sample = ack(Time::from_secs(1), 0, Duration::from_millis(rtt));
        controller.on_ack(&sample, &Siblings::NONE);
    }
    controller.on_ack(&ack(Time::from_secs(1), 100_000, Duration::from_millis(40)), &Siblings::NONE);
    assert_eq!(controller.window(), 115_000);
}

#[test]
fn it_fills_long_paths_sooner_than_reno() {
    let of = |spec: &str| {
        let mut link = Link::new(40.0, BDP);
        link.loss_every = Some(20_000);
        measure(alone(spec, link), 5, 30).utilisation(40.0)
    };
    let (elastic, reno) = (of("elastic"), of("newreno"));
    assert!(elastic > 0.95 && elastic > reno, "{elastic} {reno}");
}
