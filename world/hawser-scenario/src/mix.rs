//! What a tunnel carries at once: the traffic of a flow of kind `tunnel-mix`.

use std::time::Duration;

use crate::Direction;

/// Traffic of a household behind a tunnel, all of it over one connection. TCP connections are streams, UDP packets are datagrams, as
/// `hawser tunnel` has it. Parts that are `None` are left out; there is at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct TunnelMix {
    /// A transfer over TCP without an end, in this direction.
    pub bulk: Option<Direction>,
    /// Web pages over TCP.
    pub web: Option<MixWeb>,
    /// A call: packets both ways.
    pub call: Option<MixPackets>,
    /// A game: packets both ways.
    pub game: Option<MixPackets>,
    /// A transfer over UDP at a constant rate, to the host with the links.
    pub udp: Option<MixPackets>,
    /// Whether packets of calls and games go on two paths, as from `hawser tunnel`; if not, the scheduler chooses one.
    pub copies: bool,
}

/// Pages of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MixWeb {
    /// Objects of a page, asked for at once, each on a stream of its own.
    pub objects: u32,
    /// Bytes of an object.
    pub size: u64,
    /// Time between the end of a page and the next one.
    pub think: Duration,
}

/// UDP packets at an even pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MixPackets {
    /// Bytes of the UDP payload.
    pub size: u32,
    /// Time from one to the next.
    pub every: Duration,
}
