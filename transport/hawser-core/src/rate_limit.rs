//! A limit on how often something is done (generic cell rate algorithm).

use std::time::Duration;

use hawser_policy::Time;

/// Admits a burst, and after it a steady rate.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    interval: Duration,
    tolerance: Duration,
    /// When all that was admitted would have been done at the steady rate.
    due: Time,
}

impl RateLimit {
    /// `per_second` above 0 in the long run, `burst` at once after a pause.
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let interval = Duration::from_secs(1) / per_second.max(1);
        RateLimit { interval, tolerance: interval * burst.saturating_sub(1), due: Time::ZERO }
    }

    /// Whether it may be done now; if so, it counts as done.
    pub(crate) fn admit(&mut self, now: Time) -> bool {
        if self.due > now + self.tolerance {
            return false;
        }
        self.due = self.due.max(now) + self.interval;
        true
    }

    /// When it may be done next.
    pub(crate) fn next(&self, now: Time) -> Time {
        now.max(self.due - self.tolerance)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, RateLimit, Time};

    #[test]
    fn admits_the_burst_then_the_rate() {
        let mut limit = RateLimit::new(100, 20);
        let start = Time::from_secs(7);
        let count = |limit: &mut RateLimit, now| (0..1_000).filter(|_| limit.admit(now)).count();
        assert_eq!(count(&mut limit, start), 20);
        assert_eq!(count(&mut limit, start + Duration::from_millis(9)), 0);
        assert_eq!(count(&mut limit, start + Duration::from_millis(50)), 5);
        assert_eq!(
            count(&mut limit, start + Duration::from_secs(60)),
            20,
            "a pause is saved up to one burst only"
        );
    }
}
