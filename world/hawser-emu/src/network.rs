//! Addresses and routes inside the two namespaces, set by `ip` in batches.

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::host::Host;
use hawser_scenario::{Scenario, ScenarioLink};

use crate::addresses::{LinkAddresses, SERVER_ADDRESS};
use crate::error::EmuError;
use crate::namespace::Namespace;
use crate::tun::Tun;

/// Packets that the kernel may hold for us: room for a burst while the forwarder is late by some
/// milliseconds, so that the link's own queue decides what is dropped.
const DEVICE_QUEUE_PACKETS: u32 = 5000;

/// Makes the devices of one host in its namespace, in the order of the links, and configures everything.
pub(crate) fn configure(
    namespace: &Namespace,
    host: Host,
    scenario: &Scenario,
) -> Result<Vec<Tun>, EmuError> {
    let inside = || -> Result<Vec<Tun>, EmuError> {
        set_sysctls().map_err(EmuError::setup("setting sysctls in the namespace"))?;
        let create = |link: &ScenarioLink| {
            Tun::create(&link.name).map_err(EmuError::setup(format!("creating the TUN device {}", link.name)))
        };
        let tuns = scenario.links.iter().map(create).collect::<Result<Vec<_>, _>>()?;
        let lines = match host {
            Host::Client => client_lines(scenario),
            Host::Server => server_lines(scenario),
        };
        ip_batch(host, &lines)?;
        Ok(tuns)
    };
    namespace.run(inside).map_err(EmuError::setup("entering the namespace"))?
}

/// Takes the client's interface of a link down, or up again with its routes.
pub(crate) fn set_interface(
    namespace: &Namespace,
    index: usize,
    link: &ScenarioLink,
    up: bool,
) -> Result<(), EmuError> {
    let lines = if up {
        // The policy rule survived; the address did, too; routes did not.
        let mut lines = vec![format!("link set dev {} up", link.name)];
        lines.extend(client_routes(index, link));
        lines
    } else {
        vec![format!("link set dev {} down", link.name)]
    };
    namespace.run(|| ip_batch(Host::Client, &lines)).map_err(EmuError::setup("entering the namespace"))?
}

/// Packets that the kernel dropped before we could read them: the overruns of a host's device.
pub(crate) fn device_drops(namespace: &Namespace) -> io::Result<Vec<(String, u64)>> {
    namespace.run(|| fs::read_to_string("/proc/thread-self/net/dev"))?.map(|text| {
        let fields = |line: &str| {
            let (name, numbers) = line.split_once(':')?;
            // The twelfth number is the count of drops on transmission.
            Some((name.trim().to_owned(), numbers.split_whitespace().nth(11)?.parse().ok()?))
        };
        text.lines().filter_map(fields).collect()
    })
}

/// Sysctls of the calling thread's namespace.
fn set_sysctls() -> io::Result<()> {
    // Packets for the server's one address arrive on every device: strict reverse-path checks would drop them.
    for name in ["all", "default"] {
        fs::write(format!("/proc/sys/net/ipv4/conf/{name}/rp_filter"), "0")?;
        // Router solicitations and the like are noise in a measurement. Absent when the kernel has no IPv6.
        let ipv6 = format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6");
        if fs::exists(&ipv6)? {
            fs::write(ipv6, "1")?;
        }
    }
    // Any user may ping.
    fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647").or(Ok(()))
}

fn client_lines(scenario: &Scenario) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned()];
    for (index, link) in scenario.links.iter().enumerate() {
        let (addresses, name) = (LinkAddresses::of(index), &link.name);
        lines.push(device_line(link));
        lines.push(format!("addr add {}/24 dev {name}", addresses.client()));
        lines.push(format!("link set dev {name} up"));
        lines.extend(client_routes(index, link));
        lines.push(format!("rule add from {} table {}", addresses.client(), addresses.table()));
        if scenario.mptcp {
            lines.push(format!("mptcp endpoint add {} dev {name} subflow", addresses.client()));
        }
    }
    if scenario.mptcp {
        lines.push("mptcp limits set subflows 8 add_addr_accepted 8".to_owned());
    }
    lines
}

/// A default route per link: the metric makes the first link the default, the table serves sockets bound to
/// the link's address, and a socket bound to the device finds the one of its device.
fn client_routes(index: usize, link: &ScenarioLink) -> Vec<String> {
    let (addresses, name) = (LinkAddresses::of(index), &link.name);
    let (gateway, table) = (addresses.gateway(), addresses.table());
    vec![
        format!("route replace default via {gateway} dev {name} metric {table}"),
        format!("route replace default via {gateway} dev {name} table {table}"),
    ]
}

fn server_lines(scenario: &Scenario) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned(), format!("addr add {SERVER_ADDRESS}/32 dev lo")];
    for (index, link) in scenario.links.iter().enumerate() {
        let (addresses, name) = (LinkAddresses::of(index), &link.name);
        lines.push(device_line(link));
        lines.push(format!("addr add {}/24 dev {name} noprefixroute", addresses.gateway()));
        lines.push(format!("link set dev {name} up"));
        // With the source given, a UDP server on a wildcard socket answers from the address that was asked.
        lines.push(format!("route add {} dev {name} src {SERVER_ADDRESS}", addresses.subnet()));
    }
    if scenario.mptcp {
        lines.push("mptcp limits set subflows 8 add_addr_accepted 8".to_owned());
    }
    lines
}

fn device_line(link: &ScenarioLink) -> String {
    let mtu = link.up.mtu;
    format!("link set dev {} mtu {mtu} txqueuelen {DEVICE_QUEUE_PACKETS}", link.name)
}

/// Runs lines of `ip` in the namespace of the calling thread.
fn ip_batch(host: Host, lines: &[String]) -> Result<(), EmuError> {
    let command_failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => EmuError::NoIp,
        _ => EmuError::Spawn { command: "ip".to_owned(), source },
    };
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(command_failed)?;
    if let Some(mut input) = child.stdin.take() {
        // Should `ip` end early, its own message is the better one.
        let _ = input.write_all((lines.join("\n") + "\n").as_bytes());
    }
    let output = child.wait_with_output().map_err(command_failed)?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(EmuError::Configure { host: host.name(), message })
}
