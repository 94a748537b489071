use std::sync::Arc;

use hawser_policy::{PathId, Sibling, Time};

use super::sets::{Member, Rules, Sets};
use super::*;
use crate::testing::bottleneck::{BDP, Link, Network, RTT};
use crate::testing::{registry, sibling};

const RULES: Rules = Rules { window: 1.0, near: 0.9, memory: Duration::from_secs(30), misses: 3 };

/// Three paths of 40, 40 and 100 ms, whose controllers know of each other. Three misses part them, not one as by default.
struct Paths {
    members: [Member; 3],
    shown: [Sibling; 3],
}

impl Paths {
    fn new() -> Paths {
        let sets: Arc<Mutex<Sets>> = Arc::default();
        Paths {
            members: [0, 1, 2].map(|path| Member::join(&sets, PathId(path), RULES)),
            shown: [sibling(0, 10, 40), sibling(1, 10, 40), sibling(2, 10, 100)],
        }
    }

    fn lose(&self, path: usize, at_ms: u64) {
        let siblings = Siblings { own: PathId(path as u32), paths: &self.shown };
        self.members[path].on_loss(Time::from_millis(at_ms), &siblings);
    }

    fn sample(&self, path: usize, at_ms: u64, rtt_ms: u64) {
        self.members[path].on_rtt(Time::from_millis(at_ms), Duration::from_millis(rtt_ms));
    }

    fn groups(&self) -> [u32; 3] {
        [0, 1, 2].map(|path: usize| self.members[path].group().0)
    }
}

#[test]
fn losses_within_a_round_trip_couple_and_later_ones_do_not() {
    let paths = Paths::new();
    assert_eq!(paths.groups(), [1, 2, 3], "each in a set of its own");
    paths.lose(0, 1_000);
    paths.lose(1, 1_041);
    assert_eq!(paths.groups(), [1, 2, 3]);
    paths.lose(0, 1_080);
    assert_eq!(paths.groups(), [1, 1, 3], "39 ms after the last of path 1");
    // The round trip is that of the longer one; and what pairs connect is one set.
    paths.lose(2, 1_180);
    assert_eq!(paths.groups(), [1, 1, 1]);
}

/// 30 to 100 ms: nine tenths of the queue are 93 ms.
#[test]
fn a_delay_near_its_maximum_couples_as_a_loss_does() {
    for (now, coupled) in [(92, false), (94, true)] {
        let paths = Paths::new();
        for (at, rtt) in [(900, 30), (950, 100), (990, now)] {
            paths.sample(1, at, rtt);
        }
        paths.lose(0, 1_000);
        assert_eq!(paths.groups()[1] == 1, coupled, "{now} ms");
    }
    // Jitter of 2 ms around 40 is no queue, and a sample of the last minute says nothing of now.
    let paths = Paths::new();
    [(900, 40), (990, 42)].into_iter().for_each(|(at, rtt)| paths.sample(1, at, rtt));
    [(100, 40), (200, 90)].into_iter().for_each(|(at, rtt)| paths.sample(2, at, rtt));
    paths.lose(0, 1_000);
    assert_eq!(paths.groups(), [1, 2, 3]);
}

#[test]
fn losses_of_one_alone_part_two() {
    let paths = Paths::new();
    let couple = |at_ms: u64| {
        paths.lose(0, at_ms);
        paths.lose(1, at_ms + 10);
    };
    couple(1_000);
    paths.lose(0, 2_000);
    paths.lose(1, 3_000);
    assert_eq!(paths.groups(), [1, 1, 3]);
    couple(4_000);
    // The first of each couple spoke against it, the second for it: counting restarts.
    paths.lose(0, 5_000);
    paths.lose(0, 6_000);
    assert_eq!(paths.groups(), [1, 1, 3]);
    paths.lose(0, 7_000);
    assert_eq!(paths.groups(), [1, 2, 3]);
}

#[test]
fn a_path_that_moved_or_is_gone_shares_nothing() {
    let mut paths = Paths::new();
    paths.lose(0, 1_000);
    paths.lose(1, 1_010);
    paths.members[0].reset();
    assert_eq!(paths.groups(), [1, 2, 3]);
    paths.lose(0, 2_000);
    paths.lose(1, 2_010);
    paths.lose(2, 2_020);
    assert_eq!(paths.groups(), [1, 1, 1]);
    let elsewhere: Arc<Mutex<Sets>> = Arc::default();
    paths.members[0] = Member::join(&elsewhere, PathId(0), RULES);
    assert_eq!(paths.groups(), [1, 2, 2], "1 and 2 coincided as well");
}

/// Adds two paths of one connection over these links.
fn add_connection(network: &mut Network, connection: usize, links: [usize; 2]) {
    let factory = registry().congestion("dwc").expect("registered");
    let factory = factory.for_connection(Side::Server, 0).expect("its controllers share sets");
    for link in links {
        let forever = (Time::ZERO, Time::FAR_FUTURE);
        network.add(|init| factory.build(init), (link, connection), RTT, forever);
    }
}

/// Share of a run in which both paths of the first connection were in one set.
fn coupled_share(network: &mut Network, from: u64, until: u64) -> f64 {
    network.run(Time::from_secs(from));
    network.forget();
    let (mut coupled, mut looks) = (0u64, 0u64);
    network.run_watched(Time::from_secs(until), |network| {
        let groups = [0, 1].map(|flow: usize| network.flows[flow].controller.bottleneck_group());
        coupled += u64::from(groups[0] == groups[1]);
        looks += 1;
    });
    coupled as f64 / looks as f64
}

/// Against a flow of NewReno: together less than two flows would take (2.0 of its share, `lia/tests.rs`).
#[test]
fn paths_through_one_queue_are_found_and_coupled() {
    let mut network = Network::new(vec![Link::new(10.0, 25_000)]);
    add_connection(&mut network, 0, [0, 0]);
    network.add_named("newreno", (0, 1));
    let coupled = coupled_share(&mut network, 30, 330);
    let share = (network.goodput(0) + network.goodput(1)) / network.goodput(2);
    println!("coupled {coupled:.2} of the time, {share:.2} of NewReno's share");
    assert!(coupled > 0.8, "{coupled}");
    assert!((0.8..1.75).contains(&share), "{share}");
}

#[test]
fn paths_of_their_own_are_not_and_fill_both() {
    let mut network = Network::new(vec![Link::new(40.0, BDP), Link::new(17.0, BDP / 2)]);
    add_connection(&mut network, 0, [0, 1]);
    let coupled = coupled_share(&mut network, 30, 330);
    println!("coupled {coupled:.2} of the time, {:.3} used", network.utilisation(57.0));
    assert!(coupled < 0.3, "{coupled}");
    assert!(network.utilisation(57.0) > 0.95);
}
