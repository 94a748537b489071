//! Which addresses a gateway connects to.
//!
//! A user with a key reaches what the gateway reaches. Without rules that would be the services that listen on its loopback,
//! its neighbours behind the firewall and the cloud's metadata. So all that is not public is denied, and the gateway's own
//! addresses with it, unless it is allowed. Rules are applied to the address that is connected to, not to the name: a name
//! may stand for another address each time it is looked up.

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ipnet::IpNet;

/// What is denied unless it is allowed, and why (IANA's special-purpose address registries).
const DENIED: [(&str, &str); 27] = [
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by carriers (CGNAT)"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relays"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarks"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved and broadcast"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("64:ff9b:1::/48", "local translation"),
    ("100::/64", "discard"),
    ("2001::/23", "protocol assignments"),
    ("2001:db8::/32", "documentation"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "unique-local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
];

/// How long the gateway's own addresses are remembered.
const OWN_LIFETIME: Duration = Duration::from_secs(5);

/// Why an address is not connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The address.
    pub address: IpAddr,
    /// The rule: a prefix and what it is, or that the address is the gateway's own.
    pub rule: String,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Denied { address, rule } = self;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        write!(
            f,
            "the gateway's egress rules deny {address}: {rule}; `hawser gateway --allow-egress {address}/{bits}` allows it"
        )
    }
}

/// The rules of a gateway.
#[derive(Debug)]
pub struct EgressRules {
    denied: Vec<(IpNet, &'static str)>,
    allowed: Vec<IpNet>,
    own: Mutex<Own>,
}

/// The addresses of this machine.
#[derive(Debug, Default)]
struct Own {
    read_at: Option<Instant>,
    addresses: HashSet<IpAddr>,
}

impl EgressRules {
    /// The usual denials, and these prefixes allowed whatever they are.
    pub fn new(allowed: Vec<IpNet>) -> Self {
        let denied = DENIED.iter().filter_map(|(prefix, what)| Some((prefix.parse().ok()?, *what))).collect();
        EgressRules { denied, allowed, own: Mutex::default() }
    }

    /// Whether the address may be connected to.
    ///
    /// # Errors
    /// Which rule denies it.
    pub fn check(&self, address: IpAddr) -> Result<(), Denied> {
        self.check_with(address, &|address| self.is_own(address))
    }

    fn check_with(&self, address: IpAddr, is_own: &dyn Fn(IpAddr) -> bool) -> Result<(), Denied> {
        let address = address.to_canonical();
        if self.allowed.iter().any(|prefix| prefix.contains(&address)) {
            return Ok(());
        }
        // A translator on the way turns it into an IPv4 address, to which the same rules apply.
        if let IpAddr::V6(v6) = address
            && let Some((embedded, how)) = embedded(v6)
        {
            let inner = self.check_with(embedded.into(), is_own);
            return inner.map_err(|denied| Denied {
                address,
                rule: format!("it stands for {embedded} ({how}), {}", denied.rule),
            });
        }
        if let Some((prefix, what)) = self.denied.iter().find(|(prefix, _)| prefix.contains(&address)) {
            return Err(Denied { address, rule: format!("{prefix} is {what}") });
        }
        if is_own(address) {
            return Err(Denied { address, rule: "it is an address of the gateway itself".to_owned() });
        }
        Ok(())
    }

    /// Whether it is an address of this machine, which may change while it runs.
    fn is_own(&self, address: IpAddr) -> bool {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if own.read_at.is_none_or(|read_at| read_at.elapsed() >= OWN_LIFETIME) {
            *own = Own { read_at: Some(Instant::now()), addresses: own_addresses() };
        }
        own.addresses.contains(&address)
    }
}

/// The IPv4 address within an address of NAT64 (RFC 6052) or 6to4 (RFC 3056).
fn embedded(address: Ipv6Addr) -> Option<(Ipv4Addr, &'static str)> {
    let bits = address.to_bits();
    let low = |shift: u32| Ipv4Addr::from_bits((bits >> shift) as u32);
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some((low(0), "NAT64")),
        [0x2002, ..] => Some((low(80), "6to4")),
        _ => None,
    }
}

fn own_addresses() -> HashSet<IpAddr> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let ip = |storage: nix::sys::socket::SockaddrStorage| {
        let v4 = storage.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        v4.or_else(|| storage.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
    };
    interfaces.filter_map(|interface| interface.address.and_then(ip)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allowed: &[&str]) -> EgressRules {
        EgressRules::new(allowed.iter().map(|prefix| prefix.parse().unwrap()).collect())
    }

    fn check(rules: &EgressRules, address: &str) -> Result<(), String> {
        let own: IpAddr = "198.45.0.1".parse().unwrap();
        let checked = rules.check_with(address.parse().unwrap(), &|address| address == own);
        checked.map_err(|denied| denied.rule)
    }

    #[test]
    fn every_prefix_of_the_table_is_one() {
        assert_eq!(rules(&[]).denied.len(), DENIED.len());
    }

    #[test]
    fn what_is_not_public_is_denied() {
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.31.0.1",
            "192.168.1.1",
            "224.0.0.251",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::c0a8:101",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001::1",
            "fec0::1",
        ] {
            assert!(check(&rules(&[]), address).is_err(), "{address}");
        }
    }

    #[test]
    fn what_is_public_is_allowed() {
        for address in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
            "2002:101:101::1",
            "::ffff:1.1.1.1",
        ] {
            assert_eq!(check(&rules(&[]), address), Ok(()), "{address}");
        }
    }

    #[test]
    fn the_gateway_itself_is_denied_until_it_is_allowed() {
        let rule = "it is an address of the gateway itself".to_owned();
        assert_eq!(check(&rules(&[]), "198.45.0.1"), Err(rule));
        assert_eq!(check(&rules(&["198.45.0.0/24"]), "198.45.0.1"), Ok(()));
        let loopback = rules(&["127.0.0.1/32"]);
        assert_eq!(check(&loopback, "127.0.0.1"), Ok(()));
        assert_eq!(check(&loopback, "::ffff:127.0.0.1"), Ok(()));
        assert!(check(&loopback, "127.0.0.2").is_err() && check(&loopback, "::1").is_err());
    }

    #[test]
    fn a_denial_says_which_rule_and_what_allows_it() {
        let denied = rules(&[]).check("127.0.0.1".parse().unwrap()).unwrap_err().to_string();
        assert!(
            denied.contains("127.0.0.0/8 is loopback") && denied.contains("--allow-egress 127.0.0.1/32"),
            "{denied}"
        );
        let denied = rules(&[]).check("64:ff9b::a00:1".parse().unwrap()).unwrap_err().to_string();
        assert!(denied.contains("stands for 10.0.0.1 (NAT64), 10.0.0.0/8 is private"), "{denied}");
    }

    #[test]
    fn addresses_of_this_machine_are_known() {
        assert!(rules(&[]).is_own("127.0.0.1".parse().unwrap()));
    }
}
