//! `hawser lab`: experiments.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use hawser_lab::data::trace::TraceError;
use hawser_lab::experiments::fit::{self, FitError};
use hawser_lab::experiments::sim_vs_emulator::{self, CompareError};
use hawser_sim::oracle::with_oracle;

use crate::data_units;
use crate::dataset;
use crate::emulate::{failure as emulator_failure, load};
use crate::encounters;
use crate::guarantee;
use crate::matrix;
use crate::policy_files;
use crate::prelearn;
use crate::verify;
use hawser::{PolicySpec, Registry};
use hawser_command::exit::{Exit, Failure};
use hawser_command::options::seconds;
use hawser_command::output::Output;
use hawser_command::report::{Channel, print, remark};

/// `hawser lab`.
#[derive(Args, Debug)]
pub(crate) struct Laboratory {
    /// Parameters of a policy where a list, plan or matrix names it without them: NAME,KEY=VALUE,... ; may be repeated
    #[arg(long = "default", global = true, value_name = "SPEC")]
    defaults: Vec<PolicySpec>,
    #[command(subcommand)]
    pub(crate) command: Lab,
}

impl Laboratory {
    /// Gives the registry the parameters that are said.
    ///
    /// # Errors
    /// A policy or parameter that does not exist, or a file that cannot be read.
    pub(crate) fn set_defaults(&self, registry: &mut Registry) -> Result<(), Failure> {
        self.defaults.iter().try_for_each(|spec| policy_files::set_defaults(registry, "--default", spec))
    }
}

/// Its experiments.
#[derive(Subcommand, Debug)]
pub(crate) enum Lab {
    /// Run a scenario in the simulator and on real sockets, and compare
    Agree(Agree),
    /// Compare all links together with the best single one, scenario by scenario
    Guarantee(guarantee::Guarantee),
    /// Judge the acceptance list of a system, item by item
    Verify(verify::Verify),
    /// Draw a figure of the runs that `verify` has kept
    Figure(verify::FigureArguments),
    /// Put the runs that `verify` has kept in one tree of Parquet files, with a data card
    Dataset(dataset::Dataset),
    /// Run every policy over every link: tables and a page
    #[command(subcommand)]
    Matrix(matrix::Matrix),
    /// Compare the generators of links with the measured facts that they are fitted to
    Fit(Fit),
    /// Run the sessions of the list xfi over encounters with other parameters, to calibrate the generator
    #[command(hide = true)]
    Encounters(encounters::Encounters),
    /// Collect Data Units from random environments, to train the models of SSCC with
    Units(data_units::Units),
    /// Learn the model that the policy 4d-map starts with
    Prelearn(prelearn::Prelearn),
}

const AGREE_EXAMPLES: &str = "\
Both run the connections of the scenario over the same links, with the same scheduler and controller, for the same time. \
Compared are the goodput and the one-way delays of all packets: KS is the greatest difference of their distributions, 0 \
if they are the same. Ends with 1 if nothing was transferred in one of the two. Runs during which the emulator was late by more than 5 ms (p99) are repeated. Needs root.

The table has a line per direction of each link, and one of the data that the applications got:
  simulated, emulated  Mbit/s of packets that arrived, headers included; in the last line of application data
  differ               of these two, as a share of the simulated one
  KS, >1 ms            distance of the delays; the same where differences below 1 ms, the emulator's resolution, do not count
  delay p50/p90        median and 90th percentile of the one-way delays, simulated and emulated
  dropped              packets that did not arrive, simulated / emulated

Examples:
  hawser lab agree scenarios/two-equal.toml
  hawser lab agree scenarios/unequal.toml --seconds 60 --runs 1 --set transport.congestion=newreno --json";

/// `hawser lab agree`.
#[derive(Args, Debug)]
#[command(after_help = AGREE_EXAMPLES)]
pub(crate) struct Agree {
    /// Scenario file (TOML), or the name of one that is built in (`hawser scenario list`)
    scenario: PathBuf,
    /// Seconds that each run lasts
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    seconds: Duration,
    /// Random seed of the first run, instead of the scenario's; further runs count on from it
    #[arg(long)]
    seed: Option<u64>,
    /// Runs in either world; all their packets are compared together
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u64).range(1..=100))]
    runs: u64,
    /// Replace a value of the scenario, such as link.wifi0.rate='20 Mbit/s'; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

