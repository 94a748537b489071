//! `hawser gateway`: the far end of `hawser proxy`, `hawser forward` and `hawser tunnel`.

mod init;
mod network;
mod user;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use hawser_gateway::egress::EgressRules;
use hawser_gateway::local::{TCP_IDLE, UDP_IDLE};
use hawser_gateway::profile::CONTROLLER;
use hawser_gateway::server::{self, GatewayConfig};
use hawser_gateway::users::UserFile;
use hawser_status::Hub;
use hawser_status::model::User;
use ipnet::IpNet;

use crate::gateway_client::{DEFAULT_PORT, say};
use hawser::{Endpoint, Identity, Registry, ServerConfig};
use hawser_command::control::ControlOptions;
use hawser_command::dscp::dscp;
use hawser_command::exit::Failure;
use hawser_command::hangup::{Hangup, reload};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::{TransportOptions, listen_address, prefix, seconds, workers};
use hawser_command::output::Output;
use hawser_command::profile::Profile;
use hawser_command::report::Channel;
use hawser_command::server::{identity, listen, raise_descriptor_limit, state_folder, suggested_host};
use hawser_command::server_scheduler::AllowedSchedulers;
use hawser_command::sources::{Sources, Waiting};
use hawser_command::units::parse_bytes;

const EXAMPLES: &str = "\
On its first start the gateway makes a certificate of its own and keeps it; clients know it by its pin, which is printed as \
a command to paste. Each user has a key. Users may be added and removed while it runs: tunnels of removed ones end.

The gateway connects to public addresses only. What is private, loopback, link-local, multicast or the gateway itself needs \
--allow-egress, whatever name stands for it.

Examples:
  hawser gateway user add alice > alice.key                     a key, kept nowhere else
  hawser gateway                                                prints the command for clients
  hawser gateway --nat                                          as root: for `hawser tunnel` as well
  hawser gateway init && hawser gateway --config ~/.local/state/hawser/gateway.toml
  hawser gateway --allow-egress 192.168.7.0/24                  and the office behind it
  hawser gateway user remove alice";

/// RFC 9114 section 8.1.
const H3_EXCESSIVE_LOAD: u64 = 0x107;

/// Arguments of `hawser gateway`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Gateway {
    #[command(subcommand)]
    command: Option<GatewayCommand>,
    /// UDP address to listen on. Default: [::]:4435, or 0.0.0.0:4435 on a machine without IPv6
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Name or address by which clients reach this machine, for the commands that are printed
    ///
    /// Default: the address with which it goes out, or NAME with --cert
    #[arg(long, value_name = "HOST", hide_short_help = true)]
    host: Option<String>,
    /// File of users. Default: gateway-users.toml in the folder of --state
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// Connect to these addresses, too, although they are private, loopback or the gateway's own; repeat for more
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    allow_egress: Vec<IpNet>,
    /// Tunnels that one user may have open: TCP connections, and targets of UDP
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1 << 20))]
    tunnels_per_user: usize,
    /// Seconds that a host may take to answer a TCP connection
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    target_timeout: Duration,
    /// Seconds of silence after which a TCP connection ends
    #[arg(long, value_name = "SECONDS", default_value_t = TCP_IDLE.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    tcp_idle: u64,
    /// Seconds of silence after which UDP to one target ends
    #[arg(long, value_name = "SECONDS", default_value_t = UDP_IDLE.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    udp_idle: u64,
    /// Certificate chain (PEM)
    ///
    /// It is reloaded on SIGHUP
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Folder that keeps the gateway's own certificate, and the users. Default: hawser in $XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Workers, each with a thread, for many clients at once: 1 to 64, or auto for one per core
    ///
    /// One client gains nothing
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = workers)]
    workers: usize,
    /// How long running tunnels may go on after Ctrl-C or SIGTERM, in seconds
    ///
    /// New ones are refused meanwhile
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    grace: u64,
    /// Connections of clients in all; further ones are refused
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    max_connections: usize,
    /// Memory for what has arrived and was not read yet, of all connections (suffixes k, M, G); when it is used up, the
    /// connection that holds most of the address that holds most is closed
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1G")]
    receive_memory: u64,
    /// Mark all packets to clients with this codepoint of differentiated services: EF, CS0 to CS7, AF11 to AF43, or a number from 0 to 63
    #[arg(long, value_name = "DSCP", default_value = "0", value_parser = dscp)]
    dscp: u8,
    #[command(flatten)]
    network: network::NetworkOptions,
    #[command(flatten)]
    allowed_schedulers: AllowedSchedulers,
    #[command(flatten)]
    control: ControlOptions,
    /// How the transport behaves
    #[command(flatten)]
    transport: TransportOptions,
}

