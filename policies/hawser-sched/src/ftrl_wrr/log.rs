//! What was learned, for experiments.

use std::sync::{Arc, Mutex, PoisonError};

use hawser_policy::Time;

/// What an [`FtrlWrr`](crate::FtrlWrr) learned, in order.
pub type FtrlWrrLog = Arc<Mutex<Vec<FtrlWrrRecord>>>;

/// Something that was learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FtrlWrrRecord {
    /// A timestep is complete.
    Step {
        /// When.
        at: Time,
        /// Its number, from 1.
        number: u64,
        /// The share of the first path that was played.
        played: f64,
        /// The share of the first path in what was acknowledged.
        carried: f64,
        /// The loss; `None` if the step taught nothing.
        loss: Option<f64>,
        /// Where the learner stands now.
        center: f64,
        /// Share of its packets that were redirected.
        redirected: f64,
    },
    /// The ratio of the bandwidths changed: the learner explores again.
    Reset {
        /// When.
        at: Time,
        /// Share of the first path's bandwidth before.
        before: f64,
        /// And after.
        after: f64,
        /// Whether what had been learned was forgotten.
        forgotten: bool,
    },
}

pub(super) fn note(log: &Option<FtrlWrrLog>, record: FtrlWrrRecord) {
    if let Some(log) = log {
        log.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}
