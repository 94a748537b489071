//! `hawser serve`: a folder over HTTP/3.

mod hq;
mod lb_config;
mod limits;
mod reset_key;
mod respond;
mod sources;
mod token_keys;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

use crate::Registry;
use crate::command::exit::{Exit, Failure};
use crate::command::interrupt::Interrupt;
use crate::command::options::{Output, TransportOptions, listen_address, workers};
use crate::command::report::Channel;
use crate::command::server_scheduler::AllowedSchedulers;
use crate::command::site::{Quota, Rights, Site};
use crate::command::units::parse_bytes;
use crate::{
    AcceptError, Connection, Endpoint, EndpointBuilder, EndpointError, Identity, PreferredAddresses,
    ServerConfig,
};
use limits::Limits;
use sources::Sources;

const EXAMPLES: &str = "\
On its first start the server makes a certificate of its own and keeps it; clients know it by its pin, which is printed as \
a command to paste. With --cert and --key it uses a real one, and browsers and other clients need no pin.

Examples:
  hawser serve .                                     everything in this folder, on UDP port 4433
  hawser serve /srv --listen [::]:443 --cert fullchain.pem --key privkey.pem
  hawser serve inbox --allow-put                     others may store files here
  hawser serve . --scheduler ecf --cc olia           how data is spread, and how fast
  hawser serve . --allow-scheduler ecf,minrtt        clients may choose these two: hawser get --scheduler ecf";

/// How long a client without running requests may take to close its connection when the server stops.
const IDLE_PATIENCE: Duration = Duration::from_secs(1);
/// RFC 9114 section 8.1.
const H3_NO_ERROR: u64 = 0x100;
const H3_EXCESSIVE_LOAD: u64 = 0x107;

/// Arguments of `hawser serve`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// The folder
    folder: PathBuf,
    /// UDP address to listen on. Default: [::]:4433, or 0.0.0.0:4433 on a machine without IPv6
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Let clients store files with PUT
    #[arg(long)]
    allow_put: bool,
    /// Most bytes of a file that clients may store (suffixes k, M, G; 0: no limit)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "16G", requires = "allow_put")]
    max_upload: u64,
    /// Most bytes that all uploads together may add to the folder while the server runs (suffixes k, M, G; 0: no limit)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "64G", requires = "allow_put")]
    upload_quota: u64,
    /// Serve and list names that begin with a dot, too
    #[arg(long)]
    hidden: bool,
    /// Certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Folder that keeps the server's own certificate. Default: hawser in $XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    state: Option<PathBuf>,
    /// Keys of address tokens that servers behind one address share: 64 hexadecimal digits in each line. Tokens are made with the
    /// first and accepted of all. Read anew on SIGHUP. Default: one that nobody else has
    #[arg(long, value_name = "FILE")]
    token_keys: Option<PathBuf>,
    /// Connection ids by which a load balancer finds this server among several, whatever address a client has
    /// (draft-ietf-quic-load-balancers). The file is TOML with config-id, server-id-length, nonce-length, server-id, and
    /// perhaps cid-key and first-octet-encodes-cid-length (docs/operations.md). Default: random ids
    #[arg(long, value_name = "FILE")]
    lb_config: Option<PathBuf>,
    /// Workers, each with a thread, for many clients at once: 1 to 64, or auto for one per core. One client gains nothing
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = workers)]
    workers: usize,
    /// Handshakes that one address (of IPv6: one /64) may begin per second; beyond it clients must prove their address, and
    /// those that have are refused (0: no limit)
    #[arg(long, value_name = "N", default_value_t = 200)]
    handshakes_per_source: u32,
    /// Make every client prove its address before anything else (Retry), which costs it a round trip
    #[arg(long)]
    retry: bool,
    /// Where clients should go after the handshake, of a network that they reach better than the address they came to. The
    /// server listens there, too. Once for IPv4, once for IPv6
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    preferred_address: Vec<SocketAddr>,
    /// Connections that one address (of IPv6: one /64) may have open; further ones are refused (0: no limit)
    #[arg(long, value_name = "N", default_value_t = 1000)]
    connections_per_source: usize,
    /// Answer GET and HEAD requests that clients send with their first packets (0-RTT), which others may have copied and
    /// sent again: a round trip sooner, at the price of answers that nobody asked for. Other requests wait until the
    /// handshake proves that the client is there
    #[arg(long)]
    early_data: bool,
    /// How long running requests may take to end after Ctrl-C or SIGTERM, in seconds. New ones are refused meanwhile
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    grace: u64,
    /// Speak HTTP/0.9 (hq-interop) in place of HTTP/3: only for interoperability tests
    #[arg(long, conflicts_with = "allow_put")]
    hq: bool,
    #[command(flatten)]
    allowed_schedulers: AllowedSchedulers,
    /// How the transport behaves
    #[command(flatten)]
    transport: TransportOptions,
}

