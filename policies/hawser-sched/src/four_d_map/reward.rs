//! What a frame's delivery is worth (4D-MAP, section 3.3 and equation 1).

use std::time::Duration;

use hawser_learn::Ewma;

/// A frame of no duration would be worth infinitely much: the resolution of a report.
const SHORTEST_MS: f64 = 0.1;

/// The largest reward that the learner is given.
const MOST: f64 = 3.0;

/// How fast the measure of rewards follows them.
const GAIN: f64 = 0.05;

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FourDMapOutcome {
    /// Bytes that were to be delivered; of a discarded frame too.
    pub size: u64,
    /// Bytes that arrived.
    pub received: u64,
    /// From writing to the last byte.
    pub delay: Duration,
}

impl FourDMapOutcome {
    /// The share that is missing, in milliseconds of `deadline` (4D-MAP, section 3.3): 0 for a complete frame.
    pub fn penalty_ms(&self, deadline: Duration) -> f64 {
        if self.size == 0 {
            return 0.0;
        }
        let missing = 1.0 - self.received.min(self.size) as f64 / self.size as f64;
        missing * deadline.as_secs_f64() * 1e3
    }

    /// Bytes per millisecond of delay and penalty, times the weight of its type.
    pub fn reward(&self, weight: f64, deadline: Duration) -> f64 {
        let delay = (self.delay.as_secs_f64() * 1e3).max(SHORTEST_MS);
        weight * self.size as f64 / (delay + self.penalty_ms(deadline))
    }
}

/// Rewards in units of their own moving average: their size follows that of frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct RewardScale(Ewma);

impl Default for RewardScale {
    fn default() -> Self {
        RewardScale(Ewma::new(GAIN))
    }
}

impl RewardScale {
    /// From 0 to 3; 1 is usual.
    pub(super) fn scale(&mut self, reward: f64) -> f64 {
        let usual = self.0.update(reward);
        if usual > 0.0 { (reward / usual).clamp(0.0, MOST) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_millis(200);

    fn outcome(size: u64, received: u64, ms: u64) -> FourDMapOutcome {
        FourDMapOutcome { size, received, delay: Duration::from_millis(ms) }
    }

    /// The vectors of section 3.3.
    #[test]
    fn frames_are_worth_what_was_computed_by_hand() {
        let key = outcome(60_000, 60_000, 80).reward(1.0, DEADLINE);
        let delta = outcome(10_000, 10_000, 40).reward(0.7, DEADLINE);
        assert!((key - 750.0).abs() < 1e-6 && (delta - 175.0).abs() < 1e-6);
        assert!((key + 3.0 * delta - 1275.0).abs() < 1e-6);
        let discarded = outcome(10_000, 50, 35);
        assert!((discarded.penalty_ms(DEADLINE) - 199.0).abs() < 1e-6);
        assert!((discarded.reward(0.7, DEADLINE) - 7_000.0 / 234.0).abs() < 1e-6);
    }

    #[test]
    fn what_a_peer_reports_cannot_make_a_reward_endless() {
        assert_eq!(outcome(10_000, u64::MAX, 40).penalty_ms(DEADLINE), 0.0);
        assert!((outcome(10_000, 10_000, 0).reward(1.0, DEADLINE) - 100_000.0).abs() < 1e-6);
        assert_eq!(outcome(0, 0, 0).reward(1.0, DEADLINE), 0.0);
    }

    #[test]
    fn rewards_are_measured_by_what_is_usual() {
        let mut scale = RewardScale::default();
        assert_eq!(scale.scale(500.0), 1.0);
        assert!((scale.scale(1_000.0) - 1_000.0 / 525.0).abs() < 1e-12);
        assert_eq!(scale.scale(1e9), MOST);
        assert_eq!(RewardScale::default().scale(0.0), 0.0);
    }
}
