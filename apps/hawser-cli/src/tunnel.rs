//! `hawser tunnel`: all traffic of this machine through a gateway.

mod check;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Command, Subcommand};
use hawser_tunnel::client::{Tunnel, TunnelConfig, TunnelError};
use hawser_tunnel::host::netlink::Netlink;
use hawser_tunnel::host::split::{Cgroup, Split};
use hawser_tunnel::host::state::{State, StateError};
use hawser_tunnel::resolvers::Way;
use ipnet::IpNet;

use crate::gateway_client::{self, Gateway, GatewayOptions, say};
use hawser::Registry;
use hawser_command::control::ControlOptions;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::prefix;
use hawser_command::output::Output;
use hawser_command::report::Channel;

const EXAMPLES: &str = "\
Needs root or CAP_NET_ADMIN, and a gateway that was started with --nat or --routed. TCP ends at this machine and travels as a stream \
of its own, so that one connection uses all links; UDP, ICMP and the rest travel in datagrams. What is on the same link (a printer, \
the router) is reached as before.

All changes are undone at the end. After a crash the network works over the links as before; the next start, or --cleanup, removes what \
was left behind. With --kill-switch nothing leaves this machine past the tunnel after a crash until one of them.

Examples:
  hawser tunnel --pin 'PIN' --key-file key gateway.example
  hawser tunnel --dns 9.9.9.9 --kill-switch ...
  hawser tunnel --lan br0 --dns 9.9.9.9 ...                      and the hosts behind this machine
  hawser tunnel --route 192.168.7.0/24 ...                       the office, and nothing else
  hawser tunnel --domain example.org --user backup ...           a domain, a user, and nothing else
  hawser tunnel check --config tunnel.toml                       what would change, and what is missing
  hawser tunnel --cleanup                                        after a crash";

/// File below `--run` that says what has to be undone.
const STATE_FILE: &str = "tunnel.json";
const NO_PACKETS: &str = "this gateway carries no IP packets: start it with `hawser gateway --nat`";
/// Most TCP connections of one family at the same time.
const MOST_CONNECTIONS: usize = 16_384;

/// Arguments of `hawser tunnel`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct TunnelOptions {
    #[command(subcommand)]
    command: Option<TunnelCommand>,
    #[command(flatten)]
    gateway: GatewayOptions,
    #[command(flatten)]
    choices: Choices,
    /// Undo what a tunnel that crashed has left behind, and end
    #[arg(long)]
    cleanup: bool,
    #[command(flatten)]
    control: ControlOptions,
}

/// What else can be done about a tunnel.
#[derive(Subcommand, Debug)]
enum TunnelCommand {
    /// Say what a tunnel would change on this machine and what is missing for it, and change nothing
    Check(Box<check::Check>),
}

/// What goes through a tunnel, and what of the machine it changes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Choices {
    /// Send these addresses through the tunnel and no others; repeat for more
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    route: Vec<IpNet>,
    /// Send what this name, and those below it, stand for through the tunnel, and nothing else; repeat for more
    ///
    /// The machine's programs then ask Hawser for names
    #[arg(long, value_name = "NAME", value_parser = domain)]
    domain: Vec<String>,
    /// Send all that programs of this user send through the tunnel, and nothing else; repeat for more
    #[arg(long, value_name = "NAME|UID", value_parser = user)]
    user: Vec<u32>,
    /// Send all that programs in this control group, such as system.slice/rtorrent.service, send through the tunnel, and nothing else; repeat
    /// for more
    #[arg(long, value_name = "PATH")]
    cgroup: Vec<PathBuf>,
    /// Look names up at these resolvers, through the tunnel; repeat for more. Default: those that the gateway names, else those of
    /// the machine
    #[arg(long, value_name = "ADDRESS")]
    dns: Vec<IpAddr>,
    /// Leave the machine's resolvers as they are
    #[arg(long, conflicts_with = "dns")]
    no_dns: bool,
    /// Let the hosts of the LAN on this device use the tunnel, too: this machine is their router
    ///
    /// Addresses and DHCP there are the system's
    #[arg(long, value_name = "DEVICE")]
    lan: Option<String>,
    /// After a crash let nothing past the tunnel until the next start, or --cleanup
    #[arg(long)]
    kill_switch: bool,
    /// Name of the TUN device
    #[arg(long, value_name = "NAME", default_value = "hawser0")]
    device: String,
    /// Folder of the file that says what has to be undone
    #[arg(long, value_name = "DIR", default_value = "/run/hawser")]
    run: PathBuf,
    /// Where the machine's resolvers are named
    #[arg(long, value_name = "FILE", default_value = "/etc/resolv.conf")]
    resolv_conf: PathBuf,
}

