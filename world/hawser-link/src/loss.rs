//! Which packets a link loses at random.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::random::{exponential, generator};
use crate::series::{Series, SeriesCursor};
use crate::time::Nanos;

/// Random loss of one direction. Probabilities lie in `0.0..=1.0`.
#[derive(Debug, Clone, PartialEq)]
pub enum LossModel {
    /// Nothing is lost.
    None,
    /// Each packet is lost with the same probability, independently.
    Bernoulli {
        /// Probability that a packet is lost.
        probability: f64,
    },
    /// Two states with a loss probability each; the state may change before every packet.
    ///
    /// E. N. Gilbert (1960), E. O. Elliott (1963). Stationary share of the bad state:
    /// `good_to_bad / (good_to_bad + bad_to_good)`; mean stay in it: `1 / bad_to_good` packets.
    GilbertElliott {
        /// Probability to enter the bad state, per packet.
        good_to_bad: f64,
        /// Probability to leave the bad state, per packet.
        bad_to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// Each packet is lost with the probability of the moment at which its last bit leaves, independently: a radio
    /// channel whose fading is known.
    Series(Series<f64>),
    /// Events at random times (a Poisson process); each loses the next `packets` packets.
    Events {
        /// Mean time between two events, nanoseconds, above zero.
        mean_interval: Nanos,
        /// Packets lost by each.
        packets: u32,
    },
}

impl LossModel {
    /// Gilbert's model with given mean loss and mean length of a run of losses, in packets (1 or more).
    ///
    /// The bad state loses everything, the good one nothing.
    pub fn bursts(loss: f64, mean_burst: f64) -> Self {
        let bad_to_good = 1.0 / mean_burst;
        let good_to_bad = if loss < 1.0 { (bad_to_good * loss / (1.0 - loss)).min(1.0) } else { 1.0 };
        Self::GilbertElliott { good_to_bad, bad_to_good, loss_good: 0.0, loss_bad: 1.0 }
    }

    /// Long-run share of packets that is lost, for a steady stream; `None` for [`Self::Events`], whose share
    /// depends on the traffic.
    pub fn mean(&self) -> Option<f64> {
        Some(match *self {
            Self::None => 0.0,
            Self::Bernoulli { probability } => probability,
            Self::Series(ref series) => series_mean(series),
            Self::Events { .. } => return None,
            Self::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let moves = good_to_bad + bad_to_good;
                let bad = if moves > 0.0 { good_to_bad / moves } else { 0.0 };
                bad * loss_bad + (1.0 - bad) * loss_good
            }
        })
    }
}

/// Mean over one period, or else until the last point (of a single point, its value).
fn series_mean(series: &Series<f64>) -> f64 {
    let points = series.points();
    let end = series.period().unwrap_or(points[points.len() - 1].0);
    if end == 0 {
        return points[0].1;
    }
    let starts = std::iter::once(0).chain(points[1..].iter().map(|point| point.0));
    let ends = points[1..].iter().map(|point| point.0).chain([end]);
    let parts = starts.zip(ends).zip(points);
    parts.map(|((from, to), point)| point.1 * (to - from) as f64).sum::<f64>() / end as f64
}

/// Decides for one packet after the other.
#[derive(Debug, Clone)]
pub(crate) struct LossProcess {
    state: State,
    random: ChaCha8Rng,
}

#[derive(Debug, Clone)]
enum State {
    None,
    Bernoulli(f64),
    GilbertElliott { bad: bool, change: [f64; 2], loss: [f64; 2] },
    Series(SeriesCursor<f64>),
    Events { mean_interval: f64, packets: u32, next: Nanos, left: u32 },
}

impl LossProcess {
    pub(crate) fn new(model: &LossModel, seed: u64) -> Self {
        let mut random = generator(seed, "loss");
        let state = match *model {
            LossModel::None => State::None,
            LossModel::Bernoulli { probability } => State::Bernoulli(probability),
            LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let (change, loss) = ([good_to_bad, bad_to_good], [loss_good, loss_bad]);
                State::GilbertElliott { bad: false, change, loss }
            }
            LossModel::Series(ref series) => State::Series(SeriesCursor::new(series.clone())),
            LossModel::Events { mean_interval, packets } => {
                let mean_interval = mean_interval.max(1) as f64;
                let next = exponential(&mut random, mean_interval) as Nanos;
                State::Events { mean_interval, packets, next, left: 0 }
            }
        };
        Self { state, random }
    }

    /// Whether the next packet is lost, whose last bit leaves at `time`.
    #[inline]
    pub(crate) fn loses(&mut self, time: Nanos) -> bool {
        !matches!(self.state, State::None) && self.next_random(time)
    }

    /// Apart from the question above, which is all that most links ask.
    #[inline(never)]
    fn next_random(&mut self, time: Nanos) -> bool {
        match &mut self.state {
            State::None => false,
            State::Bernoulli(probability) => self.random.random::<f64>() < *probability,
            State::GilbertElliott { bad, change, loss } => {
                *bad ^= self.random.random::<f64>() < change[usize::from(*bad)];
                self.random.random::<f64>() < loss[usize::from(*bad)]
            }
            State::Series(cursor) => {
                let probability = cursor.span_at(time).value;
                probability > 0.0 && self.random.random::<f64>() < probability
            }
            State::Events { mean_interval, packets, next, left } => {
                while *next <= time {
                    let gap = exponential(&mut self.random, *mean_interval) as Nanos;
                    *next = next.saturating_add(gap.max(1));
                    *left = *packets;
                }
                let lost = *left > 0;
                *left = left.saturating_sub(1);
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests;
