//! Stream data that was sent more than once, and how much of that was needless.

use std::time::Duration;

use hawser_policy::Time;

use super::tracer::Tracer;
use crate::connection::stats::ConnectionStats;

/// How often the counters are written while they change.
const INTERVAL: Duration = Duration::from_secs(1);

/// Counters as they were written last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StreamBytes {
    counters: [u64; 4],
    next: Time,
}

/// Names of the counters, see [`ConnectionStats`].
const NAMES: [&str; 4] = ["copied", "copied_needlessly", "received", "duplicate"];

impl Tracer {
    /// `hawser:stream_bytes_updated`: the counters that changed, at most once a second and at the end.
    pub(in crate::connection) fn stream_bytes(&mut self, now: Time, stats: &ConnectionStats, is_end: bool) {
        let counters = [
            stats.stream_bytes_copied,
            stats.stream_bytes_copied_needlessly,
            stats.stream_bytes_received,
            stats.stream_bytes_duplicate,
        ];
        let before = self.stream_bytes.counters;
        if counters == before || (now < self.stream_bytes.next && !is_end) {
            return;
        }
        self.stream_bytes = StreamBytes { counters, next: now + INTERVAL };
        self.event(now, "hawser:stream_bytes_updated", |json| {
            for ((name, new), old) in NAMES.iter().zip(counters).zip(before) {
                if new != old {
                    json.number(name, new);
                }
            }
        });
    }
}
