//! `hawser emu` and `hawser scenario`: any program on emulated links.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use hawser_emu::{EmuError, RunOptions, RunReport, Scenario, remarks, run, run_recorded};
use hawser_lab::data::record::emulated::EmulatedPackets;
use hawser_scenario::LoadError;

use crate::built_in;
use crate::scenario_table::ScenarioTable;
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::options::seconds;
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};
use hawser_command::units::{self, parse_bytes};

/// `hawser emu`.
#[derive(Subcommand, Debug)]
pub(crate) enum Emu {
    /// Run a command behind the links of a scenario
    Run(Run),
}

const RUN_EXAMPLES: &str = "\
The command finds the server's address in HAWSER_SERVER_ADDR and the names of its interfaces in HAWSER_LINKS. \
Nothing outlives the command: no namespace, no device, no route. Needs root, or `unshare --user --map-root-user`.

Examples:
  hawser emu run scenarios/two-equal.toml -- ping -c3 10.99.0.1
  hawser emu run scenarios/two-equal.toml --set link.b0.delay='40 ms' -- ping -c3 10.99.0.1
  hawser emu run scenarios/drive.toml --server 'hawser serve /srv --state /tmp/id' -- sh
  hawser emu run --json scenarios/drive.toml --server 'iperf3 -s -1' -- iperf3 -c 10.99.0.1
  hawser emu run --packets p.parquet --pcap p.pcapng scenarios/drive.toml -- ping -c3 10.99.0.1";

/// `hawser emu run`.
#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// Scenario file (TOML), or the name of one that is built in (`hawser scenario list`)
    scenario: PathBuf,
    /// Shell command for the server's side, started first and stopped last
    #[arg(long, value_name = "COMMAND")]
    server: Option<OsString>,
    /// Seconds to wait until the server command listens
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    server_wait: Duration,
    /// Random seed, instead of the scenario's
    #[arg(long)]
    seed: Option<u64>,
    /// Replace a value of the scenario, such as link.wifi0.rate='20 Mbit/s'; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Write a row per packet to this table: sent, arrived or dropped where and why (.parquet, .jsonl or .csv)
    #[arg(long, value_name = "FILE")]
    packets: Option<PathBuf>,
    /// Write a capture of all packets to this file, one interface per link and direction (pcapng)
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Most bytes of this file; packets beyond them are left out and counted (suffixes k, M, G)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "4G")]
    pcap_limit: u64,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// `hawser scenario`.
#[derive(Subcommand, Debug)]
pub(crate) enum ScenarioCommand {
    /// Read a scenario file and say what it means, or what is wrong with it
    Check {
        /// Scenario file (TOML), or the name of one that is built in (`hawser scenario list`)
        file: PathBuf,
        /// Replace a value of the scenario, such as link.wifi0.rate='20 Mbit/s'; may be repeated
        #[arg(long = "set", value_name = "KEY=VALUE")]
        overrides: Vec<String>,
    },
    /// List the scenarios that are built in, and can be named instead of a file
    List,
}

/// Runs the command; its exit code becomes that of this process.
pub(crate) fn emulate(command: Emu, registry: &Registry, output: Output) -> Result<ExitCode, Failure> {
    let Emu::Run(mut arguments) = command;
    // As an override: what is drawn while the scenario is read depends on the seed as well.
    arguments.overrides.extend(arguments.seed.map(|seed| format!("seed={seed}")));
    let scenario = load(registry, &arguments.scenario, &arguments.overrides)?;
    for scene in &scenario.scenes {
        output.remark(format_args!("hawser: {scene}"));
    }
    for remark in remarks(&scenario) {
        output.remark(format_args!("hawser: {remark}"));
    }
    let mut recorder = match (&arguments.packets, &arguments.pcap) {
        (None, None) => None,
        (table, capture) => Some(
            EmulatedPackets::create(&scenario, table.as_deref(), capture.as_deref())
                .map_err(|error| Failure::of_table(&error))?,
        ),
    };
    if let Some(recorder) = &mut recorder {
        recorder.limit_capture(arguments.pcap_limit);
    }
    let mut options = RunOptions::new(scenario, arguments.command);
    options.server = arguments.server.map(|line| vec!["sh".into(), "-c".into(), line]);
    options.server_wait = arguments.server_wait;
    let report = match recorder {
        None => run(options).map_err(failure)?,
        Some(recorder) => {
            let (report, recorder) = run_recorded(options, recorder).map_err(failure)?;
            tell_left_out(recorder.left_out(), output);
            recorder.finish().map_err(|error| Failure::of_table(&error))?;
            report
        }
    };
    if let Some(lost) = report.records_lost.filter(|lost| *lost > 0) {
        output.remark(format_args!(
            "hawser: the recording lacks {}: the disk was too slow; the links were not affected",
            units::count(lost, "packet")
        ));
    }
    if output.json {
        Channel::Stdout.print(&report);
    } else if !output.quiet {
        summarise(&report);
    }
    Ok(ExitCode::from(u8::try_from(report.exit_code).unwrap_or(Exit::Failure as u8)))
}

