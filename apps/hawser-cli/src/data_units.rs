//! `hawser lab units`: what the models of SSCC are trained with.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use hawser_lab::experiments::sscc::collect::{CollectError, Collection, InControl};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::sim::sweep;
use crate::sscc_data::read_models;
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};
use hawser_command::units::count;

const EXAMPLES: &str = "\
Runs each of the six controllers in each random environment (two independent paths with background), and once one that chance \
chooses again and again, and writes Data Units with what followed them, a Parquet table for each run. Runs that are there are kept: the same command again goes on where \
it was interrupted. python/sscc/train.py makes models of the folder; `make train-sscc` does all of it (docs/sscc-training.md).

Examples:
  hawser lab units units/ --environments 200
  python3 python/sscc/train.py units/ -o models/
  hawser lab units units/ --environments 200 --models models/sscc.models";

/// `hawser lab units`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Units {
    /// Folder for the units
    folder: PathBuf,
    /// Random environments
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u64).range(1..=99_999))]
    environments: u64,
    /// Seconds of each run
    #[arg(long, default_value = "30", value_parser = clap::value_parser!(u64).range(2..=3_600))]
    seconds: u64,
    /// Everything random follows from it
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Models that control further runs, whose units are added: chance chooses one time in ten
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
    /// Where the scenarios are
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
    /// Threads. Default: one per core
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Units, registry: &Registry, output: Output) -> Result<ExitCode, Failure> {
    let scenarios = &arguments.scenarios;
    let models = arguments.models.as_deref().map(in_control).transpose()?;
    let collection = Collection::new(arguments.environments, arguments.seconds, arguments.seed, scenarios);
    let collection = collection.map_err(|error| failure(error).of_scenarios(scenarios))?;
    let threads = arguments.jobs.map_or_else(sweep::cores, usize::from);
    // A run that is killed leaves no file under its own name, so that nothing has to be tidied up.
    let stop = AtomicBool::new(false);
    let collected =
        collection.collect(&arguments.folder, scenarios, registry, models.as_ref(), threads, &stop);
    let collected = collected.map_err(failure)?;
    if output.json {
        Channel::Stdout.print(&json!({ "made": collected.made, "kept": collected.kept }));
    } else {
        print(format_args!("{} made, {} there before", count(collected.made, "run"), collected.kept));
    }
    Ok(ExitCode::SUCCESS)
}

fn in_control(file: &Path) -> Result<InControl, Failure> {
    let (models, text) = read_models(file)?;
    let sha256 = hex::encode(Sha256::digest(text.as_bytes()));
    Ok(InControl { models: Arc::new(models), name: sha256.chars().take(8).collect() })
}

fn failure(error: CollectError) -> Failure {
    let exit = match &error {
        CollectError::Io { .. } | CollectError::Table(_) => Exit::NotWritten,
        CollectError::Other(_) | CollectError::Seed => Exit::Usage,
        CollectError::Run(_) => Exit::Scenario,
    };
    Failure::new(exit, error.to_string())
}