const FIT_EXAMPLES: &str = "\
Prints a table per generator: each statistic, its target, what the generator gave, and the relative error. With --json one \
object per table, each on a line of its own.

Examples:
  hawser lab fit
  hawser lab fit --hours 50 --json | jq -c '{title, rows: (.rows | length)}'";

/// `hawser lab fit`.
#[derive(Args, Debug)]
#[command(after_help = FIT_EXAMPLES)]
pub(crate) struct Fit {
    /// Hours of drive to generate
    #[arg(long, default_value = "20", value_parser = clap::value_parser!(u64).range(1..=100))]
    hours: u64,
    /// Random seed
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Folder with the recorded data, to be compared with the facts as well
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn experiment(
    command: &Lab,
    registry: &Arc<Registry>,
    output: Output,
) -> Result<ExitCode, Failure> {
    match command {
        Lab::Agree(arguments) => agree_on(arguments, registry, output),
        Lab::Guarantee(arguments) => guarantee::run(arguments, &with_oracle(registry), output),
        Lab::Verify(arguments) => verify::run(arguments, &Arc::new(with_oracle(registry)), output),
        Lab::Figure(arguments) => verify::figure(arguments, registry, output),
        // As `verify`: its lists name the policy that knows the future.
        Lab::Dataset(arguments) => dataset::run(arguments, &Arc::new(with_oracle(registry)), output),
        Lab::Matrix(command) => matrix::run(command, registry, output),
        Lab::Fit(arguments) => compare_fit(arguments, output),
        Lab::Encounters(arguments) => encounters::run(arguments, registry, output),
        Lab::Units(arguments) => data_units::run(arguments, registry, output),
        Lab::Prelearn(arguments) => prelearn::run(arguments, registry, output),
    }
}

fn agree_on(arguments: &Agree, registry: &Registry, output: Output) -> Result<ExitCode, Failure> {
    let first = match arguments.seed {
        Some(seed) => seed,
        None => load(registry, &arguments.scenario, &arguments.overrides)?.seed,
    };
    let scenario = |run: u64| {
        // As an override: what is drawn while the scenario is read depends on the seed as well.
        let mut overrides = arguments.overrides.clone();
        overrides.push(format!("seed={}", first.wrapping_add(run)));
        let mut scenario = load(registry, &arguments.scenario, &overrides)?;
        scenario.duration = Some(arguments.seconds);
        Ok(scenario)
    };
    let scenarios = (0..arguments.runs).map(scenario).collect::<Result<Vec<_>, Failure>>()?;
    let mut tell = |message: &str| output.remark(format_args!("hawser: {message}"));
    let agreement = sim_vs_emulator::compare(&scenarios, registry, &mut tell).map_err(failure)?;
    if output.json {
        Channel::Stdout.print(&agreement);
    } else {
        print(&agreement);
    }
    Ok(match agreement.nothing_transferred() {
        None => ExitCode::SUCCESS,
        Some(why) => {
            remark(format_args!("hawser: {}: {why}", agreement.scenario));
            ExitCode::from(Exit::Failure as u8)
        }
    })
}

fn failure(error: CompareError) -> Failure {
    let exit = match error {
        CompareError::Emulator(error) => return emulator_failure(error),
        CompareError::Simulator(_)
        | CompareError::NoConnection
        | CompareError::OnOff(_)
        | CompareError::Parallel(_) => Exit::Scenario,
        CompareError::Connect { .. } => Exit::NotConnected,
        _ => Exit::Failure,
    };
    Failure::new(exit, error.to_string())
}

fn compare_fit(arguments: &Fit, output: Output) -> Result<ExitCode, Failure> {
    let failed = |error: FitError| {
        let exit = match &error {
            FitError::Read { .. } | FitError::Trace(TraceError::Read { .. }) => Exit::NotRead,
            FitError::Trace(_) => Exit::Trace,
            FitError::Radio(_) => Exit::Failure,
        };
        Failure::new(exit, error.to_string())
    };
    let mut tables = fit::generated(arguments.hours, arguments.seed).map_err(failed)?;
    if let Some(folder) = &arguments.data {
        tables.extend(fit::recorded(folder).map_err(failed)?);
    }
    for table in &tables {
        if output.json { Channel::Stdout.print(table) } else { print(table) }
    }
    Ok(ExitCode::SUCCESS)
}
