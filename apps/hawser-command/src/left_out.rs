//! Links that a connection does not use because no route over them leads to its server: said once, with what to do.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hawser::{Interface, Links};

/// Interfaces that were named already, by any connection of this process.
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
/// Most of them: a machine with more is a router, and its owner knows its routes.
const MOST_TOLD: usize = 16;
/// How long the interfaces may take to be listed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says which interfaces a connection to `remote` leaves out, as far as it was not said before. Links that were named are used as they
/// are.
pub(crate) async fn tell(links: &Links, remote: IpAddr) {
    if !matches!(links, Links::All | Links::AllWithBackups(_)) {
        return;
    }
    let Ok(Ok(interfaces)) = tokio::time::timeout(PATIENCE, hawser::watch_interfaces()).await else { return };
    let interfaces = interfaces.borrow().clone();
    for name in left_out(&interfaces, remote) {
        let is_new = {
            let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
            told.len() < MOST_TOLD && told.insert(name.to_owned())
        };
        if is_new {
            let family = if remote.is_ipv6() { " -6" } else { "" };
            tracing::warn!(
                "{name} is left out: no route over it leads to {remote}; `ip{family} route add default via GATEWAY dev {name} metric 600` \
                 makes one, and `--path` with each link uses it as it is"
            );
        }
    }
}

/// Interfaces with an address that do not lead there, where others do: without any that does each is tried.
fn left_out(interfaces: &[Interface], remote: IpAddr) -> Vec<&str> {
    let is_usable = |interface: &&Interface| {
        let has_address = |address: &IpAddr| address.is_ipv4() == remote.is_ipv4() && !is_local(*address);
        !interface.is_loopback && !interface.is_internal && interface.addresses.iter().any(has_address)
    };
    let leads_on =
        |interface: &Interface| if remote.is_ipv4() { interface.leads_on.0 } else { interface.leads_on.1 };
    let is_own = interfaces.iter().any(|interface| interface.addresses.contains(&remote));
    if is_own || !interfaces.iter().filter(is_usable).any(leads_on) {
        return Vec::new();
    }
    let leads_nowhere = interfaces.iter().filter(is_usable).filter(|interface| !interface.leads_to(remote));
    leads_nowhere.map(|interface| interface.name.as_str()).collect()
}

/// Whether an address is of its link only.
fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser::Network;

    fn interface(name: &str, address: &str, leads_on: bool) -> Interface {
        let address: IpAddr = address.parse().unwrap();
        let mut interface = Interface::new(1, name, vec![address]);
        interface.networks = vec![Network { address, prefix: 24 }];
        interface.leads_on = (leads_on, leads_on);
        interface
    }

    #[test]
    fn link_without_a_route_is_left_out_where_another_has_one() {
        let with = interface("wlan0", "192.0.2.7", true);
        let without = interface("wwan0", "198.51.100.7", false);
        let mut bridge = interface("br0", "10.0.0.1", false);
        bridge.is_internal = true;
        let all = [with.clone(), without.clone(), bridge];
        let names = |all: &[Interface], remote: &str| -> Vec<String> {
            left_out(all, remote.parse().unwrap()).into_iter().map(str::to_owned).collect()
        };
        assert_eq!(names(&all, "203.0.113.1"), ["wwan0"]);
        assert!(names(&all, "198.51.100.1").is_empty(), "its own network");
        assert!(names(&all, "192.0.2.7").is_empty(), "this machine");
        assert!(names(&all[1..], "203.0.113.1").is_empty(), "none has one: each is tried");
        assert!(names(&all, "2001:db8::1").is_empty(), "no address of that family");
        assert!(names(&[with], "203.0.113.1").is_empty());
    }
}
