//! Servers as they are named in arguments, and TCP listeners.

use std::fmt;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::exit::{Exit, Failure};

/// Where a relay or another server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or IP address, without brackets.
    pub host: String,
    /// UDP port, 1 to 65535.
    pub port: u16,
}

impl Address {
    /// Reads one, with the port that it has if none is named.
    pub fn parser(default_port: u16) -> impl Fn(&str) -> Result<Self, String> + Clone + Send + Sync {
        move |text| Address::parse(text, default_port)
    }

    fn parse(text: &str, default_port: u16) -> Result<Self, String> {
        let wrong =
            || format!("`{text}`: expected HOST or HOST:PORT, for example relay.example:{default_port}");
        // An IPv6 address needs brackets before a port.
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<std::net::IpAddr>() {
            return Ok(Address { host: address.to_string(), port: default_port });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?),
            None => (text, default_port),
        };
        let host = host.trim_matches(['[', ']']);
        if host.is_empty() || host.contains(['/', ' ']) {
            return Err(wrong());
        }
        Ok(Address { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// Listens on this TCP address.
///
/// # Errors
/// The address is taken or not of this machine: [`Exit::CannotListen`].
pub async fn listen_tcp(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| Failure::new(Exit::CannotListen, format!("cannot listen on TCP {address}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_with_and_without_a_port() {
        let read = |text: &str| Address::parse(text, 4434).map(|address| address.to_string());
        assert_eq!(read("relay.example"), Ok("relay.example:4434".to_owned()));
        assert_eq!(read("192.0.2.1:5"), Ok("192.0.2.1:5".to_owned()));
        assert_eq!(read("2001:db8::1"), Ok("[2001:db8::1]:4434".to_owned()));
        assert_eq!(read("[2001:db8::1]:7"), Ok("[2001:db8::1]:7".to_owned()));
        for text in ["", ":5", "host:0", "host:x", "https://host/"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
