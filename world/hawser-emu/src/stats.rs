//! What an emulation reports.

use hawser_link::LinkStats;
use hawser_scenario::Direction;
use serde::Serialize;

use crate::lateness::Lateness;

/// Counters of a whole emulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmulationStats {
    /// Seconds since the start of the schedules.
    pub elapsed_seconds: f64,
    /// How late packets were written, over all links.
    pub lateness: Lateness,
    /// Two entries per link, up and then down; likewise for the segments after them.
    pub links: Vec<DirectionStats>,
    /// One entry per copy of each UDP flow of the scenario, whose packets begin and end inside the emulator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<BackgroundStats>,
}

/// Counters of a UDP flow of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BackgroundStats {
    /// Name of the flow.
    pub flow: String,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that came to the end of their route.
    pub delivered_packets: u64,
}

/// Counters of one direction of one link or segment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectionStats {
    /// Name of the link or segment.
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
