//! How fast a link sends: constant, on a schedule, or by the chances of a trace.

use std::sync::Arc;

use crate::series::Series;
use crate::time::{NEVER, Nanos, SECOND};
use crate::trace::{OPPORTUNITY_BYTES, Trace};

/// The rate of one direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RateModel {
    /// Packets leave at once; the link only delays and loses.
    Unlimited,
    /// Bit/s over time.
    Scheduled(Series<u64>),
    /// Delivery chances of a mahimahi trace.
    Trace(Arc<Trace>),
}

impl RateModel {
    /// A rate that never changes, in bit/s.
    pub fn constant(bits_per_second: u64) -> Self {
        Self::Scheduled(Series::constant(bits_per_second))
    }

    /// The highest rate that occurs, in bit/s; for a trace its mean; `None` when unlimited.
    pub fn peak(&self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::Scheduled(series) => series.points().iter().map(|point| point.1).max(),
            Self::Trace(trace) => Some(trace.mean_rate()),
        }
    }

    /// Bits that the link can send from time zero until `until`; `None` when unlimited.
    pub fn capacity_bits(&self, until: Nanos) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::Scheduled(series) => {
                let (mut time, mut work) = (0, 0u128);
                while time < until {
                    let next = series.next_change(time).unwrap_or(until).min(until);
                    work += u128::from(series.value_at(time)) * u128::from(next - time);
                    time = next;
                }
                Some((work / u128::from(SECOND)) as u64)
            }
            Self::Trace(trace) => Some(trace.first_at(until) * u64::from(OPPORTUNITY_BYTES) * 8),
        }
    }
}

/// The part of a link that sends one packet after the other.
#[derive(Debug, Clone)]
pub struct RateServer {
    model: RateModel,
    /// Next unused chance of a trace.
    next_opportunity: u64,
    /// What the last used chance has left, and when that chance was.
    leftover: (Nanos, u32),
}

impl RateServer {
    /// A server at the start of its schedule.
    pub fn new(model: RateModel) -> Self {
        Self { model, next_opportunity: 0, leftover: (0, 0) }
    }

    /// When the last bit of a packet of `length` bytes has left, if its first bit leaves at or after `start`.
    ///
    /// [`NEVER`] when the rate stays at zero. Calls come in the order of sending: `start` is not before the
    /// result of the call before.
    pub fn finish(&mut self, start: Nanos, length: u32) -> Nanos {
        match &self.model {
            RateModel::Unlimited => start,
            RateModel::Scheduled(series) => finish_on_schedule(series, start, length),
            RateModel::Trace(_) => self.finish_on_trace(start, length),
        }
    }

    /// As mahimahi does it: a chance that finds the queue empty is lost, but several packets may share one
    /// chance and a packet may wait for the rest of its bytes until the next chance.
    fn finish_on_trace(&mut self, start: Nanos, length: u32) -> Nanos {
        let RateModel::Trace(trace) = &self.model else { return start };
        let mut missing = length;
        if self.leftover.0 == start {
            let taken = missing.min(self.leftover.1);
            missing -= taken;
            self.leftover.1 -= taken;
        }
        let mut finish = start;
        if missing > 0 {
            self.next_opportunity = self.next_opportunity.max(trace.first_at(start));
        }
        while missing > 0 {
            finish = trace.time_of(self.next_opportunity);
            self.next_opportunity += 1;
            let taken = missing.min(OPPORTUNITY_BYTES);
            missing -= taken;
            self.leftover = (finish, OPPORTUNITY_BYTES - taken);
        }
        finish
    }
}

/// Integrates the rate from `start` until `length` bytes are sent.
fn finish_on_schedule(series: &Series<u64>, start: Nanos, length: u32) -> Nanos {
    // In bit-nanoseconds per second, so that no division loses a remainder at a change of the rate.
    let mut work = u128::from(length) * 8 * u128::from(SECOND);
    let mut time = start;
    // A schedule that repeats zeros for ever must not spin: one full turn without work is the end.
    let mut idle_turns = 0;
    loop {
        let rate = u128::from(series.value_at(time));
        let next = series.next_change(time);
        if rate > 0 {
            let needed = work.div_ceil(rate);
            let available = next.map_or(u128::MAX, |next| u128::from(next - time));
            if needed <= available {
                return time.saturating_add(u64::try_from(needed).unwrap_or(NEVER));
            }
            work -= rate * available;
            idle_turns = 0;
        } else {
            idle_turns += 1;
        }
        match next {
            Some(next) if idle_turns <= series.points().len() + 1 => time = next,
            _ => return NEVER,
        }
    }
}

#[cfg(test)]
mod tests;
