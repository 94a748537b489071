//! Values that change at random: levels of a Markov chain, independent draws, an autoregressive walk.

use std::collections::VecDeque;
use std::sync::Arc;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::random::{exponential, normal};
use crate::series::{Series, Span};
use crate::time::Nanos;

/// A random step function of time, for rates (bit/s) and added delays (nanoseconds).
#[derive(Debug, Clone, PartialEq)]
pub enum RandomSteps {
    /// The levels of a continuous-time Markov chain.
    Markov(MarkovLevels),
    /// A new value every `interval`, uniform in `base (1 - spread) ..= base (1 + spread)`.
    Redraw {
        /// The mean.
        base: u64,
        /// Half of the width as a share of the mean, in `0.0..=1.0`.
        spread: f64,
        /// Time between two draws, nanoseconds, above zero.
        interval: Nanos,
    },
    /// `x' = correlation x + sqrt(1 - correlation^2) N(0, 1)` every `interval`; the value is
    /// `mean + deviation x`, not below zero.
    Autoregressive {
        /// The mean (of the curve before it is cut at zero).
        mean: u64,
        /// The standard deviation, likewise.
        deviation: u64,
        /// Correlation of a value with the one before it, in `0.0..1.0`.
        correlation: f64,
        /// Time between two draws, nanoseconds, above zero.
        interval: Nanos,
    },
}

/// One level of a Markov chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Its value.
    pub value: u64,
    /// Mean of the exponentially distributed time that the chain stays, nanoseconds, above zero.
    pub mean_stay: Nanos,
}

/// A Markov chain of levels, in continuous time.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkovLevels {
    levels: Arc<[Level]>,
    /// `moves[i][j]`: probability that level `j` follows level `i`.
    moves: Arc<[Vec<f64>]>,
    /// Long-run share of time of each level.
    shares: Arc<[f64]>,
}

/// Why levels and moves are no Markov chain.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MarkovError {
    /// Too few levels to move between.
    #[error("a Markov chain needs at least two levels, found {0}")]
    TooFewLevels(usize),
    /// A level would be left at once.
    #[error("the mean stay of level {level} is zero; expected a time above zero")]
    NoStay {
        /// The level, counted from 1.
        level: usize,
    },
    /// The matrix has another size than the list of levels.
    #[error(
        "row {row} of the transition matrix has {found} entries; expected {expected} rows of {expected} entries"
    )]
    Shape {
        /// The row, counted from 1.
        row: usize,
        /// Entries found, or 0 for a missing row.
        found: usize,
        /// Number of levels.
        expected: usize,
    },
    /// A row is no distribution.
    #[error(
        "row {row} of the transition matrix sums to {sum}; expected probabilities from 0 to 1 with the sum 1"
    )]
    NotADistribution {
        /// The row, counted from 1.
        row: usize,
        /// The sum found.
        sum: f64,
    },
}

impl MarkovLevels {
    /// A chain with the probabilities `moves[i][j]` to go from level `i` to level `j`; without them every other
    /// level is as likely.
    ///
    /// # Errors
    /// Fails on fewer than two levels, on a mean stay of zero, and when `moves` is no square matrix of
    /// probabilities whose rows sum to 1 within 1e-6.
    pub fn new(levels: Vec<Level>, moves: Option<Vec<Vec<f64>>>) -> Result<Self, MarkovError> {
        let count = levels.len();
        if count < 2 {
            return Err(MarkovError::TooFewLevels(count));
        }
        if let Some(index) = levels.iter().position(|level| level.mean_stay == 0) {
            return Err(MarkovError::NoStay { level: index + 1 });
        }
        let others = 1.0 / (count - 1) as f64;
        let uniform =
            |row: usize| (0..count).map(|column| if column == row { 0.0 } else { others }).collect();
        let moves = moves.unwrap_or_else(|| (0..count).map(uniform).collect());
        check_matrix(&moves, count)?;
        let shares = stationary_shares(&levels, &moves).into();
        Ok(Self { levels: levels.into(), moves: moves.into(), shares })
    }

    /// The levels.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Long-run share of time of each level, by power iteration from equal shares.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }
}

fn check_matrix(moves: &[Vec<f64>], count: usize) -> Result<(), MarkovError> {
    for row in 0..count.max(moves.len()) {
        let found = moves.get(row).filter(|_| row < count).map_or(0, Vec::len);
        if found != count {
            return Err(MarkovError::Shape { row: row + 1, found, expected: count });
        }
        let sum: f64 = moves[row].iter().sum();
        let bad = moves[row].iter().any(|share| !(0.0..=1.0).contains(share));
        if bad || (sum - 1.0).abs() > 1e-6 {
            return Err(MarkovError::NotADistribution { row: row + 1, sum });
        }
    }
    Ok(())
}

/// Shares of time: the stationary distribution of the jumps, weighted with the stays.
fn stationary_shares(levels: &[Level], moves: &[Vec<f64>]) -> Vec<f64> {
    let count = levels.len();
    let mut jumps = vec![1.0 / count as f64; count];
    for _ in 0..10_000 {
        // Half a step each time, so that a chain with a period converges too.
        let step = |column: usize| -> f64 { (0..count).map(|row| jumps[row] * moves[row][column]).sum() };
        jumps = (0..count).map(|column| (jumps[column] + step(column)) / 2.0).collect();
    }
    let weighted: Vec<f64> =
        jumps.iter().zip(levels).map(|(jump, level)| jump * level.mean_stay as f64).collect();
    let sum: f64 = weighted.iter().sum();
    weighted.iter().map(|weight| weight / sum).collect()
}