/// The command needs no gateway to clean up.
pub(crate) fn without_gateway(command: Command) -> Command {
    command
        .mut_arg("gateway", |gateway| gateway.required(false).required_unless_present("cleanup"))
        .mut_subcommand("check", |check| check.mut_arg("gateway", |gateway| gateway.required(false)))
}

/// Carries the traffic of this machine until Ctrl-C, or cleans up.
pub(crate) async fn run(
    arguments: TunnelOptions,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    if let Some(TunnelCommand::Check(check)) = arguments.command {
        return check::run(*check, registry, output, interrupt).await;
    }
    if arguments.cleanup {
        return clean_up(&arguments, output).await;
    }
    hawser_command::server::raise_descriptor_limit();
    let (control, mut interrupt) = arguments.control.clone().start("tunnel", &interrupt, output).await?;
    let gateway = arguments.gateway.clone().connect(registry, output, &interrupt, &control).await?;
    if !carries_packets(&gateway) {
        gateway.close().await;
        return Err(Failure::new(Exit::Failure, NO_PACKETS));
    }
    let config = match configuration(&arguments.choices, &gateway) {
        Ok(config) => config,
        Err(failure) => {
            gateway.close().await;
            return Err(failure);
        }
    };
    let started = Tunnel::start(gateway.client.clone(), config.clone(), say(output)).await;
    let tunnel = match started {
        Ok(tunnel) => tunnel,
        Err(error) => {
            gateway.close().await;
            return Err(failure(error));
        }
    };
    announce(&arguments, &config, &gateway, &tunnel, output);
    interrupt.raised().await;
    let undone = tunnel.stop().await;
    gateway.close().await;
    undone.map(|_| ()).map_err(|error| state_failure(&error))
}

/// Whether a gateway carries packets; one that does not say so may.
fn carries_packets(gateway: &Gateway) -> bool {
    gateway.hello.gateway.is_empty() || gateway.hello.protocols.iter().any(|protocol| protocol == "ip")
}

async fn clean_up(arguments: &TunnelOptions, output: Output) -> Result<(), Failure> {
    let netlink = Netlink::new().map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
    let undone = State::clean(&arguments.choices.run.join(STATE_FILE), &netlink).await;
    let undone = undone.map_err(|error| state_failure(&error))?;
    if output.json {
        Channel::Stdout.print(&serde_json::json!({ "undone": undone }));
    }
    if undone.is_empty() {
        output.remark("nothing to undo");
    }
    undone.iter().for_each(|what| output.remark(what));
    Ok(())
}

/// The resolvers of a machine with a tunnel; none: those that it has.
fn resolvers(choices: &Choices, gateway: &Gateway) -> Vec<IpAddr> {
    match (choices.no_dns, choices.dns.is_empty()) {
        (true, _) => Vec::new(),
        (false, false) => choices.dns.clone(),
        // With some of the traffic only, names are looked up as before.
        (false, true) if choices.is_everything() || !choices.domain.is_empty() => gateway.hello.dns.clone(),
        (false, true) => Vec::new(),
    }
}

impl Choices {
    /// Whether all traffic is to go through the tunnel.
    fn is_everything(&self) -> bool {
        self.route.is_empty() && self.domain.is_empty() && self.user.is_empty() && self.cgroup.is_empty()
    }

    /// What is to go through it.
    ///
    /// # Errors
    /// When there is no such control group.
    fn split(&self) -> Result<Split, Failure> {
        let group = |path: &PathBuf| {
            Cgroup::find(path)
                .map_err(|error| Failure::usage(format!("--cgroup {}: {error}", path.display())))
        };
        let cgroups = self.cgroup.iter().map(group).collect::<Result<_, _>>()?;
        Ok(Split {
            routes: self.route.clone(),
            domains: self.domain.clone(),
            users: self.user.clone(),
            cgroups,
        })
    }

