//! What copies may cost.

use hawser_policy::{PathView, SendView};

use crate::placement::datagram;

/// Bytes that may be copied: a share of what was sent. What is not used adds up to a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    bytes: f64,
    /// What it started with: it adds up to that if windows are smaller.
    initial: f64,
    /// Bytes sent on all paths when it was last credited.
    credited: u64,
}

impl Allowance {
    /// With so many bytes before anything was sent.
    pub(crate) fn starting_with(bytes: u64) -> Self {
        Allowance { bytes: bytes as f64, initial: bytes as f64, credited: 0 }
    }

    /// Adds the share of what was sent since.
    pub(crate) fn credit(&mut self, view: &SendView<'_>, share: f64) {
        let sent = view.paths.iter().fold(0, |sum: u64, path| sum.saturating_add(path.bytes_sent));
        let most = view.paths.iter().map(|path| path.congestion_window).max().unwrap_or(0) as f64;
        let new = sent.saturating_sub(self.credited) as f64;
        // A path that goes takes its bytes along.
        self.credited = sent;
        self.bytes = (self.bytes + share * new).min(most.max(self.initial));
    }

    /// Bytes that may be copied now.
    pub(crate) fn left(&self) -> u64 {
        self.bytes as u64
    }

    /// Of so many bytes those that may be copied, in whole datagrams of the path; all of them if they are fewer than one datagram.
    pub(crate) fn whole_datagrams(&self, path: &PathView, bytes: u64) -> u64 {
        let (size, left) = (datagram(path), self.left());
        if bytes <= left { bytes } else { left / size * size }
    }

    pub(crate) fn spend(&mut self, bytes: u64) {
        self.bytes -= bytes as f64;
    }
}
