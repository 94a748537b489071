//! Options that several subcommands share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rustls::KeyLog;

use crate::caps::{CapReport, Caps, LinkCap};
use crate::exit::{Exit, Failure};
use crate::key_log::FileKeyLog;
use crate::policy_options::PolicyOptions;
use crate::units::parse_bytes;
use hawser::policy::PolicySetFactory;
use hawser::{
    Cipher, ClientConfig, Connection, FileSessions, LinkSelector, Links, PathManagerFactory, PathSpec, Pin,
    PolicySpec, Registry, ServerConfigBuilder, TransportConfig, Trust, VersionPreference, Versions,
};

/// A live player sends nothing of its own. One whose relay was started anew learns it from the answer to this PING.
const LIVE_KEEP_ALIVE: Duration = Duration::from_millis(500);
/// What a live stream has written can no longer be skipped: no more than the largest bandwidth-delay product it is meant for
/// (50 Mbit/s, 300 ms).
const LIVE_SEND_BUFFER: u64 = 2 << 20;
/// Each tile has a stream of its own, and seconds of them may be under way.
const VR360_STREAMS: u64 = 4096;

/// What is printed, and how.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Output {
    /// Print results as JSON on standard output; on standard error when the file itself goes there
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Tell more: -v for what happens to the paths (in place of the progress), -vv for details
    #[arg(short, long, global = true, help_heading = "Output", action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// No progress and no remarks, only errors
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
}

impl Output {
    /// Whether the progress of a transfer is not to be seen: not wanted, or in the way of the log.
    pub(crate) fn hides_progress(&self) -> bool {
        self.quiet || self.verbose > 0
    }

    /// Says something that is neither result nor error.
    pub(crate) fn remark(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            crate::report::remark(text);
        }
    }
}

/// Behaviour of the transport, on either end.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Transport")]
pub(crate) struct TransportOptions {
    /// Which policies its connections have
    #[command(flatten)]
    policies: PolicyOptions,
    /// Write what every connection does to this folder, one qlog file each (JSON-SEQ)
    #[arg(long, value_name = "DIR", env = "QLOGDIR")]
    qlog: Option<PathBuf>,
    /// Most bytes of each of these files (suffixes k, M, G)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1G")]
    qlog_limit: u64,
    /// QUIC versions to speak, most wanted first: 1, 2, or both as 1,2 or 2,1. A client begins with 1 if it is listed, and a
    /// server that speaks both moves it to the version that it wants most, without a round trip. A server given this decides
    /// itself; otherwise it speaks both and follows the client [default: 1,2]
    #[arg(long, value_name = "LIST")]
    quic_version: Option<Versions>,
    /// Append TLS secrets to this file, for packet analysers
    #[arg(long, value_name = "FILE", env = "SSLKEYLOGFILE")]
    keylog: Option<PathBuf>,
    /// Encrypt with one of these cipher suites only, best first: aes128, aes256, chacha20
    #[arg(long, value_name = "SUITE,..", value_delimiter = ',')]
    cipher: Vec<Cipher>,
    /// Update the keys each time this many packets were sent, as soon as the peer has followed the last update. Default:
    /// long before they wear out
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..))]
    key_update_after: Option<u64>,
    /// Tunnels that the peer may open, where its connections carry some; a subcommand of which they do says so
    #[arg(skip)]
    pub(crate) tunnels: Option<u64>,
}

impl TransportOptions {
    /// The transport configuration these options describe, for an application protocol.
    fn transport(&self, registry: &Registry, alpn: &[u8]) -> Result<TransportConfig, Failure> {
        let is_live = alpn == crate::live::ALPN;
        let policies = if is_live {
            self.policies_with(registry, crate::live::CONTROLLER)?
        } else if self.tunnels.is_some() {
            self.policies_with(registry, hawser_gateway::profile::CONTROLLER)?
        } else {
            self.policies(registry)?
        };
        let key_update_after = self.key_update_after;
        let mut transport = TransportConfig { policies, key_update_after, ..hawser::default_transport() };
        if alpn == hawser::h3::ALPN || alpn == crate::hq::ALPN {
            // Datagrams that nobody reads would only fill their buffer.
            transport.datagram_receive_buffer = None;
        }
        if let Some(tunnels) = self.tunnels {
            hawser_gateway::profile::apply(&mut transport, tunnels);
        }
        if is_live {
            transport.keep_alive_interval = Some(LIVE_KEEP_ALIVE);
            transport.max_send_buffer = LIVE_SEND_BUFFER;
        }
        if alpn == crate::vr360::ALPN {
            transport.max_unidirectional_streams = VR360_STREAMS;
        }
        Ok(transport)
    }

    /// The policies that they choose, for each connection.
    pub(crate) fn policies(&self, registry: &Registry) -> Result<Arc<dyn PolicySetFactory>, Failure> {
        let policies = registry.set(&self.policies.with_environment(registry)?);
        policies.map_err(|error| Failure::usage(error.to_string()))
    }

