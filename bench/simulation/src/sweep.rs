//! A sweep, as `hawser sim sweep` runs it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use bench_harness::Error;
use bench_harness::report::SweepReport;
use clap::Args;
use hawser_lab::data::sweep::{self, RunSettings, Simulate, Sweep};
use hawser_scenario::Scenario;
use hawser_sim::run::{NoRecorder, Options, Simulation};

#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// Plan.
    plan: PathBuf,
    /// Folder for the results: a new one.
    #[arg(long)]
    out: PathBuf,
    /// Threads.
    #[arg(short = 'j', long, default_value_t = 1)]
    jobs: usize,
}

pub(crate) fn run(arguments: &SweepArguments) -> Result<SweepReport, Error> {
    let sweep = Arc::new(Sweep::load(&arguments.plan)?);
    let settings =
        RunSettings { folder: arguments.out.clone(), threads: arguments.jobs, shard: "1/1".parse()? };
    let policies = hawser_net::policies();
    let simulate: Arc<Simulate> = Arc::new(move |scenario: &Scenario| {
        let simulation = Simulation::new(scenario, &policies, Options::default());
        simulation.map(|mut simulation| simulation.run(&mut NoRecorder)).map_err(|error| error.to_string())
    });
    let summary = sweep::run(&sweep, &settings, &simulate, &mut |_| ControlFlow::Continue(()))?;
    let progress = summary.progress;
    if progress.ran != progress.cells || summary.failed > 0 {
        let (ran, cells) = (progress.ran, progress.cells);
        return Err(format!("{ran} of {cells} cells ran, {} of them failed", summary.failed).into());
    }
    Ok(SweepReport {
        threads: settings.threads,
        cells: progress.cells,
        wall_seconds: progress.elapsed.as_secs_f64(),
        packets: summary.packets,
    })
}