/// What can be done about a gateway.
#[derive(Subcommand, Debug)]
enum GatewayCommand {
    /// Add, remove and list users; a gateway that runs sees it within a second
    #[command(subcommand)]
    User(user::UserCommand),
    /// Write a file of options that works, with a certificate and a first user, and print the command for that user's machine, as
    /// text and as a QR code
    Init(init::Init),
}

/// The file of users: named, or in the folder that keeps the certificate.
fn user_file(users: Option<PathBuf>, state: Option<PathBuf>) -> Result<UserFile, Failure> {
    let path = match (users, state) {
        (Some(path), _) => path,
        (None, Some(folder)) => folder.join("gateway-users.toml"),
        (None, None) => state_folder()?.join("gateway-users.toml"),
    };
    Ok(UserFile::new(path))
}

/// Serves until Ctrl-C, or changes users.
pub(crate) async fn run(
    arguments: Gateway,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    match arguments.command {
        Some(GatewayCommand::User(command)) => return user::run(command, output),
        Some(GatewayCommand::Init(command)) => return init::run(&command, output),
        None => {}
    }
    let users = user_file(arguments.users.clone(), arguments.state.clone())?;
    let identity = identity_of(&arguments)?;
    raise_descriptor_limit();
    let network = arguments.network.start(arguments.state.as_deref(), output).await?;
    let config = GatewayConfig {
        users: users.clone(),
        egress: EgressRules::new(arguments.allow_egress.clone()),
        tunnels_per_user: arguments.tunnels_per_user,
        connect_timeout: arguments.target_timeout,
        tcp_idle: Duration::from_secs(arguments.tcp_idle),
        udp_idle: Duration::from_secs(arguments.udp_idle),
        ip: network.as_ref().map(|network| network.ip.clone()),
        dns: arguments.network.dns().to_vec(),
    };
    let result = serve(&arguments, config, &users, &identity, registry, output, interrupt).await;
    if let Some(network) = network {
        let counters = network.ip.counters();
        tracing::info!(?counters, "packets of clients");
        if let Err(error) = network.stop().await {
            output.remark(format_args!("not all is undone: {error}; the next start tries again"));
        }
    }
    result
}

/// Serves until Ctrl-C.
async fn serve(
    arguments: &Gateway,
    config: GatewayConfig,
    users: &UserFile,
    identity: &Identity,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let mut hangup = Hangup::listen()?;
    let gateway = server::Gateway::start(config, say(output)).map_err(|error| user::failure(&error))?;
    let sources = Sources::new(arguments.max_connections);
    let config = configuration(arguments, &sources, registry, identity)?;
    arguments.allowed_schedulers.check(registry)?;
    let builder = || {
        let builder = Endpoint::builder().server(config.clone()).policies(registry.clone());
        arguments
            .allowed_schedulers
            .apply(builder.receive_memory(arguments.receive_memory).dscp(arguments.dscp))
    };
    let endpoint = listen(builder, identity, arguments.listen, DEFAULT_PORT, &[])?;
    let (control, mut interrupt) = arguments.control.start("gateway", &interrupt, output).await?;
    control.attach(&endpoint);
    show_users(&control, &gateway);
    crate::gateway_client::show_traffic(&control, gateway.traffic());
    announce(arguments, &endpoint, identity, output)?;
    crate::service::ready();
    if gateway.users() == 0 {
        let path = users.path().display();
        output.remark(format_args!("nobody can use it yet: hawser gateway user add NAME --users {path}"));
    }
    loop {
        let waiting = tokio::select! {
            waiting = sources.accept(&endpoint) => waiting,
            () = interrupt.raised() => break,
            () = hangup.raised() => {
                let config = identity_of(arguments)
                    .and_then(|identity| configuration(arguments, &sources, registry, &identity));
                reload(&endpoint, output, config);
                continue;
            }
        };
        let Some(waiting) = waiting else { break };
        tokio::spawn(accept(gateway.clone(), waiting));
    }
    crate::service::stopping();
    output.remark("stopping; Ctrl-C again to stop at once");
    tokio::select! {
        () = gateway.drain(&endpoint, Duration::from_secs(arguments.grace)) => {}
        () = refuse_all(&endpoint) => {}
    }
    Ok(())
}

