use hawser_policy::{
    Assignment, Commands, Decision, Interests, ParameterInfo, Parameters, PathView, PolicyInfo, Scheduler,
    SendView, Time,
};

use crate::arrival::paced_window;
use crate::choose::{explore, fastest_and_sendable};
use crate::placement::datagram;

/// What can be set of [`Blest`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlestParameters {
    /// Lambda at the start, and the least that it falls to.
    pub lambda: f64,
    /// The most that lambda rises to.
    pub largest: f64,
    /// What is added after a round trip in which the send window was exhausted.
    pub raise: f64,
    /// What is taken off after any other.
    pub lower: f64,
}

impl Default for BlestParameters {
    fn default() -> Self {
        BlestParameters { lambda: 1.0, largest: 1.3, raise: 0.01, lower: 0.01 }
    }
}

/// BLEST, Blocking Estimation-based scheduler (Ferlin, Alay, Mehani, Boreli: IFIP Networking 2016).
///
/// When the fast path is full, BLEST asks whether a packet on the slow one would hold the send window for so long that the
/// fast path runs out of it. In a round trip of the slow path, `r = RTT_s / RTT_f`, the fast one sends
/// `X = MSS (w_f + (r - 1) / 2) r`; it waits for the fast path if `lambda X > window - MSS (inflight_s + 1)`, with the send
/// window of the connection. Lambda rises when the window was exhausted all the same, and falls otherwise.
///
/// The paper and its implementations differ in how lambda moves: all of it is a parameter
/// (`blest,lambda=1.2,raise=0.04` is that of Linux).
#[derive(Clone, Copy, Debug)]
pub struct Blest {
    parameters: BlestParameters,
    lambda: f64,
    /// Whether the send window was exhausted since lambda was last adjusted.
    blocked: bool,
    adjust_at: Time,
}

impl Default for Blest {
    fn default() -> Self {
        Blest::with_parameters(BlestParameters::default())
    }
}

impl Blest {
    /// Its name in the registry.
    pub const NAME: &'static str = "blest";

    /// With other parameters.
    pub fn with_parameters(parameters: BlestParameters) -> Self {
        Blest { parameters, lambda: parameters.lambda, blocked: false, adjust_at: Time::ZERO }
    }

    pub(crate) fn read(parameters: &Parameters) -> Self {
        Blest::with_parameters(BlestParameters {
            lambda: parameters.number("lambda"),
            largest: parameters.number("largest"),
            raise: parameters.number("raise"),
            lower: parameters.number("lower"),
        })
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = BlestParameters::default();
        PolicyInfo::new(Self::NAME, "waits where the slow path would exhaust the send window")
            .source("Ferlin and others, IFIP Networking 2016")
            .parameter(
                ParameterInfo::number("lambda", 0.1..=10.0, default.lambda)
                    .meaning("weight of what the fast path could send, at the start and at least")
                    .source("Ferlin 2016; 1.2 in Linux"),
            )
            .parameter(
                ParameterInfo::number("largest", 0.1..=10.0, default.largest)
                    .meaning("the most that lambda rises to")
                    .source("Linux"),
            )
            .parameter(
                ParameterInfo::number("raise", 0.0..=1.0, default.raise)
                    .meaning("added per round trip with an exhausted send window")
                    .source("Li 2024; 0.04 in Linux"),
            )
            .parameter(
                ParameterInfo::number("lower", 0.0..=1.0, default.lower)
                    .meaning("taken off per round trip without")
                    .source("Li 2024; Linux"),
            )
    }

    /// At most once per round trip of the slow path.
    fn adjust(&mut self, slow: &PathView, now: Time) {
        if now < self.adjust_at {
            return;
        }
        self.adjust_at = now + slow.smoothed_rtt;
        let step = if self.blocked { self.parameters.raise } else { -self.parameters.lower };
        let BlestParameters { lambda, largest, .. } = self.parameters;
        self.lambda = (self.lambda + step).max(lambda).min(largest.max(lambda));
        self.blocked = false;
    }