/// Says that a capture is not complete.
pub(crate) fn tell_left_out(packets: u64, output: Output) {
    if packets > 0 {
        output.remark(format_args!(
            "hawser: the capture has reached its limit and lacks {} (--pcap-limit)",
            units::count(packets, "packet")
        ));
    }
}

fn summarise(report: &RunReport) {
    eprintln!("\n{}: {:.1} s, exit code {}", report.scenario, report.wall_seconds, report.exit_code);
    for link in &report.stats.links {
        let counters = &link.counters;
        eprintln!(
            "{:>10} {:<4} {:>10} in {:>7} packets; dropped: queue {}, loss {}, down {}; late p99 {:.2} ms",
            link.link,
            link.direction.name(),
            units::bytes(counters.delivered_bytes),
            counters.delivered_packets,
            counters.dropped_queue,
            counters.dropped_loss,
            counters.dropped_down,
            link.lateness.p99_ms,
        );
    }
}

/// Checks a scenario file.
pub(crate) fn scenario(
    command: &ScenarioCommand,
    registry: &Registry,
    output: Output,
) -> Result<ExitCode, Failure> {
    let (file, overrides) = match command {
        ScenarioCommand::Check { file, overrides } => (file, overrides),
        ScenarioCommand::List => {
            let names: Vec<&str> = built_in::names().collect();
            if output.json {
                Channel::Stdout.print(&names);
            } else {
                names.iter().for_each(print);
            }
            return Ok(ExitCode::SUCCESS);
        }
    };
    let table = ScenarioTable::new(&load(registry, file, overrides)?, registry);
    if output.json {
        Channel::Stdout.print(&table);
    } else if !output.quiet {
        print(table.to_string().trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a scenario, or takes the one of this name that is built in, with some of its fields set otherwise. Its policies exist.
pub(crate) fn load(registry: &Registry, file: &Path, overrides: &[String]) -> Result<Scenario, Failure> {
    let read = |file: &Path| hawser_scenario::load_with(file, overrides, registry);
    match built_in::named(file) {
        Some(name) => {
            let folder = built_in::write_all()?;
            read(&folder.path().join(format!("{name}.toml"))).map_err(load_failure)
        }
        None => read(file).map_err(|error| not_loaded(file, error)),
    }
}

/// What a scenario that is no built-in one and cannot be loaded means: a name alone may have been meant as that of a built-in one.
pub(crate) fn not_loaded(file: &Path, error: LoadError) -> Failure {
    match &error {
        LoadError::Read { path, source } if path == file && source.kind() == ErrorKind::NotFound => {
            let hint = built_in::hint(file);
            let failure = load_failure(error);
            Failure { message: format!("{}{hint}", failure.message), ..failure }
        }
        _ => load_failure(error),
    }
}

/// What a scenario that cannot be loaded means for the command.
pub(crate) fn load_failure(error: LoadError) -> Failure {
    failure(EmuError::from(error))
}

pub(crate) fn failure(error: EmuError) -> Failure {
    let exit = match &error {
        EmuError::NotRoot | EmuError::NoTun(_) | EmuError::NoIp => Exit::NoEmulator,
        EmuError::ReadScenario { .. } => Exit::NotRead,
        EmuError::Scenario(_) | EmuError::Simulated { .. } => Exit::Scenario,
        EmuError::Spawn { source, .. } if source.kind() == ErrorKind::NotFound => Exit::NoCommand,
        EmuError::Spawn { .. } => Exit::CannotRun,
        _ => Exit::Failure,
    };
    Failure::new(exit, error.to_string())
}
