use super::*;
use crate::testing::bottleneck::{Link, Network, measure};
use crate::testing::{init, sibling};
use hawser_policy::{PathId, Sibling};

fn increase_of(own: u32, paths: &[Sibling]) -> f64 {
    let window = paths.iter().find(|path| path.path == PathId(own)).unwrap().congestion_window;
    increase(&Window::new(&init(window)), &Siblings { own: PathId(own), paths })
}

fn assert_close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-9, "{actual} instead of {expected}");
}

/// By hand: 10 and 20 datagrams over 100 ms: max(w / rtt^2) = 2000, sum of rates 300, so 1/45 for each, under 1/20 and 1/10.
#[test]
fn both_paths_grow_alike() {
    let paths = [sibling(0, 10, 100), sibling(1, 20, 100)];
    assert_close(increase_of(0, &paths), 1.0 / 45.0);
    assert_close(increase_of(1, &paths), 1.0 / 45.0);
}

/// A quick path next to a slow one: max(w / rtt^2) = 4 / 0.0004 = 10,000 and rates 200 + 100: 1/9 for each, but the slow one, of
/// 40 datagrams, grows by no more than a flow of its own.
#[test]
fn none_grows_faster_than_alone() {
    let paths = [sibling(0, 4, 20), sibling(1, 40, 400)];
    assert_close(increase_of(0, &paths), 1.0 / 9.0);
    assert_close(increase_of(1, &paths), 1.0 / 40.0);
    assert_close(increase_of(0, &[sibling(0, 10, 100)]), 0.1);
    assert_close(increase(&Window::new(&init(10_000)), &Siblings::NONE), 0.1);
}

/// What two paths of a connection take of a link against a flow of NewReno, over what that gets.
fn share_beside_reno(spec: &str, link: Link, seconds: u64) -> f64 {
    let mut network = Network::new(vec![link]);
    network.add_named(spec, (0, 0));
    network.add_named(spec, (0, 0));
    network.add_named("newreno", (0, 1));
    let network = measure(network, 30, seconds);
    (network.goodput(0) + network.goodput(1)) / network.goodput(2)
}

/// RFC 6356 section 2, goal 2: together no more than one flow at a common bottleneck. The formulas are about equal loss rates,
/// where they hold. At a drop-tail queue loss falls on flows by chance, and the two paths' windows move apart, which lets them
/// grow faster.
#[test]
fn at_a_common_bottleneck_coupled_paths_take_the_share_of_one_flow() {
    let lossy = || Link::new(1_000.0, 1_000_000).with_loss(0.002);
    let drop_tail = || Link::new(10.0, 25_000);
    let uncoupled = share_beside_reno("newreno", drop_tail(), 300);
    assert!((1.9..2.1).contains(&uncoupled), "{uncoupled}");
    for spec in ["lia", "olia", "olia,quality=drafted", "balia"] {
        let (equal, queued) =
            (share_beside_reno(spec, lossy(), 300), share_beside_reno(spec, drop_tail(), 300));
        println!(
            "{spec}: {equal:.2} of NewReno's at equal loss, {queued:.2} at a queue, uncoupled {uncoupled:.2}"
        );
        assert!((0.8..1.25).contains(&equal), "{spec}: {equal}");
        assert!((0.8..0.8 * uncoupled).contains(&queued), "{spec}: {queued}");
    }
}

/// Goal 1: over links of their own at least what the best of them gives.
#[test]
fn over_links_of_their_own_they_fill_both() {
    for spec in ["lia", "olia", "balia", "wvegas"] {
        let mut network = Network::new(vec![Link::new(10.0, 50_000), Link::new(5.0, 25_000)]);
        network.add_named(spec, (0, 0));
        network.add_named(spec, (1, 0));
        let network = measure(network, 30, 60);
        assert!(network.utilisation(15.0) > 0.95, "{spec}: {} {}", network.goodput(0), network.goodput(1));
    }
}
