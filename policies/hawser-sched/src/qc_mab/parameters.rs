//! What can be set of QC-MAB.

use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

use super::QcMab;
use super::formulas::QcMabEta;

/// Whether a part of the arm is learned or held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum QcMabFec {
    /// As the bandit finds best.
    #[default]
    Learned,
    /// Every block has repair symbols.
    On,
    /// None has.
    Off,
}

/// Under what arms are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum QcMabKey {
    /// The access point itself.
    Point,
    /// Its rank by signal, so that what was learned survives movement.
    #[default]
    Rank,
}

/// What can be set of [`QcMab`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QcMabParameters {
    /// Share of base-layer packets that should be in time.
    pub gamma: f64,
    /// Within which they should; also the length of a slot.
    pub deadline: Duration,
    /// What it costs if they are not.
    pub eta: QcMabEta,
    /// The factor below the root of the confidence bound.
    pub exploration: f64,
    /// Whether time is counted in each cell of the context by itself; else in slots.
    pub cell_time: bool,
    /// Between low, middle and high rates, Mbit/s.
    pub rates: [f64; 2],
    /// Between short, middle and long delays, ms.
    pub delays: [f64; 2],
    /// Between small, middle and large losses, shares.
    pub losses: [f64; 2],
    /// Weight of a new delay in its average.
    pub delay_gain: f64,
    /// Weight of a new loss rate in its average.
    pub loss_gain: f64,
    /// Repair symbols per source symbol where a path is protected.
    pub redundancy: f64,
    /// Access points that are weaker are no arms, dBm.
    pub coverage_dbm: f64,
    /// For how long the delay behind an access point is remembered.
    pub memory: Duration,
    /// Under what arms are remembered.
    pub key: QcMabKey,
    /// At most so many access points are arms, the strongest ones; 0: all.
    pub strongest: usize,
    /// Whether FEC is part of the arm.
    pub fec: QcMabFec,
    /// Whether the access point is part of the arm; else the link stays where its own rule puts it.
    pub attach: bool,
    /// How long after the display event the link is attached elsewhere.
    pub attach_after: Duration,
    /// Whether the context is refined; else eleven raw features take its place.
    pub refined: bool,
}

impl Default for QcMabParameters {
    fn default() -> Self {
        QcMabParameters {
            gamma: 0.99,
            deadline: Duration::from_millis(150),
            eta: QcMabEta::Paper,
            exploration: 0.1,
            cell_time: false,
            rates: [5.0, 10.0],
            delays: [90.0, 150.0],
            losses: [1e-4, 1e-3],
            delay_gain: 0.125,
            loss_gain: 0.6,
            redundancy: 0.3,
            coverage_dbm: -90.0,
            memory: Duration::from_secs(5),
            key: QcMabKey::Rank,
            strongest: 2,
            fec: QcMabFec::Learned,
            attach: true,
            attach_after: Duration::from_millis(90),
            refined: true,
        }
    }
}

impl QcMabParameters {
    pub(crate) fn read(parameters: &Parameters) -> Self {
        let pair = |low, high| [parameters.number(low), parameters.number(high)];
        QcMabParameters {
            gamma: parameters.number("gamma"),
            deadline: parameters.duration("deadline"),
            eta: if parameters.choice("eta") == "strict" { QcMabEta::Strict } else { QcMabEta::Paper },
            exploration: parameters.number("exploration"),
            cell_time: parameters.choice("time") == "cell",
            rates: pair("low_rate", "high_rate"),
            delays: pair("short_delay", "long_delay"),
            losses: pair("low_loss", "high_loss"),
            delay_gain: parameters.number("delay_gain"),
            loss_gain: parameters.number("loss_gain"),
            redundancy: parameters.number("redundancy"),
            coverage_dbm: parameters.number("coverage"),
            memory: parameters.duration("memory"),
            key: if parameters.choice("key") == "rank" { QcMabKey::Rank } else { QcMabKey::Point },
            strongest: usize::try_from(parameters.integer("strongest")).unwrap_or(usize::MAX),
            fec: match parameters.choice("fec") {
                "on" => QcMabFec::On,
                "off" => QcMabFec::Off,
                _ => QcMabFec::Learned,
            },
            attach: parameters.flag("attach"),
            attach_after: parameters.duration("attach_after"),
            refined: parameters.flag("refined"),
        }
    }
}

