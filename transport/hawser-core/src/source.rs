//! What one stranger has all addresses of.

use std::net::{IpAddr, Ipv6Addr};

/// The source that an address belongs to: an IPv4 address itself, or the IPv6 network of 64 bits, of which one customer has
/// at least one (RFC 7421). IPv4 addresses that are written as IPv6 ones are IPv4.
pub fn source_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_64_bits_is_one_source() {
        let source = |text: &str| source_of(text.parse().unwrap()).to_string();
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    }
}
