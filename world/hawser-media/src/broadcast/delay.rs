//! How long tags are on their way between hosts whose clocks nobody has set.

use std::time::Duration;

use hawser_policy::Time;

/// How long the smallest difference of the clocks is remembered, twice: clocks drift apart (4D-MAP specification: 10 s).
const MEMORY: Duration = Duration::from_secs(5);

/// One-way delays from the stamps of a sender with another clock: the least difference of late is taken for half a
/// round-trip time, and others by as much more.
#[derive(Clone, Copy, Debug, Default)]
pub struct RelativeDelay {
    /// The least difference of this period and of the one before, in nanoseconds.
    least: Option<(i128, i128)>,
    period_began: Time,
}

impl RelativeDelay {
    /// The delay of what was stamped `sent` there and came at `now`, over a path with this smallest round-trip time.
    pub fn delay(&mut self, now: Time, sent: Time, round_trip: Duration) -> Duration {
        let difference = i128::from(now.as_nanos()) - i128::from(sent.as_nanos());
        let (mut current, mut previous) = self.least.unwrap_or((difference, difference));
        if now.since(self.period_began) >= MEMORY {
            (current, previous) = (difference, current);
            self.period_began = now;
        }
        current = current.min(difference);
        self.least = Some((current, previous));
        let above = difference - current.min(previous);
        round_trip / 2 + Duration::from_nanos(u64::try_from(above).unwrap_or(0))
    }
}

/// How fast two clocks drift apart at most, in parts per million: quartz has less than 100, one that is being set may have 500.
const DRIFT: i128 = 500;

/// How old things are that come from a sender with another clock, a standing queue included: the least difference of all is
/// taken for half a round-trip time, and forgotten only as fast as clocks drift.
///
/// [`RelativeDelay`] is what 4D-MAP asks for: it forgets in ten seconds, and a queue that stands for longer with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct StandingDelay {
    /// The least difference, in nanoseconds, and when it was brought up to date.
    least: Option<(i128, Time)>,
}

impl StandingDelay {
    /// The delay of what was stamped `sent` there and came at `now`, over a path with this smallest round-trip time.
    pub fn delay(&mut self, now: Time, sent: Time, round_trip: Duration) -> Duration {
        let difference = i128::from(now.as_nanos()) - i128::from(sent.as_nanos());
        let least = self.least.map_or(difference, |(least, at)| {
            let drift = now.since(at).as_nanos().cast_signed() * DRIFT / 1_000_000;
            difference.min(least + drift)
        });
        self.least = Some((least, now));
        round_trip / 2 + Duration::from_nanos(u64::try_from(difference - least).unwrap_or(0))
    }
}
