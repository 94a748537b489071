//! Runs of an experiment that are kept in a folder: how they are made, and what it means that they cannot be.

use std::path::Path;
use std::sync::Arc;

use hawser_lab::data::sweep::{Progress, RunSettings, RunSummary, Shard, Work, run_work};
use hawser_lab::experiments::ExperimentError;
use hawser_scenario::LoadError;

use crate::emulate::{load_failure, not_loaded};
use crate::progress::watched;
use crate::sim::sweep;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::remark;
use hawser_command::units::count;

/// Makes the runs that a folder does not have yet. None: stopped before all were made.
pub(crate) fn make<W: Work>(
    work: &Arc<W>,
    folder: &Path,
    jobs: Option<u16>,
    output: Output,
) -> Result<Option<RunSummary>, Failure> {
    let threads = jobs.map_or_else(sweep::cores, usize::from);
    let settings = RunSettings { folder: folder.to_owned(), threads, shard: Shard::ALL };
    let runs = |watch: &mut dyn FnMut(&Progress) -> _| {
        run_work(work, &settings, watch).map_err(ExperimentError::from)
    };
    let summary = watched(output, runs, failure)?;
    if summary.stopped {
        let left = count(summary.missing, "run");
        remark(format_args!("hawser: stopped with {left} left; the same command goes on with them"));
        return Ok(None);
    }
    Ok(Some(summary))
}

/// Says how many runs were made, and where all are.
pub(crate) fn tell(summary: &RunSummary, folder: &Path, output: Output) {
    output.remark(format_args!(
        "hawser: {} now in {:.0} s, {} before, kept in {}",
        count(summary.progress.ran, "run"),
        summary.progress.elapsed.as_secs_f64(),
        summary.progress.found,
        folder.display()
    ));
}

/// What the error of an experiment means for the command.
pub(crate) fn failure(error: ExperimentError) -> Failure {
    let exit = match error {
        ExperimentError::Sweep(error) => {
            let Failure { exit, message, .. } = sweep::failure(error);
            return Failure::new(exit, format!("{message}; or discard what is there with --fresh"));
        }
        ExperimentError::Table(error) => return Failure::of_table(&error),
        ExperimentError::Load(LoadError::Read { path, source }) => {
            return not_loaded(&path.clone(), LoadError::Read { path, source });
        }
        ExperimentError::Load(error) => return load_failure(error),
        ExperimentError::Usage(_) => Exit::Usage,
        ExperimentError::Scenario(_) => Exit::Scenario,
        ExperimentError::NotRead(_) => Exit::NotRead,
        ExperimentError::NotDrawn(_) => Exit::Failure,
    };
    Failure::new(exit, error.to_string())
}
