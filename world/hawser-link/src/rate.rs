//! How fast a link sends: constant, on a schedule, at random, by the chances of a trace, from a token bucket.

mod token_bucket;

use std::sync::Arc;

use crate::random::generator;
use crate::series::{Series, SeriesCursor, Span};
use crate::steps::{RandomCursor, RandomSteps};
use crate::time::{NEVER, Nanos, SECOND};
use crate::trace::{OPPORTUNITY_BYTES, Trace};

pub use token_bucket::TokenBucket;
use token_bucket::Tokens;

/// The rate of one direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub enum RateModel {
    /// Packets leave at once; the link only delays and loses.
    Unlimited,
    /// Bit/s over time.
    Scheduled(Series<u64>),
    /// Bit/s that change at random.
    Random(RandomSteps),
    /// Delivery chances of a mahimahi trace.
    Trace(Arc<Trace>),
    /// A mean rate with bursts.
    TokenBucket(TokenBucket),
}

impl RateModel {
    /// A rate that never changes, in bit/s.
    pub fn constant(bits_per_second: u64) -> Self {
        Self::Scheduled(Series::constant(bits_per_second))
    }

    /// A rate that swings around its mean; see [`Series::sinusoid`].
    pub fn sinusoid(mean: u64, amplitude: u64, period: Nanos, phase: f64) -> Self {
        Self::Scheduled(Series::sinusoid(mean, amplitude, period, phase))
    }

    /// The highest rate that occurs, in bit/s; for a trace its mean, for a token bucket its mean rate, for random
    /// rates what is rarely exceeded; `None` when unlimited.
    pub fn peak(&self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::Scheduled(series) => series.points().iter().map(|point| point.1).max(),
            Self::Random(steps) => Some(steps.peak()),
            Self::Trace(trace) => Some(trace.mean_rate()),
            Self::TokenBucket(bucket) => Some(bucket.rate),
        }
    }

    /// Bits that the link can send from time zero until `until`; `None` when unlimited. For a random rate the
    /// expectation: see [`Self::realised`]. A token bucket counts with its first burst.
    pub fn capacity_bits(&self, until: Nanos) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::Scheduled(series) => {
                // Whole periods are alike: a short one that comes back for hours is added up once.
                let period = series.period().unwrap_or(NEVER);
                let whole = match until / period {
                    0 => 0,
                    times => u128::from(times) * work_until(series, period),
                };
                Some(((whole + work_until(series, until % period)) / u128::from(SECOND)) as u64)
            }
            Self::Random(steps) => Some((steps.mean() * until as f64 / SECOND as f64) as u64),
            Self::Trace(trace) => Some(trace.first_at(until) * u64::from(OPPORTUNITY_BYTES) * 8),
            Self::TokenBucket(bucket) => Some(bucket.most_bits(until, NEVER)),
        }
    }

    /// Bits that the link can send from `from` until `until`, if it could send nothing for `idle` before; [`NEVER`]: since
    /// it exists. `None` when unlimited.
    pub(crate) fn bits_between(&self, from: Nanos, until: Nanos, idle: Nanos) -> Option<u64> {
        match self {
            Self::TokenBucket(bucket) => Some(bucket.most_bits(until.saturating_sub(from), idle)),
            _ => Some(self.capacity_bits(until)?.saturating_sub(self.capacity_bits(from)?)),
        }
    }

    /// The same model with chance replaced by the steps that a link with this `seed` takes until `until`, for
    /// reports that compare with what the link could carry.
    #[must_use]
    pub fn realised(&self, seed: u64, until: Nanos) -> Self {
        match self {
            Self::Random(steps) => Self::Scheduled(steps.realised(generator(seed, "rate"), until)),
            other => other.clone(),
        }
    }
}

/// The sum of the rate over time from zero until `until`, bit/s times nanoseconds.
fn work_until(series: &Series<u64>, until: Nanos) -> u128 {
    let mut cursor = SeriesCursor::new(series.clone());
    let (mut time, mut work) = (0, 0);
    while time < until {
        let span = cursor.span_at(time);
        let next = span.until.min(until);
        work += u128::from(span.value) * u128::from(next - time);
        time = next;
    }
    work
}

/// The part of a link that sends one packet after the other.
#[derive(Debug, Clone)]
pub struct RateServer {
    source: Source,
    /// As of the packets that have left.
    state: State,
    /// As of the packet that is planned.
    planned: State,
    /// Length and rate of the last division, and its result.
    quotient: (u32, u64, u64),
}

#[derive(Debug, Clone)]
enum Source {
    Unlimited,
    Scheduled(SeriesCursor<u64>),
    Random(Box<RandomCursor>),
    Trace(Arc<Trace>),
    TokenBucket(TokenBucket),
}

/// What sending a packet changes.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Next unused chance of a trace.
    next_opportunity: u64,
    /// When the last used chance was, and what it has left.
    leftover: (Nanos, u32),
    tokens: Tokens,
}

/// After so many changes in a row between rates of zero a link counts as stuck.
const MOST_IDLE_STEPS: usize = 1_000_000;

