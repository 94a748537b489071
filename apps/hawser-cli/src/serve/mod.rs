//! `hawser serve`: a folder over HTTP/3.

mod access_log;
mod announce;
mod connection;
mod hq;
mod lb_config;
mod limit_options;
mod limits;
mod respond;
mod token_keys;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use self::access_log::AccessLog;
use crate::service;
use crate::site::{Keys, Quota, Rights, Site};
use hawser::Registry;
use hawser::{ClientAuthorities, Endpoint, Identity, ServerConfig};
use hawser_command::control::ControlOptions;
use hawser_command::environment::variable;
use hawser_command::exit::Failure;
use hawser_command::hangup::{Hangup, reload};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::{TransportOptions, listen_address, workers};
use hawser_command::output::Output;
use hawser_command::profile::HTTP;
use hawser_command::server::{identity, listen};
use hawser_command::server_scheduler::AllowedSchedulers;
use hawser_command::sources::Sources;
use hawser_command::units::parse_bytes;
use hawser_gateway::users::UserFile;

use limit_options::LimitOptions;
use limits::Limits;

const EXAMPLES: &str = "\
On its first start the server makes a certificate of its own and keeps it; clients know it by its pin, which is printed as \
a command to paste. With --cert and --key it uses a real one, and browsers and other clients need no pin.

Examples:
  hawser serve .                                     everything in this folder, on UDP port 4433
  hawser serve /srv --listen [::]:443 --cert fullchain.pem --key privkey.pem
  hawser serve inbox --allow-put --put-key keys      holders of a key may store files here
  hawser serve inbox --allow-put --client-ca ca.pem  holders of a certificate may
  hawser serve . --scheduler ecf --congestion olia   how data is spread, and how fast
  hawser serve . --allow-scheduler ecf,minrtt        clients may choose these two: hawser get --scheduler ecf";

/// The UDP port of the server, unless another is chosen.
const DEFAULT_PORT: u16 = 4433;
/// The variable with the key of those who may upload.
const PUT_KEY: &str = "HAWSER_PUT_KEY";
/// RFC 9114 section 8.1.
const H3_NO_ERROR: u64 = 0x100;

/// Arguments of `hawser serve`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// The folder
    folder: PathBuf,
    /// UDP address to listen on. Default: [::]:4433, or 0.0.0.0:4433 on a machine without IPv6
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// How each request is logged, on standard error
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    access_log: AccessLog,
    /// Let clients store files with PUT: everybody, unless --put-key, HAWSER_PUT_KEY or --client-ca says who
    #[arg(long)]
    allow_put: bool,
    /// Only clients that name one of the keys in this file may store files (`hawser put --key-file`); one in each
    /// line, of at least 16 letters and digits
    ///
    /// A file whose name ends in .toml is that of the users of a gateway. One key alone may be in HAWSER_PUT_KEY
    /// instead
    #[arg(long, value_name = "FILE", requires = "allow_put")]
    put_key: Option<PathBuf>,
    /// Only clients with a certificate that an authority in this file (PEM) has signed may store files (`hawser put
    /// --client-cert`); others read as before
    ///
    /// With --put-key they need a key as well. Sessions are not resumed. Reloaded on SIGHUP
    #[arg(long, value_name = "FILE", requires = "allow_put", conflicts_with = "early_data")]
    client_ca: Option<PathBuf>,
    /// Stored files do not replace others
    #[arg(long, requires = "allow_put")]
    no_replace: bool,
    /// Most bytes of a file that clients may store (suffixes k, M, G; 0: no limit)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "16G", requires = "allow_put")]
    max_upload: u64,
    /// Most bytes that all uploads together may add to the folder while the server runs (suffixes k, M, G; 0: no limit)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "64G", requires = "allow_put")]
    upload_quota: u64,
    /// Most of these bytes that one address (of IPv6: one /64) may add where neither --put-key nor --client-ca says who may
    /// (suffixes k, M, G; 0: no limit)
    ///
    /// Default: an eighth of --upload-quota, but a file of --max-upload in any case
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "allow_put")]
    upload_share: Option<u64>,
    /// Serve and list names that begin with a dot, too
    #[arg(long)]
    hidden: bool,
    /// Certificate chain (PEM)
    ///
    /// It and all keys are reloaded on SIGHUP
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Folder that keeps the server's own certificate. Default: hawser in $XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    state: Option<PathBuf>,
    /// Keys of address tokens that servers behind one address share: 64 hexadecimal digits in each line. Default:
    /// a random key
    ///
    /// Tokens are made with the first and accepted of all
    #[arg(long, value_name = "FILE")]
    token_keys: Option<PathBuf>,
    /// Connection ids by which a load balancer finds this server among several, whatever address a client has
    /// (draft-ietf-quic-load-balancers)
    ///
    /// The file is TOML with config-id, server-id-length, nonce-length, server-id, and perhaps cid-key and
    /// first-octet-encodes-cid-length (docs/operations.md). Default: random ids
    #[arg(long, value_name = "FILE")]
    lb_config: Option<PathBuf>,
    /// Workers, each with a thread, for many clients at once: 1 to 64, or auto for one per core
    ///
    /// One client gains nothing
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = workers)]
    workers: usize,
    /// Make every client prove its address before anything else (Retry), which costs it a round trip
    #[arg(long)]
    retry: bool,
    /// Where clients should go after the handshake, of a network that they reach better than the address they
    /// came to
    ///
    /// The server listens there, too. Once for IPv4, once for IPv6
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    preferred_address: Vec<SocketAddr>,
    /// Answer GET and HEAD requests that clients send with their first packets (0-RTT), which others may have
    /// copied and sent again: a round trip sooner, at the price of answers that nobody asked for
    ///
    /// Other requests wait until the handshake proves that the client is there
    #[arg(long, hide_short_help = true)]
    early_data: bool,
    /// How long running requests may take to end after Ctrl-C or SIGTERM, in seconds
    ///
    /// New ones are refused meanwhile
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    grace: u64,
    /// Speak HTTP/0.9 (hq-interop) in place of HTTP/3: only for interoperability tests
    #[arg(long, conflicts_with = "allow_put", hide_short_help = true)]
    hq: bool,
    #[command(flatten)]
    allowed_schedulers: AllowedSchedulers,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    control: ControlOptions,
    /// How the transport behaves
    #[command(flatten)]
    transport: TransportOptions,
}

