//! Two processes over loopback, one core each.

use std::net::Ipv4Addr;
use std::process::Command;

use bench_harness::Error;
use bench_harness::report::{ClientReport, ServerReport};
use serde::Serialize;

use crate::Arguments;
use crate::comparison::{Better, Metric, StackRuns, Summary};
use crate::launch::{Launcher, Side};
use crate::quiet::{Measured, Quiet};
use crate::results;

/// Bytes of a GiB.
const GIB: f64 = (1u64 << 30) as f64;
/// Those that the stack must not fall behind.
const GATED_PEERS: [&str; 2] = ["quinn", "noq"];

/// What both sides said.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Pair {
    server: ServerReport,
    client: ClientReport,
}

/// A workload and how to look at it.
pub(crate) struct Comparison {
    name: &'static str,
    title: String,
    stacks: &'static [&'static str],
    workload: Vec<String>,
    metrics: Vec<Metric<Pair>>,
}

impl Comparison {
    /// One long stream.
    pub(crate) fn bulk(bytes: u64) -> Self {
        Comparison {
            name: "bulk",
            title: format!("one stream of {:.2} GiB over loopback, one core per side", bytes as f64 / GIB),
            stacks: &["hawser", "quinn", "noq", "s2n-quic", "raw"],
            workload: ["bulk", "--bytes", &bytes.to_string()].map(str::to_owned).into(),
            metrics: vec![
                metric("Gbit/s", 2, Some(Better::Higher), |pair| {
                    pair.client.bytes as f64 * 8.0 / pair.client.seconds / 1e9
                }),
                metric("sender CPU s/GiB", 3, Some(Better::Lower), |pair| {
                    pair.server.cpu.total_s() * GIB / pair.server.bytes as f64
                }),
                metric("receiver CPU s/GiB", 3, Some(Better::Lower), |pair| {
                    pair.client.cpu.total_s() * GIB / pair.client.bytes as f64
                }),
                metric("sender RSS MiB", 1, None, |pair| pair.server.max_rss_kib as f64 / 1024.0),
                metric("receiver RSS MiB", 1, None, |pair| pair.client.max_rss_kib as f64 / 1024.0),
            ],
        }
    }

    /// Small requests, one after the other.
    pub(crate) fn requests(count: u64) -> Self {
        Comparison {
            name: "requests",
            title: format!("{count} requests of 1 KiB on one connection, one after the other"),
            stacks: &["hawser", "quinn", "noq", "s2n-quic"],
            workload: ["requests", "--count", &count.to_string()].map(str::to_owned).into(),
            metrics: vec![
                metric("us/request", 1, Some(Better::Lower), |pair| {
                    pair.client.seconds * 1e6 / pair.client.count as f64
                }),
                metric("client CPU us", 1, Some(Better::Lower), |pair| {
                    pair.client.cpu.total_s() * 1e6 / pair.client.count as f64
                }),
                metric("server CPU us", 1, Some(Better::Lower), |pair| {
                    pair.server.cpu.total_s() * 1e6 / pair.client.count as f64
                }),
            ],
        }
    }

    /// Full handshakes.
    pub(crate) fn handshakes(seconds: f64) -> Self {
        Comparison {
            name: "handshakes",
            title: "full handshakes with certificate verification, eight at a time".to_owned(),
            stacks: &["hawser", "quinn", "noq", "s2n-quic"],
            workload: ["handshakes", "--seconds", &seconds.to_string()].map(str::to_owned).into(),
            metrics: vec![
                metric("handshakes/s", 0, Some(Better::Higher), |pair| {
                    pair.client.count as f64 / pair.client.seconds
                }),
                metric("client CPU us", 0, Some(Better::Lower), |pair| {
                    pair.client.cpu.total_s() * 1e6 / pair.client.count as f64
                }),
                metric("server CPU us", 0, Some(Better::Lower), |pair| {
                    pair.server.cpu.total_s() * 1e6 / pair.server.connections as f64
                }),
            ],
        }
    }
}

fn metric(
    name: &'static str,
    decimals: usize,
    better: Option<Better>,
    value: fn(&Pair) -> f64,
) -> Metric<Pair> {
    Metric { name, decimals, better, value }
}

/// Runs all stacks in turn, round after round, and reports.
pub(crate) fn compare(
    arguments: &Arguments,
    launcher: &Launcher,
    comparison: &Comparison,
) -> Result<(), Error> {
    let stacks = launcher.choose(comparison.stacks, &arguments.stacks)?;
    let mut quiet = Quiet::new(std::time::Duration::from_secs(arguments.patience));
    let mut all: Vec<StackRuns<Pair>> =
        stacks.into_iter().map(|stack| StackRuns { stack, runs: Vec::new() }).collect();
    for round in 1..=arguments.runs {
        for stack in &mut all {
            let run = quiet.measure(|| pair(arguments, launcher, &stack.stack, &comparison.workload))?;
            progress(round, &stack.stack, &run, &comparison.metrics);
            stack.runs.push(run);
        }
    }
    let summary = Summary::of(&all, &comparison.metrics);
    summary.print(&comparison.title, &all, &comparison.metrics);
    summary.judge(&GATED_PEERS, &comparison.metrics);
    let runs: Vec<_> = all.iter().flat_map(|stack| &stack.runs).collect();
    results::write(&arguments.out, comparison.name, summary, runs)
}

fn pair(arguments: &Arguments, launcher: &Launcher, stack: &str, workload: &[String]) -> Result<Pair, Error> {
    let [server_core, client_core] = arguments.cores[..] else { return Err("--cores wants two CPUs".into()) };
    let side = |core| Side { core: Some(core), ..Side::default() };
    let binary = launcher.binary(stack);
    let listen = (Ipv4Addr::LOCALHOST, 0).into();
    let server = launcher.server(Command::new(&binary), listen, &side(server_core))?;
    let client = launcher
        .client(Command::new(&binary), server.address(), &side(client_core), workload)
        .map_err(|error| format!("{stack}: {error}"))?;
    Ok(Pair { server: server.finish()?, client })
}

fn progress(round: usize, stack: &str, run: &Measured<Pair>, metrics: &[Metric<Pair>]) {
    let values: Vec<String> = metrics
        .iter()
        .map(|metric| format!("{} {:.*}", metric.name, metric.decimals, (metric.value)(&run.value)))
        .collect();
    let noise = if run.noisy { " (noisy)" } else { "" };
    eprintln!("round {round} {stack:<9} {}{noise}", values.join(", "));
}
