use std::time::Duration;

use hawser_policy::{
    Commands, Decision, Event, Interests, ParameterInfo, Parameters, PathId, PathView, PolicyInfo, Scheduler,
    SendView, Time,
};

use crate::choose::explore;
use crate::deliveries::NewReno;
use crate::placement::{Estimates, datagram, one_way, place};

/// Branches less likely than this are cut off.
const LEAST_LIKELIHOOD: f64 = 1e-3;

/// For how long the loss rate is measured where it is then kept.
const LEARNING_TIME: Duration = Duration::from_secs(2);

/// LATE, Loss-Aware Throughput Estimation scheduler (Yang, Dong, Wu, Cai, Pan: IEEE Transactions on Vehicular Technology,
/// 2021; as MAMS describes it).
///
/// The slow path gets packet `FP + sum q_f(OWD_s)`: what the fast paths are expected to deliver by the time that it arrives,
/// over all combinations of rounds without loss, with fast recovery and with timeouts. The loss rate is taken as constant:
/// measured over the first two seconds and kept (`loss=frozen`), or followed (`loss=ewma`). All paths are used, and no
/// capacity bounds a window.
#[derive(Clone, Debug)]
pub struct Late {
    frozen: bool,
    started: Option<Time>,
    /// What is kept of each pair of paths; computed four times in a round trip of the fast one.
    computed: Vec<Computed>,
    now: Time,
}

#[derive(Clone, Copy, Debug)]
struct Computed {
    fast: PathId,
    slow: PathId,
    at: Time,
    loss: f64,
    bytes: u64,
}

impl Default for Late {
    fn default() -> Self {
        Late::new(true)
    }
}

impl Late {
    /// Its name in the registry.
    pub const NAME: &'static str = "late";

    /// With a loss rate that is kept once it was measured, or followed.
    pub fn new(frozen: bool) -> Self {
        Late { frozen, started: None, computed: Vec::new(), now: Time::ZERO }
    }

    pub(crate) fn read(parameters: &Parameters) -> Self {
        Late::new(parameters.choice("loss") == "frozen")
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(
            Self::NAME,
            "later bytes on the slow path, by what the fast one will deliver with losses",
        )
        .source("Yang and others, IEEE TVT 2021")
        .parameter(
            ParameterInfo::choice("loss", ["frozen", "ewma"])
                .meaning("keep the loss rate of the first two seconds, or follow it")
                .source("Yang 2024, section V"),
        )
    }

    /// The loss rate to assume.
    fn loss(&self, path: &PathView, known: Option<&Computed>) -> f64 {
        let measured = f64::from(path.loss_ppm.min(1_000_000)) / 1e6;
        let learning = self.started.is_none_or(|at| self.now.since(at) < LEARNING_TIME);
        match known {
            Some(known) if self.frozen && !learning => known.loss,
            _ => measured,
        }
    }
}

impl Estimates for Late {
    fn arrival(&mut self, path: &PathView) -> Duration {
        one_way(path)
    }

    fn delivered_before(&mut self, fast: &PathView, slow: &PathView, arrival: Duration) -> u64 {
        let known = self.computed.iter().position(|known| known.fast == fast.id && known.slow == slow.id);
        let loss = self.loss(fast, known.map(|at| &self.computed[at]));
        if let Some(known) = known.map(|at| self.computed[at])
            && self.now.since(known.at) < fast.smoothed_rtt / 4
        {
            return known.bytes;
        }
        let packets = NewReno::of(fast, loss).deliveries(arrival.as_secs_f64().min(60.0), LEAST_LIKELIHOOD);
        let bytes = (packets.round() * datagram(fast) as f64) as u64;
        let entry = Computed { fast: fast.id, slow: slow.id, at: self.now, loss, bytes };
        match known {
            Some(at) => self.computed[at] = entry,
            None => self.computed.push(entry),
        }
        bytes
    }
}

impl Scheduler for Late {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        self.now = view.now;
        self.started.get_or_insert(view.now);
        explore(view).unwrap_or_else(|| place(view, self))
    }

    fn interests(&self) -> Interests {
        Interests::PATHS
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        let Event::Path { path, .. } = *event else { return };
        self.computed.retain(|known| known.fast != path && known.slow != path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{path, skips, view, view_at};

    /// Yang 2024: 50 and 150 ms, a window of 10 packets in slow start, 1 % of loss: q(75 ms) = 28.28, so that the slow path
    /// starts at packet 28.
    #[test]
    fn the_slow_path_starts_where_the_fast_one_is_expected_to_be() {
        let mut paths = [path(1, 50, 0), path(2, 150, 50_000)];
        (paths[0].congestion_window, paths[0].bytes_in_flight) = (10_000, 10_000);
        (paths[0].in_slow_start, paths[0].loss_ppm) = (true, 10_000);
        let decision = Late::default().schedule(&view(&paths, 1_000_000), &mut Vec::new());
        assert_eq!(decision, skips(2, 28_000, 1_000_000));
    }

    #[test]
    fn a_frozen_loss_rate_stays_as_it_was_after_two_seconds() {
        for (frozen, loss_counts) in [(true, false), (false, true)] {
            let mut late = Late::new(frozen);
            let mut paths = [path(1, 50, 0), path(2, 150, 50_000)];
            let queue = view(&paths, 1_000_000).queue;
            let before = late.schedule(&view_at(Time::ZERO, &paths, queue), &mut Vec::new());
            paths[0].loss_ppm = 100_000;
            let after = late.schedule(&view_at(Time::from_secs(3), &paths, queue), &mut Vec::new());
            assert_eq!(before != after, loss_counts, "{frozen}");
        }
    }
}