    /// The same for an application that has a congestion controller of its own where none is chosen.
    fn policies_with(
        &self,
        registry: &Registry,
        controller: &str,
    ) -> Result<Arc<dyn PolicySetFactory>, Failure> {
        let policies = registry.set(&self.policies.with_controller(registry, controller)?);
        policies.map_err(|error| Failure::usage(error.to_string()))
    }

    /// Decides which paths a client's connections have.
    fn path_manager(&self, registry: &Registry) -> Result<Arc<dyn PathManagerFactory>, Failure> {
        let factory = registry.paths(&self.policies.with_environment(registry)?);
        factory.map_err(|error| Failure::usage(error.to_string()))
    }

    fn key_log(&self) -> Result<Option<Arc<dyn KeyLog>>, Failure> {
        let Some(file) = &self.keylog else { return Ok(None) };
        let log = FileKeyLog::append_to(file).map_err(|error| Failure::write(file, &error))?;
        Ok(Some(Arc::new(log)))
    }

    /// Applies them to a server of an application protocol.
    pub(crate) fn server(
        &self,
        registry: &Registry,
        builder: ServerConfigBuilder,
        alpn: &[u8],
    ) -> Result<ServerConfigBuilder, Failure> {
        let mut builder = builder.alpn([alpn]).transport(self.transport(registry, alpn)?);
        if let Some(versions) = &self.quic_version {
            builder = builder.versions(versions.clone(), VersionPreference::Server);
        }
        if let Some(folder) = &self.qlog {
            builder = builder.qlog_directory(folder).qlog_limit(self.qlog_limit);
        }
        if let Some(log) = self.key_log()? {
            builder = builder.key_log(log);
        }
        if !self.cipher.is_empty() {
            builder = builder.cipher_suites(self.cipher.iter().copied());
        }
        Ok(builder)
    }
}

/// Who a client takes the server to be.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ServerTrust {
    /// Trust only certificates signed by an authority in this PEM file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pin", "insecure"])]
    ca: Option<PathBuf>,
    /// Trust only the server with this key: SHA-256 in base64, as `hawser serve` prints it. Repeatable
    #[arg(long, value_name = "PIN", conflicts_with = "insecure")]
    pin: Vec<Pin>,
    /// Trust anybody. Only for tests: whoever is on the way can read and change everything
    #[arg(long)]
    insecure: bool,
}

impl ServerTrust {
    /// What they say, with the files that they name read.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(crate) fn trust(&self) -> Result<Trust, Failure> {
        Ok(if self.insecure {
            Trust::Insecure
        } else if !self.pin.is_empty() {
            Trust::Pins(self.pin.clone())
        } else if let Some(file) = &self.ca {
            Trust::authorities_from_file(file)?
        } else {
            Trust::System
        })
    }
}

/// How a client reaches a server.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ClientOptions {
    /// Use this interface or local address; repeat for more. Default: all that are up
    #[arg(long, value_name = "IFACE|ADDR")]
    path: Vec<LinkSelector>,
    /// Use this interface or local address only when none of the others works; repeat for more
    #[arg(long, value_name = "IFACE|ADDR")]
    backup: Vec<LinkSelector>,
    /// Let this interface or local address carry at most so many bytes in each period, both directions and headers
    /// together: wwan0=1GB/24h (kB, MB, GB, TB; s, min, h, d). Then it rests until the next period; periods follow each other
    /// from its first packet, and are counted anew when the command is started again. Repeat for more links
    #[arg(long, value_name = "LINK=BYTES/PERIOD")]
    cap: Vec<LinkCap>,
    /// Tell policies what this file, FIFO or Unix socket says of the links: JSON lines, see docs/links.md
    #[arg(long, value_name = "FILE")]
    link_state: Option<PathBuf>,
    /// Whom to believe
    #[command(flatten)]
    trust: ServerTrust,
    /// Keep in this file what servers give for later connections: tickets, which spare both ends certificates and signatures,
    /// and address tokens. Made if it is not there, readable by its owner only. Without it nothing is kept: servers could
    /// tell by it that two connections are of one client
    #[arg(long, value_name = "FILE")]
    session_file: Option<PathBuf>,
    /// Whether to offer 0-RTT; a subcommand that can use it says so
    #[arg(skip)]
    pub(crate) early_data: bool,
    /// Seconds to wait for the server's answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    connect_timeout: Duration,
    /// Seconds of silence after which the server is given up: nothing was heard from it over any link. The server may be less
    /// patient (30 s)
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    timeout: Duration,
    /// How the transport behaves
    #[command(flatten)]
    pub(crate) transport: TransportOptions,
}

