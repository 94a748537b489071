//! What a decision is about: a unit, and the paths that it can go on.

use crate::{FrameKind, FrameSet, Playback};

/// A viewed tile-frame about which is decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Frame of the session.
    pub frame: usize,
    /// Tile, in raster order.
    pub tile: usize,
    /// How the frame is coded.
    pub kind: FrameKind,
    /// Frames of its GoP that are sent with it, itself among them.
    pub bundle: FrameSet,
    /// Size of all of them, bytes.
    pub bytes: f64,
    /// When it is released and decided about, seconds.
    pub release: f64,
    /// When it is played.
    pub playback: Playback,
}

/// A path as a policy sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathView {
    /// Congestion window, bytes.
    pub window: f64,
    /// Bytes that wait, headers included.
    pub queued: f64,
    /// Rate now, bit/s.
    pub rate: f64,
    /// Round-trip time as measured, seconds.
    pub rtt: f64,
    /// Round-trip time without our own queue, seconds: the truth, for the oracle.
    pub base_rtt: f64,
    /// Loss rate.
    pub loss: f64,
}

impl PathView {
    /// Window that is left, bytes; negative where more is queued, which is how an agent sees what it did for the same frame.
    pub fn window_left(&self) -> f64 {
        self.window - self.queued
    }
}
