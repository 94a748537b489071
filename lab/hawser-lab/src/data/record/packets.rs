//! One row per packet, from the simulator and from the emulator alike.
//!
//! | column | meaning |
//! |---|---|
//! | `sent_ns` | when it was sent, nanoseconds since the start |
//! | `at_ns` | when it arrived, or was dropped |
//! | `delivered_ns` | when all stream data that it was the first to carry had been read by the application, in order, however it got there; none: it was first with nothing, or that was not read before the end. The emulator cannot know |
//! | `link` | the access link of its route |
//! | `direction` | `up` or `down` |
//! | `port` | UDP or TCP port of the client: which connection it belongs to |
//! | `length` | bytes of the IP packet |
//! | `ce` | whether it arrived with a mark of congestion |
//! | `dropped_at` | the link or segment that dropped it; none: it arrived |
//! | `cause` | why: `queue`, `loss`, `down`, `mtu`, ... |

use std::path::Path;

use hawser_scenario::Direction;

use crate::data::table::{self, Cell, Kind, Schema, TableError, TableWriter, column};

/// A packet at the end of its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRow<'a> {
    /// When it was sent.
    pub sent_ns: u64,
    /// When it arrived or was dropped.
    pub at_ns: u64,
    /// When the stream data that it was the first to carry had been read in order.
    pub delivered_ns: Option<u64>,
    /// The access link of its route.
    pub link: &'a str,
    /// The direction.
    pub direction: Direction,
    /// Port of the client.
    pub port: u16,
    /// Bytes of the IP packet.
    pub length: u32,
    /// Whether it carries a mark of congestion.
    pub congestion_experienced: bool,
    /// Where and why it was dropped.
    pub dropped: Option<(&'a str, &'static str)>,
}

/// The table of packets.
pub struct PacketTable(Box<dyn TableWriter>);

impl PacketTable {
    /// Creates it; the name's ending says whether it is Parquet or JSON lines.
    ///
    /// # Errors
    /// As [`table::create`].
    pub fn create(path: &Path) -> Result<Self, TableError> {
        let schema = Schema::new([
            column("sent_ns", Kind::U64),
            column("at_ns", Kind::U64),
            column("delivered_ns", Kind::U64).optional(),
            column("link", Kind::Text),
            column("direction", Kind::Text),
            column("port", Kind::U64),
            column("length", Kind::U64),
            column("ce", Kind::Bool),
            column("dropped_at", Kind::Text).optional(),
            column("cause", Kind::Text).optional(),
        ])?;
        table::create(path, schema).map(PacketTable)
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, row: &PacketRow<'_>) -> Result<(), TableError> {
        self.0.row(&[
            Cell::U64(row.sent_ns),
            Cell::U64(row.at_ns),
            row.delivered_ns.map_or(Cell::Null, Cell::U64),
            Cell::Text(row.link),
            Cell::Text(row.direction.name()),
            Cell::U64(u64::from(row.port)),
            Cell::U64(u64::from(row.length)),
            Cell::Bool(row.congestion_experienced),
            row.dropped.map_or(Cell::Null, |(link, _)| Cell::Text(link)),
            row.dropped.map_or(Cell::Null, |(_, cause)| Cell::Text(cause)),
        ])
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<(), TableError> {
        self.0.finish().map(|_| ())
    }
}
