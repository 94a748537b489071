//! Round-trip samples that can be compared with each other.

use std::time::Duration;

use hawser_policy::{Ack, PathId, Time};

#[cfg(test)]
mod tests;

/// A return path without a sample for longer than this and for [`STALE_ROUND_TRIPS`] is no longer in use.
const STALE_AFTER: Duration = Duration::from_millis(500);
const STALE_ROUND_TRIPS: u32 = 4;
/// From so many samples on a return path is the usual one. Until then another one with more samples takes its place: the first
/// acknowledgements of a path come back on itself, since the peer does not know yet which way is the quickest.
const USUAL_FROM: u32 = 8;

/// The return path whose samples count (draft-ietf-quic-multipath-21 lets acknowledgements come back on any path).
///
/// The difference between two return paths looks like a queue, or like the end of one. A controller that judges by delay takes the
/// samples of one return path, until that has none any more, and then starts with another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReturnPath {
    path: Option<PathId>,
    sampled_at: Time,
    /// How many samples it had, up to [`USUAL_FROM`].
    samples: u32,
    /// Another one, before this one is the usual one, and how many samples it had.
    rival: Option<(PathId, u32)>,
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
        let changed = self.path.is_some_and(|path| path != ack.received_on);
        if changed {
            let of_rival = self.count_rival(ack.received_on);
            let patience = STALE_AFTER.max(ack.smoothed_rtt.saturating_mul(STALE_ROUND_TRIPS));
            let is_stale = ack.now.since(self.sampled_at) > patience;
            if !is_stale && of_rival <= self.samples {
                return None;
            }
            (self.samples, self.rival) = (of_rival.saturating_sub(1), None);
        }
        self.path = Some(ack.received_on);
        self.sampled_at = ack.now;
        self.samples = (self.samples + 1).min(USUAL_FROM);
        Some(RttSample { adjusted, raw, changed })
    }

    /// One more sample of another return path: how many it had. None counts once there is a usual one.
    fn count_rival(&mut self, path: PathId) -> u32 {
        if self.samples >= USUAL_FROM {
            return 0;
        }
        let before = self.rival.filter(|(rival, _)| *rival == path).map_or(0, |(_, samples)| samples);
        self.rival = Some((path, before + 1));
        before + 1
    }
}
