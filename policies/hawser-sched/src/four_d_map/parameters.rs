//! What can be set of 4D-MAP.

use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

use super::FourDMap;
use super::features::{FourDMapFeatures, MAX_PATHS};
use super::mechanisms::{FourDMapChoice, FourDMapMechanism};

/// What can be set of [`FourDMap`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FourDMapParameters {
    /// Who decides about frames.
    pub mechanism: FourDMapChoice,
    /// What the learner, or chance, may choose besides [`Normal`](FourDMapMechanism::Normal); all if it is `None`.
    pub only: Option<FourDMapMechanism>,
    /// Whether the learner starts with what was learned before, if that fits the features and the number of paths.
    pub prelearned: bool,
    /// Whether the first frame is duplicated, so that the picture is there sooner, where the learner may duplicate.
    pub first_copied: bool,
    /// Weight of exploration.
    pub alpha: f64,
    /// Whether mechanisms that do nothing for the frame at hand are left out.
    pub masks: bool,
    /// The learner leaves gaps only while frames take longer than this; always if it is zero.
    pub late: Duration,
    /// How a state becomes numbers.
    pub features: FourDMapFeatures,
    /// Paths that have features, 1 to 4.
    pub paths: usize,
    /// What remains of what was learned with each update of a mechanism, above 0 and at most 1; 1 if nothing is forgotten.
    pub memory: f64,
    /// The most that a path is given ahead, in windows; at least 1.
    pub cap: f64,
    /// A path with assigned data that sent nothing for so long, and for three round-trip times, loses it to others.
    pub reclaim: Duration,
    /// What a frame that is missing altogether is held to be late by.
    pub deadline: Duration,
    /// Weight of a delta frame in the reward; that of a key frame is 1.
    pub delta_weight: f64,
    /// Frames of a reward, the one that was decided about included; at least 1.
    pub horizon: usize,
    /// A frame of which nothing was heard for so long is held to have taken as long.
    pub feedback_timeout: Duration,
    /// The least length of the window of the loss rate; at least two round-trip times.
    pub loss_window: Duration,
    /// The fewest packets in it.
    pub loss_packets: u64,
    /// The loss rate above which [`FourDMapChoice::Threshold`] duplicates.
    pub high_loss: f64,
    /// Frames per second; 0 to have it measured.
    pub frame_rate: f64,
    /// Whether MinRTT sends, and nothing is decided, until two paths are up and all have round-trip samples.
    pub warm_up: bool,
}

impl Default for FourDMapParameters {
    fn default() -> Self {
        FourDMapParameters {
            mechanism: FourDMapChoice::Learned,
            only: None,
            prelearned: true,
            first_copied: true,
            alpha: 0.8,
            masks: true,
            late: Duration::from_millis(400),
            features: FourDMapFeatures::Scaled,
            paths: 2,
            memory: 1.0,
            cap: 4.0,
            reclaim: Duration::from_millis(300),
            deadline: Duration::from_millis(200),
            delta_weight: 0.7,
            horizon: 4,
            feedback_timeout: Duration::from_secs(1),
            loss_window: Duration::from_secs(1),
            loss_packets: 20,
            high_loss: 0.02,
            frame_rate: 0.0,
            warm_up: true,
        }
    }
}

impl FourDMapParameters {
    pub(crate) fn read(parameters: &Parameters) -> Self {
        let small = |name| usize::try_from(parameters.integer(name)).unwrap_or(usize::MAX);
        let mechanism = match parameters.choice("mechanism") {
            "normal" => FourDMapChoice::Fixed(FourDMapMechanism::Normal),
            "duplicate" => FourDMapChoice::Fixed(FourDMapMechanism::Duplicate),
            "discard" => FourDMapChoice::Fixed(FourDMapMechanism::Discard),
            "decompensate" => FourDMapChoice::Fixed(FourDMapMechanism::Decompensate),
            "random" => FourDMapChoice::Random,
            "threshold" => FourDMapChoice::Threshold,
            _ => FourDMapChoice::Learned,
        };
        let only = match parameters.choice("only") {
            "duplicate" => Some(FourDMapMechanism::Duplicate),
            "discard" => Some(FourDMapMechanism::Discard),
            "decompensate" => Some(FourDMapMechanism::Decompensate),
            _ => None,
        };
        let features = match parameters.choice("features") {
            "raw" => FourDMapFeatures::Raw,
            _ => FourDMapFeatures::Scaled,
        };
        FourDMapParameters {
            mechanism,
            only,
            prelearned: parameters.flag("prelearned"),
            first_copied: parameters.flag("first_copied"),
            alpha: parameters.number("alpha"),
            masks: parameters.flag("masks"),
            late: parameters.duration("late"),
            features,
            paths: small("paths"),
            memory: parameters.number("memory"),
            cap: parameters.number("cap"),
            reclaim: parameters.duration("reclaim"),
            deadline: parameters.duration("deadline"),
            delta_weight: parameters.number("delta_weight"),
            horizon: small("horizon"),
            feedback_timeout: parameters.duration("feedback_timeout"),
            loss_window: parameters.duration("loss_window"),
            loss_packets: parameters.integer("loss_packets"),
            high_loss: parameters.number("high_loss"),
            frame_rate: parameters.number("frame_rate"),
            warm_up: parameters.flag("warm_up"),
        }
    }
}

