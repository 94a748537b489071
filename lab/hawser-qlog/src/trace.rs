//! What one end of a connection saw.

use std::collections::BTreeMap;

/// Not acknowledged, or not lost.
pub const NEVER: u64 = u64::MAX;

/// Which end wrote a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
    /// Another observer, or one that does not say.
    Unknown,
}

impl Side {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
            Side::Unknown => "unknown end",
        }
    }
}

/// What one end saw. Times are in microseconds since the trace began.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Name of the file.
    pub file: String,
    /// Who wrote it.
    pub implementation: String,
    /// The version of qlog, as written.
    pub version: String,
    /// Which end.
    pub side: Side,
    /// Names the connection at both ends.
    pub group: Option<String>,
    /// Events that were read.
    pub events: u64,
    /// Time of the last one.
    pub end_us: u64,
    /// Packets sent after the handshake, in the order of time.
    pub sent: Vec<Packet>,
    /// Packets received after the handshake, in the order of time.
    pub received: Vec<Packet>,
    /// The stream data of all packets.
    pub chunks: Vec<Chunk>,
    /// Paths by number.
    pub paths: BTreeMap<u64, Path>,
    /// What could not be read, for people.
    pub notices: Vec<String>,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it was sent or received.
    pub at_us: u64,
    /// Path number.
    pub path: u64,
    /// Packet number.
    pub number: u64,
    /// Bytes of the datagram.
    pub size: u32,
    /// Its stream data: the first of [`Trace::chunks`], and how many.
    pub chunks: (u32, u16),
    /// When it was acknowledged, or [`NEVER`].
    pub acked_us: u64,
    /// When it was declared lost, or [`NEVER`].
    pub lost_us: u64,
}

impl Packet {
    /// Whether it was declared lost and acknowledged later.
    pub fn is_spuriously_lost(&self) -> bool {
        self.lost_us != NEVER && self.acked_us != NEVER && self.acked_us >= self.lost_us
    }

    /// Whether it was declared lost.
    pub fn is_lost(&self) -> bool {
        self.lost_us != NEVER
    }
}

/// Stream data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Stream number.
    pub stream: u64,
    /// Its first byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Whether the stream ends with it.
    pub fin: bool,
}

impl Chunk {
    /// The byte after its last.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.length))
    }
}

/// A path as one end saw it.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// Our address.
    pub local: Option<String>,
    /// The peer's address.
    pub remote: Option<String>,
    /// Newest round-trip time, in microseconds.
    pub rtt: Series,
    /// Congestion window in bytes.
    pub window: Series,
    /// Bytes in flight.
    pub in_flight: Series,
    /// States of its life: when, which, why.
    pub states: Vec<Change>,
    /// States of its congestion controller.
    pub congestion: Vec<Change>,
}

/// Values over time, the oldest first.
pub type Series = Vec<(u64, f64)>;

/// Another state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at_us: u64,
    /// The state from now on.
    pub to: String,
    /// What caused it, as far as it is said.
    pub cause: String,
}

impl Trace {
    /// Packets in both directions.
    pub fn packets(&self) -> usize {
        self.sent.len() + self.received.len()
    }

    /// The stream data of a packet.
    pub fn data_of(&self, packet: &Packet) -> &[Chunk] {
        let (first, count) = (packet.chunks.0 as usize, usize::from(packet.chunks.1));
        self.chunks.get(first..first + count).unwrap_or_default()
    }

    /// Bytes of stream data in these packets, repetitions included.
    pub fn stream_bytes(&self, packets: &[Packet]) -> u64 {
        packets.iter().flat_map(|packet| self.data_of(packet)).map(|chunk| u64::from(chunk.length)).sum()
    }
}
