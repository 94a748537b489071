//! Handovers that are announced: nothing is sent into them, and nobody waits for what would have been lost.

use hawser_scenario::Scenario;
use hawser_sim::run::{FlowOutcome, NoRecorder, Options, Simulation};

use crate::common;

/// A dish whose satellite changes every 5 s, which takes 300 ms, and a steady link that is farther away.
const ROAD: &str = r#"
version = 1
duration = "60 s"
[[link]]
name = "dish0"
medium = "satellite"
rate = "30 Mbit/s"
outage = { every = "5 s", duration = "300 ms", offset = "3 s" }
forecast = FORECAST
delay = "15 ms"
queue = "200 kB"
[[link]]
name = "lte0"
medium = "cellular"
delay = "30 ms"
rate = "15 Mbit/s"
queue = "200 kB"
"#;

fn run(forecast: &str, scheduler: &str, flow: &str, seed: u64) -> FlowOutcome {
    let road = ROAD.replace("FORECAST", forecast);
    let text = format!("{road}\n{flow}\n[transport]\nscheduler = \"{scheduler}\"\n");
    let mut scenario = Scenario::parse(&text, "road.toml", &mut |_| Err(String::new()))
        .unwrap_or_else(|error| panic!("{error}"));
    scenario.seed = seed;
    let mut simulation =
        Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
    simulation.run(&mut NoRecorder).flows.into_iter().next().expect("it has one")
}

const BULK: &str = "[[flow]]\nname = \"main\"\nkind = \"bulk\"\ndirection = \"down\"\n";
const UPLOAD: &str = "[[flow]]\nname = \"main\"\nkind = \"bulk\"\ndirection = \"up\"\n";
const ANSWERS: &str = "[[flow]]\nname = \"main\"\nkind = \"requests\"\nrequest = \"200 B\"\nresponse = \"64 kB\"\nthink = \"100 ms\"\n";

const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;
/// The 99th percentile of a run's 150 answers is one of the two slowest.
const SEEDS_OF_ANSWERS: std::ops::RangeInclusive<u64> = 1..=24;

/// Means over the seeds: goodput in Mbit/s, 99th percentile of the delay of a byte or an answer, longest gap, both in ms.
fn mean(forecast: &str, scheduler: &str, flow: &str) -> [f64; 3] {
    let of = |seed| {
        let flow = run(forecast, scheduler, flow, seed);
        [flow.goodput_bps / 1e6, flow.delay.p99_ms, flow.longest_gap_ms]
    };
    let seeds = if flow == ANSWERS { SEEDS_OF_ANSWERS } else { SEEDS };
    let all: Vec<[f64; 3]> = seeds.clone().map(of).collect();
    let mean = std::array::from_fn(|at| all.iter().map(|one| one[at]).sum::<f64>() / all.len() as f64);
    println!(
        "forecast {forecast}, {scheduler}, seeds {seeds:?}: [Mbit/s, p99 in ms, gap in ms] = {mean:.2?}"
    );
    mean
}

#[test]
fn an_announced_break_makes_nobody_wait() {
    for (flow, of_gap) in [(BULK, 0.7), (UPLOAD, 0.9)] {
        let [goodput, p99, gap] = mean("\"perfect\"", "default", flow);
        let [without, late, stall] = mean("\"absent\"", "default", flow);
        assert!(goodput >= 0.995 * without, "{goodput} instead of {without} Mbit/s");
        assert!(p99 <= 0.6 * late, "{p99} instead of {late} ms");
        assert!(gap <= of_gap * stall, "{gap} instead of {stall} ms");
    }
    let [_, p99, _] = mean("\"perfect\"", "default", ANSWERS);
    let [_, late, _] = mean("\"absent\"", "default", ANSWERS);
    assert!(p99 <= 0.85 * late, "{p99} instead of {late} ms");
}

/// The negative control: the same announcements, which nobody reads, change nothing.
#[test]
fn announcements_that_nobody_reads_change_nothing() {
    for seed in SEEDS {
        let unread = run("\"perfect\"", "default,warnings=off", BULK, seed);
        let unknown = run("\"absent\"", "default", BULK, seed);
        assert_eq!((unread.bytes, unread.delay.p99_ms), (unknown.bytes, unknown.delay.p99_ms), "seed {seed}");
    }
}

/// The break comes earlier than was said: by a part of its length, and by more than that, so that a link that works is left out.
#[test]
fn announcements_that_come_late_cost_next_to_nothing() {
    for flow in [BULK, UPLOAD, ANSWERS] {
        let [without, late, _] = mean("\"absent\"", "default", flow);
        for by in ["100 ms", "500 ms", "2 s"] {
            let [goodput, p99, _] = mean(&format!("{{ delayed = \"{by}\" }}"), "default", flow);
            assert!(goodput >= 0.98 * without, "{by}: {goodput} instead of {without} Mbit/s");
            assert!(p99 <= 1.1 * late, "{by}: {p99} instead of {late} ms");
        }
    }
}
