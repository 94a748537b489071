use std::time::Duration;

use hawser_policy::{Commands, Decision, PathView, PolicyInfo, Scheduler, SendView};

use crate::arrival::paced_rate;
use crate::choose::explore;
use crate::placement::{Estimates, one_way, place, serialisation};

/// EDPF, Earliest Delivery Path First (Chebrolu and Rao: IEEE Transactions on Mobile Computing, 2006).
///
/// A packet goes where it arrives first: `t_p = max(a + D_p, avail_p) + L / B_p`, with the delay `D_p` of the path, its rate
/// `B_p`, and the time `avail_p` at which it has delivered what it was given before. Rates are known in the paper; here
/// `B_p` is the window per round-trip time, and `avail_p` follows from what is in flight: of a full window half is delivered
/// and on its way to be acknowledged. No loss, no feedback.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edpf;

impl Edpf {
    /// Its name in the registry.
    pub const NAME: &'static str = "edpf";

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "where the packet arrives first, by rate, delay and what is in flight")
            .source("Chebrolu and Rao, IEEE TMC 2006")
    }
}

impl Estimates for Edpf {
    fn arrival(&mut self, path: &PathView) -> Duration {
        let in_flight = paced_rate(path).time_for(path.bytes_in_flight);
        let in_flight = if path.bytes_in_flight == 0 { Duration::ZERO } else { in_flight };
        let delay = one_way(path);
        delay.max(in_flight.saturating_sub(delay)).saturating_add(serialisation(path))
    }

    fn delivered_before(&mut self, fast: &PathView, _slow: &PathView, arrival: Duration) -> u64 {
        paced_rate(fast).bytes_in(arrival.saturating_sub(self.arrival(fast)))
    }
}

impl Scheduler for Edpf {
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

    /// 100 kB per 20 ms are 5 MB/s, so t = 10 + 0.2 ms; 100 kB per 60 ms give t = 30 + 0.6 ms. In the 20.4 ms between them the
    /// fast path delivers 102 kB.
    #[test]
    fn the_slow_path_leaves_what_arrives_sooner_elsewhere() {
        let paths = [path(1, 20, 0), path(2, 60, 50_000)];
        let decision = Edpf.schedule(&view(&paths, 1_000_000), &mut Vec::new());
        assert_eq!(decision, skips(2, 102_000, 1_000_000));
        assert_eq!(Edpf.schedule(&view(&paths, 100_000), &mut Vec::new()), Decision::Wait(None));
    }

    #[test]
    fn a_path_with_room_that_delivers_first_takes_the_head() {
        let paths = [path(1, 60, 50_000), path(2, 20, 50_000)];
        assert_eq!(Edpf.schedule(&view(&paths, 1_000_000), &mut Vec::new()), next(2));
    }
}
