//! The simulator: how fast, where its time goes, how much memory, how a sweep scales.

mod memory;
mod speed;
mod sweep;

use std::path::{Path, PathBuf};
use std::process::Command;

use bench_harness::Error;
use bench_harness::report::SimulationReport;
use clap::ValueEnum;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Arguments;
use crate::launch::Launcher;
use crate::profile::{self, COMPONENTS};
use crate::results;
use crate::statistics::Spread;
use crate::table::Table;

/// A part of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Packets and events per second of a bulk download over two links.
    Speed,
    /// A packet over a link, without hosts.
    Links,
    /// Instructions by component (needs valgrind).
    Profile,
    /// A thousand connections; ten minutes with every packet recorded.
    Memory,
    /// A sweep on one and on two threads.
    Sweep,
}

/// Simulated seconds for the profiler; valgrind is fifty times slower.
const PROFILED: &str = "5 s";

/// What is measured, and with what.
pub(crate) struct Suite<'a> {
    arguments: &'a Arguments,
    program: PathBuf,
    /// The program of bench/ns3, which need not be there.
    ns3: PathBuf,
    scenarios: PathBuf,
}

/// Runs the parts asked for, all by default.
pub(crate) fn measure(
    arguments: &Arguments,
    launcher: &Launcher,
    scenarios: &Path,
    parts: &[Part],
) -> Result<(), Error> {
    let (program, ns3) = (launcher.binary("sim"), launcher.binary("ns3"));
    let suite = Suite { arguments, program, ns3, scenarios: scenarios.to_owned() };
    for part in Part::value_variants() {
        if parts.is_empty() || parts.contains(part) {
            let name = part.to_possible_value().ok_or("a part without a name")?;
            let (summary, runs) = match part {
                Part::Speed => speed::measure(&suite)?,
                Part::Links => links(&suite)?,
                Part::Profile => profile(&suite)?,
                Part::Memory => memory::measure(&suite)?,
                Part::Sweep => sweep::measure(&suite)?,
            };
            results::write(&arguments.out, &format!("sim-{}", name.get_name()), summary, runs)?;
        }
    }
    Ok(())
}

/// Summary and single runs of a part.
type Findings = (serde_json::Value, serde_json::Value);

impl Suite<'_> {
    fn scenario(&self, name: &str) -> PathBuf {
        self.scenarios.join(name).with_extension("toml")
    }

    /// The beginning of a command that simulates a scenario.
    fn command(&self, scenario: &str, set: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("run").arg(self.scenario(scenario));
        command.args(set.iter().flat_map(|setting| ["--set", setting]));
        command
    }

    fn run(&self, scenario: &str, set: &[&str]) -> Result<SimulationReport, Error> {
        ask(&mut self.command(scenario, set))
    }
}

/// Runs a command and reads its report.
fn ask<T: DeserializeOwned>(command: &mut Command) -> Result<T, Error> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed ({}): {said}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// `median [least-most]`.
fn spread(values: impl IntoIterator<Item = f64>, decimals: usize) -> String {
    Spread::of(values).map_or(String::new(), |Spread { median, min, max }| {
        format!("{median:.decimals$} [{min:.decimals$}-{max:.decimals$}]")
    })
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "MISSED" }
}

fn links(suite: &Suite<'_>) -> Result<Findings, Error> {
    #[derive(Serialize, Deserialize)]
    struct Links {
        nanoseconds: Vec<f64>,
    }
    let links: Links = ask(Command::new(&suite.program).arg("links"))?;
    println!(
        "\na packet over a link, without hosts: {} ns, thus {} million packets/s",
        spread(links.nanoseconds.iter().copied(), 1),
        spread(links.nanoseconds.iter().map(|nanoseconds| 1e3 / nanoseconds), 2)
    );
    Ok((json!({ "nanoseconds": Spread::of(links.nanoseconds.clone()) }), json!([links])))
}

fn profile(suite: &Suite<'_>) -> Result<Findings, Error> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("\nwhere time goes: not measured, valgrind is not installed");
        return Ok((json!(null), json!([])));
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("profile");
    let simulation = suite.command("two-links", &[&format!("duration={PROFILED}")]);
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", file.display()));
    let run: SimulationReport = ask(command.arg(simulation.get_program()).args(simulation.get_args()))?;
    let shares = profile::of(&std::fs::read_to_string(&file)?)?;
    let total: f64 = shares.iter().sum();
    println!("\ninstructions of the first {PROFILED} of `two-links`, null session");
    let mut table = Table::new(["component", "per packet", "share"]);
    let mut row = |title: &str, count: f64| {
        let share = format!("{:.1} %", 100.0 * count / total);
        table.row([title.to_owned(), format!("{:.0}", count / run.speed.packets as f64), share]);
    };
    for (component, count) in COMPONENTS.into_iter().zip(shares) {
        row(component.title(), count);
    }
    row("all", total);
    print!("{table}");
    let rows: Vec<_> = COMPONENTS.into_iter().zip(shares).collect();
    Ok((json!({ "instructions": rows, "packets": run.speed.packets }), json!([run])))
}
