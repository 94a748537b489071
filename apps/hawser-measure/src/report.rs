//! `hawser measure report` and `hawser measure convert`.

use std::path::{Path, PathBuf};

use clap::Args;
use hawser_lab::data::measure::{Record, Records, RecordsError, Report, sessions_table};
use hawser_lab::data::table::{FileKind, write_file};
use serde::Serialize;

use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::Channel;

/// Arguments of `hawser measure report`.
#[derive(Args, Debug)]
pub struct ReportArguments {
    /// Folders with records, or files of JSON lines
    ///
    /// With those of the server as well, what only it saw is in the report, too
    #[arg(required = true, value_name = "DIR|FILE")]
    places: Vec<PathBuf>,
    /// The page
    #[arg(short, long, alias = "out", value_name = "FILE", default_value = "measurements.html")]
    output: PathBuf,
}

/// Arguments of `hawser measure convert`.
#[derive(Args, Debug)]
pub struct ConvertArguments {
    /// Folders with records, or files of JSON lines
    #[arg(required = true, value_name = "DIR|FILE")]
    places: Vec<PathBuf>,
    /// FILE.jsonl: all records, one per line
    ///
    /// FILE.parquet or FILE.csv: a row per session, without what was sampled over time
    #[arg(short, long, alias = "out", value_name = "FILE")]
    output: PathBuf,
}

/// What was converted.
#[derive(Serialize)]
struct Converted<'a> {
    file: &'a Path,
    rows: u64,
}

fn read(places: &[PathBuf], output: Output) -> Result<Records, Failure> {
    let records = Records::read(places).map_err(|error| match error {
        RecordsError::Read { .. } | RecordsError::None { .. } => {
            Failure::new(Exit::NotRead, error.to_string())
        }
    })?;
    if let Some((file, line)) = records.unreadable.first() {
        let count = records.unreadable.len();
        output
            .remark(format_args!("{}:{line} is no record; {count} such lines are left out", file.display()));
    }
    Ok(records)
}

/// Makes the page.
pub(super) fn report(arguments: &ReportArguments, output: Output) -> Result<(), Failure> {
    let report = Report::of(&read(&arguments.places, output)?);
    let file = &arguments.output;
    write_file(file, report.html().as_bytes()).map_err(|error| Failure::of_table(&error))?;
    if output.json {
        Channel::Stdout.print(&report);
    } else {
        output.remark(format_args!("{} written", file.display()));
    }
    Ok(())
}

/// Makes one file of records.
pub(super) fn convert(arguments: &ConvertArguments, output: Output) -> Result<(), Failure> {
    let file = &arguments.output;
    let kind = FileKind::of(file).map_err(|error| Failure::of_table(&error))?;
    let records = read(&arguments.places, output)?;
    let rows = match kind {
        FileKind::JsonLines => {
            let records = records.into_records();
            let text: Vec<u8> = records.iter().flat_map(Record::line).collect();
            write_file(file, &text).map_err(|error| Failure::of_table(&error))?;
            records.len() as u64
        }
        FileKind::Parquet | FileKind::Csv => {
            sessions_table(&records, file).map_err(|error| Failure::of_table(&error))?.rows
        }
    };
    if output.json {
        Channel::Stdout.print(&Converted { file, rows });
    } else {
        output.remark(format_args!("{} written, {rows} rows", file.display()));
    }
    Ok(())
}
