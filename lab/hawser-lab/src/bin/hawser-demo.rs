//! `make demo`: a drive through town.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use hawser_lab::experiments::demo::{self, DemoError, Options, mptcp};

/// Fetches the same file over each link of a scenario alone, over kernel MPTCP, and with Hawser over all links
///
/// Links are emulated between two network namespaces; without root, on loopback. At the end there is a table and a
/// report that a browser shows.
#[derive(Parser, Debug)]
#[command(name = "hawser-demo", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Scenario file
    #[arg(long, value_name = "FILE", default_value = "scenarios/drive.toml")]
    scenario: PathBuf,
    /// Size of the file in MiB
    #[arg(long, value_name = "MIB", default_value_t = 96, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    size: u64,
    /// Folder for report.html and results.json
    #[arg(long, value_name = "DIR", default_value = "target/demo")]
    output: PathBuf,
    /// The `hawser` command. Default: the one next to this program
    #[arg(long, value_name = "FILE")]
    hawser: Option<PathBuf>,
    /// Show the server's status page at this TCP address meanwhile: links, rates, events. Its address, with a token, is printed
    #[arg(long, value_name = "ADDR:PORT")]
    http: Option<SocketAddr>,
    /// Play on loopback, also where namespaces can be had
    #[arg(long)]
    loopback: bool,
    /// A run that takes longer is stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Exit with 1 when Hawser does not win: for tests
    #[arg(long)]
    check: bool,
    /// More options for `hawser get` and `hawser serve`: -- --scheduler ecf
    #[arg(last = true, value_name = "OPTION")]
    transport: Vec<String>,
    #[command(subcommand)]
    part: Option<Part>,
}

/// What the demonstration starts inside its namespaces.
#[derive(Subcommand, Debug)]
#[command(disable_help_subcommand = true)]
enum Part {
    #[command(hide = true)]
    MptcpServe {
        #[arg(long)]
        port: u16,
        file: PathBuf,
    },
    #[command(hide = true)]
    MptcpGet {
        #[arg(long)]
        output: PathBuf,
        server: SocketAddr,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.part {
        Some(Part::MptcpServe { port, file }) => mptcp::serve(*port, file).map_err(|error| error.to_string()),
        Some(Part::MptcpGet { output, server }) => {
            mptcp::get(*server, output).map_err(|error| error.to_string())
        }
        None => return play(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn play(arguments: Arguments) -> ExitCode {
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(error) => {
            eprintln!("hawser-demo: cannot find this program: {error}");
            return ExitCode::FAILURE;
        }
    };
    let beside = || own.parent().unwrap_or(Path::new("")).join("hawser");
    let options = Options {
        scenario: arguments.scenario,
        bytes: arguments.size << 20,
        output: arguments.output,
        hawser: arguments.hawser.unwrap_or_else(beside),
        own,
        loopback: arguments.loopback,
        limit: Duration::from_secs(arguments.limit),
        http: arguments.http,
        transport: arguments.transport,
    };
    match demo::play(&options) {
        Ok(results) if arguments.check && !results.verdict.holds() => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hawser-demo: {error}");
            ExitCode::from(if matches!(error, DemoError::Interrupted) { 130 } else { 1 })
        }
    }
}
