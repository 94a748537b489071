//! `hawser lab dataset`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hawser_lab::experiments::lists;
use hawser_lab::experiments::verify::dataset::{self, CARD};
use hawser_lab::experiments::verify::{Settings, Verification, default_folder};

use crate::experiment::failure;
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};
use hawser_command::units::count;

const EXAMPLES: &str = "\
Puts the runs that `hawser lab verify` has kept, and what was judged of them, in one tree of Parquet files that can be published and cited: \
DIR/runs, DIR/cells and DIR/verdicts, a folder `list=NAME` in each, with a card (README.md, dataset.json) of columns, units, seeds, \
versions and digests. The same runs give the same bytes.

Examples:
  hawser lab dataset -o hawser-runs                 every list that has runs
  hawser lab dataset -o hawser-runs mams ride       these, which must have some
  duckdb -c \"select list, count(*) from read_parquet('hawser-runs/runs/*/*.parquet', hive_partitioning = true) group by list\"";

/// `hawser lab dataset`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Dataset {
    /// Lists whose runs to take, or files that end with .toml. Default: every list that has runs
    #[arg(value_name = "LIST")]
    lists: Vec<String>,
    /// Folder for the data set
    #[arg(short, long = "out", alias = "output", value_name = "DIR")]
    out: PathBuf,
    /// Take the runs that were made with `verify --seeds N`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000), conflicts_with = "full")]
    seeds: Option<u64>,
    /// Take the runs that were made with `verify --full`
    #[arg(long)]
    full: bool,
    /// Where the scenarios are
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
}

pub(crate) fn run(
    arguments: &Dataset,
    registry: &Arc<Registry>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let names = match arguments.lists.as_slice() {
        [] => lists::names().into_iter().map(str::to_owned).collect(),
        named => named.to_vec(),
    };
    let settings = Settings {
        scenarios: arguments.scenarios.clone(),
        seeds: arguments.seeds,
        full: arguments.full,
        substitute: None,
        items: Vec::new(),
    };
    let mut kept: Vec<(Verification, PathBuf)> = Vec::new();
    for name in names {
        let list = lists::find(&name).map_err(failure)?;
        let folder = default_folder(&list, &settings);
        if arguments.lists.is_empty() && !dataset::has_runs(&folder) {
            continue;
        }
        let verification = Verification::new(list, settings.clone(), registry.clone());
        let verification = verification.map_err(|error| failure(error).of_scenarios(&arguments.scenarios))?;
        kept.push((verification, folder));
    }
    if kept.is_empty() {
        let says = "no list has runs in lab-results: make some with `hawser lab verify LIST`, with the same --seeds or --full";
        return Err(Failure::new(Exit::NotRead, says.to_owned()));
    }
    let kept: Vec<_> = kept.iter().map(|(verification, folder)| (verification, folder.as_path())).collect();
    let set = dataset::write(&kept, &arguments.out).map_err(failure)?;
    if output.json {
        Channel::Stdout.print(&set);
        return Ok(ExitCode::SUCCESS);
    }
    if output.quiet {
        return Ok(ExitCode::SUCCESS);
    }
    let runs: usize = set.lists.iter().map(|list| list.runs).sum();
    print(format_args!(
        "{}: {} of {}, sha256 {}",
        arguments.out.join(CARD).display(),
        count(runs, "run"),
        count(set.lists.len(), "list"),
        set.sha256
    ));
    Ok(ExitCode::SUCCESS)
}
