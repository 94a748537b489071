//! `hawser tunnel check`: what a tunnel would change, and what is missing for it.

use std::fs::OpenOptions;
use std::net::IpAddr;
use std::sync::Arc;

use clap::Args;
use hawser_status::Hub;
use hawser_tunnel::host::netlink::Netlink;
use hawser_tunnel::host::split::Cgroup;
use hawser_tunnel::host::state::{Found, State};
use hawser_tunnel::resolvers::{Plan, Wanted};
use serde::Serialize;

use super::{Choices, NO_PACKETS, STATE_FILE, carries_packets, resolvers};
use crate::gateway_client::GatewayOptions;
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};

/// The capability that devices, addresses and routes need (`capabilities(7)`).
const NET_ADMIN: u32 = 12;

/// Arguments of `hawser tunnel check`: those of the tunnel.
#[derive(Args, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    gateway: GatewayOptions,
    #[command(flatten)]
    choices: Choices,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "what")]
enum Finding {
    /// As it has to be.
    Fine(String),
    /// It would be changed, and changed back at the end.
    Change(String),
    /// There would be no tunnel.
    Missing(String),
}

/// Looks, and changes nothing. The gateway is asked if it is named.
pub(super) async fn run(
    arguments: Check,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let choices = &arguments.choices;
    let netlink = Netlink::new().map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
    let mut findings = privileges();
    findings.extend(machine(choices, &netlink).await);
    let (mut dns, mut direct) = (choices.dns.clone(), Vec::new());
    if arguments.gateway.is_named() {
        match arguments
            .gateway
            .connect(registry, output, &interrupt, &Hub::new("tunnel", Box::new(|| {})))
            .await
        {
            Ok(gateway) => {
                let user = &gateway.hello.user;
                findings
                    .push(Finding::Fine(format!("the gateway {} knows the key, of {user}", gateway.address)));
                if !carries_packets(&gateway) {
                    findings.push(Finding::Missing(NO_PACKETS.to_owned()));
                }
                (dns, direct) = (resolvers(choices, &gateway), gateway.addresses());
                gateway.close().await;
            }
            Err(failure) => findings.push(Finding::Missing(failure.message)),
        }
    } else {
        findings.push(Finding::Missing(
            "which gateway? HOST[:PORT], or `gateway` in the file of --config".to_owned(),
        ));
    }
    findings.extend(changes(choices));
    findings.extend(lookups(choices, &dns, &direct, &netlink).await);
    report(&findings, output)
}

fn privileges() -> Vec<Finding> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = field.and_then(|field| u64::from_str_radix(field.trim(), 16).ok()).unwrap_or(0);
    let mut findings = vec![if capabilities >> NET_ADMIN & 1 == 1 {
        Finding::Fine("this process may change devices and routes".to_owned())
    } else {
        Finding::Missing(
            "root or CAP_NET_ADMIN: run it with sudo, or as the service hawser-tunnel".to_owned(),
        )
    }];
    findings.push(match OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => Finding::Fine("there are TUN devices".to_owned()),
        Err(error) => Finding::Missing(format!(
            "/dev/net/tun: {error}; `modprobe tun` may help, a container needs the device"
        )),
    });
    findings
}

