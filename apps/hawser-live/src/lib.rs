//! `hawser live`: live video from an encoder over several links to players.

mod downlink;
mod encoder;
mod expiry;
mod formats;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod hls;
mod hook;
mod hub;
mod keys;
mod play;
mod players;
mod protocol;
mod publish;
mod rate;
mod reconnecting;
mod record;
mod relay;
mod rtmp;
mod sink;
mod srt;
mod status;
mod tls;
#[cfg(test)]
mod tls_tests;
mod transport;
mod udp;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use hawser_media::broadcast::wire::Delivery;

use self::formats::Format;
use self::hook::HookUrl;
use self::keys::Keys;
use self::players::Origin;
use hawser::{Pin, Registry, TransportConfig};
use hawser_command::address::Address;
use hawser_command::control::{ControlOptions, LiveControlOptions};
use hawser_command::environment::variable;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::{ClientOptions, TransportOptions, listen_address, seconds};
use hawser_command::output::Output;
use hawser_command::profile::{Profile, streams_only};
use hawser_command::server_scheduler::AllowedSchedulers;

/// The subcommand.
pub const NAME: &str = "live";
/// Live video. BBR where neither `--congestion` nor a policy set brings another controller: random losses must not hold a stream up
/// whose rate the encoder has fixed.
pub const PROFILE: Profile<'static> = Profile { alpn: protocol::ALPN, controller: Some("bbr"), tune: &tune };
/// A live player sends nothing of its own. One whose relay was restarted learns it from the answer to this PING.
const KEEP_ALIVE: Duration = Duration::from_millis(500);
/// What a live stream has written can no longer be skipped: no more than the largest bandwidth-delay product it is meant for
/// (50 Mbit/s, 300 ms).
const SEND_BUFFER: u64 = 2 << 20;

fn tune(transport: &mut TransportConfig) {
    streams_only(transport);
    transport.keep_alive_interval = Some(KEEP_ALIVE);
    transport.max_send_buffer = SEND_BUFFER;
}

/// UDP port of a relay.
const DEFAULT_PORT: u16 = 4434;
/// Where encoders publish.
const DEFAULT_RTMP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1935);
/// Where a player serves players.
const DEFAULT_HTTP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
/// How far the way to the relay may lag.
const PUBLISH_BUFFER: Duration = Duration::from_secs(3);
/// How far a player may lag. Groups of pictures that are longer than three quarters of it are not kept for those who come.
const PLAY_BUFFER: Duration = Duration::from_secs(12);
/// The variable that may hold the key.
const KEY_VARIABLE: &str = "HAWSER_LIVE_KEY";
/// The one for the key with which the stream of another relay is played.
const FROM_KEY_VARIABLE: &str = "HAWSER_LIVE_FROM_KEY";
/// Longest key.
const MAX_KEY: usize = 128;

const EXAMPLES: &str = "\
A publisher takes RTMP, SRT or MPEG-TS from an encoder and sends it to a relay over all links of its machine; players fetch it there. Headers, \
key frames and audio always arrive; of other frames the policy may give bytes up, in whose place players get zeros.

Examples:
  hawser live relay --key KEY                              on a server; prints the other two command lines
  hawser live publish HOST:4434 --pin 'PIN' --key KEY      where the encoder is: ffmpeg, OBS to rtmp://127.0.0.1/live/KEY
  hawser live play HOST:4434 --pin 'PIN' --key KEY         where the player is: a browser at http://127.0.0.1:8080/
  hawser live relay --key KEY --srt 0.0.0.0:9000           for players over SRT as well: ffplay 'srt://HOST:9000?streamid=KEY'
  hawser live publish HOST:4434 --policy 4d-map --congestion bbr ... with frames discarded, copied or not retransmitted (relay as well)
  hawser live play HOST:4434 --output - ... | ffplay -     without HTTP";

/// `hawser live`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Live {
    /// Take the stream of an encoder and send it to a relay
    Publish(Box<Publish>),
    /// Take streams of publishers and send them to players
    Relay(Relay),
    /// Fetch a stream from a relay and hand it to players on this machine
    Play(Play),
}

/// Sources of a publisher that have no certificate.
const NOT_RTMPS: [&str; 5] = ["rtmp", "srt", "udp", "input", "from"];

/// Those that are no other relay.
const NOT_FROM: [&str; 5] = ["rtmp", "rtmps", "srt", "udp", "input"];