/// What the tasks of a server share.
struct Server {
    site: Site,
    output: Output,
    access_log: AccessLog,
    limits: Limits,
    hq: bool,
}

/// Serves until Ctrl-C.
pub(crate) async fn run(
    arguments: Serve,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let rights = Rights {
        put: arguments.allow_put,
        keys: put_keys(&arguments)?,
        certificates: arguments.client_ca.is_some(),
        replace: !arguments.no_replace,
        max_upload: Some(arguments.max_upload).filter(|most| *most > 0),
        upload_quota: quota(&arguments),
        hidden: arguments.hidden,
    };
    let site =
        Site::open(&arguments.folder, rights).map_err(|error| Failure::read(&arguments.folder, &error))?;
    let identity = identity_of(&arguments)?;
    let own = arguments.cert.is_none();
    let config = configuration(&arguments, registry, &identity)?;
    let mut hangup = Hangup::listen()?;
    arguments.allowed_schedulers.check(registry)?;
    let quic_lb = arguments.lb_config.as_deref().map(lb_config::read).transpose()?;
    if quic_lb.as_ref().is_some_and(|server| !server.codec().is_encrypted()) {
        output.remark(
            "warning: without cid-key everybody can read from connection ids which server they are of",
        );
    }
    let builder = || {
        let builder = Endpoint::builder().server(config.clone()).policies(registry.clone());
        let builder = arguments.limits.endpoint(builder);
        let builder = quic_lb.iter().fold(builder, |builder, server| builder.quic_lb(server.clone()));
        arguments.allowed_schedulers.apply(builder)
    };
    let endpoint = listen(builder, &identity, arguments.listen, DEFAULT_PORT, &arguments.preferred_address)?;
    let (control, mut interrupt) = arguments.control.start("serve", &interrupt, output).await?;
    control.attach(&endpoint);
    let sources: Sources = arguments.limits.sources();
    let limits = Limits::new(arguments.limits.reply_memory());
    let server =
        Arc::new(Server { site, output, access_log: arguments.access_log, limits, hq: arguments.hq });
    remove_leftovers(&server);
    announce::announce(&arguments, &endpoint, &identity, own, output)?;
    service::ready();
    loop {
        let waiting = tokio::select! {
            waiting = sources.accept(&endpoint) => waiting,
            () = interrupt.raised() => break,
            () = hangup.raised() => {
                let config = identity_of(&arguments).and_then(|own| configuration(&arguments, registry, &own));
                reload(&endpoint, output, config);
                continue;
            }
        };
        let Some(waiting) = waiting else { break };
        tokio::spawn(connection::accept(server.clone(), waiting, arguments.early_data, interrupt.clone()));
    }
    service::stopping();
    output.remark("stopping; Ctrl-C again to stop at once");
    let is_idle = tokio::select! {
        idle = tokio::time::timeout(Duration::from_secs(arguments.grace), endpoint.wait_idle()) => idle.is_ok(),
        () = refuse_all(&endpoint) => false,
    };
    if !is_idle {
        endpoint.close(H3_NO_ERROR, b"the server stops");
        let _ = tokio::time::timeout(Duration::from_millis(500), endpoint.wait_idle()).await;
    }
    Ok(())
}

