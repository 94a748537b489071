//! What a user may do at a gateway besides opening tunnels, and how much.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::local::forward::{Transport, split};

/// What the file of users grants one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Ports of the gateway that the user may have lead to hosts of his own; none if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listen: Vec<ListenRule>,
    /// Most bits per second, in each direction; `None`: as many as the links carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// Most bytes within 30 days, both directions together; `None`: as many as come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<u64>,
}

/// Ports of the gateway: `[ADDR:]PORT[-PORT][/udp]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ListenRule {
    /// At this address; `None`: at all of the gateway's.
    address: Option<IpAddr>,
    ports: RangeInclusive<u16>,
    transport: Transport,
}

impl Grants {
    /// Whether the user may listen there.
    pub fn allows(&self, transport: Transport, address: SocketAddr) -> bool {
        self.of(transport, address.ip()).any(|rule| rule.ports.contains(&address.port()))
    }

    /// The ports at an address that the user may listen on.
    pub fn ports(&self, transport: Transport, address: IpAddr) -> impl Iterator<Item = u16> {
        self.of(transport, address).flat_map(|rule| rule.ports.clone())
    }

    fn of(&self, transport: Transport, address: IpAddr) -> impl Iterator<Item = &ListenRule> {
        let is_of = move |rule: &&ListenRule| {
            rule.transport == transport && rule.address.is_none_or(|own| own == address)
        };
        self.listen.iter().filter(is_of)
    }
}

impl FromStr for ListenRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}`: expected [ADDR:]PORT[-PORT][/udp], for example 8000-8099, *:9000/udp or [2001:db8::1]:22"
            )
        };
        let (rest, transport) = match text.rsplit_once('/') {
            Some((rest, "udp")) => (rest, Transport::Udp),
            Some((rest, "tcp")) => (rest, Transport::Tcp),
            Some(_) => return Err(wrong()),
            None => (text, Transport::Tcp),
        };
        let parts = split(rest).ok_or_else(wrong)?;
        let (address, ports) = match parts[..] {
            [ports] => (Some(Ipv4Addr::LOCALHOST.into()), ports),
            ["*", ports] => (None, ports),
            ["localhost", ports] => (Some(Ipv4Addr::LOCALHOST.into()), ports),
            [address, ports] => (Some(address.parse::<IpAddr>().map_err(|_| wrong())?), ports),
            _ => return Err(wrong()),
        };
        let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(wrong);
        let ports = port(first)?..=port(last)?;
        if ports.is_empty() { Err(wrong()) } else { Ok(ListenRule { address, ports, transport }) }
    }
}

impl fmt::Display for ListenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            None => f.write_str("*:")?,
            Some(IpAddr::V4(address)) => write!(f, "{address}:")?,
            Some(IpAddr::V6(address)) => write!(f, "[{address}]:")?,
        }
        let (first, last) = (self.ports.start(), self.ports.end());
        write!(f, "{first}")?;
        if last > first {
            write!(f, "-{last}")?;
        }
        match self.transport {
            Transport::Tcp => Ok(()),
            Transport::Udp => f.write_str("/udp"),
        }
    }
}

impl TryFrom<String> for ListenRule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ListenRule> for String {
    fn from(rule: ListenRule) -> String {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn grants(rules: &[&str]) -> Grants {
        Grants { listen: rules.iter().map(|rule| rule.parse().unwrap()).collect(), ..Grants::default() }
    }

    #[test]
    fn rules_allow_what_they_name_and_nothing_else() {
        let grants = grants(&["8000-8099", "*:9000/udp", "[2001:db8::1]:22"]);
        let allows = |transport, address: &str| grants.allows(transport, address.parse().unwrap());
        assert!(allows(Transport::Tcp, "127.0.0.1:8000") && allows(Transport::Tcp, "127.0.0.1:8099"));
        assert!(allows(Transport::Udp, "0.0.0.0:9000") && allows(Transport::Udp, "[::]:9000"));
        assert!(allows(Transport::Tcp, "[2001:db8::1]:22"));
        for (transport, address) in [
            (Transport::Tcp, "127.0.0.1:7999"),
            (Transport::Tcp, "127.0.0.1:0"),
            (Transport::Tcp, "0.0.0.0:8000"),
            (Transport::Udp, "127.0.0.1:8000"),
            (Transport::Tcp, "0.0.0.0:9000"),
            (Transport::Tcp, "[::]:22"),
        ] {
            assert!(!allows(transport, address), "{transport:?} {address}");
        }
        assert!(!Grants::default().allows(Transport::Tcp, "127.0.0.1:8000".parse().unwrap()));
        assert_eq!(grants.ports(Transport::Udp, Ipv4Addr::LOCALHOST.into()).collect::<Vec<_>>(), [9000]);
    }

    #[test]
    fn rules_are_written_as_they_are_read() {
        for text in ["127.0.0.1:80", "*:1-65535/udp", "[::1]:5-6"] {
            assert_eq!(text.parse::<ListenRule>().unwrap().to_string(), text);
        }
        for text in ["", "0", "9-8", "a:80", "1-2-3", "80/sctp", "1:2:3"] {
            assert!(text.parse::<ListenRule>().unwrap_err().contains("expected [ADDR:]PORT"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text: String) {
            let _ = text.parse::<ListenRule>();
        }
    }
}
