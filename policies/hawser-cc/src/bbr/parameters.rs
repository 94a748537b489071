//! BBRv2, its labelled variant, BBRv2+ and BBRv3 by name.

use std::time::Duration;

use hawser_policy::{CongestionController, ControllerInit, ParameterInfo, Parameters, PolicyInfo};

use super::Bbr;
use super::backward::{self, Backward};
use super::bounded::{Bounded, EcnResponse, Rules, Version};
use super::common::Common;
use super::min_rtt::{MinRtt, Reordered};
use super::phase::{self, Table};
use super::plus::{self, Plus, PlusParameters};

const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);

/// What can be set of every member with bounds.
fn describe(info: PolicyInfo, rules: &Rules, source: &str) -> PolicyInfo {
    let number = |name: &str, least, most, default, meaning: &str| {
        ParameterInfo::number(name, least..=most, default).meaning(meaning).source(source)
    };
    let duration = |name: &str, default: Duration, meaning: &str| {
        let range = Duration::from_millis(100)..=Duration::from_secs(600);
        ParameterInfo::duration(name, range, default).meaning(meaning).source(source)
    };
    // The first word is the default.
    let ecn = match rules.ecn {
        EcnResponse::Classic => ["classic", "ignored", "proportional"],
        EcnResponse::Ignored | EcnResponse::Proportional => ["ignored", "classic", "proportional"],
    };
    let random = Duration::from_secs_f64(rules.wait[1]);
    info.parameter(number(
        "alpha",
        0.0,
        1.0,
        rules.loss_threshold,
        "share of loss at which too much is in flight",
    ))
    .parameter(number("beta", 0.0, 1.0, rules.beta, "what a lossy round trip takes of the lower bounds"))
    .parameter(number("headroom", 0.0, 0.9, rules.headroom, "share of inflight_hi left to others in Cruise"))
    .parameter(number("startup_gain", 1.5, 4.0, rules.startup_pacing, "pacing in Startup, in bandwidths"))
    .parameter(number("up_gain", 1.0, 2.0, rules.up.pacing, "pacing while probing, in bandwidths"))
    .parameter(number("down_gain", 0.1, 1.0, rules.down_pacing, "pacing after a probe, in bandwidths"))
    .parameter(
        ParameterInfo::choice("ecn", ecn)
            .meaning("what a mark means: nothing, a loss (RFC 3168), or a cut in proportion to their share")
            .source(source),
    )
    .parameter(duration("wait", Duration::from_secs_f64(rules.wait[0]), "between probes, at least"))
    .parameter(
        ParameterInfo::duration("wait_jitter", Duration::ZERO..=Duration::from_secs(60), random)
            .meaning("added to it at random")
            .source(source),
    )
    .parameter(duration(
        "probe_rtt_interval",
        PROBE_RTT_INTERVAL,
        "without a new minimum of the round-trip time",
    ))
    .parameter(duration("min_rtt_window", MIN_RTT_WINDOW, "how long such a minimum holds"))
    .parameter(backward::parameter())
    .parameter(Reordered::parameter())
}

fn read(rules: Rules, parameters: &Parameters) -> Rules {
    let ecn = match parameters.choice("ecn") {
        "classic" => EcnResponse::Classic,
        "proportional" => EcnResponse::Proportional,
        _ => EcnResponse::Ignored,
    };
    let mut rules = Rules {
        ecn,
        loss_threshold: parameters.number("alpha"),
        beta: parameters.number("beta"),
        headroom: parameters.number("headroom"),
        startup_pacing: parameters.number("startup_gain"),
        down_pacing: parameters.number("down_gain"),
        wait: [parameters.duration("wait").as_secs_f64(), parameters.duration("wait_jitter").as_secs_f64()],
        ..rules
    };
    rules.up.pacing = parameters.number("up_gain");
    if rules.version == Version::V2 {
        // BBRv2's window gain in Startup is the pacing gain, and Drain its inverse.
        (rules.startup_window, rules.drain_pacing) = (rules.startup_pacing, 1.0 / rules.startup_pacing);
    }
    rules
}

fn controller(
    init: &ControllerInit,
    parameters: &Parameters,
    rules: Rules,
    table: &'static Table,
    plus: Option<Plus>,
) -> Bbr<Bounded> {
    let (window, interval) =
        (parameters.duration("min_rtt_window"), parameters.duration("probe_rtt_interval"));
    let min_rtt = MinRtt::new(window, interval, init.now);
    // A judge of delays takes those of this direction wherever the peer reports them, without being asked to.
    let backward = if plus.is_some() { Backward::USED } else { Backward::new(parameters) };
    let model = Bounded::new(read(rules, parameters), plus);
    let mut common = Common::new(init, table, min_rtt);
    common.backward = backward;
    common.reordered = Reordered::read(parameters);
    Bbr::new(init, common, model)
}

