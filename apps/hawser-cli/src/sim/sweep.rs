//! `hawser sim sweep`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hawser_emu::Scenario;
use hawser_lab::data::sweep::{
    self, CellFailure, Folder, MergeSummary, Progress, RunSettings, RunSummary, Shard, Simulate, Sweep,
    SweepError,
};
use hawser_scenario::LoadError;
use hawser_sim::run::{NoRecorder, Options, Simulation};
use serde::Serialize;

use super::elsewhere::{self, Elsewhere};
use super::means::{self, Mean};
use crate::progress::CellProgress;
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::policy_options::PolicyOptions;
use hawser_command::report::{Channel, print, remark};
use hawser_command::units::count;

const EXAMPLES: &str = "\
Every cell of the plan (a scenario, a value of each factor, a replicate) has a seed of its own and runs on its own. Finished \
cells are kept: the same command again, after Ctrl-C, a crash or a full disk, runs what is left. When all cells are there they \
are merged into tables that do not depend on threads, shards or interruptions.

Examples:
  hawser sim sweep scenarios/plans/schedulers.toml -o results/ && hawser sim report results/
  hawser sim sweep plan.toml -o ecf/ --scheduler ecf,beta=0.5 --congestion olia
  hawser sim sweep plan.toml -o results/ --shard 1/4      (and 2/4 .. 4/4 on other machines; copy the folders together)
  hawser sim sweep plan.toml -o results/ --on ray         (cells as tasks of Ray; python -m hawser runs them)
  hawser sim sweep --merge -o results/";

/// `hawser sim sweep`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArguments {
    /// Plan (TOML): scenarios, what varies, how many replicates
    #[arg(required_unless_present = "merge")]
    plan: Option<PathBuf>,
    /// Folder for the results; one that is there is continued
    #[arg(short, long = "out", alias = "output", value_name = "DIR")]
    out: PathBuf,
    /// Threads. Default: one per core
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Run only the I-th of N shares of the cells
    #[arg(long, value_name = "I/N", default_value = "1/1", value_parser = shard)]
    shard: Shard,
    /// Run the cells as tasks of Ray, by the Python package: ray (one that is started here), ray:auto, ray://HOST:PORT. The
    /// results are cells/ and flows.parquet (docs/python.md)
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["shard", "merge"])]
    on: Option<Elsewhere>,
    /// Policies of all cells, where neither the plan nor a flow has its own
    #[command(flatten)]
    policies: PolicyOptions,
    /// Only merge what is finished, even if cells are missing
    #[arg(long, conflicts_with_all = ["plan", "jobs", "shard"])]
    merge: bool,
}

/// What is printed with `--json`.
#[derive(Debug, Serialize)]
struct SweepReport {
    plan: String,
    folder: PathBuf,
    shard: String,
    threads: usize,
    /// Cells of the plan.
    cells: usize,
    /// Cells of the shard that were there before.
    found: usize,
    /// Cells that ran now.
    ran: usize,
    /// Cells of the plan without a result.
    missing: usize,
    /// Cells of the plan that failed.
    failed: usize,
    /// The first of them, and why.
    first_failure: Option<CellFailure>,
    interrupted: bool,
    damaged_parts: Vec<String>,
    wall_seconds: f64,
    cells_per_second: f64,
    packets: u64,
    events: u64,
    /// Whether the merged tables are there and complete.
    merged: bool,
    /// Of each value of each factor, when the tables are merged.
    means: Vec<Mean>,
}

fn shard(text: &str) -> Result<Shard, String> {
    text.parse().map_err(|error: SweepError| error.to_string())
}

