//! `hawser lab matrix`.

mod controllers;
mod schedulers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use hawser_lab::data::table::write_file;
use hawser_lab::experiments::matrix::{self, Grid, Report, Rows};

use crate::experiment::{self, failure};
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};

/// `hawser lab matrix`.
#[derive(Subcommand, Debug)]
pub(crate) enum Matrix {
    /// All congestion controllers over five links, with three buffers and three rates of random loss
    Controllers(controllers::Controllers),
    /// All schedulers over eleven sets of links, with files, a web page, requests, live frames and datagrams
    Schedulers(schedulers::Schedulers),
}

/// What is done with the runs of a matrix.
#[derive(Args, Debug)]
struct What {
    /// Discard the runs that are there, made by another build of this program, say
    #[arg(long)]
    fresh: bool,
    /// Write the tables into this document, in place of those that it has
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write every cell as a row of a table: .csv, .jsonl or .parquet
    #[arg(long, value_name = "FILE")]
    cells: Option<PathBuf>,
    /// Threads. Default: one per core
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

pub(crate) fn run(command: &Matrix, registry: &Arc<Registry>, output: Output) -> Result<ExitCode, Failure> {
    match command {
        Matrix::Controllers(arguments) => controllers::run(arguments, registry, output),
        Matrix::Schedulers(arguments) => schedulers::run(arguments, registry, output),
    }
}

/// Policies as the registry names them: commas separate policies in arguments, so that parameters have another sign there.
fn named(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.replace(':', ",")).collect()
}

impl What {
    /// Makes the runs that a folder does not have yet, and says what follows from all.
    fn run<G: Grid>(
        &self,
        matrix: matrix::Matrix<G>,
        folder: &Path,
        output: Output,
    ) -> Result<ExitCode, Failure> {
        let matrix = Arc::new(matrix);
        if self.fresh {
            matrix::discard(folder).map_err(failure)?;
        }
        let Some(summary) = experiment::make(&matrix, folder, self.jobs, output)? else {
            return Ok(ExitCode::from(Exit::Signal as u8));
        };
        let rows = matrix::collect(&matrix, folder).map_err(failure)?;
        let report = rows.report();
        self.write(folder, &report, output)?;
        if output.json {
            Channel::Stdout.print(&rows);
        } else {
            print(report.table().trim_end());
        }
        experiment::tell(&summary, folder, output);
        Ok(if report.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(Exit::Failure as u8) })
    }

    /// The page, the table of cells, and the tables of a document.
    fn write(&self, folder: &Path, report: &Report, output: Output) -> Result<(), Failure> {
        save(&folder.join("index.html"), &report.page, output)?;
        if let Some(path) = &self.cells {
            report.write_cells(path).map_err(failure)?;
            output.remark(format_args!("hawser: {}", path.display()));
        }
        let Some(path) = &self.markdown else { return Ok(()) };
        let document = std::fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
        save(path, &report.into_document(&document).map_err(failure)?, output)
    }
}

fn save(path: &Path, text: &str, output: Output) -> Result<(), Failure> {
    write_file(path, text.as_bytes()).map_err(|error| Failure::of_table(&error))?;
    output.remark(format_args!("hawser: {}", path.display()));
    Ok(())
}