    fn waits(&self, fast: &PathView, slow: &PathView, send_window: u64) -> bool {
        let ratio = slow.smoothed_rtt.as_secs_f64() / fast.smoothed_rtt.as_secs_f64().max(1e-9);
        let growth = datagram(fast) as f64 * (ratio - 1.0) / 2.0;
        let sent = (paced_window(fast) as f64 + growth) * ratio;
        let held = slow.bytes_in_flight.saturating_add(datagram(slow));
        self.lambda * sent > send_window as f64 - held as f64
    }
}

/// The peer's flow-control window from the lowest byte that is not acknowledged: what may still be sent, and what is in flight.
fn send_window(view: &SendView<'_>) -> u64 {
    let in_flight = view.paths.iter().map(|path| path.bytes_in_flight);
    in_flight.fold(view.queue.connection_window_left, u64::saturating_add)
}

impl Scheduler for Blest {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        if view.queue.total() == 0 {
            // Asked because data is in flight: to see whether it is flow control that holds the rest.
            self.blocked |= view.queue.connection_window_left == 0;
            return explore(view).unwrap_or(Decision::Wait(None));
        }
        if let Some(decision) = explore(view) {
            return decision;
        }
        let Some((fast, candidate)) = fastest_and_sendable(view) else { return Decision::Wait(None) };
        if candidate.id == fast.id {
            return Decision::Send(Assignment::next(fast.id));
        }
        self.adjust(candidate, view.now);
        if self.waits(fast, candidate, send_window(view)) {
            return Decision::Wait(fast.next_release);
        }
        Decision::Send(
            Assignment::next(candidate.id).with(|assignment| assignment.max_bytes = datagram(candidate)),
        )
    }

    fn interests(&self) -> Interests {
        Interests::IDLE
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hawser_policy::QueueView;

    use super::*;
    use crate::testing::{path, view_at};

    fn ask(blest: &mut Blest, now: Time, send_window: u64) -> Decision {
        let mut paths = [path(1, 20, 0), path(2, 100, 50_000)];
        for (path, window, in_flight) in [(0, 20, 20), (1, 40, 30)] {
            let path: &mut PathView = &mut paths[path];
            path.max_datagram_size = 1_400;
            (path.congestion_window, path.bytes_in_flight) = (window * 1_400, in_flight * 1_400);
        }
        let left = send_window.saturating_sub(50 * 1_400);
        let queue = QueueView::default().with(|queue| {
            queue.unsent = left;
            queue.connection_window_left = left;
        });
        blest.schedule(&view_at(now, &paths, queue), &mut Vec::new())
    }

    /// 20 and 100 ms, 20 packets of 1400 B: X = 1400 (20 + 2) 5 = 154 000 B. With 30 packets in flight on the slow path it
    /// waits if the window is less than 154 000 + 31 * 1400 = 197 400 B.
    #[test]
    fn it_waits_where_the_fast_path_would_run_out_of_window() {
        let mut blest = Blest::default();
        let slow = |blest: &mut Blest, window| matches!(ask(blest, Time::ZERO, window), Decision::Send(_));
        assert!(!slow(&mut blest, 197_399));
        assert!(slow(&mut blest, 197_400));
    }

    #[test]
    fn lambda_rises_where_the_window_was_exhausted_all_the_same() {
        let mut blest = Blest::default();
        let round = |number: u64| Time::ZERO + Duration::from_millis(100 * number);
        for number in 0..3 {
            ask(&mut blest, round(number), 70_000);
            ask(&mut blest, round(number), 300_000);
        }
        assert!((blest.lambda - 1.03).abs() < 1e-9, "{}", blest.lambda);
        for number in 3..10 {
            ask(&mut blest, round(number), 300_000);
        }
        assert_eq!(blest.lambda, 1.0);
    }
}
