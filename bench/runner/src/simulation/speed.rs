//! Packets and events per second of a bulk download over two links, next to ns-3 if that is there.

use std::process::Command;

use bench_harness::Error;
use bench_harness::report::{SimulationReport, SimulationSpeed};
use serde_json::json;

use super::{Findings, Suite, ask, spread, verdict};
use crate::quiet::{Measured, Quiet};
use crate::statistics::Spread;
use crate::table::Table;

/// Packets per second that the simulator must reach on one core with the null session.
const TARGET: f64 = 750_000.0;
/// Simulated seconds of ns-3, which takes a tenth of the packets in a second.
const NS3_SECONDS: &str = "10";

/// Name, and what is set.
const SESSIONS: [(&str, &[&str]); 2] = [("null", &[]), ("TLS 1.3", &["transport.crypto=tls"])];

/// A figure of a run.
type Figure = fn(&SimulationSpeed) -> f64;

const FIGURES: [(&str, usize, Figure); 6] = [
    ("wall s", 2, |run| run.wall_seconds),
    ("CPU s", 2, |run| run.cpu_seconds),
    ("packets/s", 0, SimulationSpeed::packets_per_second),
    ("packets/CPU s", 0, |run| run.packets as f64 / run.cpu_seconds),
    ("events/s", 0, |run| run.events as f64 / run.wall_seconds),
    ("simulated/real", 1, |run| run.simulated_seconds / run.wall_seconds),
];

pub(super) fn measure(suite: &Suite<'_>) -> Result<Findings, Error> {
    let mut quiet = Quiet::new(std::time::Duration::from_secs(suite.arguments.patience));
    let mut runs = SESSIONS.map(|_| Vec::new());
    let mut peer: Vec<Measured<SimulationSpeed>> = Vec::new();
    for _ in 0..suite.arguments.runs {
        for ((_, set), runs) in SESSIONS.iter().zip(&mut runs) {
            runs.push(quiet.measure(|| suite.run("two-links", set))?);
        }
        if suite.ns3.exists() {
            peer.push(quiet.measure(|| ask(Command::new(&suite.ns3).arg(NS3_SECONDS)))?);
        }
    }
    println!(
        "\nbulk download over two links of 100 Mbit/s, 10 ms, one core, medians of {} runs",
        runs[0].len()
    );
    let head = ["session", "packets"].into_iter().chain(FIGURES.iter().map(|(name, ..)| *name));
    let mut table = Table::new(head);
    for ((name, _), runs) in SESSIONS.iter().zip(&runs) {
        same(runs)?;
        let packets = runs.first().map_or(0, |run| run.value.speed.packets);
        let figures = FIGURES
            .iter()
            .map(|(_, decimals, figure)| spread(runs.iter().map(|run| figure(&run.value.speed)), *decimals));
        table.row([(*name).to_owned(), packets.to_string()].into_iter().chain(figures));
    }
    print!("{table}");
    if runs.iter().flatten().any(|run| run.noisy) || peer.iter().any(|run| run.noisy) {
        println!("some runs were disturbed by other processes: do not trust these numbers");
    }
    if runs[0][0].value.trace_hash == runs[1][0].value.trace_hash {
        return Err("with TLS everything is as without: it was not used".into());
    }
    let reached =
        Spread::of(runs[0].iter().map(|run| run.value.speed.packets_per_second())).ok_or("no run")?;
    println!(
        "{:<6}  {:.0} packets/s, null session (at least {TARGET:.0})",
        verdict(reached.median >= TARGET),
        reached.median
    );
    let ns3 = next_to(&runs[0], &peer);
    let summary = json!({ "packets_per_second": reached, "target": TARGET, "ns3": ns3 });
    Ok((summary, json!({ "null": runs[0], "tls": runs[1], "ns3": peer })))
}

/// Compares with ns-3, round by round.
fn next_to(
    ours: &[Measured<SimulationReport>],
    peer: &[Measured<SimulationSpeed>],
) -> Option<serde_json::Value> {
    let speeds: Vec<f64> = peer.iter().map(|run| run.value.packets_per_second()).collect();
    let Some(speed) = Spread::of(speeds.iter().copied()) else {
        println!("        ns-3 is not there: `make bench-ns3`");
        return None;
    };
    let ours = ours.iter().map(|run| run.value.speed.packets_per_second());
    let ratios: Vec<f64> = ours.zip(&speeds).map(|(ours, peer)| ours / peer).collect();
    println!(
        "        {} times ns-3, which does {} packets/s with two TCP connections over the same links",
        spread(ratios.iter().copied(), 1),
        spread(speeds, 0)
    );
    Some(json!({ "packets_per_second": speed, "ratio": Spread::of(ratios) }))
}

/// What differs from run to run may be time, nothing else.
fn same(runs: &[Measured<SimulationReport>]) -> Result<(), Error> {
    match runs.windows(2).find(|pair| pair[0].value.trace_hash != pair[1].value.trace_hash) {
        None => Ok(()),
        Some(pair) => {
            let [one, other] = [&pair[0].value.trace_hash, &pair[1].value.trace_hash];
            Err(format!("two runs of the same scenario differ: traces {one} and {other}").into())
        }
    }
}
