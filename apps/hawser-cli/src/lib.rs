//! The `hawser` command, for a binary of one's own.
//!
//! The binary `hawser` is [`run`] with the policies that come with the project. Who has policies of his own adds them
//! and has every command, with his names among the others:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     let mut registry = hawser::policies();
//!     // registry.add_scheduler("mine", |init| Box::new(Mine::new(init)));
//!     hawser_cli::run(registry)
//! }
//! ```

mod audience;
mod built_in;
mod config_file;
mod data_units;
mod dataset;
mod doctor;
#[cfg(test)]
mod documented;
mod emulate;
mod encounters;
mod experiment;
mod forward;
mod gateway;
mod gateway_client;
mod generate;
mod get;
mod guarantee;
mod hq;
mod lab;
mod matrix;
mod perf;
mod pin;
mod policies;
mod policy_files;
mod prelearn;
mod progress;
mod proxy;
mod put;
mod qlog;
mod scenario_table;
mod serve;
mod service;
mod sim;
mod site;
mod sscc_data;
mod sscc_log;
mod top;
mod trace;
mod tunnel;
mod verify;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use hawser_sim::oracle::with_oracle;

use hawser::Registry;
use hawser_attach as wifi;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::report::Channel;
use hawser_command::{control, policy_options, report};
use hawser_live as live;
use hawser_measure as measure;
use hawser_vr360 as vr360;

/// Multipath QUIC for hosts on the move: one connection over WiFi, 5G and a dish at once
///
/// One machine serves a folder, another gets a file from it over all links that it has:
///   hawser serve .
///   hawser get -O --pin 'PIN' https://HOST:4433/FILE
/// The server prints the second line ready to paste.
///
/// A link that dies costs a fraction of a second, one that appears is used at once,
/// and an interrupted transfer goes on with `-C -`.
#[derive(Parser, Debug)]
#[command(name = "hawser", version, long_version = LONG_VERSION, verbatim_doc_comment, after_long_help = hawser_command::exit::TABLE, max_term_width = 110)]
struct Cli {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    former: policy_files::FormerOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Serve a folder over HTTP/3
    Serve(serve::Serve),
    /// Show the pin by which clients know a server of this machine
    Pin(pin::ShowPin),
    /// Get files from an HTTP/3 server
    Get(get::Get),
    /// Store a file on an HTTP/3 server
    Put(put::Put),
    /// Let programs of this machine reach the Internet over all its links: SOCKS5 and HTTP CONNECT on a local port
    Proxy(proxy::Proxy),
    /// Send all traffic of this machine over all its links: a TUN device, routes, a gateway at the far end
    Tunnel(Box<tunnel::TunnelOptions>),
    /// Let ports of this machine lead through a gateway, TCP and UDP
    Forward(forward::ForwardPorts),
    /// Be the far end of `hawser proxy`, `hawser forward` and `hawser tunnel`
    Gateway(gateway::Gateway),
    /// Show a command that runs in this terminal: links, who carried what, events; keys steer it
    Top(top::Top),
    /// Find what on this machine would hurt, and the command that fixes it
    Doctor(doctor::Doctor),
    /// Look at a command that runs, and steer it: links, schedulers, stop
    Ctl(control::Ctl),
    /// Bring live video from an encoder over several links to players
    #[command(subcommand)]
    Live(live::Live),
    /// Watch 360-degree video over several links: the tiles that a head will see, in time
    #[command(subcommand)]
    Vr360(vr360::Vr360),
    /// Measure what the paths to a host carry
    #[command(subcommand)]
    Perf(perf::Perf),
    /// Measure intermittent links automatically whenever they come up
    #[command(subcommand)]
    Measure(measure::Measure),
    /// Attach to WiFi within a second, and see how long each phase takes
    #[command(subcommand)]
    Wifi(wifi::Wifi),
    /// Run any program behind emulated links
    #[command(subcommand)]
    Emu(emulate::Emu),
    /// Run scenarios in virtual time
    #[command(subcommand)]
    Sim(sim::Sim),
    /// Experiments with simulator and emulator
    Lab(lab::Laboratory),
    /// List schedulers, congestion controllers and other policies, and their parameters
    Policies(policies::Policies),
    /// Check scenario files
    #[command(subcommand)]
    Scenario(emulate::ScenarioCommand),
    /// Look at qlog traces of connections: one page, gaps in delivery and their causes
    #[command(subcommand)]
    Qlog(qlog::Qlog),
    /// Inspect link traces: statistics, plots, conversion to scenarios
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Check and show files of options (--config)
    #[command(subcommand)]
    Config(config_file::ConfigCommand),
    /// Make man pages and shell completions
    #[command(subcommand)]
    #[command(hide = true)]
    Generate(generate::Generate),
}

