//! Options that several subcommands share.

mod values;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hawser_status::Hub;
use rustls::KeyLog;

use crate::caps::{CapReport, Caps, LinkCap};
use crate::client_certificate::refused_by_server;
use crate::exit::{Exit, Failure};
use crate::key_log::FileKeyLog;
use crate::output::Output;
use crate::policy_options::PolicyOptions;
use crate::profile::Profile;
use crate::units::parse_bytes;
use hawser::policy::PolicySetFactory;
use hawser::{
    Cipher, ClientConfig, Connection, FileSessions, Identity, LinkSelector, Links, PathManagerFactory,
    PathSpec, Pin, PolicySpec, QlogAddresses, Registry, ServerConfigBuilder, SessionFileError,
    TransportConfig, Trust, VersionPreference, Versions,
};
pub use values::{bare_host, listen_address, prefix, seconds, seconds_or_none, workers};

/// Behaviour of the transport, on either end.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Transport")]
pub struct TransportOptions {
    /// Which policies its connections have
    #[command(flatten)]
    policies: PolicyOptions,
    /// Write what every connection does to this folder, one qlog file each (JSON-SEQ) [env: QLOGDIR]
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Maximum size of each of these files, in bytes (suffixes k, M, G)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1G", hide_short_help = true)]
    qlog_limit: u64,
    /// Write addresses into these files as they are
    ///
    /// Otherwise each has the same name throughout a file, which is of a network for documentation: 192.0.2.1 and so on
    /// for the client, 198.51.100.1 and so on for the server. Loopback addresses and ports are shown in any case
    #[arg(long, hide_short_help = true)]
    qlog_addresses: bool,
    /// QUIC versions to speak, most wanted first: 1, 2, or both as 1,2 or 2,1
    ///
    /// A client begins with 1 if it is listed, and a server that speaks both moves it to the version that it
    /// wants most, without a round trip. A server given this decides itself; otherwise it speaks both and follows
    /// the client [default: 1,2]
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    quic_version: Option<Versions>,
    /// Append TLS secrets to this file, for packet analysers [env: SSLKEYLOGFILE]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    keylog: Option<PathBuf>,
    /// Hand each datagram to the kernel alone, in place of batches that it or the network card cuts (UDP GSO)
    ///
    /// Where batches vanish this is found out by itself, a few round trips into each connection [env:
    /// HAWSER_NO_GSO]
    #[arg(long, hide_short_help = true)]
    no_gso: bool,
    /// Encrypt with one of these cipher suites only, best first: aes128, aes256, chacha20
    #[arg(long, value_name = "SUITE,..", value_delimiter = ',', hide_short_help = true)]
    cipher: Vec<Cipher>,
    /// Update the keys each time this many packets were sent, as soon as the peer has followed the last update. Default:
    /// long before they wear out
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    key_update_after: Option<u64>,
}

impl TransportOptions {
    /// Returns the transport configuration that these options describe, for an application protocol.
    fn transport(&self, registry: &Registry, profile: &Profile<'_>) -> Result<TransportConfig, Failure> {
        let policies = self.policies_of(registry, profile)?;
        let key_update_after = self.key_update_after;
        let mut transport = hawser::default_transport().with(|transport| {
            transport.policies = policies;
            transport.key_update_after = key_update_after;
        });
        (profile.tune)(&mut transport);
        if self.no_gso || from_environment("HAWSER_NO_GSO").is_some() {
            transport.max_batch_segments = 1;
        }
        Ok(transport)
    }

    /// The policies that they choose, for each connection.
    pub fn policies(&self, registry: &Registry) -> Result<Arc<dyn PolicySetFactory>, Failure> {
        let policies = registry.set(&self.policies.with_environment(registry)?);
        policies.map_err(|error| Failure::usage(error.to_string()))
    }

    /// Returns the same with the controller of an application protocol where none is chosen.
    fn policies_of(
        &self,
        registry: &Registry,
        profile: &Profile<'_>,
    ) -> Result<Arc<dyn PolicySetFactory>, Failure> {
        let Some(controller) = profile.controller else { return self.policies(registry) };
        let policies = registry.set(&self.policies.with_controller(registry, controller)?);
        policies.map_err(|error| Failure::usage(error.to_string()))
    }

    /// Decides which paths a client's connections have.
    fn path_manager(&self, registry: &Registry) -> Result<Arc<dyn PathManagerFactory>, Failure> {
        let factory = registry.paths_of(&self.policies.with_environment(registry)?);
        factory.map_err(|error| Failure::usage(error.to_string()))
    }

    fn key_log(&self) -> Result<Option<Arc<dyn KeyLog>>, Failure> {
        if let Some(file) = &self.keylog {
            let log = FileKeyLog::append_to(file).map_err(|error| Failure::write(file, &error))?;
            return Ok(Some(Arc::new(log)));
        }
        let Some(file) = from_environment("SSLKEYLOGFILE") else { return Ok(None) };
        match FileKeyLog::append_to(&file) {
            Ok(log) => Ok(Some(Arc::new(log))),
            Err(error) => {
                warn(&format!(
                    "SSLKEYLOGFILE: cannot write {}: {error}; TLS secrets are not logged",
                    file.display()
                ));
                Ok(None)
            }
        }
    }

