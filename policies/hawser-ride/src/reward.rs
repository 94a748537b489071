//! What a decision about a unit is worth.

use crate::FRAME_SECONDS;

/// When a unit is played, and until when it is worth having; seconds of the session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Playback {
    /// Its playback starts (t1).
    pub start: f64,
    /// Its playback ends (t2).
    pub end: f64,
    /// End of the playback of the last frame that it helps (Gamma).
    pub deadline: f64,
}

/// What is rewarded.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct RewardRule {
    /// Weight of early arrival, 0 to 1; playback and help to others have the rest (alpha, equation 5.13).
    pub early: f64,
    /// Whether help to other frames counts (T_DH). Off only in ablations.
    pub helper: bool,
}

impl Default for RewardRule {
    fn default() -> Self {
        RewardRule { early: 0.5, helper: true }
    }
}

impl RewardRule {
    /// The reward of a unit that is decoded at `decode` (infinity: never) and took `cost` to send; seconds, in frame durations.
    /// Equations (5.9) to (5.13).
    pub fn sent(&self, playback: &Playback, decode: f64, cost: f64) -> f64 {
        let Playback { start, end, deadline } = *playback;
        let early = (start - decode).max(0.0);
        let playing = if decode >= end { 0.0 } else { end - decode.max(start) };
        let helping = if decode >= deadline || !self.helper { 0.0 } else { deadline - decode.max(end) };
        let seconds = self.early * early + (1.0 - self.early) * (playing + helping)
            - rebuffering(playback, decode)
            - cost;
        seconds / FRAME_SECONDS
    }

    /// The reward of a unit that is not sent, in frame durations.
    pub fn skipped(&self, playback: &Playback) -> f64 {
        -(playback.deadline - playback.start) / FRAME_SECONDS
    }
}

/// How long a unit that is decoded at `decode` is waited for, seconds (T_rb).
pub fn rebuffering(playback: &Playback, decode: f64) -> f64 {
    if decode <= playback.start { 0.0 } else { playback.deadline.min(decode) - playback.start }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds from milliseconds after a release; the vectors have t1 = 200 ms.
    fn playback(frames_until_deadline: f64) -> Playback {
        let end = 0.2 + FRAME_SECONDS;
        Playback { start: 0.2, end, deadline: end + frames_until_deadline * FRAME_SECONDS }
    }

    fn reward_ms(frames: f64, decode_ms: f64) -> f64 {
        RewardRule::default().sent(&playback(frames), decode_ms / 1e3, 0.0) * FRAME_SECONDS * 1e3
    }

    /// Specification, section 10.
    #[test]
    fn golden_vectors() {
        let b = [(180.0, 26.667), (210.0, 1.667), (240.0, -33.333)].map(|(d, r)| (0.0, d, r));
        let p = [(180.0, 93.333), (210.0, 68.333), (240.0, 23.333), (250.0, 8.333), (400.0, -166.667)];
        let p = p.map(|(d, r)| (4.0, d, r));
        let i = [(49.0, 180.0, 843.333), (49.0, 250.0, 758.333)];
        for (frames, decode, expected) in b.into_iter().chain(p).chain(i) {
            let reward = reward_ms(frames, decode);
            assert!((reward - expected).abs() < 1e-3, "{frames} {decode}: {reward}");
        }
        for (frames, expected) in [(0.0, -33.333), (4.0, -166.667), (49.0, -1666.667)] {
            let reward = RewardRule::default().skipped(&playback(frames)) * FRAME_SECONDS * 1e3;
            assert!((reward - expected).abs() < 1e-3, "{frames}: {reward}");
        }
    }

    /// What is never decoded is worse than a skip by what it cost.
    #[test]
    fn a_useless_transmission_is_worse_than_a_skip() {
        let rule = RewardRule::default();
        let difference = rule.skipped(&playback(4.0)) - rule.sent(&playback(4.0), f64::INFINITY, 0.01);
        assert!((difference - 0.01 / FRAME_SECONDS).abs() < 1e-9, "{difference}");
    }
}
