//! Runs a command in the client's namespace of a scenario:
//! `emu_run [--json] [--server "COMMAND"] SCENARIO.toml -- COMMAND...`

use std::ffi::OsString;
use std::process::ExitCode;

use hawser_emu::{EmuError, RunOptions, RunReport, load_scenario, run};

const USAGE: &str = "usage: emu_run [--json] [--server \"COMMAND\"] SCENARIO.toml -- COMMAND...";

fn main() -> ExitCode {
    let (mut json, mut server, mut file) = (false, None, None);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--") => break,
            Some("--json") => json = true,
            Some("--server") => server = arguments.next(),
            _ => file = Some(argument),
        }
    }
    let command: Vec<OsString> = arguments.collect();
    let (Some(file), false) = (file, command.is_empty()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match start(&file, command, server) {
        Ok(report) if json => {
            println!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
            ExitCode::from(report.exit_code as u8)
        }
        Ok(report) => {
            summarise(&report);
            ExitCode::from(report.exit_code as u8)
        }
        Err(error) => {
            eprintln!("emu_run: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(file: &OsString, command: Vec<OsString>, server: Option<OsString>) -> Result<RunReport, EmuError> {
    let mut options = RunOptions::new(load_scenario(file.as_ref())?, command);
    options.server = server.map(|line| vec!["sh".into(), "-c".into(), line]);
    run(options)
}

fn summarise(report: &RunReport) {
    for link in &report.stats.links {
        let (counters, late) = (&link.counters, &link.lateness);
        eprintln!(
            "{:>10} {:<4} {:>8} packets {:>11} bytes; dropped: queue {}, loss {}, down {}, mtu {}; late p50 {:.3} p99 {:.3} max {:.3} ms",
            link.link,
            link.direction.name(),
            counters.delivered_packets,
            counters.delivered_bytes,
            counters.dropped_queue,
            counters.dropped_loss,
            counters.dropped_down,
            counters.dropped_mtu,
            late.p50_ms,
            late.p99_ms,
            late.max_ms,
        );
    }
}
