//! Ports of this host that lead through the gateway, as `ssh -L` has them, and of the gateway that lead to this host, as `ssh -R`
//! has them.

mod remote;
mod tcp;
pub(super) mod udp;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use hawser_masque::target::{Host, Target};

pub use remote::RemoteForward;
pub use tcp::TcpForward;
pub use udp::UdpForward;

/// What a port carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// `[addr:]port:host:hostport[/udp]`: where to listen, and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Where programs connect, on this host or at the gateway; 127.0.0.1 if no address is named.
    pub listen: SocketAddr,
    /// Where it leads, as the other of both sees it.
    pub target: Target,
    /// What it carries.
    pub transport: Transport,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}`: expected [ADDR:]PORT:HOST:HOSTPORT[/udp], for example 8080:example.org:80 or 9000:[2001:db8::1]:9000/udp"
            )
        };
        let (addresses, transport) = match text.rsplit_once('/') {
            Some((rest, "udp")) => (rest, Transport::Udp),
            Some((rest, "tcp")) => (rest, Transport::Tcp),
            Some(_) => return Err(wrong()),
            None => (text, Transport::Tcp),
        };
        let parts = split(addresses).ok_or_else(wrong)?;
        let (address, port, host, host_port) = match parts[..] {
            [port, host, host_port] => (None, port, host, host_port),
            [address, port, host, host_port] => (Some(address), port, host, host_port),
            _ => return Err(wrong()),
        };
        let ip = match address {
            None | Some("localhost") => Ipv4Addr::LOCALHOST.into(),
            Some("*") => Ipv4Addr::UNSPECIFIED.into(),
            Some(address) => address.parse::<IpAddr>().map_err(|_| wrong())?,
        };
        let host: Host = host.parse().map_err(|_| wrong())?;
        let host_port = host_port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        let listen = SocketAddr::new(ip, port.parse().map_err(|_| wrong())?);
        Ok(Forward { listen, target: Target { host, port: host_port }, transport })
    }
}

/// The parts between colons, without the brackets of IPv6 addresses.
pub(crate) fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let part = match rest.strip_prefix('[') {
            Some(inner) => {
                let (address, behind) = inner.split_once(']')?;
                rest = behind;
                address
            }
            None => {
                let end = rest.find(':').unwrap_or(rest.len());
                let (part, behind) = rest.split_at(end);
                rest = behind;
                part
            }
        };
        parts.push(part);
        if rest.is_empty() {
            return Some(parts);
        }
        rest = rest.strip_prefix(':')?;
    }
}

impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.transport {
            Transport::Tcp => "TCP",
            Transport::Udp => "UDP",
        };
        write!(f, "{kind} {} to {}", self.listen, self.target)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forwards_are_written_as_for_ssh() {
        let read = |text: &str| text.parse::<Forward>().map(|forward| forward.to_string());
        for (text, meaning) in [
            ("8080:example.org:80", "TCP 127.0.0.1:8080 to example.org:80"),
            ("0.0.0.0:53:1.1.1.1:53/udp", "UDP 0.0.0.0:53 to 1.1.1.1:53"),
            ("*:53:1.1.1.1:53/udp", "UDP 0.0.0.0:53 to 1.1.1.1:53"),
            ("localhost:1:a:2/tcp", "TCP 127.0.0.1:1 to a:2"),
            ("[::1]:9000:[2001:db8::1]:9001", "TCP [::1]:9000 to [2001:db8::1]:9001"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(meaning));
        }
        for text in [
            "",
            "80",
            "8080:example.org",
            "8080:example.org:0",
            "x:example.org:80",
            "1:a:2/sctp",
            "1:[::1:2",
            "1:2:3:4:5",
        ] {
            assert!(read(text).unwrap_err().contains("expected [ADDR:]PORT"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text: String) {
            let _ = text.parse::<Forward>();
        }
    }
}
