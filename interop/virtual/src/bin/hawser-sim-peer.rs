//! A scenario of `hawser sim run`, with a foreign stack as its server.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use hawser_interop_virtual::policies;
use hawser_interop_virtual::serve::Peer;
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};
use serde::Serialize;

/// Runs a scenario with Hawser's clients and a server that others wrote, in virtual time
///
/// Handshakes are real TLS 1.3. The same file, seed and version give the same run, packet for packet: `trace_hash` tells.
#[derive(Parser, Debug)]
#[command(name = "hawser-sim-peer")]
struct Arguments {
    /// Scenario file (TOML)
    scenario: PathBuf,
    /// Who serves
    #[arg(long, value_enum)]
    server: Server,
    /// Congestion controller of the server: cubic, newreno, bbr3 (noq), bbr (quinn), any of Hawser's (hawser). Default: cubic
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
    /// Random seed, instead of the scenario's
    #[arg(long)]
    seed: Option<u64>,
    /// Set a field of the scenario, such as `link.wifi0.rate=20 Mbit/s`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print JSON, with the fields of `hawser sim run --json` and the `server`
    #[arg(long)]
    json: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Server {
    /// Hawser, to compare the others with
    Hawser,
    /// Multipath QUIC (draft-ietf-quic-multipath-21)
    Noq,
    /// QUIC v1
    Quinn,
}

#[derive(Serialize)]
struct Report {
    server: Server,
    #[serde(flatten)]
    outcome: Outcome,
    wall_seconds: f64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(report) => {
            show(&report, arguments.json);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hawser-sim-peer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<Report, String> {
    // First, so that the user's own word on it is heard and answered.
    let mut set = vec!["transport.crypto=tls".to_owned()];
    set.extend(arguments.set.iter().cloned());
    let peer = match arguments.server {
        Server::Hawser => None,
        Server::Noq => Some(Peer::Noq),
        Server::Quinn => Some(Peer::Quinn),
    };
    let servers = match (peer, &arguments.congestion) {
        (None, name) => {
            set.extend(name.iter().map(|name| format!("transport.congestion={name}")));
            None
        }
        (Some(peer), None) => Some(peer.servers()),
        (Some(peer), Some(name)) => Some(peer.servers_with(peer.congestion(name)?)),
    };
    set.extend(arguments.seed.map(|seed| format!("seed={seed}")));
    let scenario = hawser_scenario::load(&arguments.scenario, &set).map_err(|error| error.to_string())?;
    let options = Options { server: servers, ..Options::default() };
    let mut simulation = Simulation::new(&scenario, &policies(), options)
        .map_err(|error| format!("{}: {error}", arguments.scenario.display()))?;
    #[expect(clippy::disallowed_methods, reason = "how long it takes is measured outside of the simulation")]
    let began = Instant::now();
    let outcome = simulation.run(&mut NoRecorder);
    Ok(Report { server: arguments.server, outcome, wall_seconds: began.elapsed().as_secs_f64() })
}

fn show(report: &Report, json: bool) {
    if json {
        println!("{}", serde_json::to_string_pretty(report).expect("an outcome is always JSON"));
        return;
    }
    let outcome = &report.outcome;
    println!(
        "{} with {:?} as the server: {:.3} s simulated in {:.2} s, {} packets, trace {}",
        outcome.scenario,
        report.server,
        outcome.simulated_seconds,
        report.wall_seconds,
        outcome.packets,
        outcome.trace_hash
    );
    for flow in &outcome.flows {
        let state = if flow.intact { "intact" } else { "CORRUPT" };
        println!("  {}: {} bytes, {:.2} Mbit/s, {state}", flow.flow, flow.bytes, flow.goodput_bps / 1e6);
    }
    for path in &outcome.paths {
        println!(
            "  {} path {} over {:?}: {} bytes sent, {} packets lost",
            path.flow, path.path, path.link, path.bytes_sent, path.packets_lost
        );
    }
}
