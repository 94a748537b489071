//! `hawser sim run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use hawser_emu::Scenario;
use hawser_lab::data::record::{FileRecorder, OUTCOME, RecordError, RecordOptions, SampleOptions};
use hawser_lab::data::table::TableError;
use hawser_sim::run::{End, NoRecorder, Options, Outcome, Simulation};
use serde::Serialize;

use super::progress::Shown;
use super::qlog::QlogFolder;
use super::summary;
use crate::emulate::{load, tell_left_out};
use hawser::Registry;
use hawser_command::exit::{Exit, Failure, is_full};
use hawser_command::options::seconds;
use hawser_command::output::Output;
use hawser_command::policy_options::PolicyOptions;
use hawser_command::report::{Channel, print, remark, to_json};
use hawser_command::units::parse_bytes;

const EXAMPLES: &str = "\
The same file, seed and version give the same run, packet for packet: `trace_hash` tells. Without flows in the scenario a \
download over all links of its first host is simulated.

Examples:
  hawser sim run scenarios/two-equal.toml
  hawser sim run scenarios/unequal.toml --set transport.scheduler=minrtt --set duration='30 s' --json
  hawser sim run scenarios/drive.toml --seed 7 --out results/ --packets && hawser sim report results/";

/// `hawser sim run`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// Scenario file (TOML), or the name of one that is built in (`hawser scenario list`)
    scenario: PathBuf,
    /// Random seed, instead of the scenario's
    #[arg(long)]
    seed: Option<u64>,
    /// Set a field of the scenario, such as `link.wifi0.rate=20 Mbit/s`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Policies of all connections whose flow has none of its own
    #[command(flatten)]
    policies: PolicyOptions,
    /// Write what every connection does to this folder, one qlog file for each end (JSON-SEQ), named after its
    /// flow and links
    ///
    /// Files that are there stay
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Maximum size of each of these files, in bytes (suffixes k, M, G)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1G")]
    qlog_limit: u64,
    /// Write tables of samples over time to this folder, and the outcome; those of an earlier run are removed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write every packet to this file, as a capture for packet analysers (pcapng)
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Most bytes of this file; packets beyond them are left out and counted (suffixes k, M, G)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "4G")]
    pcap_limit: u64,
    /// With --out: record every packet, too
    #[arg(long, requires = "out")]
    packets: bool,
    /// With --out: JSON lines instead of Parquet
    #[arg(long, requires = "out")]
    jsonl: bool,
    /// With --out: seconds between samples, 0.001 or more
    #[arg(long, value_name = "SECONDS", default_value = "0.1", value_parser = sampling)]
    interval: Duration,
}

/// Shortest time between samples: a run of a minute gives 60,000 of each flow, path and link.
const SHORTEST_SAMPLING: Duration = Duration::from_millis(1);

/// What is printed with `--json`.
#[derive(Debug, Serialize)]
pub(crate) struct RunReport {
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
    /// Real time that it took.
    pub(crate) wall_seconds: f64,
}

pub(crate) fn run(arguments: &Run, registry: &Registry, output: Output) -> Result<ExitCode, Failure> {
    // As an override: what is drawn while the scenario is read depends on the seed as well.
    let mut set = arguments.set.clone();
    set.splice(0..0, arguments.policies.overrides(registry)?);
    set.extend(arguments.seed.map(|seed| format!("seed={seed}")));
    let scenario = load(registry, &arguments.scenario, &set)?;
    let qlog = arguments.qlog.as_deref().map(|folder| QlogFolder::create(folder, arguments.qlog_limit));
    let qlog = qlog.transpose()?;
    let options =
        Options { qlog: qlog.as_ref().map(|folder| folder.traces(&scenario)), ..Options::default() };
    let failed = |error: hawser_sim::run::RunError| {
        Failure::new(Exit::Scenario, format!("{}: {error}", arguments.scenario.display()))
    };
    let mut simulation = Simulation::new(&scenario, registry, options).map_err(failed)?;
    let began = Instant::now();
    let outcome = match (&arguments.out, &arguments.pcap) {
        (None, None) => simulation.run(&mut Shown::new(&mut NoRecorder, &scenario, output)),
        _ => recorded(&mut simulation, &scenario, arguments, output)?,
    };
    // The connections go with it, and their last words reach their traces.
    drop(simulation);
    qlog.map_or(Ok(()), |qlog| qlog.finish(output))?;
    let report = RunReport { outcome, wall_seconds: began.elapsed().as_secs_f64() };
    if let Some(folder) = &arguments.out {
        write_outcome(folder, &report.outcome)?;
    }
    show(&report, output);
    Ok(match gave_up(&report.outcome, &scenario) {
        None => ExitCode::SUCCESS,
        Some(why) => {
            remark(format_args!("hawser: {why}"));
            ExitCode::from(Exit::Failure as u8)
        }
    })
}

fn show(report: &RunReport, output: Output) {
    if output.json {
        Channel::Stdout.print(report);
    } else if !output.quiet {
        print(summary::text(report).trim_end());
    }
}

/// Why a run was cut short that was meant to end by itself.
fn gave_up(outcome: &Outcome, scenario: &Scenario) -> Option<String> {
    let at = outcome.simulated_seconds;
    match outcome.end {
        End::Events => Some(format!(
            "given up after {} events, at {at:.3} s; `[limits] events` in the scenario allows more",
            scenario.limits.events
        )),
        End::Duration if scenario.duration.is_none() => Some(format!(
            "given up after {at:.0} s: its flows do not come to their end; a `duration` allows more"
        )),
        _ => None,
    }
}

fn recorded(
    simulation: &mut Simulation,
    scenario: &Scenario,
    arguments: &Run,
    output: Output,
) -> Result<Outcome, Failure> {
    let samples = arguments.out.as_ref().map(|folder| SampleOptions {
        folder: folder.clone(),
        interval: arguments.interval,
        json_lines: arguments.jsonl,
    });
    let options = RecordOptions { samples, packets: arguments.packets, capture: arguments.pcap.clone() };
    let mut recorder = FileRecorder::create(&options, scenario).map_err(|error| record_failure(&error))?;
    recorder.limit_capture(arguments.pcap_limit);
    let outcome = simulation.run(&mut Shown::new(&mut recorder, scenario, output));
    tell_left_out(recorder.left_out(), output);
    recorder.finish().map_err(|error| record_failure(&error))?;
    Ok(outcome)
}

/// The time between samples.
fn sampling(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        interval if interval >= SHORTEST_SAMPLING => Ok(interval),
        _ => Err(format!("`{text}`: expected at least 0.001 seconds")),
    }
}

fn record_failure(error: &RecordError) -> Failure {
    let exit = match error {
        RecordError::Table(TableError::DiskFull { .. }) => Exit::DiskFull,
        RecordError::Folder { source, .. } if is_full(source) => Exit::DiskFull,
        _ => Exit::NotWritten,
    };
    Failure::new(exit, error.to_string())
}

fn write_outcome(folder: &Path, outcome: &Outcome) -> Result<(), Failure> {
    let path = folder.join(OUTCOME);
    hawser_files::write(&path, (to_json(outcome) + "\n").as_bytes())
        .map_err(|error| Failure::write(&path, &error))
}
