use std::time::Duration;

use hawser_policy::{Commands, Decision, PathView, PolicyInfo, Scheduler, SendView};

use crate::arrival::paced_window;
use crate::choose::explore;
use crate::placement::{Estimates, one_way, place};

/// DAPS, Delay-Aware Packet Scheduling (Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli: ICC 2014).
///
/// It plans the rounds of every path over the least common multiple of their delays and numbers packets by their arrival: with
/// `kappa = OWD_s / OWD_f` the fast path gets packets 1 to `kappa w_f`, the slow one the next `w_s`. On this seam the slow
/// path leaves `kappa w_f` bytes at the head, for each faster path its own. Windows are taken as constant and no packet as
/// lost: that is the weakness that later schedulers repair.
#[derive(Clone, Copy, Debug, Default)]
pub struct Daps;

impl Daps {
    /// Its name in the registry.
    pub const NAME: &'static str = "daps";

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "rounds of every path planned by the ratio of their delays")
            .source("Kuhn and others, ICC 2014")
    }
}

impl Estimates for Daps {
    fn arrival(&mut self, path: &PathView) -> Duration {
        one_way(path)
    }

    fn delivered_before(&mut self, fast: &PathView, slow: &PathView, _arrival: Duration) -> u64 {
        let ratio = slow.smoothed_rtt.as_secs_f64() / fast.smoothed_rtt.as_secs_f64().max(1e-9);
        (ratio * paced_window(fast) as f64).round() as u64
    }
}

impl Scheduler for Daps {
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

    /// Delays of 10 and 30 ms: kappa = 3, three windows of 100 kB.
    #[test]
    fn the_slow_path_follows_kappa_windows_of_the_fast_one() {
        let paths = [path(1, 20, 0), path(2, 60, 50_000)];
        let decision = Daps.schedule(&view(&paths, 1_000_000), &mut Vec::new());
        assert_eq!(decision, skips(2, 300_000, 1_000_000));
    }

    /// Behind both faster ones: kappa of 5 and of 2.5.
    #[test]
    fn a_third_path_follows_both() {
        let paths = [path(1, 20, 0), path(2, 40, 0), path(3, 100, 50_000)];
        let decision = Daps.schedule(&view(&paths, 1_000_000), &mut Vec::new());
        assert_eq!(decision, skips(3, 750_000, 1_000_000));
    }

    #[test]
    fn paths_of_equal_delay_share_the_head() {
        let paths = [path(1, 20, 0), path(2, 20, 50_000)];
        assert_eq!(Daps.schedule(&view(&paths, 1_000_000), &mut Vec::new()), next(2));
    }
}
