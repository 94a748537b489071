//! Simulations to be measured, one per process, so that memory is that of this one.
//!
//! ```text
//! bench-sim run SCENARIO     a simulation: time, packets, events, memory
//! bench-sim links            a packet over a link, without hosts
//! bench-sim sweep PLAN       a sweep on so many threads
//! ```
//!
//! Each prints JSON.

mod links;
mod run;
mod sweep;

use std::process::ExitCode;

use bench_harness::Error;
use clap::{Parser, Subcommand};

/// Simulations to be measured.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// A simulation: time, packets, events, memory.
    Run(run::Run),
    /// A packet over a link, without hosts.
    Links,
    /// A sweep on so many threads.
    Sweep(sweep::SweepArguments),
}

fn main() -> ExitCode {
    bench_harness::exit("bench-sim", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    let report = match &arguments.part {
        Part::Run(arguments) => serde_json::to_value(run::run(arguments)?)?,
        Part::Links => serde_json::to_value(links::measure())?,
        Part::Sweep(arguments) => serde_json::to_value(sweep::run(arguments)?)?,
    };
    println!("{report}");
    Ok(())
}