async fn machine(choices: &Choices, netlink: &Netlink) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = choices.run.join(STATE_FILE);
    match State::look(&path) {
        Ok(Found::Nothing) => {}
        Ok(Found::Running(pid)) => {
            findings.push(Finding::Missing(format!("another tunnel runs, as process {pid}: end it first")));
        }
        Ok(Found::LeftBehind) => findings.push(Finding::Change(format!(
            "{} says that a tunnel before has crashed: what it left behind is undone first (`hawser tunnel --cleanup` does only that)",
            path.display()
        ))),
        Err(error) => findings.push(Finding::Missing(error.to_string())),
    }
    if let Some(lan) = &choices.lan {
        match netlink.find(lan).await {
            Ok(index) if netlink.networks(index).await.is_ok_and(|networks| networks.is_empty()) => {
                findings.push(Finding::Missing(format!("{lan} of the LAN has no address")));
            }
            Ok(_) => {}
            Err(_) => findings.push(Finding::Missing(format!("there is no device {lan} for the LAN"))),
        }
    }
    for path in &choices.cgroup {
        if let Err(error) = Cgroup::find(path) {
            findings.push(Finding::Missing(format!("the control group {}: {error}", path.display())));
        }
    }
    if netlink.find(&choices.device).await.is_ok()
        && State::look(&path).is_ok_and(|found| found == Found::Nothing)
    {
        let what =
            format!("the name {} is taken by another device: choose one with --device", choices.device);
        findings.push(Finding::Missing(what));
    }
    findings
}

fn changes(choices: &Choices) -> Vec<Finding> {
    let change = |what: String| Finding::Change(what);
    let what = if choices.is_everything() {
        "everything but what is on the networks of the links".to_owned()
    } else {
        choices.described()
    };
    let mut changes = vec![
        change(format!("a TUN device {} with the addresses that the gateway gives", choices.device)),
        change(format!(
            "routing tables 18450 and 18451, rules 18450 to 18453: {what} goes through the tunnel"
        )),
    ];
    if !choices.cgroup.is_empty() {
        changes
            .push(change("an nftables table hawser-split, which marks packets of control groups".to_owned()));
    }
    if let Some(lan) = &choices.lan {
        changes.push(change(format!("forwarding, and address translation for the hosts on {lan}")));
    }
    if choices.kill_switch {
        changes.push(change(
            "after a crash nothing leaves past the tunnel until it starts again, or --cleanup".to_owned(),
        ));
    }
    changes
}

/// Where names would be looked up, and who would be told of it: systemd-resolved, or the file.
async fn lookups(choices: &Choices, dns: &[IpAddr], direct: &[IpAddr], netlink: &Netlink) -> Option<Finding> {
    if choices.domain.is_empty() && dns.is_empty() {
        return None;
    }
    // A control group that does not exist is said elsewhere.
    let split = choices.split().ok()?;
    let wanted = Wanted { file: &choices.resolv_conf, dns, split: &split, direct };
    let (path, device) = (choices.resolv_conf.display(), &choices.device);
    let servers = dns.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
    let domains = choices.domain.join(", ");
    let what = match wanted.plan(netlink).await {
        Err(error) => return Some(Finding::Missing(error.to_string())),
        Ok(Plan::Resolved(_)) if domains.is_empty() => {
            format!("systemd-resolved asks {servers} for all names, over {device}; {path} stays as it is")
        }
        Ok(Plan::Resolved(_)) => format!(
            "systemd-resolved asks Hawser, at 127.18.45.53, for names of {domains}; {path} stays as it is"
        ),
        Ok(Plan::File(why)) => {
            let what = if domains.is_empty() {
                format!("{path} names {servers} while the tunnel is there")
            } else {
                format!("{path} names Hawser, at 127.18.45.53, before the resolvers that it names now")
            };
            why.map_or_else(|| what.clone(), |why| format!("{what} ({why})"))
        }
    };
    Some(Finding::Change(what))
}

fn report(findings: &[Finding], output: Output) -> Result<(), Failure> {
    if output.json {
        Channel::Stdout.print(&findings);
    } else {
        for finding in findings {
            match finding {
                Finding::Fine(what) => print(format_args!("fine     {what}")),
                Finding::Change(what) => print(format_args!("change   {what}")),
                Finding::Missing(what) => print(format_args!("missing  {what}")),
            }
        }
    }
    let missing = findings.iter().filter(|finding| matches!(finding, Finding::Missing(_))).count();
    match missing {
        0 => Ok(()),
        1 => Err(Failure::new(Exit::Failure, "one thing is missing")),
        many => Err(Failure::new(Exit::Failure, format!("{many} things are missing"))),
    }
}
