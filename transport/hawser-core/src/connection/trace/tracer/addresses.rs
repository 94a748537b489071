//! Addresses in records.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hawser_policy::{PathId, Side};

use super::json::Json;
use crate::FourTuple;
use crate::connection::qlog::QlogAddresses;

/// Addresses of an end that have a name of their own; further ones share another. A peer may come from any number of them.
const MAX_NAMED: usize = 254;

/// What stands for addresses in a trace.
///
/// Redacted, each address of an end has a number, in the order in which they were first written, within a network that is for
/// documentation: the client's are 192.0.2.N and 2001:db8:1::N, the server's 198.51.100.N and 2001:db8:2::N (RFC 5737, RFC 3849). Loopback
/// and unspecified addresses say nothing of anybody and stay, and so do ports, which show that a NAT has changed them.
#[derive(Debug)]
pub(super) struct Addresses {
    shown: QlogAddresses,
    /// Our end.
    side: Side,
    client: Vec<IpAddr>,
    server: Vec<IpAddr>,
}

impl Addresses {
    pub(super) fn new(shown: QlogAddresses, side: Side) -> Self {
        Addresses { shown, side, client: Vec::new(), server: Vec::new() }
    }

    /// Both ends of a path.
    pub(super) fn tuple(&mut self, tuple: FourTuple) -> FourTuple {
        FourTuple { local: self.local(tuple.local), remote: self.remote(tuple.remote) }
    }

    /// One of this end's.
    pub(super) fn local(&mut self, address: SocketAddr) -> SocketAddr {
        self.of(self.side, address)
    }

    /// One of the peer's.
    pub(super) fn remote(&mut self, address: SocketAddr) -> SocketAddr {
        self.of(self.side.peer(), address)
    }

    fn of(&mut self, end: Side, mut address: SocketAddr) -> SocketAddr {
        // Of a socket for both families addresses of IPv4 have the form of IPv6.
        let ip = address.ip().to_canonical();
        if self.shown == QlogAddresses::Full || ip.is_loopback() || ip.is_unspecified() {
            return address;
        }
        let (known, v4, v6) = match end {
            Side::Client => (&mut self.client, [192, 0, 2], 1),
            Side::Server => (&mut self.server, [198, 51, 100], 2),
        };
        let at = known.iter().position(|one| *one == ip).unwrap_or_else(|| {
            if known.len() < MAX_NAMED {
                known.push(ip);
                known.len() - 1
            } else {
                MAX_NAMED
            }
        });
        let number = u8::try_from(at + 1).unwrap_or(u8::MAX);
        address.set_ip(match ip {
            IpAddr::V4(_) => Ipv4Addr::new(v4[0], v4[1], v4[2], number).into(),
            IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, v6, 0, 0, 0, 0, number.into()).into(),
        });
        address
    }
}

/// A path's tuple: its id, or the empty default for the path of the handshake.
pub(super) fn tuple_id(json: &mut Json, name: &str, id: PathId) {
    if id == PathId::ZERO {
        json.text(name, "");
    } else {
        json.plain(name, format_args!("{id}"));
    }
}

/// One end of a tuple.
pub(super) fn endpoint_info(json: &mut Json, address: SocketAddr) {
    let (ip, port) = if address.is_ipv4() { ("ip_v4", "port_v4") } else { ("ip_v6", "port_v6") };
    json.plain(ip, format_args!("{}", address.ip()));
    json.number(port, u64::from(address.port()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn redacted_addresses_are_told_apart_and_keep_family_and_port() {
        let mut addresses = Addresses::new(QlogAddresses::Redacted, Side::Server);
        let mut tuple = |local: &str, remote: &str| {
            let tuple = FourTuple { local: address(local), remote: address(remote) };
            let shown = addresses.tuple(tuple);
            (shown.local.to_string(), shown.remote.to_string())
        };
        let pair = |local: &str, remote: &str| (local.to_owned(), remote.to_owned());
        assert_eq!(tuple("203.0.113.9:443", "10.1.0.7:5000"), pair("198.51.100.1:443", "192.0.2.1:5000"));
        assert_eq!(
            tuple("[2a02::9]:443", "[fe80::21]:5001"),
            pair("[2001:db8:2::2]:443", "[2001:db8:1::2]:5001")
        );
        assert_eq!(
            tuple("203.0.113.9:443", "[::ffff:10.1.0.7]:5002"),
            pair("198.51.100.1:443", "192.0.2.1:5002")
        );
        assert_eq!(
            tuple("127.0.0.1:443", "[::ffff:127.0.0.1]:1"),
            pair("127.0.0.1:443", "[::ffff:127.0.0.1]:1")
        );
        assert_eq!(tuple("0.0.0.0:443", "[::]:1"), pair("0.0.0.0:443", "[::]:1"));
    }

    #[test]
    fn both_ends_of_a_connection_have_the_same_name_for_an_address() {
        let (client, server) = (address("10.1.0.7:5000"), address("203.0.113.9:443"));
        let mut ours = Addresses::new(QlogAddresses::Redacted, Side::Client);
        let mut theirs = Addresses::new(QlogAddresses::Redacted, Side::Server);
        let one = ours.tuple(FourTuple { local: client, remote: server });
        let other = theirs.tuple(FourTuple { local: server, remote: client });
        assert_eq!((one.local, one.remote), (other.remote, other.local));
    }

    #[test]
    fn a_peer_with_very_many_addresses_takes_bounded_memory() {
        let mut addresses = Addresses::new(QlogAddresses::Redacted, Side::Server);
        let shown = |addresses: &mut Addresses, n: u32| {
            addresses.remote(SocketAddr::new(Ipv4Addr::from(n).into(), 1))
        };
        let names: std::collections::BTreeSet<_> =
            (0x0a00_0000..0x0a00_2000).map(|n| shown(&mut addresses, n)).collect();
        assert_eq!((names.len(), addresses.client.len()), (MAX_NAMED + 1, MAX_NAMED));
        assert_eq!(shown(&mut addresses, 0x0a00_0000), address("192.0.2.1:1"), "it keeps its name");
        assert_eq!(shown(&mut addresses, 0x0a00_1fff), address("192.0.2.255:1"));
    }

    #[test]
    fn full_addresses_are_as_they_are() {
        let mut addresses = Addresses::new(QlogAddresses::Full, Side::Client);
        assert_eq!(addresses.local(address("10.1.0.7:5000")), address("10.1.0.7:5000"));
        assert!(addresses.client.is_empty());
    }
}
