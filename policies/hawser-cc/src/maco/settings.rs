use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

const SOURCE: &str = "W. Yang 2024, chapter 3";
/// What the chapter leaves open, and whatever keeps a real sender safe.
const OURS: &str = "Hawser";

/// What can be set of MACO.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settings {
    /// Share of a remembered window with which quick start begins.
    pub(super) gamma: f64,
    /// Window without history, in datagrams.
    pub(super) first_window: f64,
    /// Whether the bandwidth-delay product is that of the coming round trip rather than of the last.
    pub(super) predicts: bool,
    /// Whether a new satellite is taken to carry what its link budget says until it was measured.
    pub(super) takes_capacity: bool,
    /// Whether a reduction leaves the bandwidth-delay product, where that is more than half.
    pub(super) reduces_to_product: bool,
    pub(super) kalman: bool,
    pub(super) quick_start: bool,
    pub(super) delay_condition: bool,
    pub(super) coupled: bool,
    pub(super) own_sharing: bool,
    pub(super) pre_handover: bool,
    /// How long before a handover, in round trips.
    pub(super) pre_handover_rtts: f64,
    /// Whether the largest round-trip time outlives a handover.
    pub(super) keeps_largest_rtt: bool,
    pub(super) history: Duration,
    pub(super) floor_window: Duration,
    pub(super) first_rtt: Duration,
    /// What a rise of the delay is at least.
    pub(super) delay_margin: Duration,
    pub(super) safety_valve: bool,
    pub(super) valve_loss: f64,
    pub(super) valve_rounds: u32,
}

impl Settings {
    pub(super) fn info() -> PolicyInfo {
        let info = PolicyInfo::new("maco", "coupled, for hosts below satellites: knows the links' forecasts");
        let seconds = |from: f64, to: f64| Duration::from_secs_f64(from)..=Duration::from_secs_f64(to);
        let all = [
            ParameterInfo::number("gamma", 0.1..=1.0, 0.5)
                .meaning("share of a remembered window with which quick start begins")
                .source("W. Yang 2024, eq. (3.15)"),
            ParameterInfo::integer("first_window", 2..=10, 10)
                .unit("datagrams")
                .meaning("window without history; the thesis begins with 4")
                .source("RFC 9002 section 7.2"),
            ParameterInfo::choice("bdp_window", ["past", "next"])
                .meaning("round trip whose bandwidth-delay product quick start takes")
                .source("W. Yang 2024, eq. (3.14) and its text"),
            ParameterInfo::choice("new_satellite", ["capacity", "measured"])
                .meaning("what a satellite is taken to carry after a handover: what its link budget says, or what the one before it did")
                .source("W. Yang 2024, Algorithm 3, line 6"),
            ParameterInfo::choice("reduction", ["half", "product"])
                .meaning("what congestion leaves of a window: half, or the bandwidth-delay product if that is more")
                .source("W. Yang 2024, Algorithm 5: half"),
            switch("kalman", "filter measured rates; off: the last one counts"),
            switch("quick_start", "start from history and bandwidth-delay product; off: slow start"),
            switch("delay_condition", "a loss is congestion only if the round-trip time has risen"),
            switch("coupled", "off: each path by itself, as Elastic-TCP"),
            ParameterInfo::flag("own_sharing", true)
                .meaning("paths on one satellite use their share of it; off: with all of it")
                .source(OURS),
            ParameterInfo::flag("pre_handover", true)
                .meaning("before a handover the window is no more than what is expected after it")
                .source("W. Yang 2024, section 3.4: named, not defined"),
            ParameterInfo::number("pre_handover_rtts", 0.0..=10.0, 1.5)
                .unit("round trips")
                .meaning("how long before a handover")
                .source(OURS),
            ParameterInfo::choice("largest_rtt", ["per-satellite", "forever"])
                .meaning("since when the largest round-trip time of the growth is the largest")
                .source("W. Yang 2024, eq. (3.25): forever"),
            ParameterInfo::duration("history", seconds(1.0, 3600.0), Duration::from_secs(60))
                .meaning("how long windows at congestion are remembered; the newest always is")
                .source(OURS),
            ParameterInfo::duration("floor_window", seconds(0.1, 60.0), Duration::from_secs(1))
                .meaning("time over which the least round-trip time is that of an empty queue")
                .source("W. Yang 2024, section 3.3.2"),
            ParameterInfo::duration("first_rtt", seconds(0.001, 10.0), Duration::from_millis(100))
                .meaning(
                    "round-trip time without queue before the first sample, unless the link tells of more",
                )
                .source("W. Yang 2024, figure 3.4"),
            ParameterInfo::duration(
                "delay_margin",
                Duration::ZERO..=Duration::from_secs(1),
                Duration::from_millis(2),
            )
            .meaning("a rise by less is none: the sender's own batches queue as well")
            .source(OURS),
            ParameterInfo::flag("safety_valve", true)
                .meaning("heavy or lasting loss is congestion, whatever the delay says")
                .source(OURS),
            ParameterInfo::number("valve_loss", 0.01..=1.0, 0.15)
                .meaning("share of a round trip that is heavy loss")
                .source(OURS),
            ParameterInfo::integer("valve_rounds", 1..=100, 4)
                .unit("round trips")
                .meaning("with a loss each, in a row, that are lasting loss")
                .source(OURS),
        ];
        all.into_iter().fold(info.source(SOURCE), PolicyInfo::parameter)
    }

    pub(super) fn read(parameters: &Parameters) -> Settings {
        Settings {
            gamma: parameters.number("gamma"),
            first_window: parameters.integer("first_window") as f64,
            predicts: parameters.choice("bdp_window") == "next",
            takes_capacity: parameters.choice("new_satellite") == "capacity",
            reduces_to_product: parameters.choice("reduction") == "product",
            kalman: parameters.flag("kalman"),
            quick_start: parameters.flag("quick_start"),
            delay_condition: parameters.flag("delay_condition"),
            coupled: parameters.flag("coupled"),
            own_sharing: parameters.flag("own_sharing"),
            pre_handover: parameters.flag("pre_handover"),
            pre_handover_rtts: parameters.number("pre_handover_rtts"),
            keeps_largest_rtt: parameters.choice("largest_rtt") == "forever",
            history: parameters.duration("history"),
            floor_window: parameters.duration("floor_window"),
            first_rtt: parameters.duration("first_rtt"),
            delay_margin: parameters.duration("delay_margin"),
            safety_valve: parameters.flag("safety_valve"),
            valve_loss: parameters.number("valve_loss"),
            valve_rounds: parameters.integer("valve_rounds") as u32,
        }
    }
}

/// A part of the published system that can be switched off to see what it is good for.
fn switch(name: &str, meaning: &str) -> ParameterInfo {
    ParameterInfo::flag(name, true).meaning(meaning).source(SOURCE)
}
