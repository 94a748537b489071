//! What the applications of a session got, told by the end that receives.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Counts for one session; shared by its two ends, which run in one process.
#[derive(Debug, Default)]
pub(super) struct Meter {
    bytes: AtomicU64,
    finished: OnceLock<Instant>,
}

impl Meter {
    /// Bytes arrived in order.
    pub(super) fn arrived(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Everything was done.
    pub(super) fn finish(&self) {
        let _ = self.finished.set(Instant::now());
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// When everything was done, if it was.
    pub(super) fn finished(&self) -> Option<Instant> {
        self.finished.get().copied()
    }
}
