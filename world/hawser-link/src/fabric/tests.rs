use super::*;
use crate::rate::RateModel;
use crate::steps::RandomSteps;
use crate::time::{MILLISECOND, SECOND};

fn link(megabits: u64, delay_ms: u64) -> DirectionConfig {
    DirectionConfig {
        rate: RateModel::constant(megabits * 1_000_000),
        ..DirectionConfig::with_delay(delay_ms * MILLISECOND)
    }
}

/// Runs to the end in steps of `step`, zero: from event to event; returns time and payload of all arrivals.
fn drain(fabric: &mut Fabric<u32>, step: Nanos) -> Vec<(Nanos, u32)> {
    let (mut arrivals, mut now) = (Vec::new(), 0);
    while let Some(next) = fabric.next_event() {
        now = if step == 0 { next } else { now + step };
        fabric.advance(now);
        arrivals.extend(
            std::iter::from_fn(|| fabric.poll_arrival()).map(|arrival| (arrival.at, arrival.payload)),
        );
    }
    arrivals
}

#[test]
fn a_chain_adds_its_delays_and_a_slow_link_spaces_packets() {
    let mut fabric = Fabric::new();
    // 1500 bytes take 1 ms on the first link and 3 ms on the second.
    let links = [fabric.add_link(&link(12, 5), 1), fabric.add_link(&link(4, 10), 2)];
    let route = fabric.add_route(&links);
    (0..3).for_each(|n| fabric.send(0, route, 1500, n));
    let times: Vec<_> = drain(&mut fabric, 0).iter().map(|(at, _)| at / MILLISECOND).collect();
    assert_eq!(times, [19, 22, 25]);
}

#[test]
fn two_routes_share_a_link() {
    let mut fabric = Fabric::new();
    let (a, b) = (fabric.add_link(&link(100, 1), 1), fabric.add_link(&link(100, 1), 2));
    let shared = fabric.add_link(&link(12, 0), 3);
    let routes = [fabric.add_route(&[a, shared]), fabric.add_route(&[b, shared])];
    for n in 0..20 {
        fabric.send(0, routes[n % 2], 1500, n as u32);
    }
    let arrivals = drain(&mut fabric, 0);
    assert_eq!(arrivals.len(), 20);
    assert!(arrivals.windows(2).all(|pair| pair[1].0 - pair[0].0 == MILLISECOND), "{arrivals:?}");
}

#[test]
fn arrivals_do_not_depend_on_how_often_it_is_called() {
    let run = |step| {
        let mut fabric = Fabric::new();
        let first = [fabric.add_link(&link(30, 3), 1), fabric.add_link(&link(20, 7), 2)];
        let shared = fabric.add_link(&link(40, 2), 3);
        let routes = first.map(|link| fabric.add_route(&[link, shared]));
        for n in 0..50 {
            fabric.send(0, routes[n % 2], 400 + 20 * n as u32, n as u32);
        }
        drain(&mut fabric, step)
    };
    assert_eq!(run(0), run(4 * MILLISECOND));
}

#[test]
fn a_route_changes_for_packets_sent_later() {
    let mut fabric = Fabric::new();
    let (near, far) = (fabric.add_link(&link(100, 1), 1), fabric.add_link(&link(100, 50), 2));
    let schedule = Series::new(vec![(0, 1), (10 * MILLISECOND, 0)], None).unwrap();
    let route = fabric.add_scheduled_route(vec![[near].into(), [far].into()], schedule);
    fabric.send(0, route, 100, 0);
    fabric.send(10 * MILLISECOND, route, 100, 1);
    let order: Vec<_> = drain(&mut fabric, 0).iter().map(|arrival| arrival.1).collect();
    assert_eq!(order, [1, 0]);
}

#[test]
fn failures_are_told_when_asked_for() {
    let mut fabric = Fabric::new();
    let small = DirectionConfig { queue: crate::QueueConfig::bytes(1500), ..link(1, 1) };
    let links = [fabric.add_link(&link(100, 0), 1), fabric.add_link(&small, 2)];
    let route = fabric.add_route(&links);
    fabric.keep_failures();
    (0..3).for_each(|n| fabric.send(0, route, 1500, n));
    assert_eq!(drain(&mut fabric, 0).len(), 1);
    let failures: Vec<_> = std::iter::from_fn(|| fabric.poll_failure()).collect();
    assert_eq!(failures.len(), 2);
    assert!(failures.iter().all(|failure| failure.link == links[1] && failure.cause == DropCause::Queue));
}

/// A second at 12 Mbit/s, then at random rates, which are those of the seed and of the time.
#[test]
fn the_capacity_of_a_link_is_that_of_what_it_was_at_each_time() {
    let steps = RandomSteps::Redraw { base: 8_000_000, spread: 0.5, interval: 100 * MILLISECOND };
    let random = DirectionConfig { rate: RateModel::Random(steps), ..link(0, 1) };
    let mut fabric = Fabric::new();
    let index = fabric.add_link(&link(12, 1), 1);
    let route = fabric.add_route(&[index]);
    let mut delivered = 0;
    // 24 Mbit/s are offered.
    for (n, now) in (0..8_000_u32).map(|n| (n, u64::from(n) * MILLISECOND / 2)) {
        if n == 2_000 {
            fabric.reconfigure(now, index, &random, 7);
        }
        fabric.advance(now);
        delivered += std::iter::from_fn(|| fabric.poll_arrival()).count() as u64;
        fabric.send(now, route, 1500, n);
    }
    let capacity = fabric.mean_rate(index, 4 * SECOND).unwrap() * 4;
    let used = (delivered * 12_000) as f64 / capacity as f64;
    assert!((0.99..=1.0).contains(&used), "{used} of {capacity} bits");
}
