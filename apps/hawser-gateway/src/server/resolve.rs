//! Names to addresses, at the gateway.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hawser_masque::status::{ProxyError, ProxyStatus};
use hawser_masque::target::{Host, Target};
use tokio::sync::Semaphore;

use crate::egress::EgressRules;

/// Look-ups at the same time: each takes a thread while it waits.
const MAX_LOOKUPS: usize = 128;
/// How long one may take, waiting for its turn included.
const PATIENCE: Duration = Duration::from_secs(10);
/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 16;

/// Looks names up as this machine does.
#[derive(Debug)]
pub(super) struct Resolver {
    lookups: Semaphore,
}

impl Resolver {
    pub(super) fn new() -> Self {
        Resolver { lookups: Semaphore::new(MAX_LOOKUPS) }
    }

    /// The addresses of a target that the rules allow, IPv6 and IPv4 in turns, at least one. Connect to these and to no
    /// others: another look-up may bring others.
    ///
    /// # Errors
    /// What to answer.
    pub(super) async fn resolve(
        &self,
        target: &Target,
        rules: &EgressRules,
    ) -> Result<Vec<SocketAddr>, ProxyStatus> {
        let name = match &target.host {
            Host::Address(address) => {
                let denied = |denied| ProxyStatus::new(ProxyError::DestinationIpProhibited, denied);
                rules.check(*address).map_err(denied)?;
                return Ok(vec![SocketAddr::new(*address, target.port)]);
            }
            Host::Name(name) => name,
        };
        let looked_up = async {
            let _turn = self.lookups.acquire().await;
            tokio::net::lookup_host((name.as_str(), target.port)).await
        };
        let late = |_| {
            ProxyStatus::new(
                ProxyError::DnsTimeout,
                format_args!("no answer for the name {name} within {} s", PATIENCE.as_secs()),
            )
        };
        let unknown = |why: &dyn std::fmt::Display| {
            ProxyStatus::new(
                ProxyError::DnsError,
                format_args!("the gateway finds no address of {name}: {why}"),
            )
        };
        let found = tokio::time::timeout(PATIENCE, looked_up).await.map_err(late)?;
        let found = found.map_err(|error| unknown(&error))?.take(MAX_ADDRESSES);
        let (mut allowed, mut denied) = (Vec::new(), None);
        for address in found {
            match rules.check(address.ip()) {
                Ok(()) => allowed.push(address),
                Err(rule) => denied = Some(rule),
            }
        }
        match (allowed.is_empty(), denied) {
            (false, _) => Ok(interleave(allowed)),
            (true, Some(denied)) => Err(ProxyStatus::new(
                ProxyError::DestinationIpProhibited,
                format_args!("{name} is {}; {denied}", denied.address),
            )),
            (true, None) => Err(unknown(&"it has none")),
        }
    }
}

/// One family after the other (RFC 8305 section 4), beginning with that of the first address.
fn interleave(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let is_first = |address: &SocketAddr| matches!(address.ip(), IpAddr::V6(_)) == first_is_v6;
    let (first, second): (Vec<_>, Vec<_>) = addresses.into_iter().partition(is_first);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut turns = Vec::new();
    loop {
        let (one, other) = (first.next(), second.next());
        if one.is_none() && other.is_none() {
            return turns;
        }
        turns.extend(one.into_iter().chain(other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns() {
        let read =
            |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<SocketAddr>>();
        let addresses = read(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1"]);
        assert_eq!(interleave(addresses), read(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "[::3]:1"]));
        assert_eq!(interleave(Vec::new()), []);
    }

    /// The name that every machine has, and that stands for an address that no rule allows.
    #[tokio::test]
    async fn a_name_of_a_denied_address_is_denied() {
        let target: Target = "localhost:80".parse().unwrap();
        let denied = Resolver::new().resolve(&target, &EgressRules::new(vec![])).await.unwrap_err();
        assert_eq!(denied.error, ProxyError::DestinationIpProhibited);
        assert!(denied.details.starts_with("localhost is "), "{}", denied.details);
        let allowed = EgressRules::new(vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
        assert!(!Resolver::new().resolve(&target, &allowed).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn numbers_that_resolvers_take_for_addresses_are_checked_too() {
        let rules = EgressRules::new(vec![]);
        for text in ["127.1:80", "0x7f000001:80", "2130706433:80", "[::ffff:127.0.0.1]:80"] {
            let denied = Resolver::new().resolve(&text.parse().unwrap(), &rules).await.unwrap_err();
            assert_ne!(denied.error, ProxyError::ConnectionRefused, "{text}");
        }
    }
}
