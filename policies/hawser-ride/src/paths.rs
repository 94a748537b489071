//! Paths as queues that drain at a rate.

use std::collections::VecDeque;

use hawser_learn::{Ewma, Random};

use crate::config::Arrival;
use crate::network::PathTrace;
use crate::rounds::{expected_deliveries, extra_rounds, last_round, power};
use crate::{PATHS, PathView};

/// Bytes on the link for each byte of payload: headers.
pub const OVERHEAD: f64 = 1.03;
/// Payload of a packet, bytes.
pub(crate) const PACKET: f64 = 1_200.0;
/// A packet that is lost so often is taken to arrive the next time.
const MOST_ROUNDS: u32 = 20;
/// Rounds of a window after which everything is taken to have arrived.
const MOST_WINDOW_ROUNDS: usize = 64;

/// How a path serves what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// E1: its rate is that of the frame's release.
    Episode(Arrival),
    /// E2: the trace's rate in each second counts, and the queue shows in later round-trip times.
    Lasting,
}

/// What each path carries of a frame that was sent packet by packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Portions {
    payload: [f64; PATHS],
    /// When the last packet has left.
    departure: [f64; PATHS],
}

impl Portions {
    /// A packet more on a path, from 0.
    pub(crate) fn add(&mut self, path: usize, payload: f64, departure: f64) {
        self.payload[path] += payload;
        self.departure[path] = departure;
    }

    pub(crate) fn add_to(&self, carried: &mut [f64; PATHS]) {
        carried.iter_mut().zip(self.payload).for_each(|(sum, more)| *sum += more);
    }

    /// When the last of it arrives.
    pub(crate) fn arrival(&self, paths: &[Path; PATHS], random: &mut Random) -> f64 {
        let mut latest = 0.0f64;
        for (path, (payload, departure)) in paths.iter().zip(self.payload.into_iter().zip(self.departure)) {
            if payload > 0.0 {
                latest = latest.max(departure + path.propagation(payload, random));
            }
        }
        latest
    }
}

/// A path's state.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) view: PathView,
    /// Measured round-trip times on their way: when the acknowledgement comes, and what it says.
    acknowledgements: VecDeque<(f64, f64)>,
    measured: Ewma,
    /// Expected deliveries of the rounds of this frame, as far as they were asked for (packets).
    rounds: Vec<f64>,
}

impl Path {
    pub(crate) fn new() -> Self {
        Path {
            view: PathView::default(),
            acknowledgements: VecDeque::new(),
            measured: Ewma::new(1.0 / 8.0),
            rounds: Vec::new(),
        }
    }

    /// E1: a frame finds an empty queue, and the trace's round-trip time.
    pub(crate) fn start_empty(&mut self, trace: &PathTrace, frame: usize, now: f64) {
        let (rate, rtt) = (trace.rate(now), trace.rtt(frame));
        let window = rate * rtt / 8.0;
        self.rounds.clear();
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

    /// Queues so many bytes of payload at `now`, and says when they arrive.
    pub(crate) fn send(
        &mut self,
        trace: &PathTrace,
        now: f64,
        payload: f64,
        random: &mut Random,
        service: Service,
    ) -> f64 {
        self.view.queued += OVERHEAD * payload;
        let PathView { queued, rate, base_rtt, .. } = self.view;
        match service {
            Service::Episode(Arrival::Sampled) => {
                now + 8.0 * queued / rate + self.propagation(payload, random)
            }
            Service::Episode(Arrival::Rounds) => {
                now + 8.0 * queued / rate + self.window_rounds() * base_rtt + base_rtt / 2.0
            }
            Service::Lasting => {
                let departure = trace.departure(now, queued);
                let comes = self.acknowledgements.back().map_or(0.0, |(at, _)| *at).max(departure + base_rtt);
                self.acknowledgements.push_back((comes, base_rtt + 8.0 * queued / rate));
                departure + self.propagation(payload, random)
            }
        }
    }

    /// From the departure of a payload to its arrival: half of a round trip, and one for each time that some of it is lost.
    fn propagation(&self, payload: f64, random: &mut Random) -> f64 {
        let PathView { base_rtt, loss, .. } = self.view;
        let rounds = if loss > 0.0 { rounds_lost(random.fraction(), payload, loss) } else { 0 };
        f64::from(rounds) * base_rtt + base_rtt / 2.0
    }

    /// Rounds of the window beyond the first until all that was queued for the frame is expected to be there: equation (5.2).
    fn window_rounds(&mut self) -> f64 {
        let packets = self.view.queued / (OVERHEAD * PACKET);
        let window = (self.view.window / PACKET).max(1.0) as u32;
        while self.rounds.len() < MOST_WINDOW_ROUNDS && self.rounds.iter().sum::<f64>() < packets {
            let rounds = (2 * self.rounds.len()).max(8);
            self.rounds = expected_deliveries(window, 0, self.view.loss, rounds);
        }
        let last = last_round(self.rounds.iter().copied(), packets, MOST_WINDOW_ROUNDS);
        extra_rounds(last.unwrap_or(MOST_WINDOW_ROUNDS)) as f64
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
