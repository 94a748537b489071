//! Two paths of a connection through one bottleneck, next to a flow of somebody else.

use hawser_scenario::Scenario;
use hawser_sim::run::{NoRecorder, Options, Simulation};

use crate::common;

/// Which segments two access links lead through.
#[derive(Clone, Copy)]
enum Bottlenecks {
    /// Both through the same.
    One,
    /// Each through its own.
    Two,
}

/// Segments of 50 Mbit/s and 20 ms there and back.
fn scenario(bottlenecks: Bottlenecks, paths: &str, queue_kb: u32) -> String {
    let segment = |name: &str| {
        format!(
            "[[segment]]\nname = \"{name}\"\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"{queue_kb} kB\"\n"
        )
    };
    let link = |name: &str, host: &str, delay: u32, via: &str| {
        format!(
            "[[link]]\nname = \"{name}\"\nbetween = [\"{host}\", \"server\"]\nrate = \"100 Mbit/s\"\ndelay = \"{delay} ms\"\nvia = [\"{via}\"]\n"
        )
    };
    let second = match bottlenecks {
        Bottlenecks::One => "left",
        Bottlenecks::Two => "right",
    };
    let mut text = segment("left") + &segment("right");
    for (name, delay, via) in [("a0", 5, "left"), ("b0", 15, second)] {
        if paths.contains(name) {
            text += &link(name, "client", delay, via);
        }
    }
    for (name, via) in [("left", "left"), ("right", "right")] {
        if via == "left" || matches!(bottlenecks, Bottlenecks::Two) {
            text += &link(&format!("{name}0"), name, 10, via);
            text += &format!(
                "[[flow]]\nname = \"{name}\"\nkind = \"bulk\"\nfrom = \"{name}\"\nstart = \"5 s\"\ncongestion = \"cubic\"\nscheduler = \"default\"\n"
            );
        }
    }
    text
}

/// The share of a download next to a CUBIC at each bottleneck that begins 5 s later; of 45 s, the first 10 left out. Means of seeds 1 and 2.
fn share(bottlenecks: Bottlenecks, paths: &str, queue_kb: u32) -> f64 {
    let links = scenario(bottlenecks, paths, queue_kb);
    let bytes = |seed: u32, seconds: u32| {
        let text = format!(
            "version = 1\nseed = {seed}\nduration = \"{seconds} s\"\n{links}\
             [[flow]]\nname = \"main\"\nkind = \"bulk\"\nfrom = \"client\"\n"
        );
        let scenario = Scenario::parse(&text, "bottlenecks.toml", &mut |_| Err(String::new()));
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let mut simulation =
            Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
        let flows = simulation.run(&mut NoRecorder).flows;
        let sum = |is_main: bool| {
            flows.iter().filter(|flow| (flow.flow == "main") == is_main).map(|flow| flow.bytes).sum::<u64>()
                as f64
        };
        [sum(true), sum(false)]
    };
    let share = |seed: u32| {
        let (before, after) = (bytes(seed, 10), bytes(seed, 45));
        let [main, others] = [0, 1].map(|at: usize| after[at] - before[at]);
        main / (main + others)
    };
    (1..=2).map(share).sum::<f64>() / 2.0
}

/// Each path by itself is a CUBIC next to others: the two have 0.84 and 0.64 of the bottleneck if they do not know of each other, one alone 0.68 and 0.39.
#[test]
fn two_paths_at_one_bottleneck_take_the_share_of_one_flow() {
    for queue_kb in [250, 500] {
        let (one, two) =
            (share(Bottlenecks::One, "a0", queue_kb), share(Bottlenecks::One, "a0 b0", queue_kb));
        println!("{queue_kb} kB: one path {one:.2}, two paths {two:.2}");
        assert!(two > 0.35 && two < one + 0.15, "{queue_kb} kB: {two:.2}, {one:.2} with one path");
    }
}

/// Each next to a CUBIC of its own: nobody makes room for the other.
#[test]
fn paths_with_bottlenecks_of_their_own_have_a_share_of_each() {
    for queue_kb in [250, 500, 1_000] {
        let share = share(Bottlenecks::Two, "a0 b0", queue_kb);
        println!("{queue_kb} kB: {share:.2} of both");
        assert!((0.35..=0.7).contains(&share), "{queue_kb} kB: {share:.2}");
    }
}