    /// How traces show addresses.
    fn shown_addresses(&self) -> QlogAddresses {
        if self.qlog_addresses { QlogAddresses::Full } else { QlogAddresses::Redacted }
    }

    /// Where traces go. A folder that cannot be made is a failure of the option, and a warning of the variable.
    fn qlog(&self) -> Option<PathBuf> {
        if self.qlog.is_some() {
            return self.qlog.clone();
        }
        let folder = from_environment("QLOGDIR")?;
        match std::fs::create_dir_all(&folder) {
            Ok(()) => Some(folder),
            Err(error) => {
                warn(&format!("QLOGDIR: cannot make {}: {error}; no traces are written", folder.display()));
                None
            }
        }
    }

    /// Applies them to a server of an application protocol.
    pub fn server(
        &self,
        registry: &Registry,
        builder: ServerConfigBuilder,
        profile: &Profile<'_>,
    ) -> Result<ServerConfigBuilder, Failure> {
        let mut builder = builder.alpn([profile.alpn]).transport(self.transport(registry, profile)?);
        if let Some(versions) = &self.quic_version {
            builder = builder.versions(versions.clone(), VersionPreference::Server);
        }
        builder = builder.qlog_addresses(self.shown_addresses());
        if let Some(folder) = self.qlog() {
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
pub struct ServerTrust {
    /// Trust only certificates signed by an authority in this PEM file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pin", "insecure"])]
    ca: Option<PathBuf>,
    /// Trust only the server with this key: SHA-256 in base64, as `hawser serve` prints it
    ///
    /// Repeatable
    #[arg(long, value_name = "PIN", conflicts_with = "insecure")]
    pin: Vec<Pin>,
    /// Disable certificate verification: only for tests
    ///
    /// Anyone on the network path can read and change everything
    #[arg(long)]
    insecure: bool,
}

impl ServerTrust {
    /// What they say, with the files that they name read.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn trust(&self) -> Result<Trust, Failure> {
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
pub struct ClientOptions {
    /// Use this interface or local address; repeat for more. Default: all that are up
    #[arg(long, alias = "interface", value_name = "IFACE|ADDR")]
    path: Vec<LinkSelector>,
    /// Use this interface or local address only when none of the others works; repeat for more
    #[arg(long, value_name = "IFACE|ADDR")]
    backup: Vec<LinkSelector>,
    /// This interface or local address is paid by volume: no copies of messages go over it, either way; repeat
    /// for more
    ///
    /// Those with a `--cap` are
    #[arg(long, value_name = "IFACE|ADDR", hide_short_help = true)]
    metered: Vec<LinkSelector>,
    /// Let this interface or local address carry at most so many bytes in each period, both directions and
    /// headers together: wwan0=1GB/24h (kB, MB, GB, TB; s, min, h, d)
    ///
    /// Then it rests until the next period; periods follow each other from its first packet, and the count
    /// restarts with the command. Repeat for more links
    #[arg(long, value_name = "LINK=BYTES/PERIOD")]
    cap: Vec<LinkCap>,
    /// Mark all packets with this codepoint of differentiated services, whatever they carry: EF, CS0 to CS7, AF11 to AF43, or a number
    /// from 0 to 63
    #[arg(long, value_name = "DSCP", default_value = "0", value_parser = crate::dscp::dscp, hide_short_help = true)]
    dscp: u8,
    /// Tell policies what this file, FIFO or Unix socket says of the links: JSON lines, see docs/links.md
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    link_state: Option<PathBuf>,
    /// Whom to believe
    #[command(flatten)]
    trust: ServerTrust,
    /// Keep in this file what servers give for later connections: tickets, which spare both ends certificates and
    /// signatures, and address tokens
    ///
    /// Made if it is not there, readable by its owner only. Without it nothing is kept: servers could tell by it
    /// that two connections are of one client
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    session_file: Option<PathBuf>,
    /// Whether to offer 0-RTT; a subcommand that can use it says so
    #[arg(skip)]
    pub early_data: bool,
    /// What to show to a server that asks for a certificate; a subcommand with the options for it says so
    #[arg(skip)]
    pub identity: Option<Identity>,
    /// Seconds to wait for the server's answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    connect_timeout: Duration,
    /// Seconds of silence after which the server is given up: nothing was heard from it over any link
    ///
    /// The server may be less patient (30 s)
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    timeout: Duration,
    /// Seconds without a new byte, although the server answers, after which it is connected to once more and the transfer goes
    /// on; 0: no limit
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds_or_none, hide_short_help = true)]
    stall_timeout: Duration,
    /// How the transport behaves
    #[command(flatten)]
    pub transport: TransportOptions,
}

/// How long a client is silent before it asks whether the server is there.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// What a client needs to reach servers: made once, before anything is sent.
pub struct ClientSetup {
    /// Trust, protocol, transport.
    pub config: ClientConfig,
    /// Over which links.
    pub links: Links,
    /// Those that are paid by volume.
    pub metered: Vec<LinkSelector>,
    /// What some of them may carry.
    pub caps: Option<Caps>,
    /// Codepoint of differentiated services of all packets, 0 to 63.
    pub dscp: u8,
    /// The scheduler that was chosen, if one was; the server is asked for it as well where it is the one that sends.
    pub scheduler: Option<PolicySpec>,
    /// For policies that are chosen by name.
    pub registry: Arc<Registry>,
    /// What tells of them.
    pub link_state: Option<PathBuf>,
    /// After how much silence a server is given up.
    pub timeout: Duration,
    /// Whether to begin with 0-RTT where a ticket allows it.
    pub early_data: bool,
    /// Whether what servers give for later connections is kept.
    pub keeps_sessions: bool,
    /// How long to wait for the server's answer.
    pub connect_timeout: Duration,
    /// How long a transfer may stand still while the server answers; `None`: as long as it likes.
    pub stall: Option<Duration>,
    /// What shows its connections, if anything does.
    pub hub: Option<Hub>,
}

impl ClientSetup {
    /// The same, and this shows its connections.
    pub fn shown_by(self, hub: &Hub) -> Self {
        ClientSetup { hub: Some(hub.clone()), ..self }
    }

    /// The failure of what ran over this connection: a refused certificate and budgets of links that are used up explain how it ended.
    pub fn explain(&self, failure: Failure, connection: &Connection) -> Failure {
        if let Some(message) = connection.close_reason().as_ref().and_then(refused_by_server) {
            return Failure { message, exit: Exit::Forbidden, is_stalled: false, ..failure };
        }
        match &self.caps {
            Some(caps) => caps.explain(failure, connection),
            None => failure,
        }
    }

    /// What is left of the budgets of links.
    pub fn cap_reports(&self) -> Vec<CapReport> {
        self.caps.as_ref().map(Caps::reports).unwrap_or_default()
    }

    /// The same for people, a line for each.
    pub fn cap_lines(&self) -> Vec<String> {
        self.caps.as_ref().map(Caps::summary).unwrap_or_default()
    }
}

impl ClientOptions {
    /// The same to another server, which is known by these keys; without any, by the authorities of this machine.
    #[must_use]
    pub fn trusting(self, pins: &[Pin]) -> Self {
        ClientOptions { trust: ServerTrust { pin: pins.to_vec(), ..ServerTrust::default() }, ..self }
    }

    /// What they say, checked. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn setup(
        &self,
        registry: &Arc<Registry>,
        profile: &Profile<'_>,
        output: Output,
    ) -> Result<ClientSetup, Failure> {
        Ok(ClientSetup {
            config: self.config(registry, profile)?,
            links: self.links(),
            metered: self.metered.iter().chain(self.cap.iter().map(LinkCap::link)).cloned().collect(),
            caps: Caps::start(&self.cap, output)?,
            dscp: self.dscp,
            scheduler: self.transport.policies.scheduler(registry)?,
            registry: registry.clone(),
            link_state: self.link_state.clone(),
            timeout: self.timeout,
            stall: Some(self.stall_timeout).filter(|limit| !limit.is_zero()),
            early_data: self.early_data,
            keeps_sessions: self.session_file.is_some(),
            connect_timeout: self.connect_timeout,
            hub: None,
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
    fn config(&self, registry: &Registry, profile: &Profile<'_>) -> Result<ClientConfig, Failure> {
        let trust = self.trust.trust()?;
        let transport = self.transport.transport(registry, profile)?.with(|transport| {
            transport.max_idle_timeout = Some(self.timeout); // A client that only receives would not notice that the server is gone, nor that it merely takes its time.
            transport.keep_alive_interval = Some(KEEP_ALIVE.min(self.timeout / 3));
        });
        let mut builder = ClientConfig::builder()
            .trust(trust)
            .alpn([profile.alpn])
            .transport(transport)
            .path_manager(self.transport.path_manager(registry)?)
            .handshake_timeout(self.connect_timeout)
            .versions(self.transport.quic_version.clone().unwrap_or_default())
            .early_data(self.early_data);
        if let Some(identity) = &self.identity {
            builder = builder.identity(identity.clone());
        }
        if let Some(file) = &self.session_file {
            match FileSessions::open(file) {
                Ok(sessions) => builder = builder.sessions(Arc::new(sessions)),
                // It costs a round trip, and is left to the user: it may be something else that was named by mistake.
                Err(error @ SessionFileError::Malformed { .. }) => {
                    warn(&format!("{error}; sessions are not kept meanwhile"));
                }
                Err(error) => return Err(Failure::new(Exit::NotWritten, error.to_string())),
            }
        }
        builder = builder.qlog_addresses(self.transport.shown_addresses());
        if let Some(folder) = self.transport.qlog() {
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

/// What a variable of the environment says. It may be meant for another program, and outlive its purpose: what is wrong with
/// it is no reason to end.
fn from_environment(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Says what the user should know even with `--quiet`.
fn warn(text: &str) {
    crate::report::remark(format_args!("hawser: {text}"));
}
