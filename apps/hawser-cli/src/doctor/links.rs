//! The links: are there several, do they lead anywhere, may they be used next to each other?

use std::collections::BTreeMap;
use std::net::IpAddr;

use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt::BindToDevice};

use super::Finding;
use super::machine::{DefaultRoute, Machine};

/// Interfaces that are up, and their addresses, without loopback and those that lead to this machine only.
fn interfaces() -> BTreeMap<String, Vec<IpAddr>> {
    let mut found: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
    let Ok(all) = nix::ifaddrs::getifaddrs() else { return found };
    for interface in all {
        let is_usable = interface.flags.contains(InterfaceFlags::IFF_UP)
            && !interface.flags.contains(InterfaceFlags::IFF_LOOPBACK);
        let Some(address) = interface.address.filter(|_| is_usable) else { continue };
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        let v6 = || address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip()));
        let is_global = |ip: &IpAddr| match ip {
            IpAddr::V4(v4) => !v4.is_link_local(),
            IpAddr::V6(v6) => !v6.is_unicast_link_local(),
        };
        if let Some(ip) = v4.or_else(v6).filter(is_global) {
            found.entry(interface.interface_name).or_default().push(ip);
        }
    }
    found
}

/// Checks all links.
pub(super) fn check(machine: &Machine) -> Vec<Finding> {
    let interfaces = interfaces();
    let names: Vec<&str> = interfaces.keys().map(String::as_str).collect();
    let mut findings = vec![count(&names)];
    findings.extend(routes(&names, &machine.default_routes()));
    findings.extend(reverse_path(&names, |name, parameter| machine.of_interface(name, parameter)));
    findings.extend(names.first().map(|name| bind(name)));
    findings
}

fn count(names: &[&str]) -> Finding {
    let list = names.join(", ");
    match names.len() {
        0 => Finding::bad(
            "links",
            "no interface is up and has an address; only programs of this machine can be reached",
            "ip link; ip address",
        ),
        1 => Finding::ok("links", format!("{list}; bonding needs a second one")),
        _ => Finding::ok("links", list),
    }
}

/// A link without a default route of its own carries nothing, although its interface is up.
fn routes(names: &[&str], routes: &[DefaultRoute]) -> Vec<Finding> {
    let has = |name: &str| routes.iter().any(|route| route.interface == name);
    let lacking: Vec<&&str> = names.iter().filter(|name| !has(name)).collect();
    if lacking.is_empty() {
        return match names.is_empty() {
            true => Vec::new(),
            false => vec![Finding::ok("default routes", "each link has one")],
        };
    }
    let finding = |name: &&&str| {
        Finding::warning(
            &format!("default route of {name}"),
            "the link has no default route: packets that leave over this link reach its own network only",
            format!("ip route add default via GATEWAY dev {name} metric 600"),
        )
    };
    lacking.iter().map(finding).collect()
}

/// Strict reverse-path filtering drops what answers on a link that is not the best route to its sender.
fn reverse_path(names: &[&str], read: impl Fn(&str, &str) -> Option<u64>) -> Vec<Finding> {
    let of_all = read("all", "rp_filter").unwrap_or(0);
    // The kernel takes the larger of both: 1 is strict, 2 is loose.
    let strict: Vec<&str> =
        names.iter().copied().filter(|name| of_all.max(read(name, "rp_filter").unwrap_or(0)) == 1).collect();
    if strict.is_empty() {
        return vec![Finding::ok("reverse-path filter", "not strict")];
    }
    let found = format!(
        "strict on {}: answers over a link that is not the best route are dropped, and it looks dead",
        strict.join(", ")
    );
    if strict.len() < 2 && names.len() < 2 {
        return vec![Finding::ok("reverse-path filter", "strict, which does no harm with one link")];
    }
    vec![Finding::bad("reverse-path filter", found, "sysctl -w net.ipv4.conf.all.rp_filter=2")]
}

/// A socket for each link is bound to its device, so that several uplinks need no policy routing.
fn bind(name: &str) -> Finding {
    let bound = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .and_then(|socket| setsockopt(&socket, BindToDevice, &name.into()));
    match bound {
        Ok(()) => Finding::ok("sockets on devices", format!("a socket can be bound to {name}")),
        Err(error) => Finding::bad(
            "sockets on devices",
            format!("a socket cannot be bound to {name}: {error}; all links but the best route stay unused"),
            "setcap cap_net_raw+ep \"$(readlink -f \"$(command -v hawser)\")\"   # or Linux 5.7, which needs no capability",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn strict_filters_hurt_where_there_are_two_links() {
        let read = |strict: &'static str, all: u64| {
            move |name: &str, _: &str| Some(if name == "all" { all } else { u64::from(name == strict) })
        };
        let state = |names: &[&str], strict, all| reverse_path(names, read(strict, all))[0].state;
        assert_eq!(state(&["wlan0", "wwan0"], "wwan0", 0), State::Bad);
        assert_eq!(state(&["wlan0", "wwan0"], "", 1), State::Bad);
        assert_eq!(state(&["wlan0", "wwan0"], "wwan0", 2), State::Ok, "loose for all");
        assert_eq!(state(&["wlan0"], "wlan0", 0), State::Ok);
    }

    #[test]
    fn a_link_without_a_route_is_named_with_the_command_that_gives_it_one() {
        let route = DefaultRoute { interface: "wlan0".to_owned(), is_v6: false };
        let findings = routes(&["wlan0", "wwan0"], &[route]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].fix.as_deref().is_some_and(|fix| fix.contains("dev wwan0")), "{findings:?}");
        assert_eq!(count(&[]).state, State::Bad);
    }
}
