//! Simulates a bulk download over two links of 100 Mbit/s and tells how it went; to be run under a profiler.
//!
//! `cargo run --release -p hawser-sim --example simulation_speed [SECONDS]`

use hawser_policy::Registry;
use hawser_scenario::Scenario;
use hawser_sim::run::{NoRecorder, Options, Simulation};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: u64 = std::env::args().nth(1).map_or(Ok(60), |seconds| seconds.parse())?;
    let text = format!(
        "version = 1\nduration = \"{seconds} s\"\n\
         [[link]]\nname = \"a0\"\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
         [[link]]\nname = \"b0\"\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n"
    );
    let scenario = Scenario::parse(&text, "speed.toml", &mut |_| Err("there is none".into()))?;
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    let outcome = Simulation::new(&scenario, &registry, Options::default())?.run(&mut NoRecorder);
    println!(
        "{} packets, {} events, {:.1} Mbit/s, trace {}",
        outcome.packets,
        outcome.events,
        outcome.goodput_bps / 1e6,
        outcome.trace_hash
    );
    Ok(())
}
