//! `hawser lab guarantee`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hawser_lab::experiments::guarantee::{self, Case, Options, Plan, Row, Verdict};

use crate::built_in;
use crate::experiment::failure;
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::options::seconds;
use hawser_command::output::Output;
use hawser_command::report::{Channel, print, remark};
use hawser_command::units::count;

const EXAMPLES: &str = "\
Each scenario is simulated with every link alone and with all of them, with the same seeds: a download for the goodput, \
and requests of 200 bytes for answers of 64 kB for the delay. Ratios are against the link that is best at it; in brackets the 95 % confidence interval, from the differences \
seed by seed. With --json one object per scenario, each on a line of its own.

A scenario in which nothing was transferred ends the command with 1; one that is worse than its best link is told, and no failure.

Examples:
  hawser lab guarantee
  hawser lab guarantee --recorded ../shared/traces --seeds 5
  hawser lab guarantee scenarios/wifi-lte.toml --seeds 5 --set transport.scheduler=minrtt --json";

/// `hawser lab guarantee`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Guarantee {
    /// Scenario files (TOML), or names of built-in ones (`hawser scenario list`); without any, those of the plan
    files: Vec<PathBuf>,
    /// Scenarios, what is transferred, and marks from this file, which is like lab/matrices/guarantee.toml, in place of those that come
    /// with the command
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Where the scenarios of the plan are
    #[arg(long, value_name = "DIR", default_value = "scenarios", conflicts_with = "files")]
    folder: PathBuf,
    /// Recorded drives instead: every DL_*.csv (download) and UL_*.csv (upload) of two carriers in DIR or DIR/pam2025 is a
    /// scenario, and each seed another window of it. The number of pairs is told
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "../shared/traces", conflicts_with = "files")]
    recorded: Option<PathBuf>,
    /// Seeds 1 to this. Default: as the plan has it, 20
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: Option<u64>,
    /// Simulated seconds of each run, if the scenario does not end before. Default: as the plan has it, 30
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Set a field of every scenario, such as `transport.scheduler=minrtt`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Threads. Default: one per core
    #[arg(short = 'j', long, alias = "threads", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

pub(crate) fn run(arguments: &Guarantee, registry: &Registry, output: Output) -> Result<ExitCode, Failure> {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let plan = Plan::read(arguments.plan.as_deref()).map_err(failure)?;
    if let Some(folder) = arguments.recorded.as_ref().filter(|folder| !folder.is_dir()) {
        let words =
            format!("there is no folder {}: say with --recorded where recorded drives are", folder.display());
        return Err(Failure::new(Exit::NotRead, words));
    }
    let built_in = built_in::Files::of(&arguments.files)?;
    let cases = match &arguments.recorded {
        None => cases(&plan, arguments, &built_in)?,
        Some(folder) => guarantee::recorded_pairs(&plan, folder, &arguments.folder).map_err(failure)?,
    };
    if let (Some(folder), 0) = (&arguments.recorded, cases.len()) {
        remark(format_args!(
            "hawser: there is no DL_*.csv or UL_*.csv in {}: nothing to compare",
            folder.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options {
        cases,
        overrides: arguments.set.clone(),
        seeds: arguments.seeds.unwrap_or(plan.seeds),
        duration: arguments.seconds.unwrap_or(plan.longest),
        plan: Arc::new(plan),
        threads: arguments.jobs.map_or_else(processors, usize::from),
    };
    if arguments.recorded.is_some() {
        output.remark(format_args!("hawser: {} of recorded links", count(options.cases.len(), "pair")));
    }
    let mut progress = |row: &Row| output.remark(format_args!("{}: done", row.scenario));
    let rows = guarantee::run(&options, registry, &mut progress).map_err(failure)?;
    if output.json {
        rows.iter().for_each(|row| Channel::Stdout.print(row));
    } else {
        print(guarantee::table(&rows, &options.plan.marks).trim_end());
    }
    let nothing = rows.iter().find(|row| row.verdict == Verdict::NothingTransferred);
    Ok(match nothing {
        None => ExitCode::SUCCESS,
        Some(row) => {
            remark(format_args!(
                "hawser: {}: nothing was transferred, so nothing can be compared",
                row.scenario
            ));
            ExitCode::from(Exit::Failure as u8)
        }
    })
}

/// The files that are named, or those of the plan.
fn cases(plan: &Plan, arguments: &Guarantee, built_in: &built_in::Files) -> Result<Vec<Case>, Failure> {
    if !arguments.files.is_empty() {
        return Ok(arguments.files.iter().map(|file| Case::from(built_in.path(file))).collect());
    }
    let folder: &Path = &arguments.folder;
    if !folder.is_dir() {
        let message = format!(
            "there is no folder {}: say with --folder where {} and the others are, or name scenario files",
            folder.display(),
            plan.first_file()
        );
        return Err(Failure::new(Exit::NotRead, message));
    }
    Ok(plan.cases(folder))
}