/// The version, the commit that a release was built from, the target, and the cryptography.
const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("HAWSER_BUILD"), ")");

/// Does what the arguments of this process say, with the policies of this registry. Returns the exit status.
///
/// To be called once, by `main`: it installs a logger, listens for Ctrl-C and starts threads.
pub fn run(mut registry: Registry) -> ExitCode {
    let command = audience::grouped(whole_command(&registry));
    let words = match config_file::expand(&command, std::env::args_os().collect()) {
        Ok(words) => words,
        Err(failure) => return refuse_file(&failure),
    };
    let cli = match command.try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    start_log(cli.output);
    let output = cli.output;
    let results = match &cli.command {
        Command::Get(arguments) => arguments.results(),
        _ => Channel::Stdout,
    };
    let is_real = !matches!(
        cli.command,
        Command::Config(_)
            | Command::Doctor(_)
            | Command::Emu(_)
            | Command::Generate(_)
            | Command::Lab(_)
            | Command::Pin(_)
            | Command::Policies(_)
            | Command::Qlog(_)
            | Command::Scenario(_)
            | Command::Sim(_)
            | Command::Trace(_)
    );
    // What policies learned is written when the command ends.
    let keepers = policy_files::attach(&mut registry, is_real, output);
    let result = cli.former.apply(&mut registry).and_then(|()| carry_out(cli.command, registry, output));
    keepers.close();
    let code = result.unwrap_or_else(|failure| {
        if !failure.is_told {
            results.tell(&failure, output);
        }
        ExitCode::from(failure.exit as u8)
    });
    end(code)
}

/// The command, with the names of the policies of a registry in its help.
fn whole_command(registry: &Registry) -> clap::Command {
    let gateway = gateway_client::PROFILE.controller;
    let controllers = [
        (live::NAME, live::PROFILE.controller),
        ("proxy", gateway),
        ("forward", gateway),
        ("tunnel", gateway),
        ("gateway", gateway),
    ];
    let command = Cli::command().mut_subcommand("tunnel", tunnel::without_gateway);
    config_file::with_option(policy_options::with_names(command, registry, &controllers))
}

/// Runs a command.
fn carry_out(command: Command, mut registry: Registry, output: Output) -> Result<ExitCode, Failure> {
    if let Command::Lab(command) = &command {
        command.set_defaults(&mut registry)?;
    }
    let registry = &Arc::new(registry);
    match command {
        // Namespaces belong to threads: the emulator wants no runtime around it.
        Command::Emu(command) => emulate::emulate(command, registry, output),
        Command::Config(what) => {
            config_file::run(&what, &whole_command(registry), output).map(|()| ExitCode::SUCCESS)
        }
        Command::Generate(what) => generate::run(&what, whole_command(registry)),
        Command::Policies(arguments) => {
            policies::run(&arguments, registry, output).map(|()| ExitCode::SUCCESS)
        }
        Command::Doctor(arguments) => doctor::run(&arguments, output).map(|()| ExitCode::SUCCESS),
        Command::Pin(arguments) => pin::run(arguments, output).map(|()| ExitCode::SUCCESS),
        Command::Lab(command) => lab::experiment(&command.command, registry, output),
        Command::Scenario(command) => emulate::scenario(&command, registry, output),
        Command::Sim(command) => sim::simulate(command, &Arc::new(with_oracle(registry)), output),
        Command::Qlog(command) => qlog::run(command, output).map(|()| ExitCode::SUCCESS),
        Command::Trace(command) => trace::run(command, output),
        command => transfer_data(command, registry, output).map(|()| ExitCode::SUCCESS),
    }
}