/// Arguments of `hawser live publish`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Publish {
    /// The relay: HOST or HOST:PORT
    #[arg(value_name = "HOST[:PORT]", value_parser = Address::parser(DEFAULT_PORT))]
    relay: Address,
    /// Stream key: of the relay's stream, and what the encoder must name
    ///
    /// Other users of the machine can see options: without this one the variable HAWSER_LIVE_KEY has it
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    key: Option<String>,
    #[command(flatten)]
    source: SourceOptions,
    // What conflicts with --rtmps is named, since clap then asks for it no longer.
    /// Certificate chain (PEM) that encoders see with --rtmps
    #[arg(long, value_name = "FILE", requires = "key_file", requires = "rtmps", conflicts_with_all = NOT_RTMPS)]
    cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key_file: Option<PathBuf>,
    /// Folder that keeps the own certificate of --rtmps
    #[arg(long, value_name = "DIR", conflicts_with = "cert", requires = "rtmps", conflicts_with_all = NOT_RTMPS)]
    state: Option<PathBuf>,
    /// Key with which the stream of --from may be played
    ///
    /// Other users of the machine can see options: without this one the variable HAWSER_LIVE_FROM_KEY has it
    #[arg(long, value_name = "KEY", value_parser = parse_key, requires = "from", conflicts_with_all = NOT_FROM)]
    from_key: Option<String>,
    /// Trust only the relay of --from that has this key: SHA-256 in base64, as it prints it
    ///
    /// Repeatable. Default: what authorities of this machine have signed
    #[arg(long, value_name = "PIN", requires = "from", conflicts_with_all = NOT_FROM)]
    from_pin: Vec<Pin>,
    /// End when the encoder is done, instead of waiting for the next one
    #[arg(long)]
    once: bool,
    /// The least and the most that the encoder may send, sound included, such as 500k-6M: --rate-socket says what fits
    #[arg(long, value_name = "LEAST-MOST", requires = "rate_socket")]
    bit_rate: Option<rate::Bounds>,
    /// TCP address at which the program that drives the encoder reads what it is to send: ten lines of JSON a second
    #[arg(long, value_name = "ADDR:PORT", requires = "bit_rate", value_parser = listen_address)]
    rate_socket: Option<SocketAddr>,
    #[command(flatten)]
    delivery: DeliveryOptions,
    /// Seconds between lines about the stream and its paths
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    #[command(flatten)]
    control: LiveControlOptions,
    /// How to reach the relay
    #[command(flatten)]
    client: ClientOptions,
}

/// Where the stream comes from: one of these.
#[derive(Args, Clone, Debug)]
#[group(multiple = false)]
pub struct SourceOptions {
    /// TCP address at which encoders publish over RTMP. Default: 127.0.0.1:1935
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    rtmp: Option<SocketAddr>,
    /// TCP address at which encoders publish over RTMP with TLS (rtmps://), with the certificate of --cert, or else an own one
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    rtmps: Option<SocketAddr>,
    /// UDP address at which encoders call over SRT, with the key in their stream id, or srt://HOST:PORT?streamid=ID of an encoder that
    /// is called; HAWSER_SRT_PASSPHRASE has a passphrase
    #[arg(long, value_name = "ADDR:PORT|URL")]
    srt: Option<srt::Direction>,
    /// UDP address to which an encoder sends MPEG-TS, plain or in RTP; a multicast group is joined
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    udp: Option<SocketAddr>,
    /// Read FLV or MPEG-TS from this file, at the pace of its timestamps; `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Take the stream of another relay, HOST or HOST:PORT, over the same links
    #[arg(long, value_name = "HOST[:PORT]", value_parser = Address::parser(DEFAULT_PORT), conflicts_with = "cap")]
    from: Option<Address>,
}

