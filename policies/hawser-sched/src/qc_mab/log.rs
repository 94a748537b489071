//! What was decided and what it brought, for experiments.

use std::sync::{Arc, Mutex, PoisonError};

use hawser_policy::{LayerPackets, LinkId, PathId, Time};

use super::bandit::QcMabArm;

/// Where a receiver that is watched writes what happens, in order.
pub type QcMabLog = Arc<Mutex<Vec<QcMabRecord>>>;

/// Something that the receiver noted.
#[derive(Clone, Debug, PartialEq)]
pub enum QcMabRecord {
    /// A decision about a link.
    Decision {
        /// When.
        at: Time,
        /// About which path.
        path: PathId,
        /// Over which link.
        link: LinkId,
        /// Its number, rising for each path.
        id: u32,
        /// The cell of the context.
        cell: u32,
        /// Rate in Mbit/s, one-way delay in ms, loss: the context.
        context: [f64; 3],
        /// The arm.
        arm: QcMabArm,
        /// Arms that there were.
        arms: usize,
        /// Access points within reach with a stronger signal than that of the arm.
        rank: usize,
        /// Whether the link is to be attached elsewhere for it.
        moves: bool,
    },
    /// A decision earned the reward of a frame.
    Credit {
        /// When it was learned.
        at: Time,
        /// The path that was decided about.
        path: PathId,
        /// The number of the frame.
        frame: u32,
        /// The number of the decision.
        decision: u32,
        /// The reward.
        reward: f64,
    },
    /// A frame was due.
    Frame {
        /// When.
        at: Time,
        /// Its number.
        number: u64,
        /// Packets of its base layer.
        base: LayerPackets,
        /// Packets of its enhancement layers.
        enhancement: LayerPackets,
        /// Its reward.
        reward: f64,
    },
}

pub(super) fn note(log: &Option<QcMabLog>, record: impl FnOnce() -> QcMabRecord) {
    if let Some(log) = log {
        log.lock().unwrap_or_else(PoisonError::into_inner).push(record());
    }
}
