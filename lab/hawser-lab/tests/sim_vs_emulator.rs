//! Simulator and emulator agree on a scenario with every kind of flow. Needs root; skips with a message otherwise.

use std::time::Duration;

use hawser_emu::EmuError;
use hawser_lab::experiments::sim_vs_emulator::{CompareError, compare};
use hawser_scenario::Scenario;

const EVERY_KIND: &str = r#"
version = 1
name = "every-kind"
[[link]]
name = "a0"
rate = "20 Mbit/s"
delay = "10 ms"
[[link]]
name = "b0"
rate = "10 Mbit/s"
delay = "20 ms"
via = ["core"]
[[segment]]
name = "core"
rate = "15 Mbit/s"
[[flow]]
name = "download"
kind = "bulk"
[[flow]]
name = "upload"
kind = "bulk"
direction = "up"
[[flow]]
name = "page"
kind = "requests"
response = "20 kB"
think = "100 ms"
[[flow]]
name = "call"
kind = "datagrams"
direction = "up"
rate = "200 kbit/s"
size = "500 B"
[[flow]]
name = "late"
kind = "bulk"
start = "1 h"
[[flow]]
name = "noise"
kind = "poisson"
rate = "1 Mbit/s"
over = ["core"]
"#;

#[test]
fn every_kind_of_flow_runs_alike_in_both_worlds() {
    let mut scenario = Scenario::parse(EVERY_KIND, "every-kind.toml", &mut |_| Err(String::new())).unwrap();
    scenario.duration = Some(Duration::from_secs(3));
    // A single run of three seconds is decided by when slow start ends; three together are not.
    let scenarios = [1, 2, 3].map(|seed| Scenario { seed, ..scenario.clone() });
    // Three seconds are short, and a loaded machine is not the subject: figures far apart would mean a flow that does
    // nothing, a link that is not used, or bytes that are counted otherwise.
    for _ in 0..3 {
        let agreement =
            match compare(&scenarios, &hawser_net::policies(), &mut |message| eprintln!("{message}")) {
                Err(CompareError::Emulator(
                    error @ (EmuError::NotRoot | EmuError::NoTun(_) | EmuError::NoIp),
                )) => {
                    return eprintln!("skipped: {error}");
                }
                result => result.unwrap_or_else(|error| panic!("{error}")),
            };
        eprintln!("{agreement}");
        if agreement.emulator_lateness_ms < 1.0 {
            assert!(agreement.goodput_difference.is_some_and(|share| share < 0.2), "{agreement}");
            assert!(agreement.ks_distance.is_some_and(|distance| distance < 0.5), "{agreement}");
            assert!(agreement.links.iter().all(|link| link.simulated_delay.packets > 100), "{agreement}");
            return;
        }
        eprintln!("repeated: the emulator was late");
    }
    eprintln!("skipped: this machine stalls too often to measure");
}
