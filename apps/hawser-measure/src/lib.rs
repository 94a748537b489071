//! `hawser measure`: what links carry that come and go, after X-Perf (F. Yang, thesis, chapter 3).

mod association;
mod client;
mod context;
mod follower;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gps;
mod keeper;
mod meter;
mod protocol;
mod radio;
mod report;
mod server;
mod session;
mod traffic;
mod upload;

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use self::gps::GpsPlace;
use hawser::{PolicyKind, PolicySpec, Registry};
use hawser_command::control::ControlOptions;
use hawser_command::exit::Failure;
use hawser_command::interrupt::Interrupt;
use hawser_command::options::{ClientOptions, ServerTrust, bare_host, listen_address, seconds, workers};
use hawser_command::output::Output;
use hawser_command::units::parse_bytes;

/// The UDP port of the server, unless another is chosen.
const DEFAULT_PORT: NonZeroU16 = match NonZeroU16::new(5202) {
    Some(port) => port,
    None => NonZeroU16::MIN,
};
/// Most flows of a session.
const MAX_FLOWS: u32 = 64;

const EXAMPLES: &str = "\
Whenever an interface gets an address, a session begins: one to many flows, each a QUIC connection of its own, in a direction \
and with a congestion controller that are drawn again each time. When the address goes, it ends. Each session leaves a record.

Examples:
  hawser measure server --out measured                        prints the client's command line
  hawser measure client HOST --pin 'PIN' --interface wlan0    measures until Ctrl-C
  hawser measure client HOST --pin 'PIN' --interface wlan0 --link-state /run/links.jsonl --gpsd localhost:2947
  hawser measure upload measurements HOST --pin 'PIN'         hands the records to the server, and removes them here
  hawser measure report measurements measured                 one page with tables and figures
  hawser measure convert measurements -o drive.jsonl && hawser trace import drive.jsonl -o drive   a scenario";

/// `hawser measure`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Measure {
    /// Wait for clients, measure with them and keep their records
    Server(Server),
    /// Measure on interfaces whenever they have an address
    Client(Box<Client>),
    /// Hand records to a server, and remove them here once it has them
    Upload(Box<Upload>),
    /// Make a page of what records amount to
    Report(report::ReportArguments),
    /// Put records into one file: all of them, or a table of the sessions
    Convert(report::ConvertArguments),
}

/// Arguments of `hawser measure server`.
#[derive(Args, Debug)]
pub struct Server {
    /// UDP address to listen on. Default: [::]:5202, or 0.0.0.0:5202 on a machine without IPv6
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Folder for what the server saw of each flow, and for the records that clients upload
    #[arg(short, long, value_name = "DIR", default_value = "measured")]
    out: PathBuf,
    /// Most bytes of records in it (suffixes k, M, G); what finds no room is refused, and what the server itself saw is dropped and counted
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "16G")]
    max_disk: u64,
    /// A congestion controller that clients may choose for what the server sends; repeat for more. Default: cubic and bbr
    #[arg(long, value_name = "SPEC")]
    controller: Vec<PolicySpec>,
    /// Seconds of silence after which a client is given up: its link has gone
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,
    /// Certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Folder that keeps the server's own certificate. Default: hawser in $XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    state: Option<PathBuf>,
    /// Workers, each with a thread, for many clients at once: 1 to 64, or auto for one per core
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = workers)]
    workers: usize,
    #[command(flatten)]
    control: ControlOptions,
}

