//! What was learned, for experiments: also what a model is learned from before it is used.

use std::sync::{Arc, Mutex, PoisonError};

use hawser_policy::Time;

use super::mechanisms::FourDMapMechanism;

/// Where a scheduler that is watched writes what its decisions brought, in order.
pub type FourDMapLog = Arc<Mutex<Vec<FourDMapRecord>>>;

/// A decision, and its reward.
#[derive(Clone, Debug, PartialEq)]
pub struct FourDMapRecord {
    /// When the reward was complete.
    pub at: Time,
    /// The application's number for the frame.
    pub frame: u64,
    /// Whether it was a key frame.
    pub is_key: bool,
    /// What was decided.
    pub mechanism: FourDMapMechanism,
    /// The state in which it was.
    pub context: Vec<f64>,
    /// The reward R', in bytes per millisecond.
    pub reward: f64,
    /// What the learner was given.
    pub scaled: f64,
}

pub(super) fn note(log: &Option<FourDMapLog>, record: impl FnOnce() -> FourDMapRecord) {
    if let Some(log) = log {
        log.lock().unwrap_or_else(PoisonError::into_inner).push(record());
    }
}