/// Shows users in the status, and on which connections they are.
fn show_users(hub: &Hub, gateway: &server::Gateway) {
    let gateway = gateway.clone();
    hub.add(Arc::new(move |status| {
        for seen in gateway.seen_users() {
            let ids: Vec<String> = seen.connections.iter().map(|number| format!("1.{number}")).collect();
            for connection in &mut status.connections {
                if ids.contains(&connection.id) {
                    connection.user = Some(seen.name.clone());
                }
            }
            let mut user = User {
                name: seen.name,
                tunnels: seen.tunnels as u64,
                most_tunnels: seen.most as u64,
                connections: ids,
                bytes_sent: seen.traffic.iter().map(|kind| kind.bytes_sent).sum(),
                bytes_received: seen.traffic.iter().map(|kind| kind.bytes_received).sum(),
                ..User::default()
            };
            user.add_connections(&status.connections);
            status.users.push(user);
        }
    }));
}

fn identity_of(arguments: &Gateway) -> Result<Identity, Failure> {
    identity(arguments.cert.as_deref(), arguments.key.as_deref(), arguments.state.as_deref())
}

/// The handshake of one client, and then its tunnels.
async fn accept(gateway: server::Gateway, waiting: Waiting) {
    if let Some(client) = waiting.connect(H3_EXCESSIVE_LOAD).await {
        gateway.serve(client.connection.clone()).await;
    }
}

fn configuration(
    arguments: &Gateway,
    sources: &Sources,
    registry: &Registry,
    identity: &Identity,
) -> Result<ServerConfig, Failure> {
    let tunnels = arguments.tunnels_per_user as u64;
    let tune = |transport: &mut _| hawser_gateway::profile::apply(transport, tunnels);
    let profile = Profile { alpn: hawser::h3::ALPN, controller: Some(CONTROLLER), tune: &tune };
    let config = ServerConfig::builder(identity.clone())
        .workers(arguments.workers)
        .max_connections(arguments.max_connections);
    Ok(sources.server(arguments.transport.server(registry, config, &profile)?).build()?)
}

/// Tells new clients to go elsewhere, until the endpoint is closed.
async fn refuse_all(endpoint: &Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        incoming.refuse();
    }
    // The endpoint is closed, and what is left to say is said by the one who closed it.
    std::future::pending().await
}

/// An address as it stands before a port.
fn in_url(address: IpAddr) -> String {
    if address.is_ipv6() { format!("[{address}]") } else { address.to_string() }
}

/// Says where the gateway is and how to reach it.
fn announce(
    arguments: &Gateway,
    endpoint: &Endpoint,
    identity: &Identity,
    output: Output,
) -> Result<(), Failure> {
    let pin = identity.pin()?;
    let port = endpoint.listening().first().map_or(0, SocketAddr::port);
    let is_own = arguments.cert.is_none();
    let host = match &arguments.host {
        Some(host) => host.clone(),
        None if is_own => in_url(suggested_host(endpoint.listening())),
        None => "NAME".to_owned(),
    };
    if output.json {
        let listening: Vec<String> = endpoint.listening().iter().map(SocketAddr::to_string).collect();
        Channel::Stdout
            .print(&serde_json::json!({ "listening": listening, "host": host, "port": port, "pin": pin.to_string() }));
    }
    output.remark(format_args!("gateway on UDP port {port}"));
    let trust = if is_own { format!(" --pin '{pin}'") } else { String::new() };
    output.remark(format_args!("  hawser proxy{trust} --key-file KEYFILE {host}:{port}"));
    if arguments.network.is_wanted() {
        output.remark(format_args!("  hawser tunnel{trust} --key-file KEYFILE {host}:{port}"));
    }
    if !arguments.allow_egress.is_empty() {
        let allowed: Vec<String> = arguments.allow_egress.iter().map(ToString::to_string).collect();
        output.remark(format_args!("connects to {} as well", allowed.join(", ")));
    }
    Ok(())
}