/// What the tasks of a server share.
struct Server {
    site: Site,
    output: Output,
    limits: Limits,
    hq: bool,
    sources: Sources,
}

/// Serves until Ctrl-C.
pub(crate) async fn run(
    arguments: Serve,
    registry: &Arc<Registry>,
    output: Output,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    let rights = Rights {
        put: arguments.allow_put,
        max_upload: Some(arguments.max_upload).filter(|most| *most > 0),
        upload_quota: Quota::new(Some(arguments.upload_quota).filter(|most| *most > 0)),
        hidden: arguments.hidden,
    };
    let site =
        Site::open(&arguments.folder, rights).map_err(|error| Failure::read(&arguments.folder, &error))?;
    let identity = identity(arguments.cert.as_deref(), arguments.key.as_deref(), arguments.state.as_deref())?;
    let own = arguments.cert.is_none();
    let config = configuration(&arguments, registry, &identity)?;
    let hangup = arguments.token_keys.is_some().then(|| signal(SignalKind::hangup())).transpose();
    let mut hangup = hangup.map_err(|error| Failure::new(Exit::Failure, format!("cannot start: {error}")))?;
    arguments.allowed_schedulers.check(registry)?;
    let quic_lb = arguments.lb_config.as_deref().map(lb_config::read).transpose()?;
    if quic_lb.as_ref().is_some_and(|server| !server.codec().is_encrypted()) {
        output.remark(
            "warning: without cid-key everybody can read from connection ids which server they are of",
        );
    }
    let builder = || {
        let builder = Endpoint::builder().server(config.clone()).policies(registry.clone());
        let builder = quic_lb.iter().fold(builder, |builder, server| builder.quic_lb(server.clone()));
        arguments.allowed_schedulers.apply(builder)
    };
    let endpoint = listen(builder, &identity, arguments.listen, 4433, &arguments.preferred_address)?;
    let sources = Sources::new(Some(arguments.connections_per_source).filter(|most| *most > 0));
    let server = Arc::new(Server { site, output, limits: Limits::new(), hq: arguments.hq, sources });
    remove_leftovers(&server);
    announce(&arguments, &endpoint, &identity, own, output)?;
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            () = interrupt.raised() => break,
            () = hung_up(&mut hangup) => {
                match configuration(&arguments, registry, &identity) {
                    Ok(config) => {
                        endpoint.set_server_config(Some(config));
                        output.remark("the token keys were read anew");
                    }
                    Err(failure) => output.remark(format_args!("the token keys stay as they were: {failure}")),
                }
                continue;
            }
        };
        let Some(incoming) = incoming else { break };
        // Before the handshake, which costs something.
        if !server.sources.has_room(incoming.remote_address().ip()) {
            tracing::info!(remote = %incoming.remote_address(), "refused: too many connections of this address");
            incoming.refuse();
            continue;
        }
        let (server, interrupt, early_data) = (server.clone(), interrupt.clone(), arguments.early_data);
        tokio::spawn(async move {
            let remote = incoming.remote_address();
            let connection = match (early_data, incoming.accept()) {
                (true, Ok(connecting)) => Ok(connecting.into_early()),
                (false, Ok(connecting)) => connecting.await.map_err(AcceptError::from),
                (_, Err(reason)) => Err(reason.into()),
            };
            match connection {
                Ok(connection) => serve(&server, connection, remote, interrupt).await,
                Err(error) => tracing::info!(%remote, %error, "no connection"),
            }
        });
    }
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

