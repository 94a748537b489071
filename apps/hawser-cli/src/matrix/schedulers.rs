//! `hawser lab matrix schedulers`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hawser_lab::data::sweep::{Progress, RunSettings, Shard};
use hawser_lab::experiments::matrix::discard;
use hawser_lab::experiments::scheduler_matrix::{self as matrix, Plan, Rows, Settings};
use hawser_policy::PolicyKind;
use hawser_sim::oracle::OracleEdpf;

use super::{failure, save};
use crate::progress::watched;
use crate::sim::sweep;
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print, remark};
use hawser_command::units::count;

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
    /// Discard the runs that are there, made by another build of this program, say
    #[arg(long)]
    fresh: bool,
    /// Write the tables into this document, in place of those that it has
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write every cell as a row of a table: .csv, .jsonl or .parquet
    #[arg(long, value_name = "FILE")]
    cells: Option<PathBuf>,
    /// Threads. Default: one per core
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

pub(super) fn run(arguments: &Schedulers, registry: &Registry, output: Output) -> Result<ExitCode, Failure> {
    let plan = arguments.plan.as_deref().map_or_else(Plan::shipped, Plan::load).map_err(failure)?;
    let matrix = matrix::Matrix::new(arguments.settings(plan, registry), registry);
    let matrix = Arc::new(matrix.map_err(|error| failure(error).of_scenarios(&arguments.scenarios))?);
    if arguments.fresh {
        discard(&arguments.out).map_err(failure)?;
    }
    let threads = arguments.jobs.map_or_else(sweep::cores, usize::from);
    let settings = RunSettings { folder: arguments.out.clone(), threads, shard: Shard::ALL };
    let runs = |watch: &mut dyn FnMut(&Progress) -> _| matrix::run(&matrix, &settings, watch);
    let summary = watched(output, runs, failure)?;
    if summary.stopped {
        let left = count(summary.missing, "run");
        remark(format_args!("hawser: stopped with {left} left; the same command goes on with them"));
        return Ok(ExitCode::from(Exit::Signal as u8));
    }
    let rows = matrix::collect(&matrix, &arguments.out).map_err(failure)?;
    write(arguments, &rows, output)?;
    if output.json {
        Channel::Stdout.print(&rows);
    } else {
        print(matrix::table(&rows).trim_end());
    }
    output.remark(format_args!(
        "hawser: {} now in {:.0} s, {} before, kept in {}",
        count(summary.progress.ran, "run"),
        summary.progress.elapsed.as_secs_f64(),
        summary.progress.found,
        arguments.out.display()
    ));
    Ok(if rows.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(Exit::Failure as u8) })
}

impl Schedulers {
    fn settings(&self, plan: Plan, registry: &Registry) -> Settings {
        // Commas separate policies here, so that parameters have another sign.
        let named = |names: &[String]| names.iter().map(|name| name.replace(':', ",")).collect::<Vec<_>>();
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

/// The page, the table of cells, and the tables of a document.
fn write(arguments: &Schedulers, rows: &Rows, output: Output) -> Result<(), Failure> {
    save(&arguments.out.join("index.html"), &matrix::page(rows), output)?;
    if let Some(path) = &arguments.cells {
        matrix::write_cells(path, rows).map_err(failure)?;
        output.remark(format_args!("hawser: {}", path.display()));
    }
    let Some(path) = &arguments.markdown else { return Ok(()) };
    let document = std::fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
    save(path, &matrix::into_document(&document, rows).map_err(failure)?, output)
}
