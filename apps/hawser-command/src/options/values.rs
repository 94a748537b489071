//! Values of options.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hawser::ServerConfigBuilder;
use ipnet::IpNet;

/// Reads an address to listen on.
///
/// # Errors
/// Says what was expected.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    // A name that every machine has; others may stand for several addresses.
    let named = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let local = named.map(|port: u16| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    local.or_else(|| text.parse().ok()).ok_or_else(|| {
        let port = text.trim_start_matches(':');
        let hint = match port.parse::<u16>() {
            Ok(port) => format!("; a port alone says not who may come: [::]:{port} is everybody, localhost:{port} this machine"),
            Err(_) => String::new(),
        };
        format!("expected ADDRESS:PORT, for example 0.0.0.0:4433 or [::]:4433{hint}")
    })
}

/// Reads a name or an address without a port, which is an option of its own.
///
/// # Errors
/// Says how the port is given, if there is one: `127.0.0.1:5202` would be looked up as a name.
pub fn bare_host(text: &str) -> Result<String, String> {
    let parts = text.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'));
    match parts.map(|(host, port)| (host.trim_matches(['[', ']']), port.parse::<u16>())) {
        Some((host, Ok(port))) => {
            Err(format!("expected a name or address; give the port by itself: {host} --port {port}"))
        }
        _ => Ok(text.to_owned()),
    }
}

/// Reads a duration in seconds, fractions allowed.
///
/// # Errors
/// Says what was expected.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}`: expected seconds, for example 10 or 0.5");
    let seconds: f64 = text.trim_end_matches('s').parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero()).ok_or_else(wrong)
}

/// Reads a duration in seconds, or 0 for none.
///
/// # Errors
/// Says what was expected.
pub fn seconds_or_none(text: &str) -> Result<Duration, String> {
    if text.parse() == Ok(0.0) { Ok(Duration::ZERO) } else { seconds(text) }
}

/// Reads a number of workers; `auto` and 0 mean one per core.
///
/// # Errors
/// Says what was expected.
pub fn workers(text: &str) -> Result<usize, String> {
    let most = ServerConfigBuilder::MAX_WORKERS;
    match text.parse() {
        _ if matches!(text, "auto" | "0") => {
            Ok(std::thread::available_parallelism().map_or(1, usize::from).min(most))
        }
        Ok(count) if count <= most => Ok(count),
        _ => Err(format!("`{text}`: expected 1 to {most}, or auto")),
    }
}

/// A prefix of addresses, or one address.
pub fn prefix(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<std::net::IpAddr>().map(IpNet::from);
    text.parse::<IpNet>()
        .or_else(|_| address())
        .map(|prefix| prefix.trunc())
        .map_err(|_| format!("`{text}`: expected a prefix such as 192.168.7.0/24, or an address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_has_no_port() {
        for host in ["example.org", "127.0.0.1", "::1", "2001:db8::7"] {
            assert_eq!(bare_host(host).as_deref(), Ok(host));
        }
        for (text, hint) in [
            ("example.org:5202", "example.org --port 5202"),
            ("127.0.0.1:5202", "127.0.0.1 --port 5202"),
            ("[::1]:5202", "::1 --port 5202"),
        ] {
            assert!(bare_host(text).unwrap_err().ends_with(hint), "{text}");
        }
    }
}