fn identity_of(arguments: &Serve) -> Result<Identity, Failure> {
    identity(arguments.cert.as_deref(), arguments.key.as_deref(), arguments.state.as_deref())
}

/// The configuration of the endpoint. Made again when certificate or keys change; all else in it stays.
//= rfc9114-5.1-2: servers do not keep connections alive
fn configuration(
    arguments: &Serve,
    registry: &Registry,
    identity: &Identity,
) -> Result<ServerConfig, Failure> {
    let mut config =
        ServerConfig::builder(identity.clone()).workers(arguments.workers).early_data(arguments.early_data);
    config = config.preferred_addresses(announce::preferred_addresses(&arguments.preferred_address)?);
    if let Some(path) = &arguments.client_ca {
        config = config.client_authorities(ClientAuthorities::from_file(path)?);
    }
    if let Some(path) = &arguments.token_keys {
        let keys = token_keys::read(path)?;
        let (first, accepted) = keys.split_first().ok_or_else(|| Failure::usage("no token keys"))?;
        config = config.token_key(*first).accepted_token_keys(accepted.iter().copied());
    }
    let profile = if arguments.hq { &crate::hq::PROFILE } else { &HTTP };
    let config = arguments.transport.server(registry, config, profile)?;
    let mut config = arguments.limits.server(config);
    if arguments.retry {
        config = config.retry_above_handshakes(0);
    }
    Ok(config.build()?)
}

/// The keys of those who may upload; `None`: everybody may, if anybody.
fn put_keys(arguments: &Serve) -> Result<Option<Keys>, Failure> {
    let wrong = |name: &dyn std::fmt::Display, error| Failure::usage(format!("{name}: {error}"));
    match &arguments.put_key {
        Some(path) if path.extension().is_some_and(|ending| ending == "toml") => {
            // To a gateway a file that is not there is one without users.
            std::fs::metadata(path).map_err(|error| Failure::read(path, &error))?;
            let users = UserFile::new(path).read().map_err(|error| Failure::usage(error.to_string()))?;
            Keys::of_users(&users).map(Some).map_err(|error| wrong(&path.display(), error))
        }
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
            Keys::parse(&text).map(Some).map_err(|error| wrong(&path.display(), error))
        }
        None if arguments.allow_put => variable(PUT_KEY)?
            .map(|key| Keys::parse(&key).map_err(|error| wrong(&PUT_KEY, error)))
            .transpose(),
        None => Ok(None),
    }
}

/// Tells new clients to go elsewhere, until the endpoint is closed.
async fn refuse_all(endpoint: &Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        incoming.refuse();
    }
}

/// What uploads may take, all together and those of one address.
fn quota(arguments: &Serve) -> Quota {
    let limited = |bytes: u64| Some(bytes).filter(|bytes| *bytes > 0);
    let quota = limited(arguments.upload_quota);
    let share = match arguments.upload_share {
        Some(share) => limited(share),
        None => quota.map(|quota| (quota / 8).max(arguments.max_upload)),
    };
    Quota::new(quota).with_share(share)
}

/// Removes what an earlier run left of uploads. In the background: a large tree takes its time.
fn remove_leftovers(server: &Arc<Server>) {
    let server = server.clone();
    tokio::task::spawn_blocking(move || {
        let removed = server.site.remove_leftovers();
        if removed > 0 {
            server.output.remark(format_args!("removed {removed} unfinished uploads of an earlier run"));
        }
    });
}