/// Arguments of `hawser live relay`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Relay {
    /// UDP address to listen on. Default: [::]:4434, or 0.0.0.0:4434 on a machine without IPv6
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Key of a stream, and behind `=` the key that its players need, if that is another one; behind `@` of each
    /// until when it is valid: KEY=VIEWKEY@2027-01-31T18:00:00Z. Repeatable
    ///
    /// Default: random ones, which are printed. Other users of the machine can see options: --keys-file or
    /// HAWSER_LIVE_KEY hides them
    #[arg(long = "key", value_name = "KEY[@UNTIL][=VIEWKEY[@UNTIL]]", value_parser = Keys::parse)]
    keys: Vec<Keys>,
    /// The same in the lines of a file
    #[arg(long, value_name = "FILE", conflicts_with = "keys")]
    keys_file: Option<PathBuf>,
    /// Ask this server who may publish and play: http:// or https://, to which JSON is posted; what is not answered with 2xx is refused
    #[arg(long, value_name = "URL")]
    hook: Option<HookUrl>,
    /// Serve players over HTTP at this TCP address as well, not encrypted: /VIEWKEY is a page with a player, others find
    /// /VIEWKEY.m3u8, .ts, .mp4 and .flv
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    http: Option<SocketAddr>,
    /// Serve players that call over SRT at this UDP address as well: srt://HOST:PORT?streamid=VIEWKEY; with
    /// HAWSER_SRT_PASSPHRASE in the environment they have to encrypt with it
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    srt: Option<SocketAddr>,
    /// Origin of web pages whose players may fetch the stream over HTTP: `*` for all, `none`, or one such as
    /// https://player.example
    #[arg(long, value_name = "ORIGIN", default_value = "*", value_parser = Origin::parse)]
    allow_origin: Origin,
    /// Record each stream in files of this folder, fragmented MP4: /DIR/NUMBER-DATE.mp4, the number of its key from 1 on
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    #[command(flatten)]
    delivery: DeliveryOptions,
    /// Certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key_file")]
    cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key_file: Option<PathBuf>,
    /// Folder that keeps the relay's own certificate
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    state: Option<PathBuf>,
    /// Seconds between lines about each stream
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    #[command(flatten)]
    allowed_schedulers: AllowedSchedulers,
    #[command(flatten)]
    control: LiveControlOptions,
    /// How the transport behaves
    #[command(flatten)]
    transport: TransportOptions,
}

/// Arguments of `hawser live play`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Play {
    /// The relay: HOST or HOST:PORT
    #[arg(value_name = "HOST[:PORT]", value_parser = Address::parser(DEFAULT_PORT))]
    relay: Address,
    /// Key with which the stream may be played
    ///
    /// Other users of the machine can see options: without this one the variable HAWSER_LIVE_KEY has it
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    key: Option<String>,
    /// TCP address at which browsers find a page with a player, and others /live.m3u8, .ts, .mp4 and .flv
    ///
    /// Default: 127.0.0.1:8080, without --output, --srt and --rtmp
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    http: Option<SocketAddr>,
    /// Origin of web pages whose players may fetch the stream over HTTP: `*` for all, `none`, or one such as
    /// https://player.example
    #[arg(long, value_name = "ORIGIN", default_value = "*", value_parser = Origin::parse)]
    allow_origin: Origin,
    /// Write the stream to this file; `-` is standard output
    #[arg(short, long, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of what --output writes. Default: what the name of the file ends with, else flv
    #[arg(long, value_enum, requires = "output")]
    format: Option<Format>,
    /// UDP address at which players call over SRT, or srt://HOST:PORT?streamid=ID of a server that is called and sent the
    /// stream; HAWSER_SRT_PASSPHRASE has a passphrase
    #[arg(long, value_name = "ADDR:PORT|URL")]
    srt: Option<srt::Direction>,
    /// Publish the stream to this service: rtmps://HOST/APP/KEY, or rtmp:// without TLS. Other users of the machine can see
    /// options: `-` takes the address from HAWSER_RTMP_URL
    #[arg(long, value_name = "URL")]
    rtmp: Option<String>,
    /// Trust only a service whose certificate is signed by an authority in this PEM file. Default: the authorities of this machine
    #[arg(long, value_name = "FILE", requires = "rtmp", conflicts_with = "rtmp_pin")]
    rtmp_ca: Option<PathBuf>,
    /// Trust only the service with this key: SHA-256 in base64, as `hawser live publish --rtmps` prints it
    ///
    /// Repeatable
    #[arg(long, value_name = "PIN", requires = "rtmp")]
    rtmp_pin: Vec<Pin>,
    /// End when the publisher is done, instead of waiting for the next one
    #[arg(long)]
    once: bool,
    /// Seconds that a player may lag before tags are skipped up to a key frame. Default: 12
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    buffer: Option<Duration>,
    /// Seconds between lines about the stream and its paths
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    #[command(flatten)]
    control: LiveControlOptions,
    /// How to reach the relay
    #[command(flatten)]
    client: ClientOptions,
}

