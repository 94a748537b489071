use super::*;
use crate::testing::bottleneck::{BDP, Link, alone, measure};
use crate::testing::init;

fn rule() -> VegasRule {
    VegasRule { alpha: 2.0, beta: 4.0, gamma: 1.0, delay: QueueDelay::default(), judged: false }
}

/// 20 datagrams, 100 ms without a queue: 105 ms are one queued, 115 are three, 125 five.
#[test]
fn the_window_moves_by_one_towards_two_to_four_queued() {
    for (rtt, expected) in [(0.105, 21_000), (0.115, 20_000), (0.125, 19_000)] {
        let mut window = Window::new(&init(20_000));
        window.set_threshold_here();
        rule().judge(&mut window, rtt, 0.1);
        assert_eq!(window.bytes(), expected, "{rtt}");
    }
}

/// In slow start one queued is enough: 40 datagrams at 120 ms leave 40 / 1.2 and one more.
#[test]
fn the_first_queue_ends_slow_start() {
    let mut window = Window::new(&init(40_000));
    rule().judge(&mut window, 0.102, 0.1);
    assert!(window.in_slow_start(), "0.8 queued");
    rule().judge(&mut window, 0.12, 0.1);
    assert_eq!((window.bytes(), window.in_slow_start()), (34_333, false));
}

/// A datagram takes 0.2 ms: alpha to beta of them are 0.4 to 0.8 ms.
#[test]
fn alone_it_queues_alpha_to_beta_packets() {
    let network = measure(alone("vegas", Link::new(40.0, BDP)), 20, 20);
    let wait = network.mean_wait(0);
    assert!((0.35..0.85).contains(&wait), "{wait} ms");
    assert!(network.utilisation(40.0) > 0.99 && network.loss(0) == 0.0);
    let network = measure(alone("vegas,alpha=10,beta=12", Link::new(40.0, BDP)), 20, 20);
    assert!((1.9..2.5).contains(&network.mean_wait(0)), "{} ms", network.mean_wait(0));
}

#[test]
fn a_successor_knows_the_round_trip_time_without_queue() {
    let mut rule = rule();
    rule.seed(&crate::testing::snapshot());
    assert_eq!(rule.delay.base(), Some(0.04));
}