    /// In words.
    fn described(&self) -> String {
        if self.is_everything() {
            return "all traffic".to_owned();
        }
        let parts = [
            self.route.iter().map(ToString::to_string).collect::<Vec<_>>(),
            self.domain.clone(),
            self.user.iter().map(|user| format!("what user {user} sends")).collect(),
            self.cgroup.iter().map(|path| format!("what {} sends", path.display())).collect(),
        ];
        parts.concat().join(", ")
    }
}

/// Reads a name of a domain.
fn domain(text: &str) -> Result<String, String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    if name.len() > 253 || !name.split('.').all(is_label) {
        return Err("expected a name such as example.org (names with other letters in their form with xn--)"
            .to_owned());
    }
    Ok(name)
}

/// Reads a user: by name, or by number.
fn user(text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    match nix::unistd::User::from_name(text) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        Ok(None) => Err("this machine has no such user".to_owned()),
        Err(error) => Err(format!("cannot look the user up: {error}")),
    }
}

fn configuration(choices: &Choices, gateway: &Gateway) -> Result<TunnelConfig, Failure> {
    let tunnels = usize::try_from(gateway.hello.tunnels).unwrap_or(MOST_CONNECTIONS);
    // One is that of the packets, and a user may run other commands.
    let connections = match tunnels {
        // Not Hawser's. What CONNECT-IP is spoken with need not speak CONNECT; packets carry everything.
        _ if gateway.hello.gateway.is_empty() => 0,
        0 => MOST_CONNECTIONS,
        tunnels => (tunnels * 7 / 8).clamp(1, MOST_CONNECTIONS),
    };
    Ok(TunnelConfig {
        device: choices.device.clone(),
        split: choices.split()?,
        direct: gateway.addresses(),
        dns: resolvers(choices, gateway),
        resolv: choices.resolv_conf.clone(),
        kill_switch: choices.kill_switch,
        lan: choices.lan.clone(),
        state: choices.run.join(STATE_FILE),
        connections,
    })
}

/// Says what the machine is in the tunnel, and what goes through it.
fn announce(
    arguments: &TunnelOptions,
    config: &TunnelConfig,
    gateway: &Gateway,
    tunnel: &Tunnel,
    output: Output,
) {
    let addresses: Vec<String> = tunnel.addresses.iter().map(ToString::to_string).collect();
    if output.json {
        Channel::Stdout.print(&serde_json::json!({
            "device": arguments.choices.device,
            "addresses": addresses,
            "gateway": gateway.address.to_string(),
            "user": gateway.hello.user,
            "dns": config.dns,
            "dns_by": tunnel.resolvers().map(|way| match way {
                Way::Resolved => "systemd-resolved",
                Way::File => "resolv.conf",
            }),
            "undone": tunnel.undone,
        }));
    }
    for what in &tunnel.undone {
        output.remark(format_args!("left behind by a tunnel before: {what}"));
    }
    let what = arguments.choices.described();
    output.remark(format_args!("{what} goes through {} as {}", gateway.address, addresses.join(" and ")));
    if arguments.choices.is_everything() && config.dns.is_empty() && !arguments.choices.no_dns {
        output.remark(
            "names are looked up at the machine's own resolvers, which may be on a link: --dns ADDRESS has them looked up through the \
             tunnel",
        );
    }
}

/// What a failure means for the command.
fn failure(error: TunnelError) -> Failure {
    match error {
        TunnelError::Open(error) => gateway_client::failure(error),
        TunnelError::State(error) => state_failure(&error),
        error => Failure::new(Exit::Failure, error.to_string()),
    }
}

fn state_failure(error: &StateError) -> Failure {
    let exit = match error {
        StateError::File { .. } => Exit::NotWritten,
        StateError::Running { .. } | StateError::Netlink(_) => Exit::Failure,
    };
    let hint = match error {
        StateError::Running { .. } => "",
        _ => "; `hawser tunnel --cleanup` tries again to undo what is left",
    };
    Failure::new(exit, format!("{error}{hint}"))
}
