//! What became of a unit.

use crate::{FrameKind, Playback, SKIP, rebuffering};

/// What became of a unit; times in seconds of the session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Number of the decision in the session, from 0.
    pub decision: u64,
    /// Frame of the session.
    pub frame: usize,
    /// Tile, in raster order.
    pub tile: usize,
    /// How the frame is coded.
    pub kind: FrameKind,
    /// What was done: [`SKIP`], or the path from 1.
    pub action: usize,
    /// Size with what was fetched along, bytes.
    pub bytes: f64,
    /// When it was released and decided about.
    pub release: f64,
    /// When it is played.
    pub playback: Playback,
    /// When it arrived; infinity: it was not sent.
    pub arrival: f64,
    /// When it was decoded; infinity: never.
    pub decode: f64,
    /// Its reward, frame durations.
    pub reward: f64,
}

impl Outcome {
    /// Whether it was sent at all.
    pub fn was_sent(&self) -> bool {
        self.action != SKIP
    }

    /// How long it is waited for, seconds; until its deadline if it was skipped.
    pub fn rebuffering(&self) -> f64 {
        rebuffering(&self.playback, self.decode)
    }

    /// Whether it was decoded while it was worth something: a B frame before its playback ends, others before their deadline.
    pub fn is_useful(&self) -> bool {
        self.decode < if self.kind == FrameKind::B { self.playback.end } else { self.playback.deadline }
    }
}
