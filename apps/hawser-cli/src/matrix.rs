//! `hawser lab matrix`.

mod schedulers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use hawser_lab::data::sweep::{Progress, RunSettings, Shard};
use hawser_lab::data::table::write_file;
use hawser_lab::experiments::matrix::{self, MatrixError, Plan, Rows, Settings};
use hawser_policy::PolicyKind;

use crate::progress::watched;
use crate::sim::sweep;
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print, remark};
use hawser_command::units::count;

/// `hawser lab matrix`.
#[derive(Subcommand, Debug)]
pub(crate) enum Matrix {
    /// All congestion controllers over five links, with three buffers and three rates of random loss
    Controllers(Controllers),
    /// All schedulers over eleven sets of links, with files, a web page, requests, live frames and datagrams
    Schedulers(schedulers::Schedulers),
}

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

pub(crate) fn run(command: &Matrix, registry: &Arc<Registry>, output: Output) -> Result<ExitCode, Failure> {
    match command {
        Matrix::Controllers(arguments) => controllers(arguments, registry, output),
        Matrix::Schedulers(arguments) => schedulers::run(arguments, registry, output),
    }
}

fn controllers(
    arguments: &Controllers,
    registry: &Arc<Registry>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let plan = arguments.plan.as_deref().map_or_else(Plan::shipped, Plan::load).map_err(failure)?;
    let matrix = matrix::Matrix::new(arguments.settings(plan, registry), registry.clone());
    let matrix = Arc::new(matrix.map_err(|error| failure(error).of_scenarios(&arguments.scenarios))?);
    if arguments.fresh {
        matrix::discard(&arguments.out).map_err(failure)?;
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

impl Controllers {
    fn settings(&self, plan: Plan, registry: &Registry) -> Settings {
        // Commas separate controllers here, so that parameters have another sign.
        let named = self.controllers.iter().map(|name| name.replace(':', ","));
        let all = || registry.names(PolicyKind::Congestion).map(str::to_owned).collect();
        Settings {
            plan: Arc::new(plan),
            scenarios: self.scenarios.clone(),
            controllers: if self.controllers.is_empty() { all() } else { named.collect() },
            links: self.links.clone(),
            seeds: self.seeds,
            longest: self.longest,
        }
    }
}

/// The page, the table of cells, and the tables of a document.
fn write(arguments: &Controllers, rows: &Rows, output: Output) -> Result<(), Failure> {
    save(&arguments.out.join("index.html"), &matrix::page(rows), output)?;
    if let Some(path) = &arguments.cells {
        matrix::write_cells(path, rows).map_err(failure)?;
        output.remark(format_args!("hawser: {}", path.display()));
    }
    let Some(path) = &arguments.markdown else { return Ok(()) };
    let document = std::fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
    save(path, &matrix::into_document(&document, rows).map_err(failure)?, output)
}

fn save(path: &Path, text: &str, output: Output) -> Result<(), Failure> {
    write_file(path, text.as_bytes()).map_err(|error| Failure::of_table(&error))?;
    output.remark(format_args!("hawser: {}", path.display()));
    Ok(())
}

fn failure(error: MatrixError) -> Failure {
    let exit = match error {
        MatrixError::Sweep(error) => {
            let Failure { exit, message, .. } = sweep::failure(error);
            return Failure::new(exit, format!("{message}; or discard what is there with --fresh"));
        }
        MatrixError::Table(error) => return Failure::of_table(&error),
        MatrixError::Controller { .. }
        | MatrixError::UnknownLink { .. }
        | MatrixError::UnknownWorkload { .. } => Exit::Usage,
        MatrixError::Scenario { .. } => Exit::Scenario,
        MatrixError::NoMarks { .. } | MatrixError::Plan { .. } => Exit::NotRead,
    };
    Failure::new(exit, error.to_string())
}
