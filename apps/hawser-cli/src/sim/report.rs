//! `hawser sim report`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hawser_lab::data::sim_report::{SimReport, SimReportError};
use hawser_lab::data::table::write_file;

use super::sweep::failure;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};

const EXAMPLES: &str = "\
Examples:
  hawser sim report results/                    a page about a sweep, or about one run
  hawser sim report results/ -o scheduler.html
  hawser sim report results/ --json | jq '.groups[] | {scenario, flow, comparisons}'";

/// `hawser sim report`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArguments {
    /// Folder of `hawser sim sweep`, or of `hawser sim run --out`
    folder: PathBuf,
    /// The page to write; `-` is standard output. Default: report.html in the folder
    ///
    /// With --json: none
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ReportArguments, output: Output) -> Result<ExitCode, Failure> {
    let report = SimReport::read(&arguments.folder).map_err(refusal)?;
    if output.json {
        Channel::Stdout.print(&report);
    }
    let page = match (&arguments.out, output.json) {
        (Some(page), _) => page.clone(),
        (None, true) => return Ok(ExitCode::SUCCESS),
        (None, false) => arguments.folder.join("report.html"),
    };
    if page == Path::new("-") {
        print(report.html().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    write_file(&page, report.html().as_bytes()).map_err(|error| Failure::of_table(&error))?;
    if !output.quiet && !output.json {
        print(page.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn refusal(error: SimReportError) -> Failure {
    match error {
        SimReportError::Sweep(error) => failure(error),
        other => Failure::new(Exit::NotRead, other.to_string()),
    }
}
