use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

use super::{DelayStat, DeviationRule};

/// With what the round-trip time of a round is compared by Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// The least of the last rounds.
    Window,
    /// RTprop, as Algorithm 1 is printed.
    RtProp,
}

/// What can be set of BBRv2+ besides what can be set of BBRv2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlusParameters {
    pub(crate) delay_stat: DelayStat,
    pub(crate) gamma: f64,
    pub(crate) gamma_cap: Duration,
    pub(crate) try_loss: f64,
    pub(crate) theta: f64,
    pub(crate) decrease_reference: Reference,
    pub(crate) reference_rounds: u64,
    pub(crate) dual_mode: bool,
    /// Whether the second mode's Startup begins with the bandwidth from before it aged.
    pub(crate) restarts_unaged: bool,
    pub(crate) lambda1: f64,
    pub(crate) lambda2: f64,
    pub(crate) eta1: u64,
    pub(crate) eta2: u64,
    pub(crate) mu: f64,
    pub(crate) deviation: DeviationRule,
    pub(crate) jitter_rounds: u64,
    pub(crate) wait_rounds: u64,
    pub(crate) wait_random: u64,
    pub(crate) safety_rounds: u64,
}

impl PlusParameters {
    pub(crate) fn read(parameters: &Parameters) -> PlusParameters {
        let delay_stat = match parameters.choice("delay_stat") {
            "round_ewma" => DelayStat::RoundEwma,
            "round_min" => DelayStat::RoundMin,
            _ => DelayStat::TailMin,
        };
        let decrease_reference = match parameters.choice("decrease_reference") {
            "rtprop" => Reference::RtProp,
            _ => Reference::Window,
        };
        let deviation = match parameters.choice("deviation") {
            "rfc9002" => DeviationRule::Rfc9002,
            _ => DeviationRule::Linux,
        };
        PlusParameters {
            delay_stat,
            gamma: parameters.number("gamma"),
            gamma_cap: parameters.duration("gamma_cap"),
            try_loss: parameters.number("try_loss"),
            theta: parameters.number("theta"),
            decrease_reference,
            reference_rounds: parameters.integer("reference_rounds"),
            restarts_unaged: parameters.choice("restart") == "unaged",
            dual_mode: parameters.flag("dual_mode"),
            lambda1: parameters.number("lambda1"),
            lambda2: parameters.number("lambda2"),
            eta1: parameters.integer("eta1"),
            eta2: parameters.integer("eta2"),
            mu: parameters.number("mu"),
            deviation,
            jitter_rounds: parameters.integer("jitter_rounds"),
            wait_rounds: parameters.integer("wait_rounds"),
            wait_random: parameters.integer("wait_random"),
            safety_rounds: parameters.integer("safety_rounds"),
        }
    }
}

/// Declares them.
pub(crate) fn describe(info: PolicyInfo) -> PolicyInfo {
    let number = |name: &str, least, most, default, meaning: &str, source: &str| {
        ParameterInfo::number(name, least..=most, default).meaning(meaning).source(source)
    };
    let count = |name: &str, least, most, default, unit: &str, meaning: &str, source: &str| {
        ParameterInfo::integer(name, least..=most, default).unit(unit).meaning(meaning).source(source)
    };
    let (thesis, prototype) = ("Yang's thesis (Sorbonne 2022), chapter 4", "the authors' prototype");
    // The first word is the default.
    let stats = ["tail_min", "round_ewma", "round_min"];
    let cap = Duration::from_millis(2);
    info.parameter(
        ParameterInfo::choice("delay_stat", stats)
            .meaning("what stands for the round-trip time of a round; round_min is the printed one, round_ewma the prototype's")
            .source("Hawser"),
    )
    .parameter(number("gamma", 1.0, 2.0, 1.02, "rise of the delay that stops a probe", thesis))
    .parameter(
        ParameterInfo::duration("gamma_cap", Duration::ZERO..=Duration::from_secs(1), cap)
            .meaning("largest rise that gamma tolerates")
            .source(prototype),
    )
    .parameter(number(
        "try_loss",
        0.0,
        1.0,
        0.02,
        "share that a trial or probe may lose beyond what is lost anyway; 1: as printed, the delay decides alone",
        "Hawser",
    ))
    .parameter(number("theta", 1.0, 2.0, 1.1, "rise of the delay that ages the bandwidth", thesis))
    .parameter(
        ParameterInfo::choice("decrease_reference", ["window", "rtprop"])
            .meaning("over what the delay has risen: the least of some rounds, or RTprop")
            .source(prototype),
    )
    .parameter(count("reference_rounds", 1, 16, 4, "round trips", "of decrease_reference=window", prototype))
    .parameter(ParameterInfo::flag("dual_mode", true).meaning("BBRv2 against a filled queue").source(thesis))
    .parameter(
        ParameterInfo::choice("restart", ["unaged", "aged"])
            .meaning("bandwidth that BBRv2 begins with: that from before another flow's queue aged it, or what is left of it")
            .source("Hawser"),
    )
    .parameter(number("lambda1", 1.0, 2.0, 1.1, "delay over RTprop that means a filled queue", thesis))
    .parameter(number("lambda2", 1.0, 2.0, 1.05, "delay over RTprop up to which it is empty", thesis))
    .parameter(count("eta1", 1, 100, 2, "cruises", "with a filled queue before BBRv2 takes over", thesis))
    .parameter(count("eta2", 1, 100, 4, "cruises", "with an empty queue before it gives back", thesis))
    .parameter(number("mu", 0.0, 10.0, 0.5, "jitter over RTprop from which the window covers it", thesis))
    .parameter(
        ParameterInfo::choice("deviation", ["linux", "rfc9002"])
            .meaning("mean deviation that stands for the jitter: as TCP in Linux has it, or with equal gains")
            .source(thesis),
    )
    .parameter(count("jitter_rounds", 1, 16, 4, "round trips", "over which jitter is the largest", thesis))
    .parameter(count("wait_rounds", 4, 1_000, 8, "round trips", "from one trial to the next, in whole", thesis))
    .parameter(count("wait_random", 0, 100, 2, "round trips", "added at random, this many values", "Hawser"))
    .parameter(count(
        "safety_rounds",
        1,
        10_000,
        25,
        "round trips",
        "after which bandwidth ages anyway",
        prototype,
    ))
}
