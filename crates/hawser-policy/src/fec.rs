use crate::{Feedback, PathView, StreamId, Time};

/// How a stretch of data is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection {
    /// Source symbols per block (or window).
    pub source_symbols: u16,
    /// Repair symbols added per block (or window).
    pub repair_symbols: u16,
}

/// A protection policy's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FecDecision {
    /// Send unprotected.
    Off,
    /// Protect.
    On(Protection),
}

/// Decides whether and how strongly data is protected by repair symbols. The erasure codes arrive with the
/// first system that uses them; this is the question they will be asked.
pub trait FecPolicy: Send {
    /// The name in the registry.
    fn name(&self) -> &'static str;

    /// Protection for the next block of `stream` (`layer` is the application's layer or tile number, 0 if none).
    fn decide(&mut self, now: Time, stream: StreamId, layer: u32, paths: &[PathView]) -> FecDecision;

    /// At the receiver: what to ask of the sender now, if anything; it arrives there as [`Feedback::Protection`].
    fn advise(&mut self, _now: Time, _paths: &[PathView]) -> Option<Feedback> {
        None
    }

    /// The receiver's word on what arrived or what it wants.
    fn on_feedback(&mut self, _now: Time, _feedback: &Feedback) {}
}