/// How long a client is silent before it asks whether the server is there.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// What a client needs to reach servers: made once, before anything is sent.
pub(crate) struct ClientSetup {
    /// Trust, protocol, transport.
    pub(crate) config: ClientConfig,
    /// Over which links.
    pub(crate) links: Links,
    /// What some of them may carry.
    pub(crate) caps: Option<Caps>,
    /// The scheduler that was chosen, if one was; the server is asked for it as well where it is the one that sends.
    pub(crate) scheduler: Option<PolicySpec>,
    /// For policies that are chosen by name.
    pub(crate) registry: Arc<Registry>,
    /// What tells of them.
    pub(crate) link_state: Option<PathBuf>,
    /// After how much silence a server is given up.
    pub(crate) timeout: Duration,
    /// Whether to begin with 0-RTT where a ticket allows it.
    pub(crate) early_data: bool,
    /// Whether what servers give for later connections is kept.
    pub(crate) keeps_sessions: bool,
    /// How long to wait for the server's answer.
    pub(crate) connect_timeout: Duration,
}

impl ClientSetup {
    /// The failure of what ran over this connection: budgets of links that are used up explain how it ended.
    pub(crate) fn explain(&self, failure: Failure, connection: &Connection) -> Failure {
        match &self.caps {
            Some(caps) => caps.explain(failure, connection),
            None => failure,
        }
    }

    /// What is left of the budgets of links.
    pub(crate) fn cap_reports(&self) -> Vec<CapReport> {
        self.caps.as_ref().map(Caps::reports).unwrap_or_default()
    }

    /// The same for people, a line for each.
    pub(crate) fn cap_lines(&self) -> Vec<String> {
        self.caps.as_ref().map(Caps::summary).unwrap_or_default()
    }
}

impl ClientOptions {
    /// What they say, checked. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn setup(
        &self,
        registry: &Arc<Registry>,
        alpn: &[u8],
        output: Output,
    ) -> Result<ClientSetup, Failure> {
        Ok(ClientSetup {
            config: self.config(registry, alpn)?,
            links: self.links(),
            caps: Caps::start(&self.cap, output)?,
            scheduler: self.transport.policies.scheduler(registry)?,
            registry: registry.clone(),
            link_state: self.link_state.clone(),
            timeout: self.timeout,
            early_data: self.early_data,
            keeps_sessions: self.session_file.is_some(),
            connect_timeout: self.connect_timeout,
        })
    }

    /// The links to use.
    fn links(&self) -> Links {
        match (self.path.is_empty(), self.backup.is_empty()) {
            (true, true) => return Links::All,
            (true, false) => return Links::AllWithBackups(self.backup.clone()),
            (false, _) => {}
        }
        let regular = self.path.iter().cloned().map(PathSpec::available);
        Links::Only(regular.chain(self.backup.iter().cloned().map(PathSpec::backup)).collect())
    }

    /// The client configuration for this application protocol.
    fn config(&self, registry: &Registry, alpn: &[u8]) -> Result<ClientConfig, Failure> {
        let trust = self.trust.trust()?;
        let transport = TransportConfig {
            max_idle_timeout: Some(self.timeout),
            // Whoever only receives would not notice that the server is gone, nor that it merely takes its time.
            keep_alive_interval: Some(KEEP_ALIVE.min(self.timeout / 3)),
            ..self.transport.transport(registry, alpn)?
        };
        let mut builder = ClientConfig::builder()
            .trust(trust)
            .alpn([alpn])
            .transport(transport)
            .path_manager(self.transport.path_manager(registry)?)
            .handshake_timeout(self.connect_timeout)
            .versions(self.transport.quic_version.clone().unwrap_or_default())
            .early_data(self.early_data);
        if let Some(file) = &self.session_file {
            let sessions = FileSessions::open(file);
            let sessions = sessions.map_err(|error| Failure::new(Exit::NotWritten, error.to_string()))?;
            builder = builder.sessions(Arc::new(sessions));
        }
        if let Some(folder) = &self.transport.qlog {
            builder = builder.qlog_directory(folder).qlog_limit(self.transport.qlog_limit);
        }
        if let Some(log) = self.transport.key_log()? {
            builder = builder.key_log(log);
        }
        if !self.transport.cipher.is_empty() {
            builder = builder.cipher_suites(self.transport.cipher.iter().copied());
        }
        Ok(builder.build()?)
    }
}

/// Reads an address to listen on.
///
/// # Errors
/// Says what was expected.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected ADDRESS:PORT, for example 0.0.0.0:4433 or [::]:4433".into())
}

/// Reads a duration in seconds, fractions allowed.
///
/// # Errors
/// Says what was expected.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}`: expected seconds, for example 10 or 0.5");
    let seconds: f64 = text.trim_end_matches('s').parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero()).ok_or_else(wrong)
}

/// Reads a number of workers; `auto` and 0 mean one per core.
///
/// # Errors
/// Says what was expected.
pub(crate) fn workers(text: &str) -> Result<usize, String> {
    let most = ServerConfigBuilder::MAX_WORKERS;
    match text.parse() {
        _ if matches!(text, "auto" | "0") => {
            Ok(std::thread::available_parallelism().map_or(1, usize::from).min(most))
        }
        Ok(count) if count <= most => Ok(count),
        _ => Err(format!("`{text}`: expected 1 to {most}, or auto")),
    }
}
