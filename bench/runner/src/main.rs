//! Runs Hawser and its peers in alternation and compares them.
//!
//! ```text
//! bench bulk          one stream over loopback, one core per side
//! bench requests      small requests, one after the other
//! bench handshakes    full handshakes per second
//! bench aggregate     a download over two emulated links (needs root)
//! bench failover      one of two links dies during a download (needs root)
//! bench memory        memory per connection and path, allocations and instructions per packet, instructions per acknowledgement
//! bench sim           the simulator: speed, where its time goes, memory, sweeps
//! ```
//!
//! Absolute numbers say as much about the machine and its neighbours as about a stack. So all stacks run in
//! turn, round after round; ratios are taken inside a round, and the median of the rounds is reported. A run
//! during which other processes used the CPU is repeated (see [`quiet`]).

mod comparison;
mod downloads;
mod emulated;
mod inprocess;
mod launch;
mod loopback;
mod machine;
mod profile;
mod quiet;
mod results;
mod simulation;
mod statistics;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use bench_harness::Error;
use bench_harness::options::Provider;
use clap::{Parser, Subcommand};

use crate::launch::Launcher;
use crate::loopback::Comparison;

/// Runs Hawser and its peers in alternation and compares them.
#[derive(Debug, Parser)]
struct Arguments {
    /// Rounds; every stack runs once in each.
    #[arg(long, global = true, default_value_t = 7)]
    runs: usize,
    /// Stacks to run, comma separated. Default: all that are built and fit the suite.
    #[arg(long, global = true, value_delimiter = ',')]
    stacks: Vec<String>,
    /// Library under TLS.
    #[arg(long, global = true, value_enum, default_value_t = Provider::AwsLcRs)]
    provider: Provider,
    /// CPUs of server and client over loopback.
    #[arg(long, global = true, value_delimiter = ',', num_args = 1, default_value = "0,1")]
    cores: Vec<usize>,
    /// Seconds to wait for the machine to become quiet before a run is accepted as noisy.
    #[arg(long, global = true, default_value_t = 60)]
    patience: u64,
    /// Directory for the JSON files.
    #[arg(long, global = true, default_value = "results")]
    out: PathBuf,
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// One stream over loopback, one core per side.
    Bulk {
        /// Length of the stream.
        #[arg(long, default_value_t = 1 << 30)]
        bytes: u64,
    },
    /// Small requests on one connection, one after the other.
    Requests {
        /// Requests per run.
        #[arg(long, default_value_t = 1000)]
        count: u64,
    },
    /// Full handshakes per second.
    Handshakes {
        /// Length of a run.
        #[arg(long, default_value_t = 3.0)]
        seconds: f64,
    },
    /// A download over two emulated links.
    Aggregate {
        /// Length of the download.
        #[arg(long, default_value_t = 50_000_000)]
        bytes: u64,
        /// Scenario files.
        #[arg(default_values = ["../scenarios/two-equal.toml", "../scenarios/unequal.toml"])]
        scenarios: Vec<PathBuf>,
    },
    /// One of two links dies during a download.
    Failover {
        /// Length of the download.
        #[arg(long, default_value_t = 60_000_000)]
        bytes: u64,
        /// Scenario file; its first link is the one that dies.
        #[arg(default_value = "../scenarios/link-dies.toml")]
        scenario: PathBuf,
    },
    /// Memory per connection and path, allocations and instructions per packet, what looking costs.
    Memory,
    /// The simulator: speed, where its time goes, memory, sweeps.
    Sim {
        /// Parts of the suite. Default: all.
        #[arg(value_enum)]
        parts: Vec<simulation::Part>,
        /// Folder with the scenarios and the plan.
        #[arg(long, default_value = "simulation/scenarios")]
        scenarios: PathBuf,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    bench_harness::exit("bench", run(&arguments))
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    let launcher = Launcher::new(arguments.provider)?;
    match &arguments.suite {
        Suite::Bulk { bytes } => loopback::compare(arguments, &launcher, &Comparison::bulk(*bytes)),
        Suite::Requests { count } => loopback::compare(arguments, &launcher, &Comparison::requests(*count)),
        Suite::Handshakes { seconds } => {
            loopback::compare(arguments, &launcher, &Comparison::handshakes(*seconds))
        }
        Suite::Aggregate { bytes, scenarios } => {
            downloads::aggregate(arguments, &launcher, scenarios, *bytes)
        }
        Suite::Failover { bytes, scenario } => downloads::failover(arguments, &launcher, scenario, *bytes),
        Suite::Memory => inprocess::report(arguments, &launcher),
        Suite::Sim { parts, scenarios } => simulation::measure(arguments, &launcher, scenarios, parts),
    }
}
