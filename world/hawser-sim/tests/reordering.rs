//! Links whose packets overtake each other: what comes late is not lost.

use hawser_sim::run::{FlowOutcome, NoRecorder, Options, PathOutcome, Simulation};

use crate::common;

/// An upload of half a minute over 40 Mbit/s and 40 ms; on the way there each packet takes `mean` ms more on average, with this
/// standard `deviation` in ms, and may overtake others; without one all take as long.
fn upload(controller: &str, mean: u64, deviation: Option<u64>, seed: u64) -> (FlowOutcome, PathOutcome) {
    let reordering = deviation.is_some();
    let deviation = deviation.map_or("1 us".to_owned(), |deviation| format!("{deviation} ms"));
    let set = [
        format!("transport.congestion={controller}"),
        format!(
            "segment.egress.up.jitter={{ model = \"gaussian\", mean = \"{mean} ms\", deviation = \"{deviation}\", \
             reordering = {reordering} }}"
        ),
    ];
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let mut scenario = common::load("bbrv2plus-jitter-reordering.toml", &set);
    scenario.seed = seed;
    let mut simulation =
        Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
    let outcome = simulation.run(&mut NoRecorder);
    let [flow] = <[_; 1]>::try_from(outcome.flows).expect("one flow");
    let path = outcome.paths.into_iter().max_by_key(|path| path.packets_sent).expect("a path");
    (flow, path)
}

/// Goodput on the link that reorders, as a share of that on one where all packets take the mean delay.
fn share(controller: &str, mean: u64, deviation: u64) -> f64 {
    let (mut disturbed, mut undisturbed) = (0.0, 0.0);
    for seed in 1..=3 {
        let (flow, path) = upload(controller, mean, Some(deviation), seed);
        println!(
            "{controller}, {mean} +- {deviation} ms, seed {seed}: {:.2} Mbit/s, {} of {} lost, {} of these only late",
            flow.goodput_bps / 1e6,
            path.packets_lost,
            path.packets_sent,
            path.packets_spuriously_lost
        );
        assert!(flow.intact);
        disturbed += flow.goodput_bps;
        undisturbed += upload(controller, mean, None, seed).0.goodput_bps;
    }
    println!("{:.2} of {:.2} Mbit/s", disturbed / 3e6, undisturbed / 3e6);
    disturbed / undisturbed
}

#[test]
fn reordering_by_half_a_round_trip_leaves_nine_tenths_of_the_goodput() {
    for controller in ["cubic", "bbr"] {
        let share = share(controller, 20, 10);
        assert!(share >= 0.9, "{controller}: {share:.2}");
    }
}

#[test]
fn reordering_by_a_round_trip_leaves_four_fifths_of_the_goodput() {
    for controller in ["cubic", "bbr"] {
        let share = share(controller, 40, 20);
        assert!(share >= 0.8, "{controller}: {share:.2}");
    }
}

#[test]
fn reordering_by_two_round_trips_leaves_three_fifths_of_the_goodput() {
    for controller in ["cubic", "bbr"] {
        let share = share(controller, 80, 40);
        assert!(share >= 0.6, "{controller}: {share:.2}");
    }
}
