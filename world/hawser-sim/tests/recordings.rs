//! Drives that were recorded, played in virtual time.

use std::path::{Path, PathBuf};

use hawser_scenario::{Direction, Scenario, SourceKind, load};
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

use crate::common;

fn run(scenario: &Scenario) -> Outcome {
    let simulation = Simulation::new(scenario, &common::registry(), Options::default());
    simulation.expect("it can be simulated").run(&mut NoRecorder)
}

/// What the links of an outcome could carry down, bit/s.
fn capacities(outcome: &Outcome) -> Vec<u64> {
    let down = outcome.links.iter().filter(|link| link.direction == Direction::Down);
    down.map(|link| link.capacity_bps.expect("a recorded rate")).collect()
}

/// A drive of 6 s: the first carrier gives 20 Mbit/s and nothing from the third second to the fourth, the second 5.
const DRIVE: &str = "\
TIME_STAMP_x,DLtput_x,modified_tech_x,handover_status_x,TIME_STAMP_y,DLtput_y,modified_tech_y,handover_status_y
1683985200.0,20,LTE,,1683985200.0,5,5G-low,
1683985203.0,0,LTE,,1683985203.0,5,5G-low,
1683985204.0,20,LTE,,1683985204.0,5,5G-low,
1683985205.5,20,LTE,,1683985205.5,5,5G-low,
";

const SCENARIO: &str = r#"
version = 1
duration = "6 s"

[scene.drive]
model = "two-carriers"
carriers = { atnt = { stalls_per_second = 0.0 }, verizon = { stalls_per_second = 0.0 } }
loss = 0.0
recordings = { files = "drive.csv", otherwise = "generate" }

[link.first]
channel = { scene = "drive", link = "atnt" }
queue = "200 kB"
on_outage = "hold"

[link.second]
channel = { scene = "drive", link = "verizon" }
queue = "100 kB"
on_outage = "hold"
"#;

#[test]
fn a_run_carries_what_was_recorded_and_says_so() {
    let mut files = |name: &str| match name {
        "drive.csv" => Ok(DRIVE.to_owned()),
        _ => Err(format!("there is no {name}")),
    };
    let scenario = Scenario::parse(SCENARIO, "drive.toml", &mut files).expect("a scenario");
    let outcome = run(&scenario);
    assert_eq!(capacities(&outcome), [20_000_000 * 5 / 6, 5_000_000]);
    let possible = 20e6 * 5.0 / 6.0 + 5e6;
    assert!((0.7 * possible..possible).contains(&outcome.goodput_bps), "{} bit/s", outcome.goodput_bps);
    let told = serde_json::to_value(&outcome).expect("JSON");
    let scene = &told["scenes"][0];
    assert_eq!(
        (&scene["name"], &scene["source"], &scene["model"]),
        (&"drive".into(), &"recording".into(), &"two-carriers".into())
    );
    assert_eq!(scene["files"][0], "drive.csv");

    let generated = Scenario::parse(SCENARIO, "drive.toml", &mut |_| Err("there is none".into()));
    let outcome = run(&generated.expect("a scenario"));
    assert_eq!(outcome.scenes[0].kind, SourceKind::Model);
    assert_ne!(capacities(&outcome), [20_000_000 * 5 / 6, 5_000_000]);
}

/// The measured drives, in `HAWSER_TRACES` or in `../shared/traces` next to the project; none: they are not there.
fn drives() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("HAWSER_TRACES").map_or_else(beside, PathBuf::from).join("pam2025");
    if !folder.is_dir() {
        eprintln!("skipped: no {}; set HAWSER_TRACES", folder.display());
        return None;
    }
    Some(folder)
}

#[test]
fn measured_drives_run() {
    let Some(folder) = drives() else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/drive-pam.toml");
    let recordings = format!("scene.drive.recordings={}/DL_*.csv", folder.display());
    let mut played = Vec::new();
    for seed in 1..=4 {
        let set = [recordings.clone(), "duration=20 s".to_owned(), format!("seed={seed}")];
        let scenario = load(&file, &set).unwrap_or_else(|error| panic!("{error}"));
        let outcome = run(&scenario);
        assert_eq!(outcome, run(&scenario), "seed {seed}");
        assert_eq!(outcome.scenes[0].kind, SourceKind::Recording);
        let possible = capacities(&outcome).iter().sum::<u64>() as f64;
        // How much of a fast drive is used is a matter of its generated losses and stalls.
        assert!((1e6..possible).contains(&outcome.goodput_bps), "seed {seed}: {} bit/s", outcome.goodput_bps);
        played.push(outcome.scenes[0].files.clone());
    }
    played.dedup();
    assert!(played.len() > 1, "seeds play different drives: {played:?}");
}