/// Ends with this code; a success whose result was lost on its way is none.
fn end(code: ExitCode) -> ExitCode {
    let Some(error) = report::lost_output() else { return code };
    let failure = Failure::write(Path::new("standard output"), error);
    report::remark(format_args!("hawser: {failure}"));
    if code == ExitCode::SUCCESS { ExitCode::from(failure.exit as u8) } else { code }
}

/// Ends on a command line that is wrong, or asks for help.
fn refuse(error: &clap::Error) -> ExitCode {
    report::note_lost(error.print());
    // Without a command line nothing is known of it but that.
    if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let reason = text.split("\n\n").next().unwrap_or_default();
        let reason: Vec<&str> = reason.trim_start_matches("error:").split_whitespace().collect();
        Channel::Stdout.print_failure(&Failure::usage(reason.join(" ")));
    }
    end(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8)))
}

/// Ends on a file of options that is wrong.
fn refuse_file(failure: &Failure) -> ExitCode {
    let json = std::env::args_os().any(|argument| argument == "--json");
    Channel::Stdout.tell(failure, Output { json, ..Output::default() });
    end(ExitCode::from(failure.exit as u8))
}

/// Runs a command that works with real sockets.
fn transfer_data(command: Command, registry: &Arc<Registry>, output: Output) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(Exit::Failure, format!("cannot start: {error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let result = runtime.block_on(async {
        let interrupt = Interrupt::listen().map_err(failed)?;
        match command {
            Command::Serve(arguments) => serve::run(arguments, registry, output, interrupt).await,
            Command::Get(arguments) => get::run(arguments, registry, output, interrupt).await,
            Command::Put(arguments) => put::run(arguments, registry, output, interrupt).await,
            Command::Proxy(arguments) => proxy::run(arguments, registry, output, interrupt).await,
            Command::Forward(arguments) => forward::run(arguments, registry, output, interrupt).await,
            Command::Tunnel(arguments) => tunnel::run(*arguments, registry, output, interrupt).await,
            Command::Gateway(arguments) => gateway::run(arguments, registry, output, interrupt).await,
            Command::Top(arguments) => top::run(arguments).await,
            Command::Ctl(arguments) => control::run(arguments, output, interrupt).await,
            Command::Live(command) => live::run(command, registry, output, interrupt).await,
            Command::Vr360(command) => vr360::run(command, registry, output, interrupt).await,
            Command::Perf(command) => perf::run(command, registry, output, interrupt).await,
            Command::Measure(command) => measure::run(command, registry, output, interrupt).await,
            Command::Wifi(command) => wifi::run(command, output, interrupt).await,
            Command::Config(_)
            | Command::Doctor(_)
            | Command::Emu(_)
            | Command::Generate(_)
            | Command::Lab(_)
            | Command::Pin(_)
            | Command::Policies(_)
            | Command::Qlog(_)
            | Command::Scenario(_)
            | Command::Sim(_)
            | Command::Trace(_) => Ok(()),
        }
    });
    // Threads that wait for a disk or a terminal must not keep the command from ending.
    runtime.shutdown_background();
    result
}

fn start_log(output: Output) {
    hawser::log_full_addresses(output.log_addresses);
    let level = match output.verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        2 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(output.verbose > 1)
        .init();
}
