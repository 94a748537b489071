//! Memory of many connections, and of long records.

use bench_harness::Error;
use bench_harness::report::SimulationReport;
use serde_json::json;

use super::{Findings, Suite, ask, verdict};

const MIB: f64 = 1024.0;
/// Resident memory of a process with a thousand connections, MiB.
const CROWD_LIMIT: f64 = 2048.0;
/// How many there are.
const CROWD: usize = 1000;
/// What a run may add to the resident memory of its process while it records every packet, MiB.
const RECORD_LIMIT: f64 = 300.0;
/// Length of that run.
const LONG: &str = "duration=10 min";

pub(super) fn measure(suite: &Suite<'_>) -> Result<Findings, Error> {
    println!("\nmemory");
    let mut runs = Vec::new();
    for (scenario, title) in
        [("thousand-requests", "1,000 connections with requests"), ("thousand-bulk", "1,000 downloads")]
    {
        let run = suite.run(scenario, &[])?;
        if run.connections != CROWD {
            return Err(format!("{title}: only {} received anything", run.connections).into());
        }
        let peak = run.rss_peak_kib as f64 / MIB;
        println!(
            "{:<6}  {title}, {:.0} s in {:.1} s: {peak:.0} MiB at most (at most {CROWD_LIMIT:.0})",
            verdict(peak <= CROWD_LIMIT),
            run.speed.simulated_seconds,
            run.speed.wall_seconds
        );
        runs.push(run);
    }
    let folder = tempfile::tempdir_in(&suite.arguments.out)?;
    let recorded: SimulationReport =
        ask(suite.command("two-links", &[LONG]).arg("--record").arg(folder.path()))?;
    let growth = recorded.rss_peak_kib.saturating_sub(recorded.rss_before_kib) as f64 / MIB;
    println!(
        "{:<6}  10 minutes with {:.1} million packets recorded, {:.1} s, {:.0} MB of files: grows by {growth:.0} MiB \
         (at most {RECORD_LIMIT:.0})",
        verdict(growth <= RECORD_LIMIT),
        recorded.speed.packets as f64 / 1e6,
        recorded.speed.wall_seconds,
        recorded.recorded_bytes as f64 / 1e6
    );
    let summary = json!({
        "requests_peak_mib": runs[0].rss_peak_kib as f64 / MIB,
        "bulk_peak_mib": runs[1].rss_peak_kib as f64 / MIB,
        "recording_growth_mib": growth,
    });
    runs.push(recorded);
    Ok((summary, json!(runs)))
}
