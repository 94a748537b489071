//! `hawser qlog`: traces of connections.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hawser_qlog::gaps::Gap;
use hawser_qlog::trace::{Side, Trace};
use hawser_qlog::{Options, ReadError, Study, Summary, page, read_file};

use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print, remark};
use hawser_command::units::count;

const EXAMPLES: &str = "\
With the trace of one end it shows what that end can know: the receiver sees gaps, the sender sees losses. With both, which have the same id \
in their names, it says what held up the head of the line. The other end's file is found by itself where it lies next to the first.

Traces of other implementations (.qlog, .sqlog) are read as far as they go.

Examples:
  hawser get --qlog traces/ ...; hawser qlog view traces/ID_client.sqlog      ID as in the folder
  hawser qlog view a_client.sqlog a_server.sqlog --out drive.html
  hawser qlog view a_client.sqlog --at 4.2          why there was a gap at 4.2 s";

/// `hawser qlog`.
#[derive(Subcommand, Debug)]
pub(crate) enum Qlog {
    /// Make one page of a trace, and list the gaps in delivery with their causes
    #[command(after_help = EXAMPLES)]
    View(View),
}

/// `hawser qlog view`.
#[derive(Args, Debug)]
pub(crate) struct View {
    /// The trace of one end
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The trace of the other end
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,
    /// Where the page goes; without, next to FILE with the ending .html
    #[arg(long, short, value_name = "PAGE")]
    out: Option<PathBuf>,
    /// Least length of gaps that are listed, in ms
    #[arg(long, value_name = "MS", default_value = "50", value_parser = positive)]
    least_gap: f64,
    /// Call the path of this client address by a name of your own, such as that of its link; may be repeated
    #[arg(long = "name", value_name = "ADDRESS=NAME", value_parser = named)]
    names: Vec<(String, String)>,
    /// Explain the gap at this time, in seconds, or the nearest one; makes no page unless --out is there
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    at: Option<f64>,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..1e9).contains(&value) => Ok(value),
        _ => Err("a number that is not below zero is expected".to_owned()),
    }
}

fn named(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(address, name)| !address.is_empty() && !name.is_empty());
    let (address, name) = parts.ok_or("expected ADDRESS=NAME, such as 10.1.0.2=lte0")?;
    Ok((address.to_owned(), name.to_owned()))
}

/// Runs the command.
pub(crate) fn run(command: Qlog, output: Output) -> Result<(), Failure> {
    let Qlog::View(arguments) = command;
    let first = read(&arguments.file)?;
    let second = match &arguments.other {
        Some(other) => Some(read(other)?),
        // A file that only looks like the other end's is no reason to fail.
        None => other_end(&arguments.file, first.side).and_then(|other| read_file(&other).ok()),
    };
    if let (Some(second), true) = (&second, arguments.other.is_some()) {
        together(&first, second)?;
    }
    let names = arguments.names.iter().cloned().collect();
    let study = Study::new(first, second, Options { least_gap_ms: arguments.least_gap, names });
    for notice in study.notices() {
        output.remark(format_args!("hawser: {notice}"));
    }
    let beside = || arguments.file.with_extension("html");
    let place = arguments.out.clone().or_else(|| arguments.at.is_none().then(beside));
    if let Some(place) = &place {
        hawser_files::write(place, page::page(&study).as_bytes())
            .map_err(|error| Failure::write(place, &error))?;
    }
    match arguments.at {
        Some(at) => explain(&study, at, output),
        None if output.json => Channel::Stdout.print(&study.summary()),
        None => tell(&study.summary()),
    }
    if let Some(place) = place.filter(|_| !output.json) {
        remark(format_args!("Page: {}", place.display()));
    }
    Ok(())
}

/// Fails where two traces that are named are not of the two ends of one connection: one of them would be left out.
fn together(first: &Trace, second: &Trace) -> Result<(), Failure> {
    if hawser_qlog::are_ends(first, second) {
        return Ok(());
    }
    let (one, other) = (&first.file, &second.file);
    let is_same = first.group.is_some() && first.group == second.group;
    let words = match (is_same, first.side) {
        (true, Side::Client | Side::Server) => format!(
            "{one} and {other} are of the same end of a connection: the second file is that of the other end, and found by itself where \
             it lies next to the first"
        ),
        _ => format!(
            "{one} and {other} are traces of two connections, and a page is of one: give each a page of its own (hawser qlog view {other})"
        ),
    };
    Err(Failure::usage(words))
}

fn read(file: &Path) -> Result<Trace, Failure> {
    read_file(file).map_err(|error| match error {
        ReadError::Io(error) => Failure::read(file, &error),
        other => Failure::new(Exit::NotRead, format!("{}: {other}", file.display())),
    })
}

/// The file of the other end, by its name: `ID_client.sqlog`, `ID_server.sqlog`.
fn other_end(file: &Path, side: Side) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?;
    let (own, other) = match side {
        Side::Client => ("_client.", "_server."),
        Side::Server => ("_server.", "_client."),
        Side::Unknown => return None,
    };
    let path = file.with_file_name(name.replacen(own, other, 1));
    (path != file && path.is_file()).then_some(path)
}

fn tell(summary: &Summary) {
    let megabits = summary.goodput_bps / 1e6;
    print(format_args!(
        "{}: {:.1} MiB in order at the {} within {:.2} s, {megabits:.1} Mbit/s",
        summary.files.join(" and "),
        summary.bytes as f64 / f64::from(1 << 20),
        summary.receiver,
        summary.seconds,
    ));
    for path in &summary.paths {
        let lost = path.lost.map(|lost| format!(", {lost} lost")).unwrap_or_default();
        let mistaken = path.spuriously_lost.filter(|count| *count > 0);
        let mistaken = mistaken.map(|count| format!(", {count} of them by mistake")).unwrap_or_default();
        print(format_args!(
            "  {}: {:.1} MiB in {}{lost}{mistaken}",
            path.name,
            path.bytes as f64 / f64::from(1 << 20),
            count(path.packets, "packet")
        ));
    }
    if summary.gaps.is_empty() {
        print("No gap of this length.");
    }
    for gap in &summary.gaps {
        print(format_args!("{:>9.3} s {:>6.0} ms  {}", gap.from_s, gap.length_ms, sentence(gap)));
    }
}

fn sentence(gap: &Gap) -> String {
    format!("{}: {}", gap.cause.words(), gap.because)
}

fn explain(study: &Study, at: f64, output: Output) {
    let gap = study.gap_at(at);
    if output.json {
        Channel::Stdout.print(&gap);
        return;
    }
    let Some(gap) = gap else {
        print("No gap of this length; --least-gap lists shorter ones.");
        return;
    };
    print(format_args!("Gap of {:.0} ms at {:.3} s: {}", gap.length_ms, gap.from_s, sentence(gap)));
    for line in &gap.story {
        print(format_args!("{:>9.3} s  {}", line.at_s, line.text));
    }
}
