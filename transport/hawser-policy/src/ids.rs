use std::fmt;

/// Identifies a path of a connection (draft-ietf-quic-multipath-21 section 2): 0 is the path of the
/// handshake, ids rise and are never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PathId(pub u32);

impl PathId {
    /// The path on which the handshake ran.
    pub const ZERO: PathId = PathId(0);
}

impl fmt::Debug for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path {}", self.0)
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Which end of a connection we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that sent the first Initial packet.
    Client,
    /// The end that accepted it.
    Server,
}

impl Side {
    /// The other end.
    pub const fn peer(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    /// Whether this is the client.
    pub const fn is_client(self) -> bool {
        matches!(self, Side::Client)
    }

    /// Whether this is the server.
    pub const fn is_server(self) -> bool {
        matches!(self, Side::Server)
    }
}

/// A stream id as on the wire (RFC 9000 section 2.1): bit 0 is the initiator, bit 1 the direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StreamId(pub u64);

impl StreamId {
    /// The `index`-th stream opened by `initiator`, counted from zero per direction.
    pub const fn new(initiator: Side, bidirectional: bool, index: u64) -> Self {
        StreamId((index << 2) | ((!bidirectional as u64) << 1) | (initiator.is_server() as u64))
    }

    /// Who opened the stream.
    pub const fn initiator(self) -> Side {
        if self.0 & 1 == 0 { Side::Client } else { Side::Server }
    }

    /// Whether both ends send on it.
    pub const fn is_bidirectional(self) -> bool {
        self.0 & 2 == 0
    }

    /// The position among the streams of its kind, from zero.
    pub const fn index(self) -> u64 {
        self.0 >> 2
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}", self.0)
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A local network link (interface), numbered by the driver; stable while the link exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A set of paths believed to share a bottleneck (shared-bottleneck detection); 0 means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GroupId(pub u32);

/// An opaque mark that a scheduler puts on what it sends and gets back with the acknowledgement or loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tag(pub u64);
