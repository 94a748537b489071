use super::*;
use crate::testing::bottleneck::{BDP, Link, alone, beside, measure};

/// 10 ms of queue at delta 1/2: 200 datagrams per second.
#[test]
fn the_target_falls_with_the_queue() {
    let rule = CopaRule::new(0.5, true);
    assert!((rule.target_rate(0.11, 0.10) - 200.0).abs() < 1e-6);
    assert_eq!(rule.target_rate(0.1, 0.1), f64::INFINITY);
}

/// The queue moves between nothing and 2.5 / delta packets (section 3 of the paper); a packet takes 0.2 ms.
#[test]
fn alone_the_queue_is_a_few_packets() {
    for (spec, packets) in [("copa", 5.0), ("copa,delta=0.1", 25.0)] {
        let network = measure(alone(spec, Link::new(40.0, 8 * BDP)), 10, 30);
        let queued = network.mean_wait(0) / 0.2;
        assert!((0.2 * packets..packets).contains(&queued), "{spec}: {queued} packets");
        assert!(network.utilisation(40.0) > 0.97, "{spec}: {}", network.utilisation(40.0));
        assert_eq!(network.loss(0), 0.0, "{spec}");
    }
}

#[test]
fn two_flows_share_evenly() {
    let network = measure(beside(["copa"; 2], Link::new(40.0, BDP)), 20, 30);
    assert!(network.jain() > 0.95, "{} {}", network.goodput(0), network.goodput(1));
    assert!(network.mean_wait(0) < 5.0, "{} ms", network.mean_wait(0));
}

/// Against a flow that fills the queue Copa starves, unless delta follows AIMD.
#[test]
fn the_competitive_mode_holds_a_share_beside_reno() {
    let share = |spec: &str| {
        let network = measure(beside([spec, "newreno"], Link::new(40.0, BDP)), 30, 60);
        network.goodput(0) / (network.goodput(0) + network.goodput(1))
    };
    let (on, off) = (share("copa"), share("copa,competitive=off"));
    assert!(on > 0.25 && off < 0.15, "{on} {off}");
}
