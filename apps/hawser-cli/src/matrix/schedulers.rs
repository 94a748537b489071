//! `hawser lab matrix schedulers`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hawser_lab::experiments::matrix::schedulers::{Plan, Settings};
use hawser_policy::PolicyKind;
use hawser_sim::oracle::{OracleEdpf, with_oracle};

use super::named;
use crate::experiment::failure;
use hawser::Registry;
use hawser_command::exit::Failure;
use hawser_command::output::Output;

const EXAMPLES: &str = "\
Every scheduler carries files of 5 and 50 MB, a page of 30 objects, requests for 10 kB, 30 frames per second on streams, datagrams at 2 Mbit/s, and the mix of \
a tunnel (a transfer, pages, a call and a game at once) over the links of eleven scenarios. Files are judged by goodput, the page by the time until it is \
complete, the mix by the geometric mean of goodput, pages and call, all else by the 99th percentile of the delay; \
everybody is also given as a share of a scheduler that knows the links' future (oracle-edpf). `modes` is in the mode that a workload is for: aggregate where \
goodput or completion judges, low-latency where delay does. Finished runs are kept: the same command goes on where it was \
interrupted.

Without options it is a thin subset, one seed with CUBIC: 1,848 runs. --full is 20 seeds with cubic, bbr, bbr2plus and olia: 80 times as many.

The folder has every run (merged/cells.parquet) and the page (index.html). Printed are, for each scheduler, in how many cells it is first or within 3 % of the \
first, its mean and its least share of the first, its mean share of the oracle, the most bytes that waited for earlier ones, and what it copied.

Examples:
  hawser lab matrix schedulers
  hawser lab matrix schedulers --schedulers default,minrtt,ecf:beta=0.5 --links wifi-lte,150/50 --workloads page,requests --seeds 5
  hawser lab matrix schedulers --markdown docs/scheduler-matrix.md";

/// `hawser lab matrix schedulers`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Schedulers {
    /// Only these, separated by commas; `name:key=value` sets a parameter. Default: all, and the oracle
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    schedulers: Vec<String>,
    /// Controllers, separated by commas, with parameters likewise. Default: those of the grid
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    controllers: Vec<String>,
    /// Only these links, separated by commas. Default: all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    links: Vec<String>,
    /// Only these workloads, separated by commas. Default: all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workloads: Vec<String>,
    /// Seeds 1 to this. Default: what the grid says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Links and workloads from this file, which is like lab/matrices/schedulers.toml, in place of those that come with the command
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Seeds and controllers of the grid's full extent, unless something else is said of them
    #[arg(long)]
    full: bool,
    /// Where the scenarios are
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
    /// Folder for the runs and the page
    #[arg(
        short,
        long = "out",
        alias = "output",
        value_name = "DIR",
        default_value = "lab-results/matrix-schedulers"
    )]
    out: PathBuf,
    #[command(flatten)]
    what: super::What,
}

pub(super) fn run(arguments: &Schedulers, registry: &Registry, output: Output) -> Result<ExitCode, Failure> {
    let plan = Plan::read(arguments.plan.as_deref()).map_err(failure)?;
    let matrix = arguments.settings(plan, registry).matrix(Arc::new(with_oracle(registry)));
    let matrix = matrix.map_err(|error| failure(error).of_scenarios(&arguments.scenarios))?;
    arguments.what.run(matrix, &arguments.out, output)
}

impl Schedulers {
    fn settings(&self, plan: Plan, registry: &Registry) -> Settings {
        let extent = if self.full { &plan.full } else { &plan.thin };
        Settings {
            scenarios: self.scenarios.clone(),
            schedulers: if self.schedulers.is_empty() { all(registry) } else { named(&self.schedulers) },
            controllers: match self.controllers[..] {
                [] => extent.controllers.clone(),
                _ => named(&self.controllers),
            },
            links: self.links.clone(),
            workloads: self.workloads.clone(),
            seeds: self.seeds.unwrap_or(extent.seeds),
            plan: Arc::new(plan),
        }
    }
}

/// The default under that name, all others, and the oracle.
fn all(registry: &Registry) -> Vec<String> {
    let default = registry.policy(PolicyKind::Scheduler, "default").map(|info| info.name.as_str());
    let others = registry.names(PolicyKind::Scheduler).filter(|name| Some(*name) != default);
    let default = default.map(|_| "default");
    default.into_iter().chain(others).chain([OracleEdpf::NAME]).map(str::to_owned).collect()
}
