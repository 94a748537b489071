//! `hawser vr360`: 360-degree video in tiles, of which those come first that a head will see.

mod carriers;
mod encode;
mod film;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod page;
mod play;
mod protocol;
mod report;
mod screen;
mod serve;
mod under_way;
mod viewer;
mod waiting;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use tokio::net::TcpListener;

use self::encode::Encoding;
use hawser::{Registry, TransportConfig};
use hawser_command::address::Address;
use hawser_command::control::ControlOptions;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::{ClientOptions, TransportOptions, listen_address, seconds};
use hawser_command::output::Output;
use hawser_command::profile::{Profile, streams_only};
use hawser_command::report::Channel;
use hawser_command::server_scheduler::AllowedSchedulers;

/// 360-degree video.
const PROFILE: Profile<'static> = Profile { alpn: protocol::ALPN, controller: None, tune: &tune };
/// Each tile has a stream of its own, and seconds of them may be under way.
const MAX_STREAMS: u64 = 4096;

fn tune(transport: &mut TransportConfig) {
    streams_only(transport);
    transport.max_unidirectional_streams = MAX_STREAMS;
}

/// UDP port of a server.
const DEFAULT_PORT: u16 = 4435;
/// Where a player serves its page.
const DEFAULT_HTTP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8360);

const EXAMPLES: &str = "\
The server cuts an equirectangular video into tiles (with ffmpeg), a picture of each per chunk. The player follows a head: half a \
second before a chunk is shown it asks for the tiles that the head will see, and for those around them. Each tile has a deadline; \
what is late is not sent any more.

Examples:
  hawser vr360 serve VIDEO                             on a server; prints the other command line
  hawser vr360 serve                                   the same with a test picture
  hawser vr360 play HOST:4435 --pin 'PIN'              in front of the screen: http://127.0.0.1:8360/ shows what it sees
  hawser vr360 play HOST:4435 --pin 'PIN' --motion head.csv --no-http --json
  hawser vr360 make VIDEO -o DIR                       cut once, for `hawser vr360 serve DIR`";

/// `hawser vr360`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Vr360 {
    /// Cut a video into tiles, and keep them in a folder
    Make(Make),
    /// Send tiles to players
    Serve(Box<Serve>),
    /// Follow a head, fetch what it will see, and show that on a page
    Play(Box<Play>),
}

/// Arguments of `hawser vr360 make`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Make {
    /// The video, equirectangular. Default: a test picture of ffmpeg's
    video: Option<PathBuf>,
    /// The folder, which is made if it is not there
    #[arg(short, long, alias = "out", value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    encoding: Encoding,
}

/// Arguments of `hawser vr360 serve`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Serve {
    /// A video, equirectangular, or a folder that `hawser vr360 make` made. Default: a test picture of ffmpeg's
    #[arg(value_name = "VIDEO|DIR")]
    source: Option<PathBuf>,
    /// UDP address to listen on. Default: [::]:4435, or 0.0.0.0:4435 on a machine without IPv6
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key_file")]
    cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key_file: Option<PathBuf>,
    /// Folder that keeps the server's own certificate
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    state: Option<PathBuf>,
    #[command(flatten)]
    encoding: Encoding,
    #[command(flatten)]
    allowed_schedulers: AllowedSchedulers,
    /// How the transport behaves
    #[command(flatten)]
    transport: TransportOptions,
    #[command(flatten)]
    control: ControlOptions,
}

/// Arguments of `hawser vr360 play`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Play {
    /// The server: HOST or HOST:PORT
    #[arg(value_name = "HOST[:PORT]", value_parser = Address::parser(DEFAULT_PORT))]
    server: Address,
    /// Where the head looks: lines of time,yaw,pitch (seconds, degrees to the right, degrees up). Default: a head that is made
    /// from --seed
    #[arg(long, value_name = "FILE")]
    motion: Option<PathBuf>,
    /// Seed of the head that is made
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "motion")]
    seed: u64,
    /// Seconds between the wish for a chunk and the moment at which it is shown
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    delay: Duration,
    /// Play no more of the film than this
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Start again at the end of the film
    #[arg(long)]
    repeat: bool,
    /// TCP address of the page
    #[arg(long, value_name = "ADDR:PORT", default_value_t = DEFAULT_HTTP, value_parser = listen_address)]
    http: SocketAddr,
    /// Serve no page
    #[arg(long, conflicts_with = "http")]
    no_http: bool,
    /// Seconds between lines about tiles and paths
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    /// How to reach the server
    #[command(flatten)]
    client: ClientOptions,
}

/// Ctrl-C. It is the usual end, and the report says the rest.
fn stopped() -> Failure {
    Failure { is_told: true, ..Failure::new(Exit::Signal, "stopped") }
}

/// Where the page is served, if it is.
async fn listen_page(arguments: &Play, output: Output) -> Result<Option<TcpListener>, Failure> {
    if arguments.no_http {
        return Ok(None);
    }
    let listener = hawser_command::address::listen_tcp(arguments.http).await?;
    let address = listener.local_addr().unwrap_or(arguments.http);
    if output.json {
        Channel::Stdout.print(&serde_json::json!({ "http": address.to_string(), "port": address.port() }));
    }
    output.remark(format_args!("hawser: the page is http://{address}/"));
    Ok(Some(listener))
}

async fn make(arguments: Make, output: Output, mut interrupt: Interrupt) -> Result<(), Failure> {
    let film = tokio::select! {
        film = encode::film(arguments.video.as_deref(), &arguments.encoding) => film?,
        () = interrupt.raised() => return Err(stopped()),
    };
    film.save(&arguments.output)?;
    if output.json {
        Channel::Stdout.print(&film.shape);
    }
    output.remark(format_args!(
        "hawser: {}: {}; {}",
        arguments.output.display(),
        film.describe(),
        serve::amount(&film)
    ));
    Ok(())
}

/// Makes, serves or plays.
pub async fn run(
    command: Vr360,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    match command {
        Vr360::Make(arguments) => make(arguments, output, interrupt).await,
        Vr360::Serve(arguments) => serve::run(*arguments, registry, output, interrupt).await,
        Vr360::Play(arguments) => play::run(*arguments, registry, output, interrupt).await,
    }
}
