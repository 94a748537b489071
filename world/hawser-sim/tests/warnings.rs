//! Hand-overs that are announced: nothing is sent into them, and nobody waits for what would have been lost.

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

#[test]
fn announced_breaks() {
    for (name, flow) in [("bulk", BULK), ("upload", UPLOAD), ("answers", ANSWERS)] {
        for (forecast, scheduler) in [
            ("\"absent\"", "default"),
            ("\"perfect\"", "default,warnings=off"),
            ("\"perfect\"", "default"),
            ("{ delayed = \"100 ms\" }", "default"),
            ("{ delayed = \"500 ms\" }", "default"),
        ] {
            for seed in 1..=3 {
                let flow = run(forecast, scheduler, flow, seed);
                println!(
                    "{name} {forecast} {scheduler} seed {seed}: {:.2} Mbit/s, gap {:.0} ms, p99 {:.0} max {:.0} ms, needless {}",
                    flow.goodput_bps / 1e6,
                    flow.longest_gap_ms,
                    flow.delay.p99_ms,
                    flow.delay.max_ms,
                    flow.copies.needless_bytes,
                );
            }
        }
    }
}