const V2_SOURCE: &str = "Cardwell and others, BBRv2 in Linux (v2alpha, 2019-11-22)";
const PLUS_SOURCE: &str = "Yang's thesis (Sorbonne 2022), chapter 4";

/// A loss threshold that lets random loss pass, as the thesis uses it.
const TOLERANT_ALPHA: f64 = 0.2;

const V2_ALPHA_BETA: Rules = Rules { name: "bbr2-alpha-beta", loss_threshold: TOLERANT_ALPHA, ..Rules::V2 };
const V2_PLUS: Rules = Rules { name: "bbr2plus", loss_threshold: TOLERANT_ALPHA, ..Rules::V2 };

/// What a registry tells of BBRv2.
pub(crate) fn info_v2() -> PolicyInfo {
    let info =
        PolicyInfo::new(Rules::V2.name, "BBR whose volume in flight is bounded by loss").alias("bbrv2");
    describe(info.source(V2_SOURCE), &Rules::V2, V2_SOURCE)
}

/// What a registry tells of BBRv2(alpha, beta).
pub(crate) fn info_v2_alpha_beta() -> PolicyInfo {
    let info = PolicyInfo::new(V2_ALPHA_BETA.name, "BBRv2 that tolerates loss up to alpha")
        .alias("bbrv2-alpha-beta");
    describe(info.source(PLUS_SOURCE), &V2_ALPHA_BETA, PLUS_SOURCE)
}

/// What a registry tells of BBRv2+.
pub(crate) fn info_v2_plus() -> PolicyInfo {
    let info = PolicyInfo::new(V2_PLUS.name, "BBRv2 that asks the delay before and after each probe")
        .alias("bbr2+")
        .alias("bbrv2plus")
        .alias("bbrv2+")
        .source(PLUS_SOURCE);
    let gains = |name: &str, default, meaning: &str| {
        ParameterInfo::number(name, 0.5..=2.0, default).meaning(meaning).source(PLUS_SOURCE)
    };
    plus::describe(describe(info, &V2_PLUS, PLUS_SOURCE))
        .parameter(gains("try_gain", V2_PLUS.try_pacing, "pacing in the trial, in bandwidths"))
        .parameter(gains("down_slight_gain", V2_PLUS.down_slight_pacing, "pacing after a trial that failed"))
}

/// What a registry tells of BBRv3.
pub(crate) fn info_v3() -> PolicyInfo {
    let source = "draft-ietf-ccwg-bbr";
    let info =
        PolicyInfo::new(Rules::V3.name, "BBRv2 that probes until the bandwidth stops growing").alias("bbrv3");
    describe(info.source(source), &Rules::V3, source)
}

/// BBRv2 for a path.
pub(crate) fn build_v2(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
    Box::new(v2(init, parameters))
}

/// BBRv2 by value.
pub(super) fn v2(init: &ControllerInit, parameters: &Parameters) -> Bbr<Bounded> {
    controller(init, parameters, Rules::V2, phase::V2, None)
}

/// BBRv2(alpha, beta) for a path.
pub(crate) fn build_v2_alpha_beta(
    init: &ControllerInit,
    parameters: &Parameters,
) -> Box<dyn CongestionController> {
    Box::new(v2_alpha_beta(init, parameters))
}

/// BBRv2(alpha, beta) by value.
pub(super) fn v2_alpha_beta(init: &ControllerInit, parameters: &Parameters) -> Bbr<Bounded> {
    controller(init, parameters, V2_ALPHA_BETA, phase::V2, None)
}

/// BBRv2+ for a path.
pub(crate) fn build_v2_plus(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
    Box::new(v2_plus(init, parameters))
}

/// BBRv2+ by value.
pub(super) fn v2_plus(init: &ControllerInit, parameters: &Parameters) -> Bbr<Bounded> {
    let rules = Rules {
        try_pacing: parameters.number("try_gain"),
        down_slight_pacing: parameters.number("down_slight_gain"),
        ..V2_PLUS
    };
    let plus = Plus::new(PlusParameters::read(parameters));
    controller(init, parameters, rules, phase::V2_PLUS, Some(plus))
}

/// BBRv3 for a path.
pub(crate) fn build_v3(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
    Box::new(v3(init, parameters))
}

/// BBRv3 by value.
pub(super) fn v3(init: &ControllerInit, parameters: &Parameters) -> Bbr<Bounded> {
    controller(init, parameters, Rules::V3, phase::V3, None)
}