/// Arguments of `hawser measure client`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Client {
    /// The server: name or address
    ///
    /// A name is looked up when the command starts or, failing that, with the first address
    #[arg(value_parser = bare_host)]
    host: String,
    /// Its UDP port
    #[arg(short, long, default_value_t = DEFAULT_PORT)]
    port: NonZeroU16,
    /// Measure on this interface whenever it has an address; it need not be there yet
    ///
    /// Repeat for more: each has sessions of its own
    #[arg(short, long, alias = "path", value_name = "IFACE", required = true)]
    interface: Vec<String>,
    /// Folder for the records
    ///
    /// One that an earlier run was killed at is finished first
    #[arg(short, long, value_name = "DIR", default_value = "measurements")]
    out: PathBuf,
    /// Most bytes of records in it (suffixes k, M, G)
    ///
    /// Those that are there stay; what finds no room is dropped and counted
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1G")]
    max_disk: u64,
    /// A congestion controller to draw from; repeat for more. Default: cubic and bbr
    ///
    /// The server must permit those of downloads
    #[arg(long, value_name = "SPEC", help_heading = "Pool")]
    controller: Vec<PolicySpec>,
    /// Directions to draw from
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "up,down",
        help_heading = "Pool"
    )]
    direction: Vec<DirectionName>,
    /// Numbers of flows to draw from
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2,4,8,16", help_heading = "Pool",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_FLOWS)))]
    flows: Vec<u32>,
    /// Seed of the draws: with the number of a session, which goes on over restarts, it gives the same ones again. Default: random
    #[arg(long, value_name = "N", help_heading = "Pool")]
    seed: Option<u64>,
    /// End after this many seconds
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    time: Option<Duration>,
    /// End a session after this many seconds and draw another one, on a link that stays. Default: when the address goes
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    session: Option<Duration>,
    /// Note access point, channel and signal strength from this file, FIFO or Unix socket: JSON lines, see docs/links.md
    #[arg(long, value_name = "FILE")]
    link_state: Option<PathBuf>,
    /// Note positions from gpsd at this place
    #[arg(long, value_name = "HOST:PORT|PATH")]
    gpsd: Option<GpsPlace>,
    #[command(flatten)]
    control: ControlOptions,
    /// Whom to believe
    #[command(flatten)]
    trust: ServerTrust,
    /// Seconds to wait for the server's answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = "Connection")]
    connect_timeout: Duration,
    /// Seconds of silence after which the server is given up
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = "Connection")]
    timeout: Duration,
}

/// Arguments of `hawser measure upload`.
#[derive(Args, Debug)]
pub struct Upload {
    /// Folder with the records; a client may still be writing to it
    folder: PathBuf,
    /// The server: name or address
    host: String,
    /// Its UDP port
    #[arg(short, long, default_value_t = DEFAULT_PORT)]
    port: NonZeroU16,
    /// How to reach the server
    #[command(flatten)]
    client: ClientOptions,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum DirectionName {
    /// Client to server
    Up,
    /// Server to client
    Down,
}

impl From<DirectionName> for hawser_emu::Direction {
    fn from(name: DirectionName) -> Self {
        match name {
            DirectionName::Up => hawser_emu::Direction::Up,
            DirectionName::Down => hawser_emu::Direction::Down,
        }
    }
}

/// The controllers that were named, or the default ones; all exist.
fn controllers(named: &[PolicySpec], registry: &Registry) -> Result<Vec<String>, Failure> {
    let named: Vec<String> = named.iter().map(ToString::to_string).collect();
    let all = if named.is_empty() { vec!["cubic".to_owned(), "bbr".to_owned()] } else { named };
    for text in &all {
        let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("--controller: {error}"));
        let spec: PolicySpec = text.parse().map_err(|error| wrong(&error))?;
        registry.check(PolicyKind::Congestion, &spec).map_err(|error| wrong(&error))?;
    }
    Ok(all)
}

/// Runs a server or a client, or hands over records.
pub async fn run(
    command: Measure,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    match command {
        Measure::Server(arguments) => server::run(arguments, registry, output, interrupt).await,
        Measure::Client(arguments) => client::run(*arguments, registry, output, interrupt).await,
        Measure::Upload(arguments) => upload::run(&arguments, registry, output, interrupt).await,
        Measure::Report(arguments) => report::report(&arguments, output),
        Measure::Convert(arguments) => report::convert(&arguments, output),
    }
}
