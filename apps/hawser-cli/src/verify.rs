//! `hawser lab verify` and `hawser lab figure`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hawser_lab::data::table::write_file;
use hawser_lab::experiments::lists;
use hawser_lab::experiments::verify::{self, List, Settings, Verdicts, Verification, default_folder};

use crate::experiment::{self, failure};
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};

/// Columns without a terminal.
const PLAIN_WIDTH: usize = 120;

const EXAMPLES: &str = "\
Makes the runs that the list asks for and judges its items from them: `holds`, `falls-short`, or `deviates`, which a page \
explains. Finished runs are kept: the same command again goes on where it was interrupted. Ends with 1 if an item falls short.

The folder has every run (merged/runs.parquet and runs.jsonl: scenario, policy, seed, trace hash, metric, value) and the \
verdicts (verdicts.json); scripts/recompute-verify DIR computes them again. docs/reproductions.md says how lists are judged.

Examples:
  hawser lab verify seam
  hawser lab verify my-list.toml              a list of your own
  hawser lab verify --all --seeds 1           every list, briefly
  hawser lab verify seam --as minrtt          a negative control: its orderings have to fall short
  hawser lab verify seam --full --html page/ --json | jq '.items[] | {id, value, verdict}'";

/// Which list, and which runs of it.
#[derive(Args, Debug)]
pub(crate) struct Which {
    /// Seeds: 1 to this, instead of what the list says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000), conflicts_with = "full")]
    seeds: Option<u64>,
    /// The repetitions of the specification
    #[arg(long)]
    full: bool,
    /// Put another policy in the place of the system
    #[arg(long = "as", value_name = "POLICY")]
    substitute: Option<String>,
    /// Only this item; may be repeated
    #[arg(long = "item", value_name = "ID")]
    items: Vec<String>,
    /// Where the scenarios are
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
}

impl Which {
    fn settings(&self) -> Settings {
        Settings {
            scenarios: self.scenarios.clone(),
            seeds: self.seeds,
            full: self.full,
            substitute: self.substitute.clone(),
            items: self.items.clone(),
        }
    }

    /// The runs of a list, and the folder that they are kept in.
    fn open(
        &self,
        registry: &Arc<Registry>,
        list: Arc<List>,
        folder: Option<&Path>,
    ) -> Result<(Verification, PathBuf), Failure> {
        let settings = self.settings();
        let folder = folder.map_or_else(|| default_folder(&list, &settings), Path::to_owned);
        let verification = Verification::new(list, settings, registry.clone());
        Ok((verification.map_err(|error| failure(error).of_scenarios(&self.scenarios))?, folder))
    }
}

/// `hawser lab verify`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Verify {
    /// The list
    #[arg(value_name = "LIST", help = names(), required_unless_present = "all")]
    list: Option<String>,
    /// Every list, one after the other, with an overview at the end
    #[arg(long, conflicts_with_all = ["list", "items", "substitute", "out", "html"])]
    all: bool,
    #[command(flatten)]
    which: Which,
    /// Folder for the runs. Default: lab-results/NAME, with what differs from the default behind the name
    #[arg(short, long = "out", alias = "output", value_name = "DIR")]
    out: Option<PathBuf>,
    /// Discard the runs that are there, made by another build of this program, say
    #[arg(long)]
    fresh: bool,
    /// Write a page with table and figures to this folder
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,
    /// Threads. Default: one per core
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

fn names() -> String {
    format!("The list: {}, or a file that ends with .toml", lists::names().join(", "))
}

/// `hawser lab figure`.
#[derive(Args, Debug)]
pub(crate) struct FigureArguments {
    /// The figure: a list, a dot, and its name there; without one, those of the list are named
    #[arg(value_name = "LIST.FIGURE")]
    figure: String,
    #[command(flatten)]
    which: Which,
    /// Folder with the runs. Default: that of `hawser lab verify` with the same options
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// The drawing (SVG); `-` is standard output. Default: NAME.FIG.svg
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Verify, registry: &Arc<Registry>, output: Output) -> Result<ExitCode, Failure> {
    let names = match &arguments.list {
        Some(name) => vec![name.clone()],
        None => lists::names().into_iter().map(str::to_owned).collect(),
    };
    let mut all = Vec::new();
    for name in &names {
        let Some(verdicts) = one(arguments, name, registry, output)? else {
            return Ok(ExitCode::from(Exit::Signal as u8));
        };
        all.push(verdicts);
    }
    match (arguments.all, output.json) {
        (true, true) => Channel::Stdout.print(&all),
        (true, false) => print(verify::overview(&all).trim_end()),
        (false, true) => all.iter().for_each(|verdicts| Channel::Stdout.print(verdicts)),
        (false, false) => {}
    }
    let is_good = all.iter().all(Verdicts::is_good);
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(Exit::Failure as u8) })
}

/// Verifies a list and prints its table. None: stopped before all runs were made.
fn one(
    arguments: &Verify,
    name: &str,
    registry: &Arc<Registry>,
    output: Output,
) -> Result<Option<Verdicts>, Failure> {
    let list = lists::find(name).map_err(failure)?;
    let (verification, folder) = arguments.which.open(registry, list, arguments.out.as_deref())?;
    let verification = Arc::new(verification);
    if arguments.fresh {
        verify::discard(&folder).map_err(failure)?;
    }
    let Some(summary) = experiment::make(&verification, &folder, arguments.jobs, output)? else {
        return Ok(None);
    };
    let (verdicts, kept) = verify::judge(&verification, &folder).map_err(failure)?;
    if let Some(html) = &arguments.html {
        let page = html.join("index.html");
        std::fs::create_dir_all(html).map_err(|error| Failure::write(html, &error))?;
        let text = verify::page(&verdicts, verification.list(), &kept);
        write_file(&page, text.as_bytes()).map_err(|error| Failure::of_table(&error))?;
        output.remark(format_args!("hawser: {}", page.display()));
    }
    if !output.json {
        print(verify::table(&verdicts, width()).trim_end());
        experiment::tell(&summary, &folder, output);
    }
    Ok(Some(verdicts))
}

/// Columns of the terminal.
fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    told.or_else(seen).unwrap_or(PLAIN_WIDTH)
}

pub(crate) fn figure(
    arguments: &FigureArguments,
    registry: &Arc<Registry>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let wrong = || Failure::usage(format!("`{}`: expected LIST.FIGURE", arguments.figure));
    let (list, figure) = match arguments.figure.split_once(".toml.") {
        Some((file, figure)) => (format!("{file}.toml"), figure),
        None => {
            let (list, figure) = arguments.figure.split_once('.').ok_or_else(wrong)?;
            (list.to_owned(), figure)
        }
    };
    let list = lists::find(&list).map_err(failure)?;
    let (verification, folder) = arguments.which.open(registry, list, arguments.runs.as_deref())?;
    let svg = verify::draw(&verification, &folder, figure).map_err(failure)?;
    let file = arguments.out.clone().unwrap_or_else(|| format!("{}.svg", arguments.figure).into());
    if file == Path::new("-") {
        print(svg.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    write_file(&file, svg.as_bytes()).map_err(|error| Failure::of_table(&error))?;
    if !output.quiet {
        print(file.display());
    }
    Ok(ExitCode::SUCCESS)
}
