use std::fmt;
use std::net::SocketAddr;

/// The addresses between which packets of a path travel.
///
/// `local` names the socket: a driver with one socket per interface gives each its own port, so that two links with
/// the same private address (two modems of one make) stay apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FourTuple {
    /// Our address and port.
    pub local: SocketAddr,
    /// The peer's address and port.
    pub remote: SocketAddr,
}

impl fmt::Debug for FourTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", self.local, self.remote)
    }
}

/// The ECN field of an IP packet (RFC 3168 section 5). Not-ECT is `None` where this type is used in an `Option`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// ECN-capable, codepoint 10.
    Ect0,
    /// ECN-capable, codepoint 01.
    Ect1,
    /// Congestion experienced, codepoint 11.
    Ce,
}
