//! What was planned, for those who want to see.

use std::sync::{Arc, Mutex};

use hawser_policy::{PathId, Time};

/// Where a scheduler that is watched writes what it expects.
pub type MamsLog = Arc<Mutex<Vec<MamsRecord>>>;

/// What a plan expects of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MamsRecord {
    /// The beginning of the cycle.
    pub at: Time,
    /// The path.
    pub path: PathId,
    /// The time that the expectation is for, in seconds: the largest one-way delay of a path.
    pub budget: f64,
    /// Packets that are expected to arrive by then.
    pub expected: f64,
    /// The same as LATE would have it: the whole window at once, no limit of capacity, and the loss rate as measured.
    pub expected_by_late: f64,
}
