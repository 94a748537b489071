//! Silences of paths that are worth a line.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hawser::PathId;

/// Shorter silences are no news: on a link of a millisecond a busy machine makes some every second.
const WORTH_TELLING: Duration = Duration::from_millis(100);

/// Which paths are silent.
#[derive(Debug, Default)]
pub(super) struct Silences {
    /// When to tell; `None`: told.
    begun: BTreeMap<PathId, Option<Instant>>,
}

impl Silences {
    pub(super) fn begin(&mut self, id: PathId, now: Instant) {
        self.begun.entry(id).or_insert(Some(now + WORTH_TELLING));
    }

    /// Returns whether it was told.
    pub(super) fn end(&mut self, id: PathId) -> bool {
        self.begun.remove(&id) == Some(None)
    }

    /// When one is to be told.
    pub(super) fn next(&self) -> Option<Instant> {
        self.begun.values().flatten().min().copied()
    }

    /// Those to be told now.
    pub(super) fn due(&mut self, now: Instant) -> Vec<PathId> {
        let due = self.begun.iter_mut().filter(|(_, at)| at.is_some_and(|at| at <= now));
        due.map(|(id, at)| {
            *at = None;
            *id
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_silences_are_no_news() {
        let (short, long) = (PathId(1), PathId(2));
        let start = Instant::now();
        let mut silences = Silences::default();
        silences.begin(short, start);
        silences.begin(long, start);
        assert!(silences.due(start + WORTH_TELLING / 2).is_empty());
        assert!(!silences.end(short), "nothing to take back");
        assert_eq!(silences.next(), Some(start + WORTH_TELLING));
        assert_eq!(silences.due(start + WORTH_TELLING), [long]);
        assert_eq!((silences.next(), silences.due(start + 2 * WORTH_TELLING)), (None, vec![]));
        assert!(silences.end(long));
    }
}