pub(crate) fn run(
    arguments: &SweepArguments,
    registry: &Arc<Registry>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let Some(plan) = arguments.plan.as_ref().filter(|_| !arguments.merge) else {
        return merge_only(arguments, output);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let failed = |error: std::io::Error| Failure::new(Exit::Failure, format!("cannot start: {error}"));
    let runtime = runtime.map_err(failed)?;
    let interrupt = runtime.block_on(async { Interrupt::listen() }).map_err(failed)?;
    let policies = arguments.policies.fields(registry)?;
    let sweep = Arc::new(Sweep::load_with(plan, &policies, registry).map_err(failure)?);
    if let Some(on) = &arguments.on {
        return elsewhere::sweep(on, plan, &arguments.out, arguments.jobs, &policies, output);
    }
    let threads = arguments.jobs.map_or_else(cores, usize::from);
    let settings = RunSettings { folder: arguments.out.clone(), threads, shard: arguments.shard };
    let mut view = CellProgress::new(output);
    let mut watch = |progress: &Progress| {
        view.show(progress);
        if interrupt.is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let summary = sweep::run(&sweep, &settings, &simulate(registry.clone()), &mut watch);
    view.finish();
    let summary = summary.map_err(failure)?;
    for (part, reason) in &summary.damaged {
        output.remark(format_args!("hawser: {} is ignored: {reason}; its cells ran again", part.display()));
    }
    let merged = match summary.missing {
        0 => Some(sweep::merge(&Folder::open(&settings.folder).map_err(failure)?).map_err(failure)?),
        _ => None,
    };
    show(&report(&sweep, &settings, &summary, merged.is_some()), output);
    end(&summary, &settings)
}

/// Runs a scenario as `hawser sim run` does.
fn simulate(policies: Arc<Registry>) -> Arc<Simulate> {
    Arc::new(move |scenario: &Scenario| {
        let simulation = Simulation::new(scenario, &policies, Options::default());
        simulation.map(|mut simulation| simulation.run(&mut NoRecorder)).map_err(|error| error.to_string())
    })
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn report(sweep: &Sweep, settings: &RunSettings, summary: &RunSummary, merged: bool) -> SweepReport {
    let progress = summary.progress;
    let wall_seconds = progress.elapsed.as_secs_f64();
    SweepReport {
        plan: sweep.plan().name.clone(),
        folder: settings.folder.clone(),
        shard: settings.shard.to_string(),
        threads: settings.threads,
        cells: sweep.plan().cells.len(),
        found: progress.found,
        ran: progress.ran,
        missing: summary.missing,
        failed: summary.failed,
        first_failure: summary.first_failure.clone(),
        interrupted: summary.stopped,
        damaged_parts: summary.damaged.iter().map(|(part, _)| part.display().to_string()).collect(),
        wall_seconds,
        cells_per_second: progress.ran as f64 / wall_seconds.max(1e-9),
        packets: summary.packets,
        events: summary.events,
        merged,
        means: if merged { means::of_folder(&settings.folder) } else { Vec::new() },
    }
}

fn show(report: &SweepReport, output: Output) {
    if output.json {
        return Channel::Stdout.print(report);
    }
    if output.quiet {
        return;
    }
    print(format_args!(
        "{}: {} of {} finished, {} now in {:.1} s ({:.1} cells/s, {:.0} packets/s), {} before, {} failed",
        report.plan,
        report.cells - report.missing,
        count(report.cells, "cell"),
        report.ran,
        report.wall_seconds,
        report.cells_per_second,
        report.packets as f64 / report.wall_seconds.max(1e-9),
        report.found,
        report.failed,
    ));
    if report.merged {
        print(means::table(&report.means));
        print(format_args!("merged tables: {}", report.folder.join("merged").display()));
    }
}

fn end(summary: &RunSummary, settings: &RunSettings) -> Result<ExitCode, Failure> {
    if summary.stopped {
        let left = summary.progress.cells - summary.progress.found - summary.progress.ran;
        remark(format_args!(
            "hawser: stopped with {} left; the same command goes on with them",
            count(left, "cell")
        ));
        return Ok(ExitCode::from(Exit::Signal as u8));
    }
    if summary.failed > 0 {
        let folder = settings.folder.display();
        let message = format!(
            "{} failed; `message` in the table `cells` says why: hawser sim report {folder}; the same command tries them again",
            count(summary.failed, "cell")
        );
        remark(format_args!("hawser: {message}"));
        if let Some(CellFailure { cell, message }) = &summary.first_failure {
            remark(format_args!("hawser: the first of them, cell {cell}: {message}"));
        }
        return Ok(ExitCode::from(Exit::Failure as u8));
    }
    Ok(ExitCode::SUCCESS)
}

fn merge_only(arguments: &SweepArguments, output: Output) -> Result<ExitCode, Failure> {
    let folder = Folder::open(&arguments.out).map_err(failure)?;
    let summary: MergeSummary = sweep::merge(&folder).map_err(failure)?;
    if output.json {
        Channel::Stdout.print(&summary);
    } else if !output.quiet {
        let MergeSummary { cells, finished, failed, .. } = summary;
        print(format_args!("{finished} of {} merged, {failed} of them failed", count(cells, "cell")));
    }
    Ok(ExitCode::SUCCESS)
}

/// How the command ends when a sweep cannot go on.
pub(crate) fn failure(error: SweepError) -> Failure {
    let exit = match &error {
        _ if error.is_disk_full() => Exit::DiskFull,
        _ if error.is_write() => Exit::NotWritten,
        SweepError::BadShard { .. } => Exit::Usage,
        SweepError::Plan(LoadError::Read { .. }) => Exit::NotRead,
        SweepError::Plan(_) => Exit::Scenario,
        SweepError::Read { .. }
        | SweepError::NotASweep { .. }
        | SweepError::Manifest { .. }
        | SweepError::Table(_) => Exit::NotRead,
        _ => Exit::Failure,
    };
    let kept = if error.is_write() { "; what was finished before is kept" } else { "" };
    Failure::new(exit, format!("{error}{kept}"))
}
