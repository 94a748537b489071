//! `hawser lab matrix controllers`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hawser_lab::experiments::matrix::controllers::{Plan, Settings};
use hawser_policy::PolicyKind;

use super::named;
use crate::experiment::failure;
use hawser::Registry;
use hawser_command::exit::Failure;
use hawser_command::output::Output;

const EXAMPLES: &str = "\
Each controller runs alone, against a second flow of its own and against CUBIC over 20 Mbit/s with 20 ms, 100 with 50, 300 with 100, a \
satellite link with slots of 15 s and a cellular link in motion, with buffers of 0.1, 1 and 8 bandwidth-delay products and 0, 0.1 and 1 % \
of random loss; coupled ones also with two paths through one bottleneck. Finished runs are kept: the same command goes on where it was interrupted.

The folder has every run (merged/cells.parquet) and the page (index.html). Printed are means over all cells of a controller: the share of the \
capacity that is used by rate of random loss, the 95th percentile of the queueing delay, drops of the queue, Jain's index with itself, its share and \
Jain's index with CUBIC.

Examples:
  hawser lab matrix controllers
  hawser lab matrix controllers --controllers cubic,bbr3,olia --links 100/50 --longest 20
  hawser lab matrix controllers --markdown docs/controller-matrix.md --cells docs/figures/controller-matrix.csv";

/// `hawser lab matrix controllers`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Controllers {
    /// Only these, separated by commas; `name:key=value` sets a parameter. Default: all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    controllers: Vec<String>,
    /// Only these links, separated by commas. Default: all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    links: Vec<String>,
    /// Bottlenecks, buffers and losses from this file, which is like lab/matrices/controllers.toml, in place of those that come with the
    /// command
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Seeds 1 to this
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// No run takes longer than this many simulated seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(10..=40))]
    longest: Option<u64>,
    /// Where the scenarios are
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
    /// Folder for the runs and the page
    #[arg(
        short,
        long = "out",
        alias = "output",
        value_name = "DIR",
        default_value = "lab-results/matrix-controllers"
    )]
    out: PathBuf,
    #[command(flatten)]
    what: super::What,
}

pub(super) fn run(
    arguments: &Controllers,
    registry: &Arc<Registry>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let plan = Plan::read(arguments.plan.as_deref()).map_err(failure)?;
    let matrix = arguments.settings(plan, registry).matrix(registry.clone());
    let matrix = matrix.map_err(|error| failure(error).of_scenarios(&arguments.scenarios))?;
    arguments.what.run(matrix, &arguments.out, output)
}

impl Controllers {
    fn settings(&self, plan: Plan, registry: &Registry) -> Settings {
        let all = || registry.names(PolicyKind::Congestion).map(str::to_owned).collect();
        Settings {
            plan: Arc::new(plan),
            scenarios: self.scenarios.clone(),
            controllers: if self.controllers.is_empty() { all() } else { named(&self.controllers) },
            links: self.links.clone(),
            seeds: self.seeds,
            longest: self.longest,
        }
    }
}
