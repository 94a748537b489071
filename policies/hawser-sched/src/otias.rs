use std::time::Duration;

use hawser_policy::{Commands, Decision, PathView, PolicyInfo, Scheduler, SendView};

use crate::arrival::{paced_window, paced_window_left};
use crate::choose::explore;
use crate::placement::{Estimates, one_way, place, rounds_in};

/// OTIAS, Out-of-order Transmission for In-order Arrival Scheduler (Yang, Wang, Amer: IEEE WMNC 2014).
///
/// A packet that finds `queued` others before it on path `p` waits for `RTT_wait` rounds,
/// `0` if `queued < w - inflight`, else `ceil((queued - (w - inflight) + 1) / w)`, and arrives at
/// `T_p = (RTT_wait + 0.5) srtt`. It goes where `T_p` is least, also onto the queue of a full path; on this seam what would
/// queue there stays at the head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Otias;

impl Otias {
    /// Its name in the registry.
    pub const NAME: &'static str = "otias";

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "where the packet arrives first, by whole rounds of waiting")
            .source("Yang, Wang and Amer, IEEE WMNC 2014")
    }
}

impl Estimates for Otias {
    fn arrival(&mut self, path: &PathView) -> Duration {
        one_way(path)
    }

    /// All that has `T_f <= arrival`: the free window, and a window for each round that fits.
    fn delivered_before(&mut self, fast: &PathView, _slow: &PathView, arrival: Duration) -> u64 {
        let rounds = rounds_in(fast, arrival.saturating_sub(one_way(fast)));
        paced_window_left(fast).saturating_add(rounds.saturating_mul(paced_window(fast)))
    }
}

impl Scheduler for Otias {
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
    use crate::testing::{next, path, skips, view};

    /// T_s = 30 ms (60 ms, room) and 50 ms (100 ms); T_f = 10, 30, 50 ms after no, one and two rounds of 20 ms.
    #[test]
    fn whole_rounds_of_the_fast_path_go_before() {
        for (rtt, gap) in [(60, 100_000), (99, 100_000), (100, 200_000)] {
            let paths = [path(1, 20, 0), path(2, rtt, 50_000)];
            let decision = Otias.schedule(&view(&paths, 1_000_000), &mut Vec::new());
            assert_eq!(decision, skips(2, gap, 1_000_000), "{rtt}");
        }
    }

    /// A slow path that is less than a round later takes the head: T_s = 20 ms, T_f = 30 ms.
    #[test]
    fn a_slower_path_with_room_is_sooner_than_a_round_of_waiting() {
        let paths = [path(1, 20, 0), path(2, 40, 50_000)];
        assert_eq!(Otias.schedule(&view(&paths, 1_000_000), &mut Vec::new()), next(2));
    }
}