impl RateServer {
    /// A server at the start of its schedule. The seed matters to random rates only.
    pub fn new(model: &RateModel, seed: u64) -> Self {
        let source = match model {
            RateModel::Unlimited => Source::Unlimited,
            RateModel::Scheduled(series) => Source::Scheduled(SeriesCursor::new(series.clone())),
            RateModel::Random(steps) => {
                Source::Random(Box::new(RandomCursor::new(steps.clone(), generator(seed, "rate"))))
            }
            RateModel::Trace(trace) => Source::Trace(trace.clone()),
            RateModel::TokenBucket(bucket) => Source::TokenBucket(*bucket),
        };
        let tokens = match model {
            RateModel::TokenBucket(bucket) => Tokens::full(bucket),
            _ => Tokens::default(),
        };
        let state = State { tokens, ..State::default() };
        Self { source, state, planned: state, quotient: (0, 0, 0) }
    }

    /// When the last bit of a packet of `length` bytes has left, if its first bit leaves at or after `start`.
    ///
    /// [`NEVER`] when the rate stays at zero. `start` is not before the end of the packet sent before. The packet
    /// counts as sent with [`Self::commit`] only: until then it can be planned again.
    pub fn plan(&mut self, start: Nanos, length: u32) -> Nanos {
        match &mut self.source {
            Source::Unlimited => start,
            Source::Scheduled(cursor) => {
                // The common case by far: the packet leaves before the rate changes.
                let span = cursor.span_at(start);
                if self.quotient.0 != length || self.quotient.1 != span.value {
                    let needed = if span.value > 0 { work_of(length).div_ceil(span.value) } else { NEVER };
                    self.quotient = (length, span.value, needed);
                }
                let needed = self.quotient.2;
                if needed <= span.until - start {
                    return start.saturating_add(needed);
                }
                integrate(|time| cursor.span_at(time), start, length)
            }
            Source::Random(cursor) => integrate(|time| cursor.span_at(time), start, length),
            Source::Trace(trace) => {
                self.planned = self.state;
                plan_on_trace(trace, &mut self.planned, start, length)
            }
            Source::TokenBucket(bucket) => {
                let (finish, tokens) = bucket.plan(self.state.tokens, start, length);
                self.planned.tokens = tokens;
                finish
            }
        }
    }

    /// The rate at `time` in bit/s, not before the packet sent last; for a trace and a token bucket their mean;
    /// `None` when unlimited.
    pub fn rate_at(&mut self, time: Nanos) -> Option<u64> {
        match &mut self.source {
            Source::Unlimited => None,
            Source::Scheduled(cursor) => Some(cursor.span_at(time).value),
            Source::Random(cursor) => Some(cursor.span_at(time).value),
            Source::Trace(trace) => Some(trace.mean_rate()),
            Source::TokenBucket(bucket) => Some(bucket.rate),
        }
    }

    /// The packet planned last has left, at `finish`.
    pub fn commit(&mut self, finish: Nanos) {
        match &mut self.source {
            Source::Unlimited | Source::Scheduled(_) => {}
            Source::Random(cursor) => cursor.forget(finish),
            Source::Trace(_) | Source::TokenBucket(_) => self.state = self.planned,
        }
    }

    /// Nothing was there to send until `now`: how the rate changed meanwhile need not be remembered.
    #[inline]
    pub(crate) fn idle_until(&mut self, now: Nanos) {
        if let Source::Random(cursor) = &mut self.source {
            cursor.forget(now);
        }
    }

    /// [`Self::plan`] and [`Self::commit`] in one.
    pub fn finish(&mut self, start: Nanos, length: u32) -> Nanos {
        let finish = self.plan(start, length);
        self.commit(finish);
        finish
    }
}

/// As mahimahi does it: a chance that finds the queue empty is lost, but several packets may share one chance and
/// a packet may wait for the rest of its bytes until the next chance.
fn plan_on_trace(trace: &Trace, state: &mut State, start: Nanos, length: u32) -> Nanos {
    let mut missing = length;
    if state.leftover.0 == start {
        let taken = missing.min(state.leftover.1);
        missing -= taken;
        state.leftover.1 -= taken;
    }
    let mut finish = start;
    if missing > 0 {
        // A busy link takes one chance after the other and need not search.
        let passed = trace.time_of(state.next_opportunity) < start;
        if passed {
            state.next_opportunity = trace.first_at(start);
        }
    }
    while missing > 0 {
        finish = trace.time_of(state.next_opportunity);
        state.next_opportunity += 1;
        let taken = missing.min(OPPORTUNITY_BYTES);
        missing -= taken;
        state.leftover = (finish, OPPORTUNITY_BYTES - taken);
    }
    finish
}

/// Work of a packet in bit-nanoseconds per second, so that no division loses a remainder when the rate changes.
fn work_of(length: u32) -> u64 {
    // A packet of more than 2 GB saturates; an IP packet has at most 64 kB.
    u64::from(length).saturating_mul(8 * SECOND)
}

/// Integrates the rate from `start` until `length` bytes are sent. Kept out of the short common case of
/// [`RateServer::plan`].
#[inline(never)]
fn integrate(mut span_at: impl FnMut(Nanos) -> Span<u64>, start: Nanos, length: u32) -> Nanos {
    let mut work = work_of(length);
    let mut time = start;
    let mut idle_steps = 0;
    loop {
        let span = span_at(time);
        if span.value > 0 {
            let (needed, available) = (work.div_ceil(span.value), span.until - time);
            if needed <= available || span.until == NEVER {
                return time.saturating_add(needed);
            }
            // Less than `work`, as the time available was too short.
            work -= span.value * available;
            idle_steps = 0;
        } else {
            // A schedule that repeats zeros must not spin.
            idle_steps += 1;
        }
        if span.until == NEVER || idle_steps > MOST_IDLE_STEPS {
            return NEVER;
        }
        time = span.until;
    }
}

#[cfg(test)]
mod tests;
