//! Stream data that was sent more than once, and how much of that was needless.

use std::time::Duration;

use hawser_policy::Time;

use super::records::Records;
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

impl StreamBytes {
    /// `hawser:stream_bytes_updated`: the counters that changed, at most once a second and at the end.
    pub(super) fn write(&mut self, records: &mut Records, now: Time, stats: &ConnectionStats, is_end: bool) {
        let counters = [
            stats.stream_bytes_copied,
            stats.stream_bytes_copied_needlessly,
            stats.stream_bytes_received,
            stats.stream_bytes_duplicate,
        ];
        let before = self.counters;
        if counters == before || (now < self.next && !is_end) {
            return;
        }
        *self = StreamBytes { counters, next: now + INTERVAL };
        records.event(now, "hawser:stream_bytes_updated", |json| {
            for ((name, new), old) in NAMES.iter().zip(counters).zip(before) {
                if new != old {
                    json.number(name, new);
                }
            }
        });
    }
}
