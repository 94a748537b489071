//! Prints the trace hash of the first seconds of each scenario file: the same on every machine and with every C library.
//!
//! `cargo run --release -p hawser-sim --example trace_hashes -- [--seconds N] scenarios/*.toml`

use std::path::Path;
use std::time::Duration;

use hawser_policy::Registry;
use hawser_scenario::load;
use hawser_sim::run::{NoRecorder, Options, Simulation};

type Failure = Box<dyn std::error::Error>;

fn trace_hash(file: &str, most: Duration) -> Result<String, Failure> {
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    hawser_cc::register_sets(&mut registry);
    let mut scenario = load(Path::new(file), &[])?;
    scenario.duration = Some(scenario.duration.map_or(most, |duration| duration.min(most)));
    let outcome = Simulation::new(&scenario, &registry, Options::default())?.run(&mut NoRecorder);
    Ok(outcome.trace_hash)
}

fn main() -> Result<(), Failure> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut most = Duration::from_secs(5);
    if arguments.first().is_some_and(|first| first == "--seconds") {
        most = Duration::from_secs(arguments.get(1).ok_or("--seconds N")?.parse()?);
        arguments.drain(..2);
    }
    for file in &arguments {
        match trace_hash(file, most) {
            Ok(hash) => println!("{hash} {file}"),
            Err(error) => println!("{file}: {error}"),
        }
    }
    Ok(())
}
