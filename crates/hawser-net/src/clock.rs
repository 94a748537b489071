use std::time::{Duration, Instant};

use hawser_policy::Time;

/// Turns the machine's monotonic clock into the core's [`Time`].
///
/// The origin lies at the creation of the clock. Every part of an endpoint shares one, so that times compare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that starts now, one second after [`Time::ZERO`], so that "a moment before the start" still exists.
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Clock { origin: now.checked_sub(Duration::from_secs(1)).unwrap_or(now) }
    }

    /// The present.
    pub(crate) fn now(&self) -> Time {
        self.time_of(Instant::now())
    }

    /// The core's name for this instant; the origin for earlier ones.
    pub(crate) fn time_of(&self, instant: Instant) -> Time {
        Time::ZERO + instant.saturating_duration_since(self.origin)
    }

    /// The instant of this time. Times beyond what the platform can express come out a year ahead: far enough never
    /// to fire.
    pub(crate) fn instant_of(&self, time: Time) -> Instant {
        let offset = time.since(Time::ZERO);
        self.origin
            .checked_add(offset)
            .unwrap_or_else(|| Instant::now() + Duration::from_secs(365 * 24 * 3600))
    }
}