impl RandomSteps {
    /// Long-run mean.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Markov(chain) => {
                chain.levels.iter().zip(chain.shares()).map(|(level, share)| level.value as f64 * share).sum()
            }
            Self::Redraw { base, .. } => *base as f64,
            Self::Autoregressive { mean, .. } => *mean as f64,
        }
    }

    /// A value that is rarely exceeded: the highest level or draw, or three standard deviations above the mean.
    pub fn peak(&self) -> u64 {
        match self {
            Self::Markov(chain) => chain.levels.iter().map(|level| level.value).max().unwrap_or(0),
            Self::Redraw { base, spread, .. } => (*base as f64 * (1.0 + spread)).round() as u64,
            Self::Autoregressive { mean, deviation, .. } => mean.saturating_add(3 * deviation),
        }
    }

    /// The steps until `until` that a process with this generator takes, as a series.
    pub(crate) fn realised(&self, random: ChaCha8Rng, until: Nanos) -> Series<u64> {
        let mut cursor = RandomCursor::new(self.clone(), random);
        let mut points = Vec::new();
        let mut time = 0;
        loop {
            let span = cursor.span_at(time);
            cursor.forget(time);
            points.push((span.from, span.value));
            time = span.until;
            if time >= until {
                // The times increase by construction.
                return Series::new(points, None).unwrap_or_else(|_| Series::constant(span.value));
            }
        }
    }
}

/// Generates random steps as time goes on, and remembers those that may still be asked for.
#[derive(Debug, Clone)]
pub(crate) struct RandomCursor {
    model: RandomSteps,
    random: ChaCha8Rng,
    /// Level of the chain that comes next.
    next_level: usize,
    /// State of the autoregressive process.
    state: f64,
    spans: VecDeque<Span<u64>>,
    /// The span that was asked for last.
    recent: Span<u64>,
    /// Nobody asks for times before this.
    forgotten: Nanos,
}

impl RandomCursor {
    pub(crate) fn new(model: RandomSteps, mut random: ChaCha8Rng) -> Self {
        let (mut next_level, mut state) = (0, 0.0);
        match &model {
            RandomSteps::Markov(chain) => next_level = pick(&mut random, &chain.shares),
            RandomSteps::Autoregressive { .. } => state = normal(&mut random),
            RandomSteps::Redraw { .. } => {}
        }
        let recent = Span { value: 0, from: 0, until: 0 };
        Self { model, random, next_level, state, spans: VecDeque::new(), recent, forgotten: 0 }
    }

    /// The value at `time` and how long it holds; times before what was forgotten see the oldest span kept.
    pub(crate) fn span_at(&mut self, time: Nanos) -> Span<u64> {
        if self.recent.contains(time) {
            return self.recent;
        }
        while self.spans.back().is_none_or(|last| !last.contains(time) && last.until <= time) {
            let from = self.spans.back().map_or(0, |last| last.until);
            let next = self.generate(from);
            self.spans.push_back(next);
            // Spans of a long silence need not be there all at once.
            self.drop_forgotten();
        }
        let index = self.spans.partition_point(|span| span.until <= time).min(self.spans.len() - 1);
        self.recent = self.spans[index];
        self.recent
    }

    /// Forgets all spans that end before `time`.
    pub(crate) fn forget(&mut self, time: Nanos) {
        self.forgotten = self.forgotten.max(time);
        self.drop_forgotten();
    }

    /// Spans in memory.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.spans.len()
    }

    fn drop_forgotten(&mut self) {
        while self.spans.len() > 1 && self.spans[0].until <= self.forgotten {
            self.spans.pop_front();
        }
    }

    fn generate(&mut self, from: Nanos) -> Span<u64> {
        let random = &mut self.random;
        let (value, length) = match &self.model {
            RandomSteps::Markov(chain) => {
                let level = chain.levels[self.next_level];
                let stay = exponential(random, level.mean_stay as f64) as Nanos;
                self.next_level = pick(random, &chain.moves[self.next_level]);
                (level.value, stay)
            }
            RandomSteps::Redraw { base, spread, interval } => {
                let share = 1.0 + spread * random.random_range(-1.0..=1.0);
                ((*base as f64 * share).round() as u64, *interval)
            }
            RandomSteps::Autoregressive { mean, deviation, correlation, interval } => {
                let value = (*mean as f64 + *deviation as f64 * self.state).max(0.0);
                let noise = (1.0 - correlation * correlation).max(0.0).sqrt();
                self.state = correlation * self.state + noise * normal(random);
                (value.round() as u64, *interval)
            }
        };
        Span { value, from, until: from.saturating_add(length.max(1)) }
    }
}

/// An index drawn by its share; the shares sum to 1.
fn pick(random: &mut ChaCha8Rng, shares: &[f64]) -> usize {
    let mut rest = random.random::<f64>();
    for (index, share) in shares.iter().enumerate() {
        rest -= share;
        if rest < 0.0 {
            return index;
        }
    }
    // Rounding left something over: the last one that is possible at all.
    shares.iter().rposition(|share| *share > 0.0).unwrap_or(0)
}

#[cfg(test)]
mod tests;
