use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hawser_paths::{CapUse, CostCaps};
use hawser_policy::Time;

/// When the first clock was made.
static ORIGIN: OnceLock<Instant> = OnceLock::new();

/// The longest that a datagram is believed to have waited in a socket's buffer.
const MAX_QUEUED: Duration = Duration::from_secs(1);

/// Turns the machine's monotonic clock into the core's [`Time`].
///
/// The origin lies at the creation of the first clock of the process, so that times of all endpoints compare: they may share
/// budgets of links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that started with the first one, one second after [`Time::ZERO`], so that "a moment before the start" still exists.
    pub(crate) fn start() -> Self {
        let now = *ORIGIN.get_or_init(Instant::now);
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

    /// Real time at [`Time::ZERO`], since 1970; zero, which means unknown, if the machine's clock is before 1970.
    pub(crate) fn unix_origin(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.saturating_sub(self.now().since(Time::ZERO))
    }

    /// The core's name for a real time that the kernel noted a moment before `now`. `now` itself where that cannot be:
    /// the machine's clock was set meanwhile.
    pub(crate) fn time_of_unix(&self, unix: Duration, now: Time) -> Time {
        // Both clocks are read each time, since real time is set and slewed.
        let noted = Time::ZERO + unix.saturating_sub(self.unix_origin());
        if noted > now || now.since(noted) > MAX_QUEUED { now } else { noted }
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

/// What is left of each budget now, by the clock that the endpoints of this process have.
pub fn cost_cap_uses(caps: &CostCaps) -> Vec<CapUse> {
    caps.uses(Clock::start().now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receive_times_of_the_kernel_are_times_of_the_core() {
        let clock = Clock::start();
        std::thread::sleep(Duration::from_millis(2));
        let (now, unix) = (clock.now(), clock.unix_origin() + clock.now().since(Time::ZERO));
        let ago = |millis| clock.time_of_unix(unix - Duration::from_millis(millis), now);
        for millis in [1, 500] {
            let age = now.since(ago(millis));
            assert!(age.abs_diff(Duration::from_millis(millis)) < Duration::from_millis(1), "{age:?}");
        }
        assert_eq!(ago(3_600_000), now, "the machine's clock was set");
        assert_eq!(clock.time_of_unix(unix + Duration::from_secs(5), now), now);
    }
}
