//! Round-trip samples that can be compared with each other.

use std::time::Duration;

use hawser_policy::{Ack, PathId, Time};

#[cfg(test)]
mod tests;

/// A return path without a sample for longer than this and for [`STALE_ROUND_TRIPS`] is no longer in use.
const STALE_AFTER: Duration = Duration::from_millis(500);
const STALE_ROUND_TRIPS: u32 = 4;

/// The return path whose samples count (draft-ietf-quic-multipath-21 lets acknowledgements come back on any path).
///
/// The difference between two return paths looks like a queue, or like the end of one. Whoever judges by delay takes the
/// samples of one return path, until that has none any more, and then begins anew with another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReturnPath {
    path: Option<PathId>,
    sampled_at: Time,
}

/// A sample of the return path in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RttSample {
    /// Less the delay that the peer reports.
    pub(crate) adjusted: Duration,
    /// As measured.
    pub(crate) raw: Duration,
    /// The first one after a change of the return path: what was known of delays does not hold.
    pub(crate) changed: bool,
}

impl ReturnPath {
    /// The sample of an acknowledgement, if it has one and came the usual way.
    pub(crate) fn sample(&mut self, ack: &Ack) -> Option<RttSample> {
        // Formulas divide by it.
        let adjusted = ack.latest_rtt?.max(Duration::from_nanos(1));
        let raw = ack.raw_rtt.unwrap_or(adjusted).max(adjusted);
        let mut changed = false;
        match self.path {
            Some(path) if path == ack.received_on => {}
            Some(_) => {
                let patience = STALE_AFTER.max(ack.smoothed_rtt.saturating_mul(STALE_ROUND_TRIPS));
                if ack.now.since(self.sampled_at) <= patience {
                    return None;
                }
                self.path = Some(ack.received_on);
                changed = true;
            }
            None => self.path = Some(ack.received_on),
        }
        self.sampled_at = ack.now;
        Some(RttSample { adjusted, raw, changed })
    }
}