/// The configuration of the endpoint. Made again when keys change; all else in it stays.
fn configuration(
    arguments: &Serve,
    registry: &Registry,
    identity: &Identity,
) -> Result<ServerConfig, Failure> {
    let mut config =
        ServerConfig::builder(identity.clone()).workers(arguments.workers).early_data(arguments.early_data);
    if arguments.handshakes_per_source > 0 {
        config = config.handshakes_per_source(arguments.handshakes_per_source);
    }
    if arguments.retry {
        config = config.retry_above_handshakes(0);
    }
    config = config.preferred_addresses(preferred_addresses(&arguments.preferred_address)?);
    if let Some(path) = &arguments.token_keys {
        let keys = token_keys::read(path)?;
        let (first, accepted) = keys.split_first().ok_or_else(|| Failure::usage("no token keys"))?;
        config = config.token_key(*first).accepted_token_keys(accepted.iter().copied());
    }
    let alpn = if arguments.hq { crate::command::hq::ALPN } else { crate::h3::ALPN };
    Ok(arguments.transport.server(registry, config, alpn)?.build()?)
}

/// SIGHUP; never without `--token-keys`: it then ends the process, as ever.
async fn hung_up(hangup: &mut Option<Signal>) {
    match hangup {
        Some(hangup) => {
            hangup.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Tells new clients to go elsewhere, until the endpoint is closed.
async fn refuse_all(endpoint: &Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        incoming.refuse();
    }
}

/// Removes what an earlier run left of uploads. Beside the service: a large tree takes its time.
fn remove_leftovers(server: &Arc<Server>) {
    let server = server.clone();
    tokio::task::spawn_blocking(move || {
        let removed = server.site.remove_leftovers();
        if removed > 0 {
            server.output.remark(format_args!("removed {removed} unfinished uploads of an earlier run"));
        }
    });
}

/// One connection, until it ends or, after Ctrl-C, its requests are done.
async fn serve(server: &Arc<Server>, connection: Connection, remote: SocketAddr, mut interrupt: Interrupt) {
    let Some(_open) = server.sources.open(remote.ip()) else {
        return connection.close(H3_EXCESSIVE_LOAD, b"too many connections from this address");
    };
    tracing::info!(%remote, version = %connection.version(), multipath = connection.is_multipath(), "connected");
    if server.hq {
        return hq::serve(server, &connection, remote, interrupt).await;
    }
    let http = crate::h3::server_builder().build(crate::h3::Connection::new(connection.clone())).await;
    let mut http: h3::server::Connection<_, bytes::Bytes> = match http {
        Ok(http) => http,
        Err(error) => return tracing::info!(%remote, %error, "no HTTP"),
    };
    let share = server.limits.share();
    let mut stopping = false;
    let mut patience = IDLE_PATIENCE;
    // Our own count: h3 never forgets requests that ended before their header.
    let mut requests = JoinSet::new();
    while !stopping || !requests.is_empty() {
        let accepted = tokio::select! {
            accepted = http.accept() => accepted,
            Some(_) = requests.join_next() => continue,
            () = interrupt.raised(), if !stopping => {
                stopping = true;
                while requests.try_join_next().is_some() {}
                if !requests.is_empty() {
                    patience = limits::STALL_TIMEOUT;
                }
                // GOAWAY with the id after the last request: the running ones are finished, then accept() ends
                // (RFC 9114 section 5.2).
                if http.shutdown(1).await.is_err() {
                    break;
                }
                continue;
            }
        };
        match accepted {
            Ok(Some(resolver)) => {
                let (server, share, connection) = (server.clone(), share.clone(), connection.clone());
                requests.spawn(async move {
                    respond::respond(&server, &share, remote, &connection, resolver).await
                });
            }
            Ok(None) => break,
            Err(error) => {
                if !error.is_h3_no_error() {
                    tracing::info!(%remote, %error, "the connection ended");
                }
                break;
            }
        }
    }
    // They find out themselves, and say what became of them.
    requests.detach_all();
    if stopping {
        // What was written last is still on its way; a client that has it all closes the connection.
        let _ = tokio::time::timeout(patience, connection.closed()).await;
    }
    connection.close(H3_NO_ERROR, b"");
}

/// The addresses of both families, of each one at most.
fn preferred_addresses(addresses: &[SocketAddr]) -> Result<PreferredAddresses, Failure> {
    let mut preferred = PreferredAddresses::default();
    for address in addresses {
        let is_usable = !address.ip().is_unspecified() && address.port() != 0;
        let is_first = match address {
            SocketAddr::V4(address) => preferred.ipv4.replace(*address).is_none(),
            SocketAddr::V6(address) => preferred.ipv6.replace(*address).is_none(),
        };
        if !is_usable || !is_first {
            return Err(Failure::usage(format!(
                "--preferred-address {address}: expected one address and port for each of IPv4 and IPv6, which clients can \
                 reach"
            )));
        }
    }
    Ok(preferred)
}

/// Whether a socket at `listening` receives what is sent to `address`.
fn covers(listening: SocketAddr, address: SocketAddr) -> bool {
    let any = listening.ip().is_unspecified() && (listening.is_ipv6() || address.is_ipv4());
    listening.port() == address.port() && (any || listening.ip() == address.ip())
}

/// Binds an endpoint to the address, or to the default ones with this port, and to those of `also` that are not among
/// them.
pub(crate) fn listen(
    builder: impl Fn() -> EndpointBuilder,
    identity: &Identity,
    address: Option<SocketAddr>,
    default_port: u16,
    also: &[SocketAddr],
) -> Result<Endpoint, EndpointError> {
    let bind = |address: SocketAddr| {
        let further = also.iter().filter(|further| !covers(address, **further));
        let endpoint = further.fold(builder().listen(address), |endpoint, further| endpoint.listen(*further));
        // A port that the system chooses is another one the next time.
        match address.port() {
            0 => endpoint.bind(),
            _ => endpoint.reset_key(reset_key::reset_key(identity, address)).bind(),
        }
    };
    if let Some(address) = address {
        return bind(address);
    }
    let any = |family: IpAddr| SocketAddr::new(family, default_port);
    match bind(any(std::net::Ipv6Addr::UNSPECIFIED.into())) {
        // A machine without IPv6.
        Err(EndpointError::Listen { source, .. })
            if matches!(source.kind(), io::ErrorKind::Unsupported | io::ErrorKind::AddrNotAvailable)
                || source.raw_os_error() == Some(nix::libc::EAFNOSUPPORT) =>
        {
            bind(any(std::net::Ipv4Addr::UNSPECIFIED.into()))
        }
        result => result,
    }
}

/// The certificate: given, kept, or new.
pub(crate) fn identity(
    cert: Option<&Path>,
    key: Option<&Path>,
    state: Option<&Path>,
) -> Result<Identity, Failure> {
    if let (Some(cert), Some(key)) = (cert, key) {
        return Ok(Identity::from_pem_files(cert, key)?);
    }
    let folder = match state {
        Some(folder) => folder.to_owned(),
        None => state_folder()?,
    };
    Ok(Identity::load_or_create(&folder, &["localhost"])?)
}

/// The XDG base directory specification's place for what a program keeps.
fn state_folder() -> Result<PathBuf, Failure> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    base.map(|base| base.join("hawser")).ok_or_else(|| {
        Failure::new(
            Exit::NotWritten,
            "there is no home folder to keep the certificate in; name one with --state",
        )
    })
}

/// Says where the server is and how to reach it.
fn announce(
    arguments: &Serve,
    endpoint: &Endpoint,
    identity: &Identity,
    own: bool,
    output: Output,
) -> Result<(), Failure> {
    let pin = identity.pin()?;
    let port = endpoint.listening().first().map_or(0, SocketAddr::port);
    let host = suggested_host(endpoint.listening());
    let host = if host.is_ipv6() { format!("[{host}]") } else { host.to_string() };
    let host = if own { host } else { "NAME".to_owned() };
    let url = format!("https://{host}:{port}/");
    if output.json {
        let listening: Vec<String> = endpoint.listening().iter().map(SocketAddr::to_string).collect();
        Channel::Stdout.print(
            &serde_json::json!({ "listening": listening, "port": port, "pin": pin.to_string(), "url": url }),
        );
    }
    output.remark(format_args!("serving {} on UDP port {port}", arguments.folder.display()));
    let trust = if own { format!(" --pin '{pin}'") } else { String::new() };
    output.remark(format_args!("  hawser get{trust} -O {url}FILE"));
    if arguments.allow_put {
        output.remark(format_args!("  hawser put{trust} FILE {url}"));
    }
    Ok(())
}

/// An address at which others may find this machine.
pub(crate) fn suggested_host(listening: &[SocketAddr]) -> IpAddr {
    let loopback = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    let Some(first) = listening.first().map(SocketAddr::ip) else { return loopback };
    if !first.is_unspecified() {
        return first;
    }
    let addresses = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let public = |storage: nix::sys::socket::SockaddrStorage| {
        let v4 = IpAddr::V4(storage.as_sockaddr_in()?.ip());
        (!v4.is_loopback()).then_some(v4)
    };
    addresses.filter_map(|interface| interface.address.and_then(public)).next().unwrap_or(loopback)
}
