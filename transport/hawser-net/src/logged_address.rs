//! How logs name the addresses of others.
//!
//! A log is kept and passed on, and an address says who was where. Logs therefore name the network that a client came from, unless
//! the operator wants addresses. The choice is one of the process, as that of the log's level is.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

/// Of an IPv4 address: what a network of 256 has in common.
const NETWORK_V4: u32 = 24;
/// Of an IPv6 address: what a provider gives to one customer at most (RFC 6177 section 2).
const NETWORK_V6: u32 = 48;

static ARE_FULL: AtomicBool = AtomicBool::new(false);

/// Whether logs have addresses as they are, from now on. Default: no.
pub fn log_full_addresses(full: bool) {
    ARE_FULL.store(full, Ordering::Relaxed);
}

/// An address of somebody else, as it stands in a log: its network (the first 24 bits of IPv4, 48 of IPv6, zeros behind) and its
/// port, by which lines about one client are found. Loopback stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedAddress(pub SocketAddr);

impl LoggedAddress {
    fn shown(self, full: bool) -> SocketAddr {
        let ip = self.0.ip().to_canonical();
        if full || ip.is_loopback() {
            return self.0;
        }
        SocketAddr::new(network(ip), self.0.port())
    }
}

fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits() & (u32::MAX << (32 - NETWORK_V4))).into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << (128 - NETWORK_V6))).into(),
    }
}

impl fmt::Display for LoggedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown(ARE_FULL.load(Ordering::Relaxed)).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_name_networks_unless_addresses_are_wanted() {
        for (address, redacted) in [
            ("192.0.2.77:50123", "192.0.2.0:50123"),
            ("[::ffff:192.0.2.77]:50123", "192.0.2.0:50123"),
            ("[2001:db8:1:2:3:4:5:6]:443", "[2001:db8:1::]:443"),
            ("[fe80::1%3]:443", "[fe80::]:443"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("[::1]:1", "[::1]:1"),
        ] {
            let logged = LoggedAddress(address.parse().unwrap());
            assert_eq!(logged.shown(false).to_string(), redacted);
            assert_eq!(logged.shown(true), logged.0);
        }
    }
}