/// How carefully frames are delivered.
#[derive(Args, Clone, Debug)]
pub struct DeliveryOptions {
    /// Give up nothing: each byte of each frame arrives, however late, unless the receiver is so slow that frames are skipped
    #[arg(long, conflicts_with = "deadline")]
    reliable: bool,
    /// Send nothing of a frame that is no key frame when it is older than this; without it only the policy gives bytes up
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    deadline: Option<Duration>,
    /// Leave out frames that would wait longer than this, with the rest of their group of pictures, so that what
    /// is shown has no damage
    ///
    /// Key frames and sound are kept
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "reliable")]
    lag: Option<Duration>,
    /// Seconds that a receiver may lag before tags are skipped up to a key frame. Default: 3 at a publisher, 12 at a relay
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    buffer: Option<Duration>,
}

impl DeliveryOptions {
    fn delivery(&self) -> Delivery {
        if self.reliable { Delivery::Reliable } else { Delivery::Timely { deadline: self.deadline } }
    }

    fn buffer(&self, default: Duration) -> Duration {
        self.buffer.unwrap_or(default)
    }
}

/// The key that was given as an option, or else in the environment.
fn given_key(value: Option<&String>, option: &str, name: &str) -> Result<String, Failure> {
    if let Some(key) = value {
        return Ok(key.clone());
    }
    let text = variable(name)?.ok_or_else(|| {
        Failure::usage(format!("the stream key is missing: {option} KEY, or the variable {name}"))
    })?;
    parse_key(text.trim()).map_err(|error| Failure::usage(format!("{name}: {error}")))
}

/// Reads a stream key: what may stand in the path of a URL.
fn parse_key(text: &str) -> Result<String, String> {
    let is_sound = |character: char| character.is_ascii_alphanumeric() || "-_.~".contains(character);
    if text.is_empty() || text.len() > MAX_KEY || !text.chars().all(is_sound) {
        return Err(format!("expected a key of 1 to {MAX_KEY} letters, digits, or - _ . ~"));
    }
    Ok(text.to_owned())
}

/// Keys are compared by their digests, so that the time it takes says nothing about them.
fn key_digest(key: &str) -> [u8; 32] {
    sha2::Digest::finalize(<sha2::Sha256 as sha2::Digest>::new_with_prefix(key)).into()
}

/// Ctrl-C. It is the usual end, and the report says the rest.
fn stopped() -> Failure {
    Failure { is_told: true, ..Failure::new(Exit::Signal, "stopped") }
}

/// Publishes, relays or plays.
pub async fn run(
    command: Live,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    match command {
        Live::Publish(arguments) => publish::run(*arguments, registry, output, interrupt).await,
        Live::Relay(arguments) => relay::run(arguments, registry, output, interrupt).await,
        Live::Play(arguments) => play::run(arguments, registry, output, interrupt).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser};

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(subcommand)]
        _live: Live,
    }

    #[test]
    fn options_contradict_each_other_only_where_they_say_so() {
        Program::command().debug_assert();
        let reads = |text: &str| {
            Program::try_parse_from(format!("x {text}").split(' ')).map_err(|error| error.to_string())
        };
        for text in [
            "publish h --rtmps 127.0.0.1:0 --cert c --key-file k",
            "publish h --rtmps 127.0.0.1:0 --state s --lag 0.5",
            "publish h --srt srt://camera:9000?streamid=x",
            "publish h --srt 127.0.0.1:0",
            "publish h --from other:4435 --from-key k",
            "play h --rtmp rtmps://h/a/k --rtmp-ca f",
            "relay --key a=b@2027-01-31T18:00:00Z --hook https://h/x",
        ] {
            assert_eq!(reads(text).err(), None, "{text}");
        }
        for (text, words) in [
            ("publish h --rtmp 127.0.0.1:0 --state s", "cannot be used with"),
            ("publish h --rtmps 127.0.0.1:0 --rtmp 127.0.0.1:0", "cannot be used with"),
            ("publish h --rtmps 127.0.0.1:0 --cert c", "--key-file"),
            ("publish h --srt srt://h?mode=listener", "mode=caller"),
            ("publish h --lag 1 --reliable", "cannot be used with"),
            ("publish h --from other --udp 127.0.0.1:0", "cannot be used with"),
            ("publish h --udp 127.0.0.1:0 --from-key k", "cannot be used with"),
            ("publish h --from-key k", "--from"),
            ("play h --rtmp-pin AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "--rtmp"),
            ("relay --key a@soon", "RFC 3339"),
            ("relay --hook ftp://h", "https://"),
        ] {
            let error = reads(text).err().unwrap_or_default();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
