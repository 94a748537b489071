//! Where a tunnel leads: a host and a port.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Most bytes of a name (RFC 1035 section 3.1, without the length bytes and the root).
pub const MAX_NAME: usize = 253;
/// Most bytes of one of its labels.
pub const MAX_LABEL: usize = 63;

/// A host, by name or by address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// To be looked up by the end that connects. Letters, digits, `-` and `_` in labels; in lower case, without a dot at the end.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Where.
    pub host: Host,
    /// 1 to 65535.
    pub port: u16,
}

/// What is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTarget {
    /// Not a name and not an address.
    #[error("{0:?} is no host: expected a DNS name or an IP address")]
    Host(String),
    /// No port, or none that exists.
    #[error("{0:?} has no port: expected HOST:PORT with a port of 1 to 65535")]
    Port(String),
}

impl FromStr for Host {
    type Err = InvalidTarget;

    /// A name or an address, the latter without brackets.
    fn from_str(text: &str) -> Result<Self, InvalidTarget> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Host::Address(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_sound = |label: &str| {
            (1..=MAX_LABEL).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        if name.len() > MAX_NAME || !name.split('.').all(is_sound) {
            return Err(InvalidTarget::Host(shortened(text)));
        }
        Ok(Host::Name(name.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(address) => address.fmt(f),
        }
    }
}

impl FromStr for Target {
    type Err = InvalidTarget;

    /// `HOST:PORT`, with brackets around an IPv6 address, as in the authority of CONNECT (RFC 9110 section 9.3.6).
    fn from_str(text: &str) -> Result<Self, InvalidTarget> {
        let no_port = || InvalidTarget::Port(shortened(text));
        let (host, port) = text.rsplit_once(':').ok_or_else(no_port)?;
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| *port > 0 && is_number).ok_or_else(no_port)?;
        let host = match host.strip_prefix('[') {
            Some(rest) => {
                let inner = rest.strip_suffix(']').ok_or_else(|| InvalidTarget::Host(shortened(host)))?;
                let address: Ipv6Addr = inner.parse().map_err(|_| InvalidTarget::Host(shortened(host)))?;
                Host::Address(address.into())
            }
            // More colons: an IPv6 address without brackets, whose last group is no port.
            None if host.contains(':') => return Err(no_port()),
            None => host.parse()?,
        };
        Ok(Target { host, port })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            host => write!(f, "{host}:{}", self.port),
        }
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        Target { host: Host::Address(address.ip()), port: address.port() }
    }
}

/// For messages: a peer chose it.
fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<String, InvalidTarget> {
        text.parse::<Target>().map(|target| target.to_string())
    }

    #[test]
    fn names_and_addresses_with_ports() {
        for text in
            ["example.org:443", "192.0.2.1:1", "[2001:db8::1]:65535", "a_b-c:80", "xn--bcher-kva.example:80"]
        {
            assert_eq!(read(text).as_deref(), Ok(text));
        }
        assert_eq!(read("Example.ORG.:80").as_deref(), Ok("example.org:80"));
        // What resolvers take for an address is one to them, too.
        assert_eq!(read("0x7f.1:80").as_deref(), Ok("0x7f.1:80"));
    }

    #[test]
    fn what_is_no_target_is_refused() {
        let label = "a".repeat(MAX_LABEL + 1);
        let name = ["a"; 128].join(".");
        for host in [
            "",
            ".",
            "a..b",
            "a b",
            "a/b",
            "b\u{fc}cher",
            "[::1",
            "[192.0.2.1]",
            "[fe80::1%eth0]",
            &label,
            &name,
        ] {
            assert!(matches!(read(&format!("{host}:80")), Err(InvalidTarget::Host(_))), "{host}");
        }
        for text in
            ["example.org", "example.org:", "example.org:0", "example.org:65536", "a:+80", "2001:db8::1:80"]
        {
            assert!(matches!(read(text), Err(InvalidTarget::Port(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in ".{0,300}") {
            if let Ok(target) = text.parse::<Target>() {
                prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
            }
        }

        #[test]
        fn addresses_stay_what_they_are(address: SocketAddr) {
            prop_assume!(address.port() > 0);
            let target = Target::from(address);
            prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
        }
    }
}
