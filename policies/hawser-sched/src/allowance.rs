//! What copies may cost.

use hawser_policy::{PathView, SendView};

use crate::placement::datagram;

/// Bytes that may be copied: a share of what was sent. What is not used adds up to a window. Copies are paid for when they leave:
/// those that are cancelled before that, since the original was acknowledged, cost nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    bytes: f64,
    /// What it started with: it adds up to that if windows are smaller.
    initial: f64,
    /// Bytes sent on all paths, and of these as copies, when it was last settled.
    sent: u64,
    copied: u64,
    /// Copies that wait to be sent.
    queued: u64,
}

impl Allowance {
    /// With so many bytes before anything was sent.
    pub(crate) fn starting_with(bytes: u64) -> Self {
        Allowance { bytes: bytes as f64, initial: bytes as f64, ..Allowance::default() }
    }

    /// Adds the share of what was sent since the last time, and takes what was copied.
    pub(crate) fn settle(&mut self, view: &SendView<'_>, share: f64) {
        let sent = view.paths.iter().fold(0, |sum: u64, path| sum.saturating_add(path.bytes_sent));
        let copied = view.segments.copied_bytes();
        let most = view.paths.iter().map(|path| path.congestion_window).max().unwrap_or(0) as f64;
        let added = share * sent.saturating_sub(self.sent) as f64 - copied.saturating_sub(self.copied) as f64;
        self.bytes = (self.bytes + added).min(most.max(self.initial));
        // A path that goes takes its bytes along.
        (self.sent, self.copied) = (sent, copied);
        self.queued = view.paths.iter().fold(0, |sum, path| sum.saturating_add(path.copies_queued));
    }

    /// Bytes that may be copied now, besides those that wait.
    pub(crate) fn left(&self) -> u64 {
        (self.bytes as u64).saturating_sub(self.queued)
    }

    /// Of so many bytes those that may be copied, in whole datagrams of the path; all of them if they are fewer than one datagram.
    pub(crate) fn whole_datagrams(&self, path: &PathView, bytes: u64) -> u64 {
        let (size, left) = (datagram(path), self.left());
        if bytes <= left { bytes } else { left / size * size }
    }
}
