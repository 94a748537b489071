//! Who has which address.

use std::net::Ipv4Addr;

/// The server's address, reachable over every link.
pub const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);

/// Addresses of the link number `index` (from 0): the subnet `10.77.(index+1).0/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkAddresses {
    index: u8,
}

impl LinkAddresses {
    /// The addresses of a link. A scenario has at most 64 links.
    pub fn of(index: usize) -> Self {
        Self { index: u8::try_from(index).unwrap_or(u8::MAX - 1) }
    }

    /// The client's end.
    pub fn client(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.index + 1, 2)
    }

    /// The server's end; it serves as the gateway. Programs should use [`SERVER_ADDRESS`].
    pub fn gateway(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.index + 1, 1)
    }

    /// The subnet.
    pub(crate) fn subnet(self) -> String {
        format!("10.77.{}.0/24", self.index + 1)
    }

    /// Routing table for packets from the client's address; also the metric of the default route.
    pub(crate) fn table(self) -> u32 {
        100 + u32::from(self.index)
    }
}
