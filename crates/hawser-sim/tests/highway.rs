//! Drives along a highway with gaps in both networks. Connections must outlive them: these seeds once ended one each.

mod common;

use std::path::Path;

use hawser_scenario::load;
use hawser_sim::run::{NoRecorder, Options, Simulation};

use common::registry;

/// Seeds under which half of a path worked for a while, or none, just when paths came and went.
const DRIVES: [(&str, &[u64]); 2] =
    [("uplink-20", &[47, 49, 72, 79, 198, 241]), ("downlink-20", &[10, 24, 47, 84, 213, 251])];

/// Runs of these that may still be under way when the scenario ends after five minutes: one where the networks leave too
/// little time, and one where each end has given up the path that the other can be heard on.
const UNFINISHED: usize = 2;

#[test]
fn connections_outlive_the_gaps_of_a_highway() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let (mut ended, mut unfinished) = (Vec::new(), Vec::new());
    for (name, seeds) in DRIVES {
        for seed in seeds {
            let file = folder.join(format!("mams-highway-{name}.toml"));
            let scenario = load(&file, &[format!("seed={seed}")]).expect("a scenario of the project");
            let simulation = Simulation::new(&scenario, &registry(), Options::default());
            let outcome = simulation.expect("it can be simulated").run(&mut NoRecorder);
            let flow = &outcome.flows[0];
            match (&flow.error, flow.completion_seconds) {
                (Some(error), _) => ended.push((name, seed, error.clone())),
                (None, None) => unfinished.push((name, seed, flow.bytes)),
                (None, Some(_)) => {}
            }
        }
    }
    assert!(ended.is_empty(), "{ended:#?}");
    assert!(unfinished.len() <= UNFINISHED, "{unfinished:#?}");
}
