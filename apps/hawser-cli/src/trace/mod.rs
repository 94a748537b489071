//! `hawser trace`: recorded links.

mod import;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use hawser_lab::data::table::write_file;
use hawser_lab::data::trace::{Format, Info, Input, ReadOptions, Trace, TraceError, plot, read};
use serde::Serialize;

use hawser_command::exit::{Exit, Failure};
use hawser_command::options::seconds;
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};

const FORMATS: &str = "\
Formats, recognised by their content:
  mahimahi  one line per chance to send 1500 bytes, in ms (.up, .down); repeats
  delay     one delay in ms per line, 10 ms apart: with a mahimahi file of the rate a LeoReplayer pair
  victoria  ul_Mbps,dl_Mbps,ul_ms,dl_ms,ul_loss,dl_loss,t_ms
  pensieve  seconds and Mbit/s of the time before
  series    seconds and a value from then on (.rate, .delay, .loss), as in scenarios
  pam       CSV of two carriers with handover marks (PAM 2025 multi-carrier drives)
  ping      the output of ping
  measure   records of `hawser measure`, or the folder that they are in
  quic-network-simulator  a file with a scenario string, or the string itself as an argument

Files about the same link complete each other, files about different links stand side by side:
  hawser trace info starlink=bw.txt starlink=delay.txt lte=drive.up lte=drive.down";

/// `hawser trace`.
#[derive(Subcommand, Debug)]
pub(crate) enum TraceCommand {
    /// Make a scenario, mahimahi files or a table of traces
    Import(import::Import),
    /// Say what traces amount to: rates, delays, losses, outages, handovers
    #[command(after_help = FORMATS)]
    Info(Source),
    /// Draw traces over time and their distributions
    #[command(after_help = FORMATS)]
    Plot(PlotArguments),
}

/// What to read, and how.
#[derive(Args, Debug)]
pub(crate) struct Source {
    /// Trace files; LINK=FILE names the link, `-` is standard input
    #[arg(required = true, value_name = "[LINK=]FILE")]
    files: Vec<String>,
    /// Read all files as this format
    #[arg(long, value_name = "FORMAT", value_parser = format_of)]
    format: Option<Format>,
    /// Direction that files without one are about; both otherwise
    #[arg(long, value_name = "DIRECTION")]
    direction: Option<Direction>,
    /// Seconds between the lines of a file without time stamps
    #[arg(long, value_name = "SECONDS", default_value = "0.01", value_parser = seconds)]
    interval: std::time::Duration,
    /// Seconds of the trace to leave out at its beginning
    #[arg(long, value_name = "SECONDS", value_parser = moment)]
    from: Option<std::time::Duration>,
    /// Seconds to take of it; without, all that is left
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    length: Option<std::time::Duration>,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Direction {
    /// Client to server
    Up,
    /// Server to client
    Down,
}

/// `hawser trace plot`.
#[derive(Args, Debug)]
pub(crate) struct PlotArguments {
    #[command(flatten)]
    source: Source,
    /// The drawing: FILE.svg, or FILE.html with the figures under it
    #[arg(short, long, alias = "out", value_name = "FILE", default_value = "trace.svg")]
    output: PathBuf,
}

/// What `plot` has done.
#[derive(Serialize)]
struct Plotted<'a> {
    file: &'a Path,
    bytes: usize,
}

/// Runs the command.
pub(crate) fn run(command: TraceCommand, output: Output) -> Result<ExitCode, Failure> {
    match command {
        TraceCommand::Import(arguments) => import::run(&arguments, output)?,
        TraceCommand::Info(source) => {
            let info = Info::of(&source.read()?);
            if output.json {
                Channel::Stdout.print(&info);
            } else if !output.quiet {
                print(info.to_string().trim_end());
            }
        }
        TraceCommand::Plot(arguments) => draw(&arguments, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn draw(arguments: &PlotArguments, output: Output) -> Result<(), Failure> {
    let file = &arguments.output;
    let drawing: fn(&Trace) -> String = match file.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => plot::svg,
        Some("html" | "htm") => plot::page,
        _ => {
            let message = format!("{}: the name of a drawing ends in .svg or .html", file.display());
            return Err(Failure::usage(message));
        }
    };
    let drawing = drawing(&arguments.source.read()?);
    arguments.source.keeps(file)?;
    write_file(file, drawing.as_bytes()).map_err(|error| Failure::of_table(&error))?;
    if output.json {
        Channel::Stdout.print(&Plotted { file, bytes: drawing.len() });
    } else {
        output.remark(format_args!("{} written", file.display()));
    }
    Ok(())
}

impl Source {
    fn read(&self) -> Result<Trace, Failure> {
        let inputs: Vec<Input> = self.files.iter().map(|file| Input::new(file)).collect();
        let options = ReadOptions {
            format: self.format,
            direction: self.direction.map(|direction| match direction {
                Direction::Up => hawser_emu::Direction::Up,
                Direction::Down => hawser_emu::Direction::Down,
            }),
            interval: nanos(self.interval),
        };
        let trace = read(&inputs, &options).map_err(failure)?;
        match (self.from, self.length) {
            (None, None) => Ok(trace),
            (from, length) => trace.part(from.map_or(0, nanos), length.map(nanos)).map_err(failure),
        }
    }

    /// Refuses a file to be written that is one of those that are read.
    fn keeps(&self, file: &Path) -> Result<(), Failure> {
        let Ok(written) = file.canonicalize() else { return Ok(()) };
        let inputs = self.files.iter().map(|file| Input::new(file)).filter(|input| input.text.is_none());
        for input in inputs {
            if input.path.canonicalize().is_ok_and(|read| read == written) {
                let name = file.display();
                return Err(Failure::usage(format!(
                    "{name} is read: it cannot be written as well; name another output"
                )));
            }
        }
        Ok(())
    }
}

fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Seconds, of which there may be none.
fn moment(text: &str) -> Result<std::time::Duration, String> {
    if text.trim_end_matches('s').parse() == Ok(0.0) { Ok(std::time::Duration::ZERO) } else { seconds(text) }
}

fn format_of(name: &str) -> Result<Format, String> {
    Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
        let names = Format::ALL.map(Format::name);
        format!("expected one of {}", names.join(", "))
    })
}

/// How a trace that is not read ends the command.
fn failure(error: TraceError) -> Failure {
    let exit = match &error {
        TraceError::Read { .. } => Exit::NotRead,
        TraceError::Unfitting(_) | TraceError::Conflict { .. } => Exit::Usage,
        _ => Exit::Trace,
    };
    Failure::new(exit, error.to_string())
}
