use std::time::Duration;

use super::*;
use crate::testing::bottleneck::{BDP, Link, Network, alone, measure};
use crate::testing::{init, sibling};
use hawser_policy::PathId;

fn rule() -> WVegasRule {
    WVegasRule {
        total_alpha: 10.0,
        least_alpha: 2.0,
        alpha: 2.0,
        least_queue: None,
        delay: QueueDelay::default(),
        judged: true,
    }
}

fn round(mean: f64) -> DelayRound {
    DelayRound { min: mean, mean, samples: 9, base: 0.1, largest: mean }
}

/// 30 datagrams, 125 ms: 6 queued. Own rate 240 per second next to 80: weight 3/4, so the aim is 7.5, and the window grows.
#[test]
fn the_aim_is_shared_by_rate() {
    let paths = [sibling(0, 30, 100), sibling(1, 8, 100)];
    let siblings = Siblings { own: PathId(0), paths: &paths };
    let mut window = Window::new(&init(30_000));
    window.set_threshold_here();
    let mut rule = rule();
    rule.judge(&mut window, &round(0.125), &siblings);
    assert!((rule.alpha - 7.5).abs() < 1e-9, "{}", rule.alpha);
    assert_eq!(window.bytes(), 31_000);
    // 31 datagrams at 150 ms are 10.3 queued, the aim by rates 206.7 and 80 is 7.2: one less, and 50 ms is the queue at the aim.
    rule.judge(&mut window, &round(0.15), &siblings);
    assert_eq!((window.bytes(), rule.least_queue.map(|queue| (1e3 * queue).round())), (30_000, Some(50.0)));
    // At 200 ms it is twice that, and is drained: 29 datagrams times 100 / 400.
    rule.judge(&mut window, &round(0.2), &siblings);
    assert_eq!((window.bytes(), rule.least_queue), (7_250, None));
}

#[test]
fn ten_packets_in_queues_however_many_paths() {
    let network = measure(alone("wvegas", Link::new(40.0, BDP)), 20, 20);
    let queued = network.mean_wait(0) / 0.2;
    assert!((8.0..12.0).contains(&queued), "{queued} packets");
    let mut network = Network::new(vec![Link::new(40.0, BDP), Link::new(40.0, BDP)]);
    network.add_named("wvegas", (0, 0));
    network.add_named("wvegas", (1, 0));
    let network = measure(network, 30, 30);
    let queued = (network.mean_wait(0) + network.mean_wait(1)) / 0.2;
    assert!((7.0..13.0).contains(&queued), "{queued} packets");
    assert!(network.utilisation(80.0) > 0.98);
}

/// Round-trip times that differ by a fraction of a packet are no queue that would have to be drained.
#[test]
fn alone_it_fills_a_link_whose_delay_varies_a_little() {
    let mut link = Link::new(40.0, BDP);
    link.jitter = Duration::from_micros(100);
    let network = measure(alone("wvegas", link), 2, 18);
    assert!(network.utilisation(40.0) > 0.98, "{}", network.utilisation(40.0));
}
