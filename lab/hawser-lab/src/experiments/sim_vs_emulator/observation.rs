//! What one run showed, in either world.

use hawser_emu::Lateness;
use hawser_scenario::{Direction, Scenario};

/// One run.
#[derive(Debug)]
pub(super) struct Observation {
    /// How long it took.
    pub(super) seconds: f64,
    /// Bit/s of application data in order, sum over all connections.
    pub(super) goodput_bps: f64,
    /// Entry `2 i`: link `i` up; `2 i + 1`: down.
    pub(super) directions: Vec<Traffic>,
    /// Of the emulator.
    pub(super) lateness: Lateness,
}

/// Packets of connections in one direction of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic {
    /// One-traffic delays of those that arrived, nanoseconds.
    pub(super) delays: Vec<u64>,
    /// By how much each of them was handed over later; empty in the simulator.
    pub(super) late: Vec<u64>,
    /// Bytes of those, with IP headers.
    pub(super) bytes: u64,
    /// Packets that did not arrive.
    pub(super) dropped: u64,
}

impl Traffic {
    pub(super) fn all(scenario: &Scenario) -> Vec<Self> {
        vec![Traffic::default(); 2 * scenario.links.len()]
    }

    /// Counts a packet.
    pub(super) fn add(&mut self, sent: u64, at: u64, length: u32, dropped: bool) {
        if dropped {
            self.dropped += 1;
        } else {
            self.delays.push(at.saturating_sub(sent));
            self.bytes += u64::from(length);
        }
    }
}

/// The position of a direction of a link among all of them.
pub(super) fn direction_index(link: usize, direction: Direction) -> usize {
    2 * link + direction as usize
}
