//! Addresses of a simulated scenario.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The first port of clients; each connection of the scenario has one of its own, on all its links.
pub(super) const FIRST_PORT: u16 = 20_000;
/// Connections in one simulation: as many as there are ports.
pub(super) const MOST_SESSIONS: usize = (u16::MAX - FIRST_PORT) as usize;

/// The address of the host that has the link with this number.
pub(super) fn interface(link: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 1, (link / 250) as u8, (link % 250 + 1) as u8))
}

/// Where the host with this number listens.
pub(super) fn server(host: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 99, (host / 250) as u8, (host % 250 + 1) as u8)), 443)
}

/// The source of the UDP flow with this number.
pub(super) fn udp_source(flow: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 200, (flow / 250) as u8, (flow % 250 + 1) as u8)), 9)
}

/// What a NAT shows instead of an address after it forgot for the `n`-th time.
pub(super) fn rebound(inside: SocketAddr, n: usize) -> SocketAddr {
    let octets = match inside.ip() {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(_) => [10, 2, 0, 1],
    };
    let address = Ipv4Addr::new(10, 100 + (n % 100) as u8, octets[2], octets[3]);
    SocketAddr::new(IpAddr::V4(address), inside.port())
}
