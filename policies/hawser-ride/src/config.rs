//! What an environment is like.

use crate::observation::Hidden;
use crate::{DeadlineRule, Purpose, RewardRule};

/// The dissertation does not say whether queues last from frame to frame; its results imply that they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// E1: every frame starts with empty queues; round-trip times are those of the trace. Reproduces the dissertation.
    #[default]
    Episodic,
    /// E2: queues last and are part of the round-trip time. What a real stack meets.
    Continuous,
}

/// Who looks where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Viewing {
    /// A synthetic head turns.
    #[default]
    Head,
    /// The head turns, and looks elsewhere at once every second.
    Switching,
    /// The same 40 tiles all the time, for the fluid check of the rules (docs/ride.md).
    Fixed,
}

/// In which order the frames of a GoP are released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// As they are shown: what a camera gives.
    #[default]
    Display,
    /// As they can be decoded ([`crate::Gop::decode_order`]): a video that is stored, or an encoder that is late by three frames.
    Decode,
}

/// When what is sent in an episode arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// Queue, propagation, and rounds of retransmission as the losses fall.
    #[default]
    Sampled,
    /// Queue, propagation, and the expected rounds of a congestion window with losses (equations 5.1 to 5.3). It counts the wait
    /// for a window on top of the queue.
    Rounds,
}

/// How large tile-frames are.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Sizes {
    /// Mean of a viewed tile-frame, bytes.
    pub mean: f64,
    /// Deviation of the logarithm.
    pub sigma: f64,
    /// Relative sizes of I, P and B frames.
    pub ratio: [f64; 3],
    /// Whether tiles that draw the eye are larger (three drifting Gaussians) instead of all alike.
    pub saliency: bool,
}

/// What an environment is like.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Config {
    /// Whether queues last.
    pub kind: Kind,
    /// Which deadlines tile-frames have.
    pub deadline_rule: DeadlineRule,
    /// What is rewarded.
    pub reward: RewardRule,
    /// From release to playback, seconds (D).
    pub playout_delay: f64,
    /// Largest loss rate of a path; each second has one between 0 and this.
    pub max_loss: f64,
    /// Who looks where.
    pub viewing: Viewing,
    /// How large tile-frames are.
    pub sizes: Sizes,
    /// Frames of a session; a multiple of 50.
    pub frames: usize,
    /// Whether the observation has the time until playback and the kind of the frame, too.
    pub extended: bool,
    /// In which order frames are released.
    pub order: Order,
    /// When they arrive.
    pub arrival: Arrival,
    /// What the observation lacks, for ablations.
    pub hidden: Hidden,
    /// What sessions are for.
    pub purpose: Purpose,
}

/// Why there is no such environment.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A session of no whole number of GoPs.
    #[error("a session has a multiple of 50 frames, at least 50, not {0}")]
    Frames(usize),
    /// Rounds of a window in an environment whose queues last.
    #[error(
        "the arrival model of rounds is for the episodic environment: where queues last, it would count them twice"
    )]
    Rounds,
    /// A number outside its range.
    #[error("{name} must lie between {low} and {high}, not at {value}")]
    Range {
        /// Which one.
        name: &'static str,
        /// Least value.
        low: f64,
        /// Largest value.
        high: f64,
        /// What was given.
        value: f64,
    },
}

impl Config {
    /// E1 with tiles of 18 kB, equally large for all kinds of frames.
    pub fn episodic(purpose: Purpose) -> Self {
        Config {
            kind: Kind::Episodic,
            deadline_rule: DeadlineRule::Paper,
            reward: RewardRule::default(),
            playout_delay: 0.2,
            max_loss: 0.02,
            viewing: Viewing::Head,
            sizes: Sizes { mean: 18_000.0, sigma: 0.6, ratio: [1.0; 3], saliency: false },
            frames: 1_800,
            extended: false,
            order: Order::Display,
            arrival: Arrival::Sampled,
            hidden: Hidden::Nothing,
            purpose,
        }
    }

    /// E2 with I, P and B frames as 8 : 3 : 1, scaled for 40 tiles: 36 Mbit/s with [`Viewing::Fixed`]. A head that turns sees
    /// more tiles and has references fetched that it did not see: some 48 Mbit/s.
    pub fn continuous(purpose: Purpose) -> Self {
        let mean = 36e6 / 8.0 / crate::FRAMES_PER_SECOND / 40.0;
        let sizes = Sizes { mean, sigma: 0.6, ratio: [8.0, 3.0, 1.0], saliency: false };
        Config { kind: Kind::Continuous, sizes, ..Self::episodic(purpose) }
    }

    /// The fluid check (docs/ride.md): 40 fixed tiles, no loss.
    pub fn fluid_check() -> Self {
        Config { viewing: Viewing::Fixed, max_loss: 0.0, ..Self::episodic(Purpose::Judging) }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.frames == 0 || !self.frames.is_multiple_of(50) {
            return Err(ConfigError::Frames(self.frames));
        }
        if self.arrival == Arrival::Rounds && self.kind == Kind::Continuous {
            return Err(ConfigError::Rounds);
        }
        let numbers = [
            ("the weight of early arrival", self.reward.early, 0.0, 1.0),
            ("the playout delay", self.playout_delay, 0.0, 10.0),
            ("the largest loss rate", self.max_loss, 0.0, 0.5),
            ("the mean size", self.sizes.mean, 64.0, 1e7),
            ("the deviation of sizes", self.sizes.sigma, 0.0, 3.0),
        ];
        for (name, value, low, high) in numbers {
            if !(low..=high).contains(&value) {
                return Err(ConfigError::Range { name, low, high, value });
            }
        }
        match self.sizes.ratio.iter().find(|value| !(0.01..=100.0).contains(*value)) {
            Some(value) => {
                Err(ConfigError::Range { name: "a relative size", low: 0.01, high: 100.0, value: *value })
            }
            None => Ok(()),
        }
    }
}
