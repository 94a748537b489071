//! What an emulation reports.

use hawser_link::{Direction, LinkStats};
use serde::Serialize;

use crate::lateness::Lateness;

/// Counters of a whole emulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmulationStats {
    /// Seconds since the start of the schedules.
    pub elapsed_seconds: f64,
    /// How late packets were written, over all links.
    pub lateness: Lateness,
    /// Two entries per link: up, then down.
    pub links: Vec<DirectionStats>,
}

/// Counters of one direction of one link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectionStats {
    /// Name of the link.
    pub link: String,
    /// Direction.
    pub direction: Direction,
    /// Whether the link is up now.
    pub up: bool,
    /// Bytes waiting now.
    pub queued_bytes: u64,
    /// What the link model counted.
    #[serde(flatten)]
    pub counters: LinkStats,
    /// Packets that the kernel dropped because the emulator did not read fast enough: should be 0.
    pub overruns: u64,
    /// Packets that the receiving host refused, as its interface was down.
    pub refused: u64,
    /// How late packets of this direction were written.
    pub lateness: Lateness,
}
