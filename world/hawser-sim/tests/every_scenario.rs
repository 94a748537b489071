//! Every file in `scenarios/` runs for a few simulated seconds.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_scenario::load;
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

use crate::common;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = fs::read_dir(folder).expect("the folder of scenarios");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    files
}

fn run(file: &Path, overrides: &[String]) -> Outcome {
    let scenario = load(file, overrides).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario, &common::registry(), Options::default())
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    simulation.run(&mut NoRecorder)
}

fn bytes(outcome: &Outcome) -> u64 {
    outcome.flows.iter().map(|flow| flow.bytes).sum()
}

#[test]
fn every_scenario_runs_and_moves_data() {
    let files = files();
    assert!(files.len() > 20, "{files:?}");
    let mut silent = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // In vehicles and between distant sites nothing may be in reach for longer than the test would last.
        let is_patchy = ["xfi-", "mams-highway", "mams-dash"].iter().any(|start| name.starts_with(start));
        let seconds = if is_patchy { 60 } else { 4 };
        // One seed may put a car where nothing is in reach at all.
        let outcome = (1..=3)
            .map(|seed| run(file, &[format!("duration={seconds} s"), format!("seed={seed}")]))
            .find(|outcome| bytes(outcome) > 0);
        let Some(outcome) = outcome else {
            silent.push(name);
            continue;
        };
        println!("{name}: {} packets, {:.2} Mbit/s", outcome.packets, outcome.goodput_bps / 1e6);
        assert!(outcome.flows.iter().all(|flow| flow.intact), "{name}: a wrong byte");
    }
    assert!(silent.is_empty(), "nothing arrived in {silent:?}");
}
