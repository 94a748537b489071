//! Paths as queues that drain at a rate.

use std::collections::VecDeque;

use hawser_learn::{Ewma, Random};

use crate::network::PathTrace;
use crate::rounds::power;

/// Bytes on the link for each byte of payload: headers.
pub const OVERHEAD: f64 = 1.03;
/// Payload of a packet, bytes.
const PACKET: f64 = 1_200.0;
/// A packet that is lost so often is taken to arrive the next time.
const MOST_ROUNDS: u32 = 20;

/// A path as a policy sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathView {
    /// Congestion window, bytes.
    pub window: f64,
    /// Bytes that wait, headers included.
    pub queued: f64,
    /// Rate now, bit/s.
    pub rate: f64,
    /// Round-trip time as measured, seconds.
    pub rtt: f64,
    /// Round-trip time without our own queue, seconds: the truth, for the oracle.
    pub base_rtt: f64,
    /// Loss rate.
    pub loss: f64,
}

impl PathView {
    /// Window that is left, bytes; negative where more is queued, which is how an agent sees what it did for the same frame
    ///.
    pub fn window_left(&self) -> f64 {
        self.window - self.queued
    }
}

/// A path's state.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) view: PathView,
    /// Measured round-trip times on their way: when the acknowledgement comes, and what it says.
    acknowledgements: VecDeque<(f64, f64)>,
    measured: Ewma,
}

impl Path {
    pub(crate) fn new() -> Self {
        Path { view: PathView::default(), acknowledgements: VecDeque::new(), measured: Ewma::new(1.0 / 8.0) }
    }

    /// E1: a frame finds an empty queue, and the trace's round-trip time.
    pub(crate) fn start_empty(&mut self, trace: &PathTrace, frame: usize, now: f64) {
        let (rate, rtt) = (trace.rate(now), trace.rtt(frame));
        let window = rate * rtt / 8.0;
        self.view = PathView { window, queued: 0.0, rate, rtt, base_rtt: rtt, loss: trace.loss(now) };
    }

    /// E2: the queue has drained since the last frame, and acknowledgements have come.
    pub(crate) fn go_on(&mut self, trace: &PathTrace, frame: usize, last: f64, now: f64) {
        let (rate, base_rtt) = (trace.rate(now), trace.rtt(frame));
        while self.acknowledgements.front().is_some_and(|(at, _)| *at <= now) {
            let (_, rtt) = self.acknowledgements.pop_front().unwrap_or_default();
            self.measured.update(rtt);
        }
        let queued = (self.view.queued - trace.carried(last, now)).max(0.0);
        let rtt = self.measured.value().unwrap_or(base_rtt);
        // Two bandwidth-delay products.
        let window = 2.0 * rate * base_rtt / 8.0;
        self.view = PathView { window, queued, rate, rtt, base_rtt, loss: trace.loss(now) };
    }

    /// Queues so many bytes of payload at `now`, and says when they arrive. `lasting`: the trace's rate in each second counts,
    /// and the queue shows in later round-trip times.
    pub(crate) fn send(
        &mut self,
        trace: &PathTrace,
        now: f64,
        payload: f64,
        random: &mut Random,
        lasting: bool,
    ) -> f64 {
        self.view.queued += OVERHEAD * payload;
        let PathView { queued, rate, base_rtt, loss, .. } = self.view;
        let departure = if lasting { trace.departure(now, queued) } else { now + 8.0 * queued / rate };
        let rounds = if loss > 0.0 { rounds_lost(random.fraction(), payload, loss) } else { 0 };
        let rtt = if lasting { base_rtt + 8.0 * queued / rate } else { base_rtt };
        let arrival = departure + f64::from(rounds) * base_rtt + base_rtt / 2.0;
        if lasting {
            let comes = self.acknowledgements.back().map_or(0.0, |(at, _)| *at).max(departure + base_rtt);
            self.acknowledgements.push_back((comes, rtt));
        }
        arrival
    }
}

/// Rounds of retransmission until the last packet of a tile-frame is there, each lost on its own: the least k with
/// `(1 - loss^(k+1))^packets >= fraction`.
fn rounds_lost(fraction: f64, payload: f64, loss: f64) -> u32 {
    let packets = (payload / PACKET).ceil().max(1.0) as u32;
    let mut still = loss;
    for rounds in 0..MOST_ROUNDS {
        if power(1.0 - still, packets) >= fraction {
            return rounds;
        }
        still *= loss;
    }
    MOST_ROUNDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_follow_the_distribution_of_the_largest_of_many() {
        let mut random = Random::new(9);
        let count = |rounds| move |found: &u32| *found == rounds;
        let found: Vec<u32> = (0..100_000).map(|_| rounds_lost(random.fraction(), 18_000.0, 0.01)).collect();
        let none = found.iter().filter(|it| count(0)(it)).count() as f64 / 1e5;
        assert!((none - power(0.99, 15)).abs() < 0.005, "{none}");
        assert!(found.iter().any(|it| count(1)(it)) && found.iter().all(|rounds| *rounds < 5));
    }
}
