//! One budget, period by period.

use std::time::Duration;

use hawser_policy::{CostCap, Time};

/// Round trips count as no shorter than this: a busy link delivers in bursts.
const SHORTEST_ROUND: Duration = Duration::from_millis(1);

/// What went over one link.
///
/// The link rests before the last byte is used: what comes in the round trip after the decision is on its way already. It is taken
/// to be as much as came in the last one.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    cap: CostCap,
    /// When the period that runs began; `None` before the first byte.
    began: Option<Time>,
    used: u64,
    /// Not again before the next period, whatever the estimate becomes.
    reached: bool,
    round: Round,
}

/// What went over the link in the round trip that runs, and in the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    began: Time,
    bytes: u64,
    before: u64,
}

impl Round {
    fn count(&mut self, now: Time, bytes: u64, length: Duration) {
        let length = length.max(SHORTEST_ROUND);
        let passed = now.since(self.began);
        if passed >= length {
            self.before = if passed < 2 * length { self.bytes } else { 0 };
            (self.began, self.bytes) = (now, 0);
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Ledger {
    pub(super) fn new(cap: CostCap) -> Self {
        Ledger { cap, began: None, used: 0, reached: false, round: Round::default() }
    }

    pub(super) fn cap(&self) -> CostCap {
        self.cap
    }

    /// Counted in the period that ran when it was last asked or counted.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Returns whether the budget is used up by this.
    pub(super) fn count(&mut self, now: Time, bytes: u64, round_trip: Duration) -> bool {
        self.began.get_or_insert(now);
        self.turn_over(now);
        self.used = self.used.saturating_add(bytes);
        self.round.count(now, bytes, round_trip);
        let expected = self.round.bytes.max(self.round.before);
        let is_over = self.used.saturating_add(expected) >= self.cap.bytes;
        is_over && !std::mem::replace(&mut self.reached, true)
    }

    /// Until the next period begins, if nothing more may be used of this one; without a budget indefinitely.
    pub(super) fn rests(&mut self, now: Time) -> Option<Duration> {
        if self.cap.bytes == 0 {
            return Some(Duration::MAX);
        }
        self.turn_over(now);
        let began = self.began.filter(|_| self.reached)?;
        Some((began + self.cap.period).since(now))
    }

    fn turn_over(&mut self, now: Time) {
        let Some(began) = self.began else { return };
        let passed = now.since(began);
        if passed >= self.cap.period {
            let into = passed.as_nanos() % self.cap.period.as_nanos().max(1);
            let into = Duration::from_nanos(u64::try_from(into).unwrap_or_default());
            let began = Time::from_nanos(now.as_nanos().saturating_sub(into.as_nanos() as u64));
            (self.began, self.used, self.reached) = (Some(began), 0, false);
        }
    }
}
