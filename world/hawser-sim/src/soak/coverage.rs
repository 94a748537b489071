//! Whether something arrives while a link is up.

use std::time::Duration;

use hawser_policy::Time;

/// How often it is looked at.
pub(super) const STEP: Duration = Duration::from_millis(100);

/// For how long each link has been up and had a path, and when something arrived last.
#[derive(Debug)]
pub(super) struct Coverage {
    /// One for each link; `None` while it is down or has no path.
    since: Vec<Option<Time>>,
    received: u64,
    progress: Time,
    /// The longest time without progress in which one link had been up.
    longest: Duration,
}

impl Coverage {
    pub(super) fn new(links: usize) -> Self {
        Coverage { since: vec![None; links], received: 0, progress: Time::ZERO, longest: Duration::ZERO }
    }

    /// So many bytes have arrived in order by now; `covered` says which links are up and have a path.
    pub(super) fn note(&mut self, now: Time, received: u64, covered: impl Fn(usize) -> bool) {
        for (link, since) in self.since.iter_mut().enumerate() {
            *since = covered(link).then(|| since.unwrap_or(now));
        }
        // The handshake has deadlines of its own.
        if received > self.received || received == 0 {
            (self.received, self.progress) = (received, now);
        }
        let without = |since: Time| now.since(since.max(self.progress));
        let longest = self.since.iter().flatten().map(|since| without(*since)).max();
        self.longest = self.longest.max(longest.unwrap_or_default());
    }

    pub(super) fn longest(&self) -> Duration {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_counts_while_the_same_link_is_up() {
        let mut coverage = Coverage::new(2);
        let mut note = |at: u64, received, up: [bool; 2]| {
            coverage.note(Time::from_millis(at), received, |link| up[link]);
            coverage.longest().as_millis()
        };
        assert_eq!(note(0, 0, [true, true]), 0);
        assert_eq!(note(1_000, 10, [true, false]), 0);
        // They take turns: neither was up for long.
        assert_eq!(note(1_400, 10, [true, false]), 400);
        assert_eq!(note(1_500, 10, [false, true]), 400);
        assert_eq!(note(1_900, 10, [false, true]), 400);
        assert_eq!(note(2_000, 10, [true, true]), 500);
        assert_eq!(note(2_100, 20, [true, true]), 500);
        assert_eq!(note(3_000, 20, [true, true]), 900);
    }
}
