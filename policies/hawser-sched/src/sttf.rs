use std::time::Duration;

use hawser_policy::{Commands, Decision, PathView, PolicyInfo, Scheduler, SendView};

use crate::arrival::{paced_window, paced_window_left};
use crate::choose::explore;
use crate::placement::{Estimates, datagram, one_way, place, rounds_in, serialisation};

/// Rounds that are followed; windows of more are larger than any queue.
const MAX_ROUNDS: u64 = 40;

/// STTF, Shortest Transfer Time First (Hurtig, Grinnemo, Brunstrom, Ferlin, Alay, Kuhn: IEEE/ACM ToN 2019).
///
/// The transfer time of a segment is the one-way delay, the rounds that what is queued before it needs, and its own
/// transmission; windows double in slow start and grow by a datagram per round otherwise. A segment goes where that is
/// shortest, so that a slow path with room does not take what a fast one in slow start would deliver sooner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sttf;

impl Sttf {
    /// Its name in the registry.
    pub const NAME: &'static str = "sttf";

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "where the transfer time is shortest, with windows that grow")
            .source("Hurtig and others, IEEE/ACM ToN 2019")
    }
}

impl Estimates for Sttf {
    fn arrival(&mut self, path: &PathView) -> Duration {
        one_way(path).saturating_add(serialisation(path))
    }

    fn delivered_before(&mut self, fast: &PathView, _slow: &PathView, arrival: Duration) -> u64 {
        let rounds = rounds_in(fast, arrival.saturating_sub(self.arrival(fast)));
        let (mut window, mut bytes) = (paced_window(fast), paced_window_left(fast));
        for _ in 0..rounds.min(MAX_ROUNDS) {
            let growth = if fast.in_slow_start { window } else { datagram(fast) };
            window = window.saturating_add(growth);
            bytes = bytes.saturating_add(window);
        }
        bytes
    }
}

impl Scheduler for Sttf {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        explore(view).unwrap_or_else(|| place(view, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{path, skips, view};

    /// T_s = 50 + 1 ms, T_f = 10 + 0.2 ms after no round: two rounds of 20 ms fit.
    #[test]
    fn windows_grow_as_the_phase_of_the_path_says() {
        for (slow_start, gap) in [(true, 600_000), (false, 101_000 + 102_000)] {
            let mut paths = [path(1, 20, 0), path(2, 100, 50_000)];
            paths[0].in_slow_start = slow_start;
            let decision = Sttf.schedule(&view(&paths, 1_000_000), &mut Vec::new());
            assert_eq!(decision, skips(2, gap, 1_000_000), "slow start: {slow_start}");
        }
    }
}
