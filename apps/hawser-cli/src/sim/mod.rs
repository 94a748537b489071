//! `hawser sim`: scenarios in virtual time.

mod elsewhere;
mod means;
mod progress;
mod qlog;
mod report;
mod run;
mod summary;
pub(crate) mod sweep;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;

use hawser::Registry;
use hawser_command::exit::Failure;
use hawser_command::output::Output;

/// `hawser sim`.
#[derive(Subcommand, Debug)]
pub(crate) enum Sim {
    /// Run a scenario in virtual time
    Run(run::Run),
    /// Run all cells of a plan on all cores; goes on where it was interrupted
    Sweep(sweep::SweepArguments),
    /// Make a page of the results of a sweep or a run
    Report(report::ReportArguments),
}

/// Runs the command.
pub(crate) fn simulate(command: Sim, registry: &Arc<Registry>, output: Output) -> Result<ExitCode, Failure> {
    match command {
        Sim::Run(arguments) => run::run(&arguments, registry, output),
        Sim::Sweep(arguments) => sweep::run(&arguments, registry, output),
        Sim::Report(arguments) => report::run(&arguments, output),
    }
}
