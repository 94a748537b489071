//! How many answers strangers are given, in total and each.
//!
//! One limit for all would let a single source use it up, and honest ones would wait for timeouts. So each source has a
//! limit of its own below the total. Sources share a table of fixed size, and which of them share a place nobody outside
//! knows: a flood from one address costs one honest source in [`SOURCES`] its answers. Forged sources without number are
//! left to the total.

use std::hash::BuildHasher;
use std::net::IpAddr;

use hawser_policy::Time;

use super::keyed_hash::KeyedState;
use crate::rate_limit::RateLimit;

/// Places of the table: 40 KiB.
const SOURCES: usize = 1024;

/// A rate in the long run, and what may be done at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub(super) per_second: u32,
    pub(super) burst: u32,
}

/// What one kind of answer is limited to.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerRates {
    pub(super) total: Rate,
    pub(super) per_source: Rate,
}

/// The limits of one kind of answer.
pub(super) struct AnswerLimit {
    total: RateLimit,
    /// Made when the first answer is due: most endpoints never give one.
    sources: Vec<RateLimit>,
    new_source: RateLimit,
    key: KeyedState,
}

impl AnswerLimit {
    pub(super) fn new(rates: &AnswerRates, key: KeyedState) -> Self {
        let limit = |rate: &Rate| RateLimit::new(rate.per_second, rate.burst);
        AnswerLimit {
            total: limit(&rates.total),
            sources: Vec::new(),
            new_source: limit(&rates.per_source),
            key,
        }
    }

    /// Whether an answer may be sent there now; if so, it counts as sent.
    pub(super) fn admit(&mut self, now: Time, source: IpAddr) -> bool {
        if self.sources.is_empty() {
            self.sources.resize(SOURCES, self.new_source.clone());
        }
        let place = self.key.hash_one(network_of(source)) as usize % SOURCES;
        let own = self.sources.get_mut(place);
        own.is_none_or(|own| own.admit(now)) && self.total.admit(now)
    }
}

/// What one stranger has all addresses of: with IPv6 it is a /64 (RFC 7421).
fn network_of(source: IpAddr) -> (bool, u64) {
    match source.to_canonical() {
        IpAddr::V4(address) => (false, u64::from(u32::from(address))),
        IpAddr::V6(address) => (true, (u128::from(address) >> 64) as u64),
    }
}