pub(super) fn info() -> PolicyInfo {
    let about = "a receiver that learns which access point to use and whether to protect, for layered video";
    let info = PolicyInfo::new(QcMab::NAME, about).source("W. Yang 2024, chapter 4");
    let parts = reward_parameters().into_iter().chain(context_parameters()).chain(arm_parameters());
    parts.fold(info, PolicyInfo::parameter)
}

fn reward_parameters() -> [ParameterInfo; 5] {
    let span = Duration::from_millis(1)..=Duration::from_secs(10);
    [
        ParameterInfo::number("gamma", 0.0..=1.0, 0.99)
            .meaning("share of base-layer packets that should be in time")
            .source("W. Yang 2024, section 4.5.1"),
        ParameterInfo::duration("deadline", span, Duration::from_millis(150))
            .meaning("within which they should; told to the sender")
            .source("W. Yang 2024, section 4.5.1"),
        ParameterInfo::choice("eta", ["paper", "strict"])
            .meaning(
                "weight of enhancement packets where the base layer fails: 1/late as printed, or 1/(1+late)",
            )
            .source("W. Yang 2024, eq. (4.19); strict is Hawser's"),
        ParameterInfo::number("exploration", 0.0..=10.0, 0.1)
            .meaning("factor below the root of the confidence bound; 2 in the source")
            .source("Hawser; W. Yang 2024, eq. (4.21)"),
        ParameterInfo::choice("time", ["global", "cell"])
            .meaning("time of the confidence bound: slots, or decisions in the same cell")
            .source("W. Yang 2024, eq. (4.21); cell is Hawser's"),
    ]
}

fn context_parameters() -> [ParameterInfo; 9] {
    let threshold = |name, unit, most, default| {
        let text = "threshold between intervals of the context";
        ParameterInfo::number(name, 0.0..=most, default)
            .unit(unit)
            .meaning(text)
            .source("W. Yang 2024, section 4.5.1")
    };
    let gain = |name, default, source| {
        ParameterInfo::number(name, 0.01..=1.0, default).meaning("weight of the new sample").source(source)
    };
    [
        threshold("low_rate", "Mbit/s", 1e5, 5.0),
        threshold("high_rate", "Mbit/s", 1e5, 10.0),
        threshold("short_delay", "ms", 1e5, 90.0),
        threshold("long_delay", "ms", 1e5, 150.0),
        threshold("low_loss", "", 1.0, 1e-4),
        threshold("high_loss", "", 1.0, 1e-3),
        gain("delay_gain", 0.125, "W. Yang 2024, eq. (4.17)"),
        gain("loss_gain", 0.6, "W. Yang 2024, eq. (4.18)"),
        ParameterInfo::flag("refined", true)
            .meaning("filters and three quantities; off: eleven raw features, for comparison")
            .source("W. Yang 2024, section 4.4"),
    ]
}

fn arm_parameters() -> [ParameterInfo; 8] {
    [
        ParameterInfo::number("redundancy", 0.01..=0.5, 0.3)
            .meaning("repair symbols per source symbol where a path is protected")
            .source("W. Yang 2024, section 4.5.1"),
        ParameterInfo::number("coverage", -150.0..=0.0, -90.0)
            .unit("dBm")
            .meaning("access points that are weaker are no arms")
            .source("W. Yang 2024, section 4.5.2"),
        ParameterInfo::duration("memory", Duration::ZERO..=Duration::from_secs(3600), Duration::from_secs(5))
            .meaning("for how long an access point whose delay was above the deadline is no arm")
            .source("Hawser; not given in the source"),
        ParameterInfo::choice("key", ["rank", "point"])
            .meaning("arms are remembered by the rank of the access point in signal strength, or by the point itself")
            .source("rank is Hawser's; point in W. Yang 2024"),
        ParameterInfo::integer("strongest", 0..=16, 2)
            .meaning("at most so many access points are arms, the strongest; 0: all")
            .source("Hawser; all in the source"),
        ParameterInfo::choice("fec", ["learned", "on", "off"])
            .meaning("protection: part of the arm, or fixed"),
        ParameterInfo::flag("attach", true).meaning("whether the access point is part of the arm"),
        ParameterInfo::duration("attach_after", Duration::ZERO..=Duration::from_secs(1), Duration::from_millis(90))
            .meaning("after a display event, until the link is attached elsewhere: the next frame has passed by then")
            .source("Hawser; not given in the source"),
    ]
}
