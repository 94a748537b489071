//! `hawser perf`: what the paths to a host carry.

mod client;
mod protocol;
mod report;
mod server;
mod traffic;

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};

use hawser::Registry;
use hawser_command::control::ControlOptions;
use hawser_command::exit::Failure;
use hawser_command::interrupt::Interrupt;
use hawser_command::options::{
    ClientOptions, TransportOptions, bare_host, listen_address, seconds, seconds_or_none, workers,
};
use hawser_command::output::Output;
use hawser_command::server_scheduler::AllowedSchedulers;
use hawser_command::units::{parse_bit_rate, parse_bytes};

/// The UDP port of the server, unless another is chosen.
const DEFAULT_PORT: NonZeroU16 = match NonZeroU16::new(5201) {
    Some(port) => port,
    None => NonZeroU16::MIN,
};

const EXAMPLES: &str = "\
Examples:
  hawser perf server                           on one machine; prints the client's command line
  hawser perf client HOST --pin 'PIN'          on the other: 10 seconds towards the server
  hawser perf client HOST --pin 'PIN' -R       from the server
  hawser perf client HOST --pin 'PIN' -P 4 -t 30 --path wlan0 --path wwan0
  hawser perf client HOST --pin 'PIN' --datagram -b 20M
  hawser perf client HOST --pin 'PIN' --json   for programs; names as in iperf3";

/// `hawser perf`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Perf {
    /// Wait for clients and measure with them
    Server(Box<Server>),
    /// Measure towards a server
    Client(Box<Client>),
}

/// Arguments of `hawser perf server`.
#[derive(Args, Debug)]
pub(crate) struct Server {
    /// UDP address to listen on. Default: [::]:5201, or 0.0.0.0:5201 on a machine without IPv6
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Folder that keeps the server's own certificate
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    state: Option<PathBuf>,
    /// End after one client
    #[arg(short = '1', long, alias = "once")]
    one_off: bool,
    /// Workers, each with a thread, for many clients at once: 1 to 64, or auto for one per core
    ///
    /// One client gains nothing
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = workers)]
    workers: usize,
    #[command(flatten)]
    allowed_schedulers: AllowedSchedulers,
    /// How the transport behaves
    #[command(flatten)]
    transport: TransportOptions,
    #[command(flatten)]
    control: ControlOptions,
}

/// Arguments of `hawser perf client`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Client {
    /// The server: name or address
    #[arg(value_parser = bare_host)]
    host: String,
    /// Its UDP port
    #[arg(short, long, default_value_t = DEFAULT_PORT)]
    port: NonZeroU16,
    /// Seconds to send for; what is on its way then has one more second to arrive. 0: until Ctrl-C, a day at most
    #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = seconds_or_none)]
    time: Duration,
    /// Bytes to send over all streams, instead of a time (suffixes k, M, G)
    #[arg(short = 'n', long, value_name = "BYTES", value_parser = some_bytes, conflicts_with = "time")]
    bytes: Option<u64>,
    /// Streams at the same time
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    parallel: u32,
    /// The server sends
    #[arg(short = 'R', long)]
    reverse: bool,
    /// Send datagrams, which may be lost, instead of streams
    #[arg(long, conflicts_with = "parallel")]
    datagram: bool,
    /// Send at most this many bits per second, in total (suffixes k, M, G; 0: no limit)
    ///
    /// Default for datagrams: 1M
    #[arg(short, long, value_name = "RATE", value_parser = parse_bit_rate)]
    bitrate: Option<u64>,
    /// Seconds between reports
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    /// How to reach the server
    #[command(flatten)]
    client: ClientOptions,
}

fn some_bytes(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        0 => Err("nothing would be sent".into()),
        bytes => Ok(bytes),
    }
}

/// Runs a server or a client.
pub(crate) async fn run(
    command: Perf,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    match command {
        Perf::Server(arguments) => server::run(*arguments, registry, output, interrupt).await,
        Perf::Client(arguments) => client::run(*arguments, registry, output, interrupt).await,
    }
}
