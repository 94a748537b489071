//! Drives along a highway with gaps in both networks. Connections must outlive them, and go on when a network returns.

use std::ops::RangeInclusive;
use std::path::Path;

use hawser_scenario::load;
use hawser_sim::run::{NoRecorder, Options, Simulation};

use crate::common::registry;

/// Seeds under which half of a path worked for a while, or none, just when paths came and went; or under which the only
/// network of the first minutes came back for a few seconds.
const DRIVES: [(&str, &[u64]); 2] = [
    ("uplink-20", &[14, 32, 44, 47, 49, 53, 72, 79, 165, 198, 208, 241]),
    ("downlink-20", &[9, 10, 24, 31, 43, 44, 47, 53, 65, 84, 97, 100, 127, 161, 213, 227, 249, 251]),
];

/// Drives that may end with an error, and drives that may still be under way when the scenario ends after five minutes,
/// where the networks leave too little time. Of 512 all finish.
const ENDED: usize = 0;
const UNFINISHED: usize = 1;

#[test]
fn connections_outlive_the_gaps_of_a_highway() {
    let drives = DRIVES.iter().flat_map(|(name, seeds)| seeds.iter().map(|seed| (*name, *seed)));
    check(drives);
}

/// `cargo test --release -p hawser-sim --test sim highway:: -- --ignored --nocapture`
#[test]
#[ignore = "512 drives take minutes"]
fn connections_outlive_the_gaps_of_512_drives() {
    const SEEDS: RangeInclusive<u64> = 1..=256;
    check(DRIVES.iter().flat_map(|(name, _)| SEEDS.map(|seed| (*name, seed))));
}

fn check(drives: impl Iterator<Item = (&'static str, u64)>) {
    let (mut ended, mut unfinished, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
    for (name, seed) in drives {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let file = folder.join(format!("mams-highway-{name}.toml"));
        // The seeds were found with this scheduler.
        let set = [format!("seed={seed}"), "transport.scheduler=stms".to_owned()];
        let scenario = load(&file, &set).expect("a scenario of the project");
        let simulation = Simulation::new(&scenario, &registry(), Options::default());
        let outcome = simulation.expect("it can be simulated").run(&mut NoRecorder);
        let flow = &outcome.flows[0];
        match (&flow.error, flow.completion_seconds) {
            (Some(error), _) => ended.push((name, seed, error.clone())),
            (None, None) => unfinished.push((name, seed, flow.bytes)),
            (None, Some(completion)) => seconds.push(completion),
        }
    }
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    println!("{} finished, after {mean:.1} s in the mean", seconds.len());
    println!("ended: {ended:?}\nunfinished: {unfinished:?}");
    assert_eq!(ended.len(), ENDED, "{ended:#?}");
    assert!(unfinished.len() <= UNFINISHED, "{unfinished:#?}");
}
