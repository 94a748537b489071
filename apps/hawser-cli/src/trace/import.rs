//! `hawser trace import`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use hawser_lab::data::trace::Trace;
use hawser_lab::data::trace::export::{
    Draft, ExportError, SCENARIO_MARK, ScenarioOptions, mahimahi_files, scenario_files, to_table,
    write_drafts,
};
use serde::Serialize;

use super::{FORMATS, Source};
use hawser_command::exit::Failure;
use hawser_command::options::seconds;
use hawser_command::output::Output;
use hawser_command::report::Channel;
use hawser_command::units::parse_bit_rate;

const EXAMPLES: &str = "\
Examples:
  hawser trace import drive.csv -o drive && hawser scenario check drive/scenario.toml
  hawser trace import drive.csv --to mahimahi -o traces
  hawser trace import drive.csv --from 300 --length 60 -o minute
  hawser trace import drive.csv -o drive.parquet";

/// `hawser trace import`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{FORMATS}"))]
pub(crate) struct Import {
    #[command(flatten)]
    source: Source,
    /// What to write to: a folder, made if needed, or a table FILE.parquet, FILE.csv or FILE.jsonl
    ///
    /// Files of these names are replaced, but neither a trace that is read nor a scenario.toml that no import
    /// made
    #[arg(short, long, alias = "out", value_name = "DIR|FILE")]
    output: PathBuf,
    /// What to write; by default a table if the name has the ending of one, a scenario otherwise
    #[arg(long, value_name = "KIND")]
    to: Option<Target>,
    /// Scenario: rate of directions that were not measured, such as 20M; unlimited otherwise
    #[arg(long, value_name = "RATE", value_parser = positive_rate)]
    rate: Option<u64>,
    /// Scenario: one-way delay in seconds where it was not measured; 0 otherwise
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    delay: Option<Duration>,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// scenario.toml and the series that it plays
    Scenario,
    /// LINK.up and LINK.down for mahimahi
    Mahimahi,
    /// Parquet, CSV or JSON lines
    Table,
}

/// What was written.
#[derive(Serialize)]
struct Imported {
    name: String,
    links: Vec<String>,
    duration_seconds: f64,
    files: Vec<PathBuf>,
    notes: Vec<String>,
}

/// Runs the command.
pub(super) fn run(arguments: &Import, output: Output) -> Result<(), Failure> {
    let target = &arguments.output;
    let trace = arguments.source.read()?;
    let is_table = matches!(
        target.extension().and_then(|ending| ending.to_str()),
        Some("parquet" | "csv" | "jsonl" | "ndjson")
    );
    let kind = arguments.to.unwrap_or(if is_table { Target::Table } else { Target::Scenario });
    let files = write(&trace, kind, arguments)?;
    if output.json {
        Channel::Stdout.print(&Imported {
            name: trace.name,
            links: trace.links.into_iter().map(|link| link.name).collect(),
            duration_seconds: trace.duration as f64 / 1e9,
            files,
            notes: trace.notes,
        });
        return Ok(());
    }
    for note in &trace.notes {
        output.remark(format_args!("note: {note}"));
    }
    let (count, seconds) = (trace.links.len(), trace.duration as f64 / 1e9);
    let links = if count == 1 { "link" } else { "links" };
    output.remark(format_args!("{count} {links}, {seconds:.1} s; written:"));
    for file in files {
        output.remark(format_args!("  {}", file.display()));
    }
    Ok(())
}

/// Writes what was asked for; all is made and looked at before the first file is touched.
fn write(trace: &Trace, kind: Target, arguments: &Import) -> Result<Vec<PathBuf>, Failure> {
    let (target, source) = (&arguments.output, &arguments.source);
    let drafts = match kind {
        Target::Table => {
            source.keeps(target)?;
            return to_table(trace, target).map(|_| vec![target.clone()]).map_err(failure);
        }
        Target::Scenario => {
            let delay = arguments.delay.map(|delay| u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX));
            scenario_files(trace, target, &ScenarioOptions { rate: arguments.rate, delay })
        }
        Target::Mahimahi => mahimahi_files(trace, target),
    };
    let drafts = drafts.map_err(failure)?;
    for draft in &drafts {
        source.keeps(&draft.path)?;
        keeps_scenario(draft)?;
    }
    make_folder(target)?;
    write_drafts(drafts).map_err(failure)
}

/// Refuses to replace a scenario that somebody wrote.
fn keeps_scenario(draft: &Draft) -> Result<(), Failure> {
    let is_ours = |text: Vec<u8>| text.starts_with(SCENARIO_MARK.as_bytes());
    if !draft.text.starts_with(SCENARIO_MARK) || std::fs::read(&draft.path).map_or(true, is_ours) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} is there already, and no import made it; name another folder, or move it away",
        draft.path.display()
    )))
}

fn failure(error: ExportError) -> Failure {
    match error {
        ExportError::Write(problem) => Failure::of_table(&problem),
        ExportError::Unfitting(message) => Failure::usage(message),
    }
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::write(folder, &error))
}

fn positive_rate(text: &str) -> Result<u64, String> {
    parse_bit_rate(text).and_then(|rate| match rate {
        0 => Err("expected a rate above zero".to_owned()),
        // Somebody means Mbit/s.
        ..1000 if text.trim().ends_with(|c: char| c.is_ascii_digit()) => Err(format!(
            "`{text}`: expected a rate in bit/s such as 500k, 20M or 1G; without a letter from 1000 on"
        )),
        rate => Ok(rate),
    })
}
