//! One simulation.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bench_harness::Error;
use bench_harness::process::CpuTime;
use bench_harness::report::{SimulationReport, SimulationSpeed};
use clap::Args;
use hawser_lab::data::record::{FileRecorder, RecordOptions, SampleOptions};
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

/// Between two samples of what is recorded, as the command has it.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Scenario file.
    scenario: PathBuf,
    /// Sets a field of the scenario.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Records samples and every packet in this folder.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Run) -> Result<SimulationReport, Error> {
    let scenario = hawser_scenario::load(&arguments.scenario, &arguments.set)?;
    let policies = hawser_net::policies();
    let rss_before_kib = memory("VmRSS:")?;
    let (began, cpu) = (Instant::now(), CpuTime::now());
    let mut simulation = Simulation::new(&scenario, &policies, Options::default())?;
    let outcome = match &arguments.record {
        None => simulation.run(&mut NoRecorder),
        Some(folder) => {
            let samples =
                SampleOptions { folder: folder.clone(), interval: SAMPLE_INTERVAL, json_lines: false };
            let options = RecordOptions { samples: Some(samples), packets: true, capture: None };
            let mut recorder = FileRecorder::create(&options, &scenario)?;
            let outcome = simulation.run(&mut recorder);
            recorder.finish()?;
            outcome
        }
    };
    Ok(SimulationReport {
        speed: SimulationSpeed {
            simulated_seconds: outcome.simulated_seconds,
            wall_seconds: began.elapsed().as_secs_f64(),
            cpu_seconds: (CpuTime::now() - cpu).total_s(),
            packets: outcome.packets,
            events: outcome.events,
            goodput_bps: outcome.goodput_bps,
        },
        connections: working(&outcome)?,
        trace_hash: outcome.trace_hash,
        rss_before_kib,
        rss_peak_kib: memory("VmHWM:")?,
        recorded_bytes: arguments.record.as_ref().map_or(Ok(0), recorded)?,
    })
}

/// How many connections received something; numbers of those that broke would look very good.
fn working(outcome: &Outcome) -> Result<usize, Error> {
    if let Some(broken) = outcome.flows.iter().find(|flow| flow.error.is_some() || !flow.intact) {
        return Err(format!("{}: {}", broken.flow, broken.error.as_deref().unwrap_or("corrupt")).into());
    }
    Ok(outcome.flows.iter().filter(|flow| flow.bytes > 0).count())
}

/// A line of `/proc/self/status`, KiB. Unlike `getrusage`, it has nothing of the process that started this one.
fn memory(field: &str) -> Result<u64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("/proc/self/status has no {field}").into())
}

fn recorded(folder: &PathBuf) -> Result<u64, Error> {
    std::fs::read_dir(folder)?.try_fold(0, |sum, entry| Ok(sum + entry?.metadata()?.len()))
}
