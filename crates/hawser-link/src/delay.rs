//! How long a packet travels: propagation over time, plus jitter that never reorders.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::random::{gamma, generator};
use crate::series::Series;
use crate::time::Nanos;

/// One-way propagation delay of a link, without queue and serialisation.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayModel {
    /// Delay over time; a packet takes the value at the moment its last bit leaves.
    pub base: Series<Nanos>,
    /// What is added to it, packet by packet.
    pub jitter: Jitter,
}

/// Variation of the delay, always added, never negative.
///
/// A packet never overtakes the one before it: its arrival is moved to that of its predecessor if need be, as
/// on a link layer that delivers in order. Back-to-back packets therefore see more than the mean of
/// [`Jitter::Gamma`] (they wait for the slowest of those before them) and arrive in small bursts.
#[derive(Debug, Clone, PartialEq)]
pub enum Jitter {
    /// No variation.
    None,
    /// An independent gamma-distributed value for each packet: link-layer retransmissions, scheduling grants.
    Gamma {
        /// Mean, nanoseconds, above zero.
        mean: Nanos,
        /// Standard deviation, nanoseconds, above zero.
        deviation: Nanos,
    },
    /// A walk in `0..=maximum` which takes a step of up to `step` in either direction each `interval`: slow
    /// changes of load on a shared medium.
    RandomWalk {
        /// Upper bound, nanoseconds.
        maximum: Nanos,
        /// Largest step, nanoseconds.
        step: Nanos,
        /// Time between two steps, nanoseconds, above zero.
        interval: Nanos,
    },
}

/// After this many steps a walk has forgotten where it began; idle time beyond it is not replayed.
const LONGEST_REPLAY: u64 = 4096;

/// Draws the delay of each packet and keeps packets in order.
#[derive(Debug, Clone)]
pub(crate) struct DelayLine {
    model: DelayModel,
    random: ChaCha8Rng,
    walk: Nanos,
    walked_until: Nanos,
    last_arrival: Nanos,
}

impl DelayLine {
    pub(crate) fn new(model: DelayModel, seed: u64) -> Self {
        let mut random = generator(seed, "jitter");
        let walk = match model.jitter {
            Jitter::RandomWalk { maximum, .. } => random.random_range(0..=maximum),
            _ => 0,
        };
        Self { model, random, walk, walked_until: 0, last_arrival: 0 }
    }

    /// When a packet arrives whose last bit leaves at `sent`.
    pub(crate) fn arrival(&mut self, sent: Nanos) -> Nanos {
        let jitter = self.jitter(sent);
        let arrival = sent.saturating_add(self.model.base.value_at(sent)).saturating_add(jitter);
        self.last_arrival = self.last_arrival.max(arrival);
        self.last_arrival
    }

    /// A time before which a packet sent at `sent` cannot arrive; exact when there is no jitter.
    pub(crate) fn earliest_arrival(&self, sent: Nanos) -> Nanos {
        self.last_arrival.max(sent.saturating_add(self.model.base.value_at(sent)))
    }

    fn jitter(&mut self, sent: Nanos) -> Nanos {
        match self.model.jitter {
            Jitter::None => 0,
            Jitter::Gamma { mean, deviation } => {
                let (mean, deviation) = (mean as f64, deviation as f64);
                gamma(&mut self.random, (mean / deviation).powi(2), deviation * deviation / mean) as Nanos
            }
            Jitter::RandomWalk { maximum, step, interval } => {
                let steps = sent.saturating_sub(self.walked_until) / interval;
                for _ in 0..steps.min(LONGEST_REPLAY) {
                    self.walk =
                        reflected_step(self.walk, self.random.random_range(0..=2 * step), step, maximum);
                }
                self.walked_until += steps * interval;
                self.walk
            }
        }
    }
}

/// Moves `position` by `draw - step` and reflects it at the borders of `0..=maximum`.
fn reflected_step(position: Nanos, draw: Nanos, step: Nanos, maximum: Nanos) -> Nanos {
    let moved = if draw >= step {
        position + (draw - step)
    } else {
        // Below zero: the mirror image.
        position.abs_diff(step - draw)
    };
    if moved > maximum { (2 * maximum).saturating_sub(moved) } else { moved }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{MICROSECOND, MILLISECOND};

    fn line(jitter: Jitter) -> DelayLine {
        DelayLine::new(DelayModel { base: Series::constant(20 * MILLISECOND), jitter }, 3)
    }

    #[test]
    fn gamma_jitter_has_its_mean_when_packets_are_far_apart() {
        let mut line = line(Jitter::Gamma { mean: 4 * MILLISECOND, deviation: 3 * MILLISECOND });
        let gap = 500 * MILLISECOND;
        let sum: u64 =
            (0..50_000).map(|index| line.arrival(index * gap) - index * gap - 20 * MILLISECOND).sum();
        let mean = sum as f64 / 50_000.0 / MILLISECOND as f64;
        assert!((mean - 4.0).abs() < 0.08, "{mean} ms");
    }

    #[test]
    fn arrivals_never_go_back_even_when_the_delay_drops() {
        let base =
            Series::new(vec![(0, 50 * MILLISECOND), (10 * MILLISECOND, 20 * MILLISECOND)], None).unwrap();
        let jitter = Jitter::Gamma { mean: 4 * MILLISECOND, deviation: 8 * MILLISECOND };
        let mut line = DelayLine::new(DelayModel { base, jitter }, 3);
        let arrivals: Vec<_> = (0..2000).map(|index| line.arrival(index * 100 * MICROSECOND)).collect();
        assert!(arrivals.is_sorted());
    }

    #[test]
    fn a_walk_stays_within_its_bounds_and_moves() {
        let (maximum, step) = (10 * MILLISECOND, 2 * MILLISECOND);
        let mut line = line(Jitter::RandomWalk { maximum, step, interval: 10 * MILLISECOND });
        let values: Vec<_> = (0..20_000).map(|index| line.jitter(index * 10 * MILLISECOND)).collect();
        assert!(values.iter().all(|&value| value <= maximum));
        assert!(values.windows(2).all(|pair| pair[0].abs_diff(pair[1]) <= step));
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        assert!((mean / maximum as f64 - 0.5).abs() < 0.1, "a reflected walk is uniform: mean {mean}");
    }
}
