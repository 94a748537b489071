//! How long a path pauses between acknowledgements when all is well.

use std::time::Duration;

use hawser_policy::Time;

/// A pause is forgotten within this many round trips, but not sooner than within [`SHORTEST_MEMORY`]: radio links pause
/// by the second hand of their network, not by the round trip of a connection.
const PAUSE_MEMORY: u32 = 16;
const SHORTEST_MEMORY: Duration = Duration::from_secs(3);

/// Forgetting is arithmetic that every acknowledgement would pay for; it happens in steps of this.
const FORGETTING_STEP: Duration = Duration::from_millis(10);

/// The pauses of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pauses {
    /// The longest, forgotten little by little; and for how long nothing of it was.
    longest: Duration,
    elapsed: Duration,
    /// A silence that ended at that time. It was a pause if acknowledgements go on. After the last packet that a dying link
    /// delivered they do not: what had been under way back on that link arrives over another one, later.
    unsettled: Option<(Duration, Time)>,
}

impl Pauses {
    /// The longest of the last seconds.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// An acknowledgement ends a pause; `silence` is the shortest that makes a path silent.
    pub(super) fn note(&mut self, pause: Duration, now: Time, rtt: Duration, silence: Duration) {
        if let Some((ended, _)) = self.unsettled.take_if(|(_, at)| now >= *at + silence) {
            self.remember(ended, rtt);
        }
        // Shorter ones decide nothing: any silence is more than twice as long.
        if pause.max(self.longest) <= silence / 2 {
            self.elapsed = Duration::ZERO;
        } else if pause > silence.max(self.longest) {
            self.unsettled = Some((pause, now));
        } else {
            self.remember(pause, rtt);
        }
    }

    /// When a silence becomes a pause, if the next acknowledgement tells.
    pub(super) fn settles_at(&self, silence: Duration) -> Option<Time> {
        self.unsettled.map(|(_, at)| at + silence)
    }

    /// Keeps the longest pause; older ones count for less.
    #[inline(never)]
    fn remember(&mut self, pause: Duration, rtt: Duration) {
        self.elapsed = self.elapsed.saturating_add(pause);
        if pause <= self.longest && self.elapsed < FORGETTING_STEP {
            return;
        }
        let memory = rtt.saturating_mul(PAUSE_MEMORY).max(SHORTEST_MEMORY);
        let forgotten = (self.elapsed.as_secs_f64() / memory.as_secs_f64()).min(1.0);
        self.longest = pause.max(self.longest.mul_f64(1.0 - forgotten));
        self.elapsed = Duration::ZERO;
    }
}