pub(super) fn info() -> PolicyInfo {
    let about = "frames of a live stream duplicated, discarded or not retransmitted, as a learner finds best";
    let info = PolicyInfo::new(FourDMap::NAME, about).source("Song, Han and Su, JCST 2024");
    let learning = learning_parameters().into_iter();
    learning.chain(reward_parameters()).chain(dispatch_parameters()).fold(info, PolicyInfo::parameter)
}

fn learning_parameters() -> [ParameterInfo; 12] {
    let words = ["learned", "normal", "duplicate", "discard", "decompensate", "random", "threshold"];
    [
        ParameterInfo::choice("mechanism", words)
            .meaning("who decides: LinUCB; always the same; anything; copies of key frames while a path loses much")
            .source("4D-MAP, section 3.1"),
        ParameterInfo::choice("only", ["all", "duplicate", "discard", "decompensate"])
            .meaning("what the learner, or chance, may choose besides normal: one mechanism by itself")
            .source("4D-MAP, section 7.2.1"),
        ParameterInfo::flag("prelearned", true)
            .meaning("start with what was learned before, if it is of these features and so many paths")
            .source("4D-MAP, section 4.3"),
        ParameterInfo::file("model")
            .meaning("what was learned, in place of the model that comes with it; a file, or a folder of `hawser lab prelearn`")
            .source("Hawser"),
        ParameterInfo::flag("first_copied", true)
            .meaning("duplicate the first frame, where the learner may duplicate")
            .source("4D-MAP, appendix C"),
        ParameterInfo::number("alpha", 0.0..=10.0, 0.8)
            .meaning("weight of exploration")
            .source("Hawser; not given in the paper"),
        ParameterInfo::flag("masks", true)
            .meaning("leave out what does nothing for the frame at hand")
            .source("Hawser; off in the paper"),
        ParameterInfo::duration("late", Duration::ZERO..=Duration::from_secs(10), Duration::from_millis(400))
            .meaning("the learner leaves gaps only while frames take longer than this; 0: as in the paper, whenever it likes")
            .source("Hawser"),
        ParameterInfo::choice("features", ["scaled", "raw"])
            .meaning("numbers of about 1 and a constant, or seconds, bytes and bits as in the paper")
            .source("4D-MAP, section 3.2"),
        ParameterInfo::integer("paths", 1..=MAX_PATHS as u64, 2)
            .meaning("paths that the learner sees; a model fits one number only")
            .source("4D-MAP, section 3.2"),
        ParameterInfo::number("memory", 0.5..=1.0, 1.0)
            .meaning("what remains of what was learned of a mechanism with each update; 1: nothing is forgotten")
            .source("Hawser; 1 in the paper"),
        ParameterInfo::number("frame_rate", 0.0..=1_000.0, 0.0)
            .unit("frames/s")
            .meaning("of the encoder; 0: as measured over the last second"),
    ]
}

fn reward_parameters() -> [ParameterInfo; 4] {
    let span = Duration::from_millis(1)..=Duration::from_secs(10);
    [
        ParameterInfo::duration("deadline", span.clone(), Duration::from_millis(200))
            .meaning("delay that a frame missing altogether counts as having on top of its own")
            .source("4D-MAP, section 3.3"),
        ParameterInfo::number("delta_weight", 0.0..=1.0, 0.7)
            .meaning("of a delta frame in the reward, against 1 of a key frame")
            .source("4D-MAP, section 3.3"),
        ParameterInfo::integer("horizon", 1..=16, 4)
            .unit("frames")
            .meaning("that make up a reward")
            .source("4D-MAP, section 3.3"),
        ParameterInfo::duration("feedback_timeout", span, Duration::from_secs(1))
            .meaning("after which a frame of which nothing was heard counts as having taken as long")
            .source("Hawser"),
    ]
}

fn dispatch_parameters() -> [ParameterInfo; 6] {
    let span = Duration::from_millis(10)..=Duration::from_secs(10);
    [
        ParameterInfo::number("cap", 1.0..=1_000.0, 4.0)
            .unit("windows")
            .meaning("the most that a path is given ahead")
            .source("Hawser; none in the paper"),
        ParameterInfo::duration("reclaim", span.clone(), Duration::from_millis(300))
            .meaning(
                "silence, at least three round-trip times, after which a path loses what it has not sent",
            )
            .source("Hawser; none in the paper"),
        ParameterInfo::duration("loss_window", span, Duration::from_secs(1))
            .meaning("over which loss is counted, at least two round-trip times")
            .source("Hawser"),
        ParameterInfo::integer("loss_packets", 1..=10_000, 20)
            .unit("packets")
            .meaning("at least, of a loss rate")
            .source("Hawser"),
        ParameterInfo::number("high_loss", 0.0..=1.0, 0.02)
            .meaning("loss rate of a path above which mechanism=threshold copies key frames")
            .source("the authors' code"),
        ParameterInfo::flag("warm_up", true)
            .meaning("MinRTT, and no decisions, until two paths are up and all have round-trip samples")
            .source("the authors' code"),
    ]
}
