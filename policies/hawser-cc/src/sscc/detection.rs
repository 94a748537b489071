//! Parameters of the detection of shared bottlenecks, which all sets have in common that detect them.

use std::time::Duration;

use hawser_learn::{Recent, Weights};
use hawser_policy::{ParameterInfo, Parameters};

use super::{DetectorSettings, Vote};

const TABLE: &str = "F. Yang 2022, table 5.1";
const OURS: &str = "Hawser";

/// The parameters. The first of `weights` is what counts alike by default, the first of `history` the intervals that do; pairs stay
/// coupled for `keep`.
pub(crate) fn parameters(
    weights: [&'static str; 2],
    history: [&'static str; 2],
    keep: Duration,
) -> Vec<ParameterInfo> {
    let millis = Duration::from_millis;
    vec![
        ParameterInfo::choice("detector", ["thesis", "rfc8382"])
            .meaning("thresholds of the detection of shared bottlenecks")
            .source(TABLE),
        ParameterInfo::duration("interval", millis(50)..=millis(5_000), millis(350))
            .meaning("length of an interval of the detection")
            .source(TABLE),
        ParameterInfo::choice("weights", weights)
            .meaning("what counts alike in skewness and deviation of delays; packets as in the thesis")
            .source(OURS),
        ParameterInfo::choice("history", history)
            .meaning("intervals that skewness and deviation of delays run over: all 50, as in the thesis, or the last 30, of which ten weigh less")
            .source("RFC 8382, sections 2.2 and 4.1"),
        ParameterInfo::choice("vote", ["sliding", "tumbling"])
            .meaning("six of the last ten intervals at each, or five of ten every ten intervals")
            .source("5.3.2; MPTCP-SBD"),
        ParameterInfo::duration("least_deviation", millis(0)..=millis(100), Duration::from_micros(200))
            .meaning("mean deviation of delays below which a path is not congested; 0s: no such guard")
            .source(OURS),
        ParameterInfo::duration("keep_coupled", millis(0)..=millis(300_000), keep)
            .meaning("how long paths stay coupled that are no longer found to share a bottleneck; 0s as in the thesis")
            .source(OURS),
    ]
}

/// What they say.
pub(crate) fn read(parameters: &Parameters) -> DetectorSettings {
    let preset = match parameters.choice("detector") {
        "rfc8382" => DetectorSettings::RFC8382,
        _ => DetectorSettings::THESIS,
    };
    DetectorSettings {
        interval: parameters.duration("interval"),
        least_deviation: parameters.duration("least_deviation"),
        keep: parameters.duration("keep_coupled"),
        weights: match parameters.choice("weights") {
            "packets" => Weights::Values,
            _ => Weights::Intervals,
        },
        recent: (parameters.choice("history") == "recent").then_some(Recent::RFC8382),
        vote: match parameters.choice("vote") {
            "tumbling" => Vote::Tumbling,
            _ => Vote::Sliding,
        },
        ..preset
    }
}
