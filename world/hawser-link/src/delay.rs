//! How long a packet travels: propagation over time, plus jitter that keeps the order or does not.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::random::{exponential, gamma, generator, normal};
use crate::series::{Series, SeriesCursor};
use crate::steps::{RandomCursor, RandomSteps};
use crate::time::Nanos;

/// One-way propagation delay of a link, without queue and serialisation.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayModel {
    /// Delay over time; a packet takes the value at the moment its last bit leaves.
    pub base: Series<Nanos>,
    /// What is added to it, packet by packet.
    pub jitter: Jitter,
    /// Whether a packet may overtake those before it when its delay is shorter. Without, its arrival is moved to
    /// that of its predecessor if need be, as on a link layer that delivers in order: back-to-back packets then
    /// wait for the slowest of those before them, see more than the mean of the jitter, and arrive in small bursts.
    pub reordering: bool,
}

impl DelayModel {
    /// A delay that never changes.
    pub fn constant(delay: Nanos) -> Self {
        Series::constant(delay).into()
    }
}

impl From<Series<Nanos>> for DelayModel {
    /// Without jitter, in order.
    fn from(base: Series<Nanos>) -> Self {
        Self { base, jitter: Jitter::None, reordering: false }
    }
}

/// Variation of the delay, always added, never negative.
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
    /// An independent value `max(0, N(mean, deviation^2))` for each packet.
    Gaussian {
        /// Mean of the curve before it is cut at zero, nanoseconds.
        mean: Nanos,
        /// Standard deviation, likewise.
        deviation: Nanos,
    },
    /// An independent exponentially distributed value for each packet.
    Exponential {
        /// Mean, nanoseconds.
        mean: Nanos,
    },
    /// An independent value for each packet, uniform in `0..=maximum`.
    Uniform {
        /// Upper bound, nanoseconds.
        maximum: Nanos,
    },
    /// The value of a random process when the packet's last bit leaves: redrawn every interval, autoregressive, or
    /// the levels of a Markov chain, nanoseconds.
    Steps(RandomSteps),
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

/// Draws the delay of each packet and keeps packets in order where they shall.
#[derive(Debug, Clone)]
pub(crate) struct DelayLine {
    base: SeriesCursor<Nanos>,
    /// Lower bound of all delays.
    shortest: Nanos,
    jitter: Option<JitterProcess>,
    reordering: bool,
    last_arrival: Nanos,
}

#[derive(Debug, Clone)]
enum JitterProcess {
    Draw(Jitter, ChaCha8Rng),
    Steps(RandomCursor),
    Walk { maximum: Nanos, step: Nanos, interval: Nanos, position: Nanos, until: Nanos, random: ChaCha8Rng },
}

impl DelayLine {
    pub(crate) fn new(model: &DelayModel, seed: u64) -> Self {
        Self {
            base: SeriesCursor::new(model.base.clone()),
            shortest: model.base.points().iter().map(|point| point.1).min().unwrap_or(0),
            jitter: JitterProcess::new(&model.jitter, generator(seed, "jitter")),
            reordering: model.reordering,
            last_arrival: 0,
        }
    }

    /// Another delay from now on; what is under way is still not overtaken unless the model reorders.
    pub(crate) fn reconfigure(&mut self, model: &DelayModel, seed: u64) {
        *self = Self { last_arrival: self.last_arrival, ..Self::new(model, seed) };
    }

    /// When a packet arrives whose last bit leaves at `sent`.
    #[inline]
    pub(crate) fn arrival(&mut self, sent: Nanos) -> Nanos {
        let base = self.base.span_at(sent).value;
        let jitter = self.jitter.as_mut().map_or(0, |jitter| jitter.next_random(sent));
        let arrival = sent.saturating_add(base).saturating_add(jitter);
        if self.reordering {
            return arrival;
        }
        self.last_arrival = self.last_arrival.max(arrival);
        self.last_arrival
    }

    /// A time before which no packet can arrive whose last bit leaves at `sent` or later; exact for the first of
    /// them when order is kept and neither jitter nor delay change.
    pub(crate) fn earliest_arrival(&self, sent: Nanos) -> Nanos {
        let span = self.base.peek(sent);
        // The first may be lost, and the next may have a shorter way.
        let this = sent.saturating_add(span.value).min(span.until.saturating_add(self.shortest));
        if self.reordering { this } else { this.max(self.last_arrival) }
    }
}

impl JitterProcess {
    fn new(jitter: &Jitter, mut random: ChaCha8Rng) -> Option<Self> {
        Some(match jitter {
            Jitter::None => return None,
            Jitter::Steps(steps) => Self::Steps(RandomCursor::new(steps.clone(), random)),
            &Jitter::RandomWalk { maximum, step, interval } => {
                let position = random.random_range(0..=maximum);
                Self::Walk { maximum, step, interval, position, until: 0, random }
            }
            other => Self::Draw(other.clone(), random),
        })
    }

    /// What is added to the delay of a packet whose last bit leaves at `sent`.
    #[inline(never)]
    fn next_random(&mut self, sent: Nanos) -> Nanos {
        match self {
            Self::Draw(jitter, random) => independent(jitter, random),
            Self::Steps(cursor) => {
                cursor.forget(sent);
                cursor.span_at(sent).value
            }
            Self::Walk { maximum, step, interval, position, until, random } => {
                let steps = sent.saturating_sub(*until) / *interval;
                for _ in 0..steps.min(LONGEST_REPLAY) {
                    *position =
                        reflected_step(*position, random.random_range(0..=2 * *step), *step, *maximum);
                }
                *until += steps * *interval;
                *position
            }
        }
    }
}

/// A value that has nothing to do with the one before it.
fn independent(jitter: &Jitter, random: &mut ChaCha8Rng) -> Nanos {
    // `as` saturates: what is below zero becomes zero.
    match *jitter {
        Jitter::Gamma { mean, deviation } => {
            let (mean, deviation) = (mean as f64, deviation as f64);
            gamma(random, (mean / deviation).powi(2), deviation * deviation / mean) as Nanos
        }
        Jitter::Gaussian { mean, deviation } => {
            (mean as f64 + deviation as f64 * normal(random)).round() as Nanos
        }
        Jitter::Exponential { mean } => exponential(random, mean as f64).round() as Nanos,
        Jitter::Uniform { maximum } => random.random_range(0..=maximum),
        Jitter::None | Jitter::Steps(_) | Jitter::RandomWalk { .. } => 0,
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
mod tests;
