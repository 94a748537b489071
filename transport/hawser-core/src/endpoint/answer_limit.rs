//! How many answers strangers are given, in total and each; and how many handshakes each may begin.
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
use crate::source_of;

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
    sources: SourceLimit,
}

impl AnswerLimit {
    pub(super) fn new(rates: &AnswerRates, key: KeyedState) -> Self {
        let total = RateLimit::new(rates.total.per_second, rates.total.burst);
        AnswerLimit { total, sources: SourceLimit::new(rates.per_source, key) }
    }

    /// Whether an answer may be sent there now; if so, it counts as sent.
    pub(super) fn admit(&mut self, now: Time, source: IpAddr) -> bool {
        self.sources.admit(now, source) && self.total.admit(now)
    }
}

/// A rate for each source.
pub(super) struct SourceLimit {
    /// Made when it is asked for the first time: most endpoints never do.
    sources: Vec<RateLimit>,
    new_source: RateLimit,
    key: KeyedState,
}

impl SourceLimit {
    pub(super) fn new(rate: Rate, key: KeyedState) -> Self {
        SourceLimit { sources: Vec::new(), new_source: RateLimit::new(rate.per_second, rate.burst), key }
    }

    /// Whether this source may now; if so, it counts.
    pub(super) fn admit(&mut self, now: Time, source: IpAddr) -> bool {
        if self.sources.is_empty() {
            self.sources.resize(SOURCES, self.new_source.clone());
        }
        let place = self.key.hash_one(source_of(source)) as usize % SOURCES;
        self.sources.get_mut(place).is_none_or(|own| own.admit(now))
    }
}

/// How many handshakes each source may begin.
///
/// Anybody can begin some in the name of another. So those that prove their address count by themselves: who is named in
/// a flood of forged ones has to answer a Retry, and is served.
pub(super) struct HandshakeLimit {
    unproven: SourceLimit,
    proven: SourceLimit,
}

impl HandshakeLimit {
    /// So many a second, and at once.
    pub(super) fn new(per_second: u32, key: &KeyedState) -> Self {
        let rate = Rate { per_second, burst: per_second };
        HandshakeLimit {
            unproven: SourceLimit::new(rate, key.derive(b"unproven")),
            proven: SourceLimit::new(rate, key.derive(b"proven")),
        }
    }

    pub(super) fn admit(&mut self, now: Time, source: IpAddr, is_proven: bool) -> bool {
        let limit = if is_proven { &mut self.proven } else { &mut self.unproven };
        limit.admit(now, source)
    }
}
